// The protocol between a Penstock worker and a connector plugin.
//
// The worker (host) starts one process for each connector instance and is the gRPC client; the plugin is the server. A task
// is one Source or one Sink stream. Records travel in batches, never one message each.
//
// # Starting
//
// The host starts the executable with PENSTOCK_PLUGIN=connect-v1 in its environment (without it the executable was started
// by hand: say so and exit), and PLUGIN_UNIX_SOCKET_DIR naming a folder. The plugin listens on a unix socket in that folder
// and prints one line on stdout:
//
//	1|1|unix|/path/of/the/socket|grpc|
//
// (core protocol of hashicorp/go-plugin, version of this protocol, network, address, "grpc", an empty certificate). It must
// print nothing else on stdout before, so take stdout away from code that is not yours. Everything on stderr goes into the
// worker's log line by line; a line may be a JSON object with "@level" (or "level"), "@message" (or "msg") and more members.
// Beside the service below the same server must offer grpc.health.v1.Health (service "plugin" is SERVING),
// plugin.GRPCController (Shutdown: exit) and plugin.GRPCStdio (may stay silent); messages up to 64 MiB must be accepted.
// Exit when SIGTERM comes, and when the connection or the parent process goes away.
//
// # Rows
//
// Batch.rows holds the rows end to end. uvarint is an unsigned LEB128 number, svarint a zigzag one, at most 10 bytes each.
// A blob is: uvarint 0 for null, else uvarint (length + 1) and the bytes. A row is
//
//	uvarint  length of what follows of this row
//	uvarint  route: the id of a Route announced before on this stream
//	svarint  timestamp in ms since 1970 minus Batch.base_timestamp; a timestamp of -1 is none
//	uvarint  offset as consumed; 0 from a source
//	blob     key
//	blob     value
//	uvarint  number of headers
//	         each header: blob name (UTF-8, never null), uvarint schema id (0: none), blob value
//
// For example, with base_timestamp 1000, the row of route 1, time 1001, key null, value the string "hi" and no headers:
//
//	08 01 02 00 00 03 68 69 00
//
// # Rows in shared memory
//
// A host that can share memory with the plugin offers it in Open.shared: a file to be mapped, of slots of one size. A plugin
// that has mapped it grants all slots in its first Credit; one that knows nothing of it grants none, and gets rows as above. The
// rows of a batch that names a slot stand in that slot, from its start, and Batch.rows is empty. The slot is the plugin's until
// it grants it again, in a Credit, once nothing of the rows is needed. The plugin never writes to it. Bytes of credit count as ever.
//
// # Values
//
// A key, a value or a header's value, under the schema its route (or header) names:
//   - null is the null blob, whether or not the schema is optional. A record with null key or value needs nothing else.
//   - schema id 0: JSON text in UTF-8.
//   - a schema of type STRING or BYTES at the root: the bytes themselves.
//   - everything else by Avro's binary rules, with the schema below:
//       INT8, INT16, INT32, INT64   svarint
//       FLOAT32, FLOAT64            4, 8 bytes little-endian IEEE 754
//       BOOLEAN                     one byte, 0 or 1
//       STRING, BYTES               svarint length, bytes (strings are UTF-8)
//       ARRAY                       blocks: svarint n > 0, n elements; ...; svarint 0. A negative n stands for -n and is followed
//                                   by an svarint size of the block in bytes.
//       MAP                         blocks as of an array; an entry is its key under `keys`, then its value under `values`
//       STRUCT                      the fields in order, nothing between them
//     and an optional schema, anywhere but at the root, is a union: svarint 0 for null; svarint 1 (byte 02), then the value.
//
// For example STRUCT{id INT64, name STRING optional} of 7 and "ab" is 0e 02 04 61 62, of 7 and null is 0e 00.
// Logical types are their base: Decimal the bytes of a big-endian two's complement, Date days, Time ms, Timestamp ms.
//
// # A source's stream
//
//	host                          plugin
//	Open               ->
//	                   <-         opened
//	Credit             ->                     so many bytes of rows may be sent
//	                   <-         Schema, Route, Batch ...
//	Ack                ->                     positions up to this batch are durable; sent again when idle
//	Credit             ->                     rows have left the host's memory
//	stop               ->                     read no more; send what was read
//	                   <-         Batch       the rest
//	Ack                ->
//	                   <-         closed      after the last ack, or after a deadline without it
//
// Batch ids are 1, 2, 3, ... A batch may overdraw the credit once: a plugin sends while its credit is positive, and pays
// with rows.length. A plugin may not wait for an ack before it sends the next batch. Failure ends the stream, but for
// END_OF_INPUT, behind which the host acks and stops as usual.
//
// # A sink's stream
//
//	host                          plugin
//	Open               ->
//	                   <-         opened, Credit
//	assign             ->
//	                   <-         assigned    where to begin in each of these partitions
//	Schema, Route, Batch ...  ->
//	                   <-         Credit      rows have left the plugin's memory
//	                   <-         failed ...  records that could not be written, one by one, before a durable that passes them
//	                   <-         durable     the next offset of partitions below which all is durable
//	flush              ->                     at the commit interval, before revoke and stop
//	                   <-         durable, flushed
//	revoke             ->                     after flush(all)
//	                   <-         revoked
//	stop               ->
//	                   <-         durable, closed

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.2
// source: connect.proto

package connectpb

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	Connector_Describe_FullMethodName = "/penstock.connect.v1.Connector/Describe"
	Connector_Validate_FullMethodName = "/penstock.connect.v1.Connector/Validate"
	Connector_Tasks_FullMethodName    = "/penstock.connect.v1.Connector/Tasks"
	Connector_Watch_FullMethodName    = "/penstock.connect.v1.Connector/Watch"
	Connector_Alter_FullMethodName    = "/penstock.connect.v1.Connector/Alter"
	Connector_Deleted_FullMethodName  = "/penstock.connect.v1.Connector/Deleted"
	Connector_Source_FullMethodName   = "/penstock.connect.v1.Connector/Source"
	Connector_Sink_FullMethodName     = "/penstock.connect.v1.Connector/Sink"
)

// ConnectorClient is the client API for Connector service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
type ConnectorClient interface {
	// Describe has no side effects. The host keeps the answer by the binary's path, size and time.
	Describe(ctx context.Context, in *DescribeRequest, opts ...grpc.CallOption) (*Descriptions, error)
	// Validate may connect to other systems.
	Validate(ctx context.Context, in *Config, opts ...grpc.CallOption) (*Validation, error)
	// Tasks splits the work into at most `max` configurations.
	Tasks(ctx context.Context, in *TasksRequest, opts ...grpc.CallOption) (*TasksReply, error)
	// Watch stays open while the connector runs; each message asks for Tasks again. UNIMPLEMENTED: nothing to watch.
	Watch(ctx context.Context, in *Config, opts ...grpc.CallOption) (grpc.ServerStreamingClient[Changed], error)
	// Alter is called when a user edits source offsets; an error refuses.
	Alter(ctx context.Context, in *AlterRequest, opts ...grpc.CallOption) (*AlterReply, error)
	// Deleted is called when the connector was deleted (never when it was stopped): clean up outside, e.g. a replication slot.
	Deleted(ctx context.Context, in *Config, opts ...grpc.CallOption) (*Done, error)
	Source(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ToSource, FromSource], error)
	Sink(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ToSink, FromSink], error)
}

type connectorClient struct {
	cc grpc.ClientConnInterface
}

func NewConnectorClient(cc grpc.ClientConnInterface) ConnectorClient {
	return &connectorClient{cc}
}

func (c *connectorClient) Describe(ctx context.Context, in *DescribeRequest, opts ...grpc.CallOption) (*Descriptions, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(Descriptions)
	err := c.cc.Invoke(ctx, Connector_Describe_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *connectorClient) Validate(ctx context.Context, in *Config, opts ...grpc.CallOption) (*Validation, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(Validation)
	err := c.cc.Invoke(ctx, Connector_Validate_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *connectorClient) Tasks(ctx context.Context, in *TasksRequest, opts ...grpc.CallOption) (*TasksReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(TasksReply)
	err := c.cc.Invoke(ctx, Connector_Tasks_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *connectorClient) Watch(ctx context.Context, in *Config, opts ...grpc.CallOption) (grpc.ServerStreamingClient[Changed], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &Connector_ServiceDesc.Streams[0], Connector_Watch_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[Config, Changed]{ClientStream: stream}
	if err := x.ClientStream.SendMsg(in); err != nil {
		return nil, err
	}
	if err := x.ClientStream.CloseSend(); err != nil {
		return nil, err
	}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_WatchClient = grpc.ServerStreamingClient[Changed]

func (c *connectorClient) Alter(ctx context.Context, in *AlterRequest, opts ...grpc.CallOption) (*AlterReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(AlterReply)
	err := c.cc.Invoke(ctx, Connector_Alter_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *connectorClient) Deleted(ctx context.Context, in *Config, opts ...grpc.CallOption) (*Done, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(Done)
	err := c.cc.Invoke(ctx, Connector_Deleted_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *connectorClient) Source(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ToSource, FromSource], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &Connector_ServiceDesc.Streams[1], Connector_Source_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[ToSource, FromSource]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_SourceClient = grpc.BidiStreamingClient[ToSource, FromSource]

func (c *connectorClient) Sink(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ToSink, FromSink], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &Connector_ServiceDesc.Streams[2], Connector_Sink_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[ToSink, FromSink]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_SinkClient = grpc.BidiStreamingClient[ToSink, FromSink]

// ConnectorServer is the server API for Connector service.
// All implementations must embed UnimplementedConnectorServer
// for forward compatibility.
type ConnectorServer interface {
	// Describe has no side effects. The host keeps the answer by the binary's path, size and time.
	Describe(context.Context, *DescribeRequest) (*Descriptions, error)
	// Validate may connect to other systems.
	Validate(context.Context, *Config) (*Validation, error)
	// Tasks splits the work into at most `max` configurations.
	Tasks(context.Context, *TasksRequest) (*TasksReply, error)
	// Watch stays open while the connector runs; each message asks for Tasks again. UNIMPLEMENTED: nothing to watch.
	Watch(*Config, grpc.ServerStreamingServer[Changed]) error
	// Alter is called when a user edits source offsets; an error refuses.
	Alter(context.Context, *AlterRequest) (*AlterReply, error)
	// Deleted is called when the connector was deleted (never when it was stopped): clean up outside, e.g. a replication slot.
	Deleted(context.Context, *Config) (*Done, error)
	Source(grpc.BidiStreamingServer[ToSource, FromSource]) error
	Sink(grpc.BidiStreamingServer[ToSink, FromSink]) error
	mustEmbedUnimplementedConnectorServer()
}

// UnimplementedConnectorServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedConnectorServer struct{}

func (UnimplementedConnectorServer) Describe(context.Context, *DescribeRequest) (*Descriptions, error) {
	return nil, status.Error(codes.Unimplemented, "method Describe not implemented")
}
func (UnimplementedConnectorServer) Validate(context.Context, *Config) (*Validation, error) {
	return nil, status.Error(codes.Unimplemented, "method Validate not implemented")
}
func (UnimplementedConnectorServer) Tasks(context.Context, *TasksRequest) (*TasksReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Tasks not implemented")
}
func (UnimplementedConnectorServer) Watch(*Config, grpc.ServerStreamingServer[Changed]) error {
	return status.Error(codes.Unimplemented, "method Watch not implemented")
}
func (UnimplementedConnectorServer) Alter(context.Context, *AlterRequest) (*AlterReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Alter not implemented")
}
func (UnimplementedConnectorServer) Deleted(context.Context, *Config) (*Done, error) {
	return nil, status.Error(codes.Unimplemented, "method Deleted not implemented")
}
func (UnimplementedConnectorServer) Source(grpc.BidiStreamingServer[ToSource, FromSource]) error {
	return status.Error(codes.Unimplemented, "method Source not implemented")
}
func (UnimplementedConnectorServer) Sink(grpc.BidiStreamingServer[ToSink, FromSink]) error {
	return status.Error(codes.Unimplemented, "method Sink not implemented")
}
func (UnimplementedConnectorServer) mustEmbedUnimplementedConnectorServer() {}
func (UnimplementedConnectorServer) testEmbeddedByValue()                   {}

// UnsafeConnectorServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to ConnectorServer will
// result in compilation errors.
type UnsafeConnectorServer interface {
	mustEmbedUnimplementedConnectorServer()
}

func RegisterConnectorServer(s grpc.ServiceRegistrar, srv ConnectorServer) {
	// If the following call panics, it indicates UnimplementedConnectorServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&Connector_ServiceDesc, srv)
}

func _Connector_Describe_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(DescribeRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ConnectorServer).Describe(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Connector_Describe_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ConnectorServer).Describe(ctx, req.(*DescribeRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Connector_Validate_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(Config)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ConnectorServer).Validate(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Connector_Validate_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ConnectorServer).Validate(ctx, req.(*Config))
	}
	return interceptor(ctx, in, info, handler)
}

func _Connector_Tasks_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(TasksRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ConnectorServer).Tasks(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Connector_Tasks_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ConnectorServer).Tasks(ctx, req.(*TasksRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Connector_Watch_Handler(srv interface{}, stream grpc.ServerStream) error {
	m := new(Config)
	if err := stream.RecvMsg(m); err != nil {
		return err
	}
	return srv.(ConnectorServer).Watch(m, &grpc.GenericServerStream[Config, Changed]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_WatchServer = grpc.ServerStreamingServer[Changed]

func _Connector_Alter_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(AlterRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ConnectorServer).Alter(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Connector_Alter_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ConnectorServer).Alter(ctx, req.(*AlterRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Connector_Deleted_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(Config)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ConnectorServer).Deleted(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Connector_Deleted_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ConnectorServer).Deleted(ctx, req.(*Config))
	}
	return interceptor(ctx, in, info, handler)
}

func _Connector_Source_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(ConnectorServer).Source(&grpc.GenericServerStream[ToSource, FromSource]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_SourceServer = grpc.BidiStreamingServer[ToSource, FromSource]

func _Connector_Sink_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(ConnectorServer).Sink(&grpc.GenericServerStream[ToSink, FromSink]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Connector_SinkServer = grpc.BidiStreamingServer[ToSink, FromSink]

// Connector_ServiceDesc is the grpc.ServiceDesc for Connector service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var Connector_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "penstock.connect.v1.Connector",
	HandlerType: (*ConnectorServer)(nil),
	Methods: []grpc.MethodDesc{
		{
			MethodName: "Describe",
			Handler:    _Connector_Describe_Handler,
		},
		{
			MethodName: "Validate",
			Handler:    _Connector_Validate_Handler,
		},
		{
			MethodName: "Tasks",
			Handler:    _Connector_Tasks_Handler,
		},
		{
			MethodName: "Alter",
			Handler:    _Connector_Alter_Handler,
		},
		{
			MethodName: "Deleted",
			Handler:    _Connector_Deleted_Handler,
		},
	},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "Watch",
			Handler:       _Connector_Watch_Handler,
			ServerStreams: true,
		},
		{
			StreamName:    "Source",
			Handler:       _Connector_Source_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
		{
			StreamName:    "Sink",
			Handler:       _Connector_Sink_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
	},
	Metadata: "connect.proto",
}
