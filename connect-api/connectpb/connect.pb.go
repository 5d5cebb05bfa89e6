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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12
// source: connect.proto

package connectpb

import (
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

type Description_Kind int32

const (
	Description_UNKNOWN Description_Kind = 0
	Description_SOURCE  Description_Kind = 1
	Description_SINK    Description_Kind = 2
)

// Enum value maps for Description_Kind.
var (
	Description_Kind_name = map[int32]string{
		0: "UNKNOWN",
		1: "SOURCE",
		2: "SINK",
	}
	Description_Kind_value = map[string]int32{
		"UNKNOWN": 0,
		"SOURCE":  1,
		"SINK":    2,
	}
)

func (x Description_Kind) Enum() *Description_Kind {
	p := new(Description_Kind)
	*p = x
	return p
}

func (x Description_Kind) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Description_Kind) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[0].Descriptor()
}

func (Description_Kind) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[0]
}

func (x Description_Kind) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Description_Kind.Descriptor instead.
func (Description_Kind) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{2, 0}
}

type Metric_Kind int32

const (
	Metric_GAUGE   Metric_Kind = 0
	Metric_COUNTER Metric_Kind = 1
)

// Enum value maps for Metric_Kind.
var (
	Metric_Kind_name = map[int32]string{
		0: "GAUGE",
		1: "COUNTER",
	}
	Metric_Kind_value = map[string]int32{
		"GAUGE":   0,
		"COUNTER": 1,
	}
)

func (x Metric_Kind) Enum() *Metric_Kind {
	p := new(Metric_Kind)
	*p = x
	return p
}

func (x Metric_Kind) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Metric_Kind) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[1].Descriptor()
}

func (Metric_Kind) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[1]
}

func (x Metric_Kind) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Metric_Kind.Descriptor instead.
func (Metric_Kind) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{3, 0}
}

type Key_Type int32

const (
	Key_STRING   Key_Type = 0
	Key_BOOLEAN  Key_Type = 1
	Key_INT      Key_Type = 2
	Key_SHORT    Key_Type = 3
	Key_LONG     Key_Type = 4
	Key_DOUBLE   Key_Type = 5
	Key_LIST     Key_Type = 6
	Key_CLASS    Key_Type = 7
	Key_PASSWORD Key_Type = 8
)

// Enum value maps for Key_Type.
var (
	Key_Type_name = map[int32]string{
		0: "STRING",
		1: "BOOLEAN",
		2: "INT",
		3: "SHORT",
		4: "LONG",
		5: "DOUBLE",
		6: "LIST",
		7: "CLASS",
		8: "PASSWORD",
	}
	Key_Type_value = map[string]int32{
		"STRING":   0,
		"BOOLEAN":  1,
		"INT":      2,
		"SHORT":    3,
		"LONG":     4,
		"DOUBLE":   5,
		"LIST":     6,
		"CLASS":    7,
		"PASSWORD": 8,
	}
)

func (x Key_Type) Enum() *Key_Type {
	p := new(Key_Type)
	*p = x
	return p
}

func (x Key_Type) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Key_Type) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[2].Descriptor()
}

func (Key_Type) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[2]
}

func (x Key_Type) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Key_Type.Descriptor instead.
func (Key_Type) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{4, 0}
}

type Key_Importance int32

const (
	Key_HIGH   Key_Importance = 0
	Key_MEDIUM Key_Importance = 1
	Key_LOW    Key_Importance = 2
)

// Enum value maps for Key_Importance.
var (
	Key_Importance_name = map[int32]string{
		0: "HIGH",
		1: "MEDIUM",
		2: "LOW",
	}
	Key_Importance_value = map[string]int32{
		"HIGH":   0,
		"MEDIUM": 1,
		"LOW":    2,
	}
)

func (x Key_Importance) Enum() *Key_Importance {
	p := new(Key_Importance)
	*p = x
	return p
}

func (x Key_Importance) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Key_Importance) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[3].Descriptor()
}

func (Key_Importance) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[3]
}

func (x Key_Importance) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Key_Importance.Descriptor instead.
func (Key_Importance) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{4, 1}
}

type Schema_Type int32

const (
	Schema_INT8    Schema_Type = 0
	Schema_INT16   Schema_Type = 1
	Schema_INT32   Schema_Type = 2
	Schema_INT64   Schema_Type = 3
	Schema_FLOAT32 Schema_Type = 4
	Schema_FLOAT64 Schema_Type = 5
	Schema_BOOLEAN Schema_Type = 6
	Schema_STRING  Schema_Type = 7
	Schema_BYTES   Schema_Type = 8
	Schema_ARRAY   Schema_Type = 9
	Schema_MAP     Schema_Type = 10
	Schema_STRUCT  Schema_Type = 11
)

// Enum value maps for Schema_Type.
var (
	Schema_Type_name = map[int32]string{
		0:  "INT8",
		1:  "INT16",
		2:  "INT32",
		3:  "INT64",
		4:  "FLOAT32",
		5:  "FLOAT64",
		6:  "BOOLEAN",
		7:  "STRING",
		8:  "BYTES",
		9:  "ARRAY",
		10: "MAP",
		11: "STRUCT",
	}
	Schema_Type_value = map[string]int32{
		"INT8":    0,
		"INT16":   1,
		"INT32":   2,
		"INT64":   3,
		"FLOAT32": 4,
		"FLOAT64": 5,
		"BOOLEAN": 6,
		"STRING":  7,
		"BYTES":   8,
		"ARRAY":   9,
		"MAP":     10,
		"STRUCT":  11,
	}
)

func (x Schema_Type) Enum() *Schema_Type {
	p := new(Schema_Type)
	*p = x
	return p
}

func (x Schema_Type) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Schema_Type) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[4].Descriptor()
}

func (Schema_Type) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[4]
}

func (x Schema_Type) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Schema_Type.Descriptor instead.
func (Schema_Type) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{13, 0}
}

type Position_Mark int32

const (
	Position_NONE   Position_Mark = 0
	Position_BEGIN  Position_Mark = 1
	Position_COMMIT Position_Mark = 2
	Position_ABORT  Position_Mark = 3
)

// Enum value maps for Position_Mark.
var (
	Position_Mark_name = map[int32]string{
		0: "NONE",
		1: "BEGIN",
		2: "COMMIT",
		3: "ABORT",
	}
	Position_Mark_value = map[string]int32{
		"NONE":   0,
		"BEGIN":  1,
		"COMMIT": 2,
		"ABORT":  3,
	}
)

func (x Position_Mark) Enum() *Position_Mark {
	p := new(Position_Mark)
	*p = x
	return p
}

func (x Position_Mark) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Position_Mark) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[5].Descriptor()
}

func (Position_Mark) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[5]
}

func (x Position_Mark) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Position_Mark.Descriptor instead.
func (Position_Mark) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{17, 0}
}

type Failure_Kind int32

const (
	Failure_SYSTEM        Failure_Kind = 0
	Failure_CONFIG        Failure_Kind = 1
	Failure_DATA          Failure_Kind = 2
	Failure_TRANSIENT     Failure_Kind = 3
	Failure_NOT_CONNECTED Failure_Kind = 4
	Failure_END_OF_INPUT  Failure_Kind = 5
)

// Enum value maps for Failure_Kind.
var (
	Failure_Kind_name = map[int32]string{
		0: "SYSTEM",
		1: "CONFIG",
		2: "DATA",
		3: "TRANSIENT",
		4: "NOT_CONNECTED",
		5: "END_OF_INPUT",
	}
	Failure_Kind_value = map[string]int32{
		"SYSTEM":        0,
		"CONFIG":        1,
		"DATA":          2,
		"TRANSIENT":     3,
		"NOT_CONNECTED": 4,
		"END_OF_INPUT":  5,
	}
)

func (x Failure_Kind) Enum() *Failure_Kind {
	p := new(Failure_Kind)
	*p = x
	return p
}

func (x Failure_Kind) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Failure_Kind) Descriptor() protoreflect.EnumDescriptor {
	return file_connect_proto_enumTypes[6].Descriptor()
}

func (Failure_Kind) Type() protoreflect.EnumType {
	return &file_connect_proto_enumTypes[6]
}

func (x Failure_Kind) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Failure_Kind.Descriptor instead.
func (Failure_Kind) EnumDescriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{21, 0}
}

type DescribeRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *DescribeRequest) Reset() {
	*x = DescribeRequest{}
	mi := &file_connect_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *DescribeRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*DescribeRequest) ProtoMessage() {}

func (x *DescribeRequest) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use DescribeRequest.ProtoReflect.Descriptor instead.
func (*DescribeRequest) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{0}
}

// Descriptions: one binary may hold several connectors.
type Descriptions struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Of            []*Description         `protobuf:"bytes,1,rep,name=of,proto3" json:"of,omitempty"`
	DependsOn     []string               `protobuf:"bytes,2,rep,name=depends_on,json=dependsOn,proto3" json:"depends_on,omitempty"` // folders whose change asks again
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Descriptions) Reset() {
	*x = Descriptions{}
	mi := &file_connect_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Descriptions) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Descriptions) ProtoMessage() {}

func (x *Descriptions) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Descriptions.ProtoReflect.Descriptor instead.
func (*Descriptions) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{1}
}

func (x *Descriptions) GetOf() []*Description {
	if x != nil {
		return x.Of
	}
	return nil
}

func (x *Descriptions) GetDependsOn() []string {
	if x != nil {
		return x.DependsOn
	}
	return nil
}

type Description struct {
	state                 protoimpl.MessageState `protogen:"open.v1"`
	Protocol              uint32                 `protobuf:"varint,1,opt,name=protocol,proto3" json:"protocol,omitempty"` // 1
	Name                  string                 `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`          // the canonical connector.class, e.g. file-source
	Version               string                 `protobuf:"bytes,3,opt,name=version,proto3" json:"version,omitempty"`
	Doc                   string                 `protobuf:"bytes,4,opt,name=doc,proto3" json:"doc,omitempty"`
	Aliases               []string               `protobuf:"bytes,5,rep,name=aliases,proto3" json:"aliases,omitempty"` // Java class names
	Kind                  Description_Kind       `protobuf:"varint,6,opt,name=kind,proto3,enum=penstock.connect.v1.Description_Kind" json:"kind,omitempty"`
	Config                []*Key                 `protobuf:"bytes,7,rep,name=config,proto3" json:"config,omitempty"`
	TransactionBoundaries bool                   `protobuf:"varint,8,opt,name=transaction_boundaries,json=transactionBoundaries,proto3" json:"transaction_boundaries,omitempty"` // its tasks mark transactions
	WantsProduced         bool                   `protobuf:"varint,9,opt,name=wants_produced,json=wantsProduced,proto3" json:"wants_produced,omitempty"`                         // Ack.produced is filled
	Metrics               []*Metric              `protobuf:"bytes,10,rep,name=metrics,proto3" json:"metrics,omitempty"`
	unknownFields         protoimpl.UnknownFields
	sizeCache             protoimpl.SizeCache
}

func (x *Description) Reset() {
	*x = Description{}
	mi := &file_connect_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Description) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Description) ProtoMessage() {}

func (x *Description) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Description.ProtoReflect.Descriptor instead.
func (*Description) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{2}
}

func (x *Description) GetProtocol() uint32 {
	if x != nil {
		return x.Protocol
	}
	return 0
}

func (x *Description) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Description) GetVersion() string {
	if x != nil {
		return x.Version
	}
	return ""
}

func (x *Description) GetDoc() string {
	if x != nil {
		return x.Doc
	}
	return ""
}

func (x *Description) GetAliases() []string {
	if x != nil {
		return x.Aliases
	}
	return nil
}

func (x *Description) GetKind() Description_Kind {
	if x != nil {
		return x.Kind
	}
	return Description_UNKNOWN
}

func (x *Description) GetConfig() []*Key {
	if x != nil {
		return x.Config
	}
	return nil
}

func (x *Description) GetTransactionBoundaries() bool {
	if x != nil {
		return x.TransactionBoundaries
	}
	return false
}

func (x *Description) GetWantsProduced() bool {
	if x != nil {
		return x.WantsProduced
	}
	return false
}

func (x *Description) GetMetrics() []*Metric {
	if x != nil {
		return x.Metrics
	}
	return nil
}

// Metric: Report carries values of these alone.
type Metric struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Name          string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Kind          Metric_Kind            `protobuf:"varint,2,opt,name=kind,proto3,enum=penstock.connect.v1.Metric_Kind" json:"kind,omitempty"`
	Unit          string                 `protobuf:"bytes,3,opt,name=unit,proto3" json:"unit,omitempty"`
	Help          string                 `protobuf:"bytes,4,opt,name=help,proto3" json:"help,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Metric) Reset() {
	*x = Metric{}
	mi := &file_connect_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Metric) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Metric) ProtoMessage() {}

func (x *Metric) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Metric.ProtoReflect.Descriptor instead.
func (*Metric) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{3}
}

func (x *Metric) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Metric) GetKind() Metric_Kind {
	if x != nil {
		return x.Kind
	}
	return Metric_GAUGE
}

func (x *Metric) GetUnit() string {
	if x != nil {
		return x.Unit
	}
	return ""
}

func (x *Metric) GetHelp() string {
	if x != nil {
		return x.Help
	}
	return ""
}

// Key is one key of a configuration definition, as Kafka's ConfigDef has it.
type Key struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Name          string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Type          Key_Type               `protobuf:"varint,2,opt,name=type,proto3,enum=penstock.connect.v1.Key_Type" json:"type,omitempty"`
	Default       *string                `protobuf:"bytes,3,opt,name=default,proto3,oneof" json:"default,omitempty"` // absent: null, unless required
	Importance    Key_Importance         `protobuf:"varint,4,opt,name=importance,proto3,enum=penstock.connect.v1.Key_Importance" json:"importance,omitempty"`
	Doc           string                 `protobuf:"bytes,5,opt,name=doc,proto3" json:"doc,omitempty"`
	Group         string                 `protobuf:"bytes,6,opt,name=group,proto3" json:"group,omitempty"`
	Display       string                 `protobuf:"bytes,7,opt,name=display,proto3" json:"display,omitempty"`
	Order         int32                  `protobuf:"varint,8,opt,name=order,proto3" json:"order,omitempty"`
	Width         int32                  `protobuf:"varint,9,opt,name=width,proto3" json:"width,omitempty"` // 0 none, 1 short, 2 medium, 3 long
	Dependents    []string               `protobuf:"bytes,10,rep,name=dependents,proto3" json:"dependents,omitempty"`
	OneOf         []string               `protobuf:"bytes,11,rep,name=one_of,json=oneOf,proto3" json:"one_of,omitempty"` // the only values
	Min           *float64               `protobuf:"fixed64,12,opt,name=min,proto3,oneof" json:"min,omitempty"`
	Max           *float64               `protobuf:"fixed64,13,opt,name=max,proto3,oneof" json:"max,omitempty"`
	Internal      bool                   `protobuf:"varint,14,opt,name=internal,proto3" json:"internal,omitempty"` // set by Tasks, not by users
	Format        string                 `protobuf:"bytes,15,opt,name=format,proto3" json:"format,omitempty"`      // e.g. path, url, regex, duration
	Example       string                 `protobuf:"bytes,16,opt,name=example,proto3" json:"example,omitempty"`
	Required      bool                   `protobuf:"varint,17,opt,name=required,proto3" json:"required,omitempty"`  // there is no default
	Suggested     []string               `protobuf:"bytes,18,rep,name=suggested,proto3" json:"suggested,omitempty"` // offered by forms; others are allowed
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Key) Reset() {
	*x = Key{}
	mi := &file_connect_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Key) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Key) ProtoMessage() {}

func (x *Key) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Key.ProtoReflect.Descriptor instead.
func (*Key) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{4}
}

func (x *Key) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Key) GetType() Key_Type {
	if x != nil {
		return x.Type
	}
	return Key_STRING
}

func (x *Key) GetDefault() string {
	if x != nil && x.Default != nil {
		return *x.Default
	}
	return ""
}

func (x *Key) GetImportance() Key_Importance {
	if x != nil {
		return x.Importance
	}
	return Key_HIGH
}

func (x *Key) GetDoc() string {
	if x != nil {
		return x.Doc
	}
	return ""
}

func (x *Key) GetGroup() string {
	if x != nil {
		return x.Group
	}
	return ""
}

func (x *Key) GetDisplay() string {
	if x != nil {
		return x.Display
	}
	return ""
}

func (x *Key) GetOrder() int32 {
	if x != nil {
		return x.Order
	}
	return 0
}

func (x *Key) GetWidth() int32 {
	if x != nil {
		return x.Width
	}
	return 0
}

func (x *Key) GetDependents() []string {
	if x != nil {
		return x.Dependents
	}
	return nil
}

func (x *Key) GetOneOf() []string {
	if x != nil {
		return x.OneOf
	}
	return nil
}

func (x *Key) GetMin() float64 {
	if x != nil && x.Min != nil {
		return *x.Min
	}
	return 0
}

func (x *Key) GetMax() float64 {
	if x != nil && x.Max != nil {
		return *x.Max
	}
	return 0
}

func (x *Key) GetInternal() bool {
	if x != nil {
		return x.Internal
	}
	return false
}

func (x *Key) GetFormat() string {
	if x != nil {
		return x.Format
	}
	return ""
}

func (x *Key) GetExample() string {
	if x != nil {
		return x.Example
	}
	return ""
}

func (x *Key) GetRequired() bool {
	if x != nil {
		return x.Required
	}
	return false
}

func (x *Key) GetSuggested() []string {
	if x != nil {
		return x.Suggested
	}
	return nil
}

// Config is resolved: secrets stand in it in clear. Never log it.
type Config struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Values        map[string]string      `protobuf:"bytes,1,rep,name=values,proto3" json:"values,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	Connector     string                 `protobuf:"bytes,2,opt,name=connector,proto3" json:"connector,omitempty"` // which of the binary's connectors
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Config) Reset() {
	*x = Config{}
	mi := &file_connect_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Config) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Config) ProtoMessage() {}

func (x *Config) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Config.ProtoReflect.Descriptor instead.
func (*Config) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{5}
}

func (x *Config) GetValues() map[string]string {
	if x != nil {
		return x.Values
	}
	return nil
}

func (x *Config) GetConnector() string {
	if x != nil {
		return x.Connector
	}
	return ""
}

type Validation struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Findings      []*Finding             `protobuf:"bytes,1,rep,name=findings,proto3" json:"findings,omitempty"`
	ExactlyOnce   bool                   `protobuf:"varint,2,opt,name=exactly_once,json=exactlyOnce,proto3" json:"exactly_once,omitempty"` // with this configuration its positions never lose or repeat
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Validation) Reset() {
	*x = Validation{}
	mi := &file_connect_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Validation) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Validation) ProtoMessage() {}

func (x *Validation) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Validation.ProtoReflect.Descriptor instead.
func (*Validation) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{6}
}

func (x *Validation) GetFindings() []*Finding {
	if x != nil {
		return x.Findings
	}
	return nil
}

func (x *Validation) GetExactlyOnce() bool {
	if x != nil {
		return x.ExactlyOnce
	}
	return false
}

type Finding struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Key           string                 `protobuf:"bytes,1,opt,name=key,proto3" json:"key,omitempty"` // empty: the configuration as a whole
	Errors        []string               `protobuf:"bytes,2,rep,name=errors,proto3" json:"errors,omitempty"`
	Recommended   []string               `protobuf:"bytes,3,rep,name=recommended,proto3" json:"recommended,omitempty"`
	Hidden        bool                   `protobuf:"varint,4,opt,name=hidden,proto3" json:"hidden,omitempty"`
	Warnings      []string               `protobuf:"bytes,5,rep,name=warnings,proto3" json:"warnings,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Finding) Reset() {
	*x = Finding{}
	mi := &file_connect_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Finding) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Finding) ProtoMessage() {}

func (x *Finding) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Finding.ProtoReflect.Descriptor instead.
func (*Finding) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{7}
}

func (x *Finding) GetKey() string {
	if x != nil {
		return x.Key
	}
	return ""
}

func (x *Finding) GetErrors() []string {
	if x != nil {
		return x.Errors
	}
	return nil
}

func (x *Finding) GetRecommended() []string {
	if x != nil {
		return x.Recommended
	}
	return nil
}

func (x *Finding) GetHidden() bool {
	if x != nil {
		return x.Hidden
	}
	return false
}

func (x *Finding) GetWarnings() []string {
	if x != nil {
		return x.Warnings
	}
	return nil
}

type TasksRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Config        *Config                `protobuf:"bytes,1,opt,name=config,proto3" json:"config,omitempty"`
	Max           uint32                 `protobuf:"varint,2,opt,name=max,proto3" json:"max,omitempty"`
	Committed     []*Position            `protobuf:"bytes,3,rep,name=committed,proto3" json:"committed,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *TasksRequest) Reset() {
	*x = TasksRequest{}
	mi := &file_connect_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *TasksRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*TasksRequest) ProtoMessage() {}

func (x *TasksRequest) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use TasksRequest.ProtoReflect.Descriptor instead.
func (*TasksRequest) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{8}
}

func (x *TasksRequest) GetConfig() *Config {
	if x != nil {
		return x.Config
	}
	return nil
}

func (x *TasksRequest) GetMax() uint32 {
	if x != nil {
		return x.Max
	}
	return 0
}

func (x *TasksRequest) GetCommitted() []*Position {
	if x != nil {
		return x.Committed
	}
	return nil
}

type TasksReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Tasks         []*Config              `protobuf:"bytes,1,rep,name=tasks,proto3" json:"tasks,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *TasksReply) Reset() {
	*x = TasksReply{}
	mi := &file_connect_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *TasksReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*TasksReply) ProtoMessage() {}

func (x *TasksReply) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use TasksReply.ProtoReflect.Descriptor instead.
func (*TasksReply) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{9}
}

func (x *TasksReply) GetTasks() []*Config {
	if x != nil {
		return x.Tasks
	}
	return nil
}

type Changed struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Changed) Reset() {
	*x = Changed{}
	mi := &file_connect_proto_msgTypes[10]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Changed) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Changed) ProtoMessage() {}

func (x *Changed) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[10]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Changed.ProtoReflect.Descriptor instead.
func (*Changed) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{10}
}

type AlterRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Config        *Config                `protobuf:"bytes,1,opt,name=config,proto3" json:"config,omitempty"`
	Positions     []*Position            `protobuf:"bytes,2,rep,name=positions,proto3" json:"positions,omitempty"`
	DryRun        bool                   `protobuf:"varint,3,opt,name=dry_run,json=dryRun,proto3" json:"dry_run,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AlterRequest) Reset() {
	*x = AlterRequest{}
	mi := &file_connect_proto_msgTypes[11]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AlterRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AlterRequest) ProtoMessage() {}

func (x *AlterRequest) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[11]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AlterRequest.ProtoReflect.Descriptor instead.
func (*AlterRequest) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{11}
}

func (x *AlterRequest) GetConfig() *Config {
	if x != nil {
		return x.Config
	}
	return nil
}

func (x *AlterRequest) GetPositions() []*Position {
	if x != nil {
		return x.Positions
	}
	return nil
}

func (x *AlterRequest) GetDryRun() bool {
	if x != nil {
		return x.DryRun
	}
	return false
}

type AlterReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	External      bool                   `protobuf:"varint,1,opt,name=external,proto3" json:"external,omitempty"` // offsets kept outside were changed too
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AlterReply) Reset() {
	*x = AlterReply{}
	mi := &file_connect_proto_msgTypes[12]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AlterReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AlterReply) ProtoMessage() {}

func (x *AlterReply) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[12]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AlterReply.ProtoReflect.Descriptor instead.
func (*AlterReply) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{12}
}

func (x *AlterReply) GetExternal() bool {
	if x != nil {
		return x.External
	}
	return false
}

// Schema is Kafka Connect's model, not Avro's. Schemas and routes are announced once a stream, before the first batch that
// names them.
type Schema struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint32                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"` // at the root only, from 1; 0 is no schema
	Type          Schema_Type            `protobuf:"varint,2,opt,name=type,proto3,enum=penstock.connect.v1.Schema_Type" json:"type,omitempty"`
	Optional      bool                   `protobuf:"varint,3,opt,name=optional,proto3" json:"optional,omitempty"`
	Name          string                 `protobuf:"bytes,4,opt,name=name,proto3" json:"name,omitempty"`
	Version       int32                  `protobuf:"varint,5,opt,name=version,proto3" json:"version,omitempty"` // 0: none
	Doc           string                 `protobuf:"bytes,6,opt,name=doc,proto3" json:"doc,omitempty"`
	Parameters    map[string]string      `protobuf:"bytes,7,rep,name=parameters,proto3" json:"parameters,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	Default       []byte                 `protobuf:"bytes,8,opt,name=default,proto3,oneof" json:"default,omitempty"` // a value at the root under this schema
	Fields        []*Field               `protobuf:"bytes,9,rep,name=fields,proto3" json:"fields,omitempty"`         // of a STRUCT
	Keys          *Schema                `protobuf:"bytes,10,opt,name=keys,proto3" json:"keys,omitempty"`            // of a MAP
	Values        *Schema                `protobuf:"bytes,11,opt,name=values,proto3" json:"values,omitempty"`        // a MAP's, or an ARRAY's elements
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Schema) Reset() {
	*x = Schema{}
	mi := &file_connect_proto_msgTypes[13]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Schema) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Schema) ProtoMessage() {}

func (x *Schema) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[13]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Schema.ProtoReflect.Descriptor instead.
func (*Schema) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{13}
}

func (x *Schema) GetId() uint32 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Schema) GetType() Schema_Type {
	if x != nil {
		return x.Type
	}
	return Schema_INT8
}

func (x *Schema) GetOptional() bool {
	if x != nil {
		return x.Optional
	}
	return false
}

func (x *Schema) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Schema) GetVersion() int32 {
	if x != nil {
		return x.Version
	}
	return 0
}

func (x *Schema) GetDoc() string {
	if x != nil {
		return x.Doc
	}
	return ""
}

func (x *Schema) GetParameters() map[string]string {
	if x != nil {
		return x.Parameters
	}
	return nil
}

func (x *Schema) GetDefault() []byte {
	if x != nil {
		return x.Default
	}
	return nil
}

func (x *Schema) GetFields() []*Field {
	if x != nil {
		return x.Fields
	}
	return nil
}

func (x *Schema) GetKeys() *Schema {
	if x != nil {
		return x.Keys
	}
	return nil
}

func (x *Schema) GetValues() *Schema {
	if x != nil {
		return x.Values
	}
	return nil
}

type Field struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Name          string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Schema        *Schema                `protobuf:"bytes,2,opt,name=schema,proto3" json:"schema,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Field) Reset() {
	*x = Field{}
	mi := &file_connect_proto_msgTypes[14]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Field) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Field) ProtoMessage() {}

func (x *Field) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[14]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Field.ProtoReflect.Descriptor instead.
func (*Field) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{14}
}

func (x *Field) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Field) GetSchema() *Schema {
	if x != nil {
		return x.Schema
	}
	return nil
}

// Route is what many records have in common.
type Route struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint32                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"` // from 1
	Topic         string                 `protobuf:"bytes,2,opt,name=topic,proto3" json:"topic,omitempty"`
	Partition     *int32                 `protobuf:"varint,3,opt,name=partition,proto3,oneof" json:"partition,omitempty"` // from a source: absent: by key; to a sink: as consumed
	KeySchema     uint32                 `protobuf:"varint,4,opt,name=key_schema,json=keySchema,proto3" json:"key_schema,omitempty"`
	ValueSchema   uint32                 `protobuf:"varint,5,opt,name=value_schema,json=valueSchema,proto3" json:"value_schema,omitempty"`
	ReadFrom      string                 `protobuf:"bytes,6,opt,name=read_from,json=readFrom,proto3" json:"read_from,omitempty"`                                                                                    // sink: the topic it was consumed from, if a transform renamed it
	Raw           bool                   `protobuf:"varint,7,opt,name=raw,proto3" json:"raw,omitempty"`                                                                                                             // source: no transform, no converter; durable before any later row of the stream
	TopicConfig   map[string]string      `protobuf:"bytes,8,rep,name=topic_config,json=topicConfig,proto3" json:"topic_config,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"` // of a raw route: settings the topic is made with
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Route) Reset() {
	*x = Route{}
	mi := &file_connect_proto_msgTypes[15]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Route) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Route) ProtoMessage() {}

func (x *Route) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[15]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Route.ProtoReflect.Descriptor instead.
func (*Route) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{15}
}

func (x *Route) GetId() uint32 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Route) GetTopic() string {
	if x != nil {
		return x.Topic
	}
	return ""
}

func (x *Route) GetPartition() int32 {
	if x != nil && x.Partition != nil {
		return *x.Partition
	}
	return 0
}

func (x *Route) GetKeySchema() uint32 {
	if x != nil {
		return x.KeySchema
	}
	return 0
}

func (x *Route) GetValueSchema() uint32 {
	if x != nil {
		return x.ValueSchema
	}
	return 0
}

func (x *Route) GetReadFrom() string {
	if x != nil {
		return x.ReadFrom
	}
	return ""
}

func (x *Route) GetRaw() bool {
	if x != nil {
		return x.Raw
	}
	return false
}

func (x *Route) GetTopicConfig() map[string]string {
	if x != nil {
		return x.TopicConfig
	}
	return nil
}

type Batch struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint64                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	Count         uint32                 `protobuf:"varint,2,opt,name=count,proto3" json:"count,omitempty"` // of rows; a batch without rows may carry a position and is acked like others
	BaseTimestamp int64                  `protobuf:"varint,3,opt,name=base_timestamp,json=baseTimestamp,proto3" json:"base_timestamp,omitempty"`
	Rows          []byte                 `protobuf:"bytes,4,opt,name=rows,proto3" json:"rows,omitempty"`
	Positions     []*Position            `protobuf:"bytes,5,rep,name=positions,proto3" json:"positions,omitempty"` // source: in order of rows
	Next          []*PartitionOffset     `protobuf:"bytes,6,rep,name=next,proto3" json:"next,omitempty"`           // sink: the offsets behind this batch
	Slot          uint32                 `protobuf:"varint,7,opt,name=slot,proto3" json:"slot,omitempty"`          // sink: where in shared memory the rows stand, from 1; 0: in `rows`
	Length        uint32                 `protobuf:"varint,8,opt,name=length,proto3" json:"length,omitempty"`      // of the rows in the slot
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Batch) Reset() {
	*x = Batch{}
	mi := &file_connect_proto_msgTypes[16]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Batch) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Batch) ProtoMessage() {}

func (x *Batch) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[16]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Batch.ProtoReflect.Descriptor instead.
func (*Batch) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{16}
}

func (x *Batch) GetId() uint64 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Batch) GetCount() uint32 {
	if x != nil {
		return x.Count
	}
	return 0
}

func (x *Batch) GetBaseTimestamp() int64 {
	if x != nil {
		return x.BaseTimestamp
	}
	return 0
}

func (x *Batch) GetRows() []byte {
	if x != nil {
		return x.Rows
	}
	return nil
}

func (x *Batch) GetPositions() []*Position {
	if x != nil {
		return x.Positions
	}
	return nil
}

func (x *Batch) GetNext() []*PartitionOffset {
	if x != nil {
		return x.Next
	}
	return nil
}

func (x *Batch) GetSlot() uint32 {
	if x != nil {
		return x.Slot
	}
	return 0
}

func (x *Batch) GetLength() uint32 {
	if x != nil {
		return x.Length
	}
	return 0
}

// Position: go on from offset in partition once all rows before it are durable. partition and offset are flat JSON objects.
type Position struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Rows          uint32                 `protobuf:"varint,1,opt,name=rows,proto3" json:"rows,omitempty"`          // of this batch before it
	Partition     string                 `protobuf:"bytes,2,opt,name=partition,proto3" json:"partition,omitempty"` // empty: a mark alone
	Offset        *string                `protobuf:"bytes,3,opt,name=offset,proto3,oneof" json:"offset,omitempty"` // absent: forget the partition
	Transaction   Position_Mark          `protobuf:"varint,4,opt,name=transaction,proto3,enum=penstock.connect.v1.Position_Mark" json:"transaction,omitempty"`
	AckOnly       bool                   `protobuf:"varint,5,opt,name=ack_only,json=ackOnly,proto3" json:"ack_only,omitempty"` // say when it is durable, store nothing (queues that are acknowledged at their end)
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Position) Reset() {
	*x = Position{}
	mi := &file_connect_proto_msgTypes[17]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Position) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Position) ProtoMessage() {}

func (x *Position) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[17]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Position.ProtoReflect.Descriptor instead.
func (*Position) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{17}
}

func (x *Position) GetRows() uint32 {
	if x != nil {
		return x.Rows
	}
	return 0
}

func (x *Position) GetPartition() string {
	if x != nil {
		return x.Partition
	}
	return ""
}

func (x *Position) GetOffset() string {
	if x != nil && x.Offset != nil {
		return *x.Offset
	}
	return ""
}

func (x *Position) GetTransaction() Position_Mark {
	if x != nil {
		return x.Transaction
	}
	return Position_NONE
}

func (x *Position) GetAckOnly() bool {
	if x != nil {
		return x.AckOnly
	}
	return false
}

// PartitionOffset: topics as consumed.
type PartitionOffset struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Topic         string                 `protobuf:"bytes,1,opt,name=topic,proto3" json:"topic,omitempty"`
	Partition     int32                  `protobuf:"varint,2,opt,name=partition,proto3" json:"partition,omitempty"`
	Offset        int64                  `protobuf:"varint,3,opt,name=offset,proto3" json:"offset,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *PartitionOffset) Reset() {
	*x = PartitionOffset{}
	mi := &file_connect_proto_msgTypes[18]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *PartitionOffset) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*PartitionOffset) ProtoMessage() {}

func (x *PartitionOffset) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[18]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use PartitionOffset.ProtoReflect.Descriptor instead.
func (*PartitionOffset) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{18}
}

func (x *PartitionOffset) GetTopic() string {
	if x != nil {
		return x.Topic
	}
	return ""
}

func (x *PartitionOffset) GetPartition() int32 {
	if x != nil {
		return x.Partition
	}
	return 0
}

func (x *PartitionOffset) GetOffset() int64 {
	if x != nil {
		return x.Offset
	}
	return 0
}

// Credit is granted by whoever receives batches, in bytes of rows.
type Credit struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Bytes         uint64                 `protobuf:"varint,1,opt,name=bytes,proto3" json:"bytes,omitempty"`
	Slots         []uint32               `protobuf:"varint,2,rep,packed,name=slots,proto3" json:"slots,omitempty"` // of Open.shared, free from now on
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Credit) Reset() {
	*x = Credit{}
	mi := &file_connect_proto_msgTypes[19]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Credit) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Credit) ProtoMessage() {}

func (x *Credit) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[19]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Credit.ProtoReflect.Descriptor instead.
func (*Credit) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{19}
}

func (x *Credit) GetBytes() uint64 {
	if x != nil {
		return x.Bytes
	}
	return 0
}

func (x *Credit) GetSlots() []uint32 {
	if x != nil {
		return x.Slots
	}
	return nil
}

// Shared is memory of a stream that the host writes rows to and the plugin reads them from.
type Shared struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Path          string                 `protobuf:"bytes,1,opt,name=path,proto3" json:"path,omitempty"` // a file of slots * slot_bytes, to be opened before `opened` is sent
	Slots         uint32                 `protobuf:"varint,2,opt,name=slots,proto3" json:"slots,omitempty"`
	SlotBytes     uint32                 `protobuf:"varint,3,opt,name=slot_bytes,json=slotBytes,proto3" json:"slot_bytes,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Shared) Reset() {
	*x = Shared{}
	mi := &file_connect_proto_msgTypes[20]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Shared) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Shared) ProtoMessage() {}

func (x *Shared) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[20]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Shared.ProtoReflect.Descriptor instead.
func (*Shared) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{20}
}

func (x *Shared) GetPath() string {
	if x != nil {
		return x.Path
	}
	return ""
}

func (x *Shared) GetSlots() uint32 {
	if x != nil {
		return x.Slots
	}
	return 0
}

func (x *Shared) GetSlotBytes() uint32 {
	if x != nil {
		return x.SlotBytes
	}
	return 0
}

type Failure struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Kind          Failure_Kind           `protobuf:"varint,1,opt,name=kind,proto3,enum=penstock.connect.v1.Failure_Kind" json:"kind,omitempty"`
	Message       string                 `protobuf:"bytes,2,opt,name=message,proto3" json:"message,omitempty"`
	Key           string                 `protobuf:"bytes,3,opt,name=key,proto3" json:"key,omitempty"`                               // of CONFIG
	BackoffMs     int64                  `protobuf:"varint,4,opt,name=backoff_ms,json=backoffMs,proto3" json:"backoff_ms,omitempty"` // of TRANSIENT
	Trace         string                 `protobuf:"bytes,5,opt,name=trace,proto3" json:"trace,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Failure) Reset() {
	*x = Failure{}
	mi := &file_connect_proto_msgTypes[21]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Failure) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Failure) ProtoMessage() {}

func (x *Failure) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[21]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Failure.ProtoReflect.Descriptor instead.
func (*Failure) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{21}
}

func (x *Failure) GetKind() Failure_Kind {
	if x != nil {
		return x.Kind
	}
	return Failure_SYSTEM
}

func (x *Failure) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

func (x *Failure) GetKey() string {
	if x != nil {
		return x.Key
	}
	return ""
}

func (x *Failure) GetBackoffMs() int64 {
	if x != nil {
		return x.BackoffMs
	}
	return 0
}

func (x *Failure) GetTrace() string {
	if x != nil {
		return x.Trace
	}
	return ""
}

// Report says why nothing moves, and values of declared metrics.
type Report struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	WaitingFor    string                 `protobuf:"bytes,1,opt,name=waiting_for,json=waitingFor,proto3" json:"waiting_for,omitempty"`
	Metrics       map[string]float64     `protobuf:"bytes,2,rep,name=metrics,proto3" json:"metrics,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"fixed64,2,opt,name=value"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Report) Reset() {
	*x = Report{}
	mi := &file_connect_proto_msgTypes[22]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Report) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Report) ProtoMessage() {}

func (x *Report) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[22]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Report.ProtoReflect.Descriptor instead.
func (*Report) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{22}
}

func (x *Report) GetWaitingFor() string {
	if x != nil {
		return x.WaitingFor
	}
	return ""
}

func (x *Report) GetMetrics() map[string]float64 {
	if x != nil {
		return x.Metrics
	}
	return nil
}

type Open struct {
	state           protoimpl.MessageState `protogen:"open.v1"`
	Connector       string                 `protobuf:"bytes,1,opt,name=connector,proto3" json:"connector,omitempty"`
	Task            uint32                 `protobuf:"varint,2,opt,name=task,proto3" json:"task,omitempty"`
	Config          *Config                `protobuf:"bytes,3,opt,name=config,proto3" json:"config,omitempty"`
	MaxBatchBytes   uint64                 `protobuf:"varint,4,opt,name=max_batch_bytes,json=maxBatchBytes,proto3" json:"max_batch_bytes,omitempty"`    // close batches at this size; one record may be larger, up to max_message_bytes
	RetryTimeoutMs  int64                  `protobuf:"varint,5,opt,name=retry_timeout_ms,json=retryTimeoutMs,proto3" json:"retry_timeout_ms,omitempty"` // how long a TRANSIENT error is retried by the plugin before it is a failure; 0: not at all
	Committed       []*Position            `protobuf:"bytes,6,rep,name=committed,proto3" json:"committed,omitempty"`
	MaxMessageBytes uint64                 `protobuf:"varint,7,opt,name=max_message_bytes,json=maxMessageBytes,proto3" json:"max_message_bytes,omitempty"` // of one gRPC message
	Shared          *Shared                `protobuf:"bytes,8,opt,name=shared,proto3" json:"shared,omitempty"`                                             // sink: absent: rows come in batches alone
	unknownFields   protoimpl.UnknownFields
	sizeCache       protoimpl.SizeCache
}

func (x *Open) Reset() {
	*x = Open{}
	mi := &file_connect_proto_msgTypes[23]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Open) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Open) ProtoMessage() {}

func (x *Open) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[23]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Open.ProtoReflect.Descriptor instead.
func (*Open) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{23}
}

func (x *Open) GetConnector() string {
	if x != nil {
		return x.Connector
	}
	return ""
}

func (x *Open) GetTask() uint32 {
	if x != nil {
		return x.Task
	}
	return 0
}

func (x *Open) GetConfig() *Config {
	if x != nil {
		return x.Config
	}
	return nil
}

func (x *Open) GetMaxBatchBytes() uint64 {
	if x != nil {
		return x.MaxBatchBytes
	}
	return 0
}

func (x *Open) GetRetryTimeoutMs() int64 {
	if x != nil {
		return x.RetryTimeoutMs
	}
	return 0
}

func (x *Open) GetCommitted() []*Position {
	if x != nil {
		return x.Committed
	}
	return nil
}

func (x *Open) GetMaxMessageBytes() uint64 {
	if x != nil {
		return x.MaxMessageBytes
	}
	return 0
}

func (x *Open) GetShared() *Shared {
	if x != nil {
		return x.Shared
	}
	return nil
}

// ReadTopic asks the host for a topic's records from its start; answered by TopicRecords with the same id.
type ReadTopic struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint32                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	Topic         string                 `protobuf:"bytes,2,opt,name=topic,proto3" json:"topic,omitempty"`
	Follow        bool                   `protobuf:"varint,3,opt,name=follow,proto3" json:"follow,omitempty"` // on and on, instead of to the end of now
	Cancel        bool                   `protobuf:"varint,4,opt,name=cancel,proto3" json:"cancel,omitempty"` // of an earlier request
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReadTopic) Reset() {
	*x = ReadTopic{}
	mi := &file_connect_proto_msgTypes[24]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReadTopic) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReadTopic) ProtoMessage() {}

func (x *ReadTopic) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[24]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReadTopic.ProtoReflect.Descriptor instead.
func (*ReadTopic) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{24}
}

func (x *ReadTopic) GetId() uint32 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *ReadTopic) GetTopic() string {
	if x != nil {
		return x.Topic
	}
	return ""
}

func (x *ReadTopic) GetFollow() bool {
	if x != nil {
		return x.Follow
	}
	return false
}

func (x *ReadTopic) GetCancel() bool {
	if x != nil {
		return x.Cancel
	}
	return false
}

type TopicRecords struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint32                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	Batch         *Batch                 `protobuf:"bytes,2,opt,name=batch,proto3" json:"batch,omitempty"`
	End           bool                   `protobuf:"varint,3,opt,name=end,proto3" json:"end,omitempty"`
	Failure       *Failure               `protobuf:"bytes,4,opt,name=failure,proto3" json:"failure,omitempty"` // with end: the topic could not be read
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *TopicRecords) Reset() {
	*x = TopicRecords{}
	mi := &file_connect_proto_msgTypes[25]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *TopicRecords) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*TopicRecords) ProtoMessage() {}

func (x *TopicRecords) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[25]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use TopicRecords.ProtoReflect.Descriptor instead.
func (*TopicRecords) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{25}
}

func (x *TopicRecords) GetId() uint32 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *TopicRecords) GetBatch() *Batch {
	if x != nil {
		return x.Batch
	}
	return nil
}

func (x *TopicRecords) GetEnd() bool {
	if x != nil {
		return x.End
	}
	return false
}

func (x *TopicRecords) GetFailure() *Failure {
	if x != nil {
		return x.Failure
	}
	return nil
}

type Done struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Done) Reset() {
	*x = Done{}
	mi := &file_connect_proto_msgTypes[26]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Done) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Done) ProtoMessage() {}

func (x *Done) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[26]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Done.ProtoReflect.Descriptor instead.
func (*Done) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{26}
}

type Flush struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	All           bool                   `protobuf:"varint,1,opt,name=all,proto3" json:"all,omitempty"` // nothing may stay behind (revoke, stop)
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Flush) Reset() {
	*x = Flush{}
	mi := &file_connect_proto_msgTypes[27]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Flush) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Flush) ProtoMessage() {}

func (x *Flush) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[27]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Flush.ProtoReflect.Descriptor instead.
func (*Flush) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{27}
}

func (x *Flush) GetAll() bool {
	if x != nil {
		return x.All
	}
	return false
}

type Ack struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Batch         uint64                 `protobuf:"varint,1,opt,name=batch,proto3" json:"batch,omitempty"`      // all positions up to this batch are durable
	Produced      []*Produced            `protobuf:"bytes,2,rep,name=produced,proto3" json:"produced,omitempty"` // of this batch, only if the connector wants it
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Ack) Reset() {
	*x = Ack{}
	mi := &file_connect_proto_msgTypes[28]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Ack) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Ack) ProtoMessage() {}

func (x *Ack) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[28]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Ack.ProtoReflect.Descriptor instead.
func (*Ack) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{28}
}

func (x *Ack) GetBatch() uint64 {
	if x != nil {
		return x.Batch
	}
	return 0
}

func (x *Ack) GetProduced() []*Produced {
	if x != nil {
		return x.Produced
	}
	return nil
}

type Produced struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Row           uint32                 `protobuf:"varint,1,opt,name=row,proto3" json:"row,omitempty"`
	Count         uint32                 `protobuf:"varint,2,opt,name=count,proto3" json:"count,omitempty"` // 0: the row was filtered
	Partition     int32                  `protobuf:"varint,3,opt,name=partition,proto3" json:"partition,omitempty"`
	FirstOffset   int64                  `protobuf:"varint,4,opt,name=first_offset,json=firstOffset,proto3" json:"first_offset,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Produced) Reset() {
	*x = Produced{}
	mi := &file_connect_proto_msgTypes[29]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Produced) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Produced) ProtoMessage() {}

func (x *Produced) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[29]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Produced.ProtoReflect.Descriptor instead.
func (*Produced) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{29}
}

func (x *Produced) GetRow() uint32 {
	if x != nil {
		return x.Row
	}
	return 0
}

func (x *Produced) GetCount() uint32 {
	if x != nil {
		return x.Count
	}
	return 0
}

func (x *Produced) GetPartition() int32 {
	if x != nil {
		return x.Partition
	}
	return 0
}

func (x *Produced) GetFirstOffset() int64 {
	if x != nil {
		return x.FirstOffset
	}
	return 0
}

type ToSource struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Msg:
	//
	//	*ToSource_Open
	//	*ToSource_Credit
	//	*ToSource_Ack
	//	*ToSource_Stop
	//	*ToSource_Topic
	//	*ToSource_Schema
	//	*ToSource_Route
	Msg           isToSource_Msg `protobuf_oneof:"msg"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ToSource) Reset() {
	*x = ToSource{}
	mi := &file_connect_proto_msgTypes[30]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ToSource) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ToSource) ProtoMessage() {}

func (x *ToSource) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[30]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ToSource.ProtoReflect.Descriptor instead.
func (*ToSource) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{30}
}

func (x *ToSource) GetMsg() isToSource_Msg {
	if x != nil {
		return x.Msg
	}
	return nil
}

func (x *ToSource) GetOpen() *Open {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Open); ok {
			return x.Open
		}
	}
	return nil
}

func (x *ToSource) GetCredit() *Credit {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Credit); ok {
			return x.Credit
		}
	}
	return nil
}

func (x *ToSource) GetAck() *Ack {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Ack); ok {
			return x.Ack
		}
	}
	return nil
}

func (x *ToSource) GetStop() *Done {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Stop); ok {
			return x.Stop
		}
	}
	return nil
}

func (x *ToSource) GetTopic() *TopicRecords {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Topic); ok {
			return x.Topic
		}
	}
	return nil
}

func (x *ToSource) GetSchema() *Schema {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Schema); ok {
			return x.Schema
		}
	}
	return nil
}

func (x *ToSource) GetRoute() *Route {
	if x != nil {
		if x, ok := x.Msg.(*ToSource_Route); ok {
			return x.Route
		}
	}
	return nil
}

type isToSource_Msg interface {
	isToSource_Msg()
}

type ToSource_Open struct {
	Open *Open `protobuf:"bytes,1,opt,name=open,proto3,oneof"`
}

type ToSource_Credit struct {
	Credit *Credit `protobuf:"bytes,2,opt,name=credit,proto3,oneof"`
}

type ToSource_Ack struct {
	Ack *Ack `protobuf:"bytes,3,opt,name=ack,proto3,oneof"`
}

type ToSource_Stop struct {
	Stop *Done `protobuf:"bytes,4,opt,name=stop,proto3,oneof"`
}

type ToSource_Topic struct {
	Topic *TopicRecords `protobuf:"bytes,5,opt,name=topic,proto3,oneof"`
}

type ToSource_Schema struct {
	Schema *Schema `protobuf:"bytes,6,opt,name=schema,proto3,oneof"` // of topic records
}

type ToSource_Route struct {
	Route *Route `protobuf:"bytes,7,opt,name=route,proto3,oneof"` // of topic records
}

func (*ToSource_Open) isToSource_Msg() {}

func (*ToSource_Credit) isToSource_Msg() {}

func (*ToSource_Ack) isToSource_Msg() {}

func (*ToSource_Stop) isToSource_Msg() {}

func (*ToSource_Topic) isToSource_Msg() {}

func (*ToSource_Schema) isToSource_Msg() {}

func (*ToSource_Route) isToSource_Msg() {}

type FromSource struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Msg:
	//
	//	*FromSource_Opened
	//	*FromSource_Schema
	//	*FromSource_Route
	//	*FromSource_Batch
	//	*FromSource_Failure
	//	*FromSource_Report
	//	*FromSource_Closed
	//	*FromSource_Read
	//	*FromSource_Credit
	Msg           isFromSource_Msg `protobuf_oneof:"msg"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *FromSource) Reset() {
	*x = FromSource{}
	mi := &file_connect_proto_msgTypes[31]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *FromSource) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*FromSource) ProtoMessage() {}

func (x *FromSource) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[31]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use FromSource.ProtoReflect.Descriptor instead.
func (*FromSource) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{31}
}

func (x *FromSource) GetMsg() isFromSource_Msg {
	if x != nil {
		return x.Msg
	}
	return nil
}

func (x *FromSource) GetOpened() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Opened); ok {
			return x.Opened
		}
	}
	return nil
}

func (x *FromSource) GetSchema() *Schema {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Schema); ok {
			return x.Schema
		}
	}
	return nil
}

func (x *FromSource) GetRoute() *Route {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Route); ok {
			return x.Route
		}
	}
	return nil
}

func (x *FromSource) GetBatch() *Batch {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Batch); ok {
			return x.Batch
		}
	}
	return nil
}

func (x *FromSource) GetFailure() *Failure {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Failure); ok {
			return x.Failure
		}
	}
	return nil
}

func (x *FromSource) GetReport() *Report {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Report); ok {
			return x.Report
		}
	}
	return nil
}

func (x *FromSource) GetClosed() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Closed); ok {
			return x.Closed
		}
	}
	return nil
}

func (x *FromSource) GetRead() *ReadTopic {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Read); ok {
			return x.Read
		}
	}
	return nil
}

func (x *FromSource) GetCredit() *Credit {
	if x != nil {
		if x, ok := x.Msg.(*FromSource_Credit); ok {
			return x.Credit
		}
	}
	return nil
}

type isFromSource_Msg interface {
	isFromSource_Msg()
}

type FromSource_Opened struct {
	Opened *Done `protobuf:"bytes,1,opt,name=opened,proto3,oneof"`
}

type FromSource_Schema struct {
	Schema *Schema `protobuf:"bytes,2,opt,name=schema,proto3,oneof"`
}

type FromSource_Route struct {
	Route *Route `protobuf:"bytes,3,opt,name=route,proto3,oneof"`
}

type FromSource_Batch struct {
	Batch *Batch `protobuf:"bytes,4,opt,name=batch,proto3,oneof"`
}

type FromSource_Failure struct {
	Failure *Failure `protobuf:"bytes,5,opt,name=failure,proto3,oneof"`
}

type FromSource_Report struct {
	Report *Report `protobuf:"bytes,6,opt,name=report,proto3,oneof"`
}

type FromSource_Closed struct {
	Closed *Done `protobuf:"bytes,7,opt,name=closed,proto3,oneof"`
}

type FromSource_Read struct {
	Read *ReadTopic `protobuf:"bytes,8,opt,name=read,proto3,oneof"`
}

type FromSource_Credit struct {
	Credit *Credit `protobuf:"bytes,9,opt,name=credit,proto3,oneof"` // for topic records
}

func (*FromSource_Opened) isFromSource_Msg() {}

func (*FromSource_Schema) isFromSource_Msg() {}

func (*FromSource_Route) isFromSource_Msg() {}

func (*FromSource_Batch) isFromSource_Msg() {}

func (*FromSource_Failure) isFromSource_Msg() {}

func (*FromSource_Report) isFromSource_Msg() {}

func (*FromSource_Closed) isFromSource_Msg() {}

func (*FromSource_Read) isFromSource_Msg() {}

func (*FromSource_Credit) isFromSource_Msg() {}

type ToSink struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Msg:
	//
	//	*ToSink_Open
	//	*ToSink_Assign
	//	*ToSink_Revoke
	//	*ToSink_Lost
	//	*ToSink_Schema
	//	*ToSink_Route
	//	*ToSink_Batch
	//	*ToSink_Flush
	//	*ToSink_Stop
	Msg           isToSink_Msg `protobuf_oneof:"msg"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ToSink) Reset() {
	*x = ToSink{}
	mi := &file_connect_proto_msgTypes[32]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ToSink) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ToSink) ProtoMessage() {}

func (x *ToSink) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[32]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ToSink.ProtoReflect.Descriptor instead.
func (*ToSink) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{32}
}

func (x *ToSink) GetMsg() isToSink_Msg {
	if x != nil {
		return x.Msg
	}
	return nil
}

func (x *ToSink) GetOpen() *Open {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Open); ok {
			return x.Open
		}
	}
	return nil
}

func (x *ToSink) GetAssign() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Assign); ok {
			return x.Assign
		}
	}
	return nil
}

func (x *ToSink) GetRevoke() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Revoke); ok {
			return x.Revoke
		}
	}
	return nil
}

func (x *ToSink) GetLost() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Lost); ok {
			return x.Lost
		}
	}
	return nil
}

func (x *ToSink) GetSchema() *Schema {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Schema); ok {
			return x.Schema
		}
	}
	return nil
}

func (x *ToSink) GetRoute() *Route {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Route); ok {
			return x.Route
		}
	}
	return nil
}

func (x *ToSink) GetBatch() *Batch {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Batch); ok {
			return x.Batch
		}
	}
	return nil
}

func (x *ToSink) GetFlush() *Flush {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Flush); ok {
			return x.Flush
		}
	}
	return nil
}

func (x *ToSink) GetStop() *Done {
	if x != nil {
		if x, ok := x.Msg.(*ToSink_Stop); ok {
			return x.Stop
		}
	}
	return nil
}

type isToSink_Msg interface {
	isToSink_Msg()
}

type ToSink_Open struct {
	Open *Open `protobuf:"bytes,1,opt,name=open,proto3,oneof"`
}

type ToSink_Assign struct {
	Assign *Offsets `protobuf:"bytes,2,opt,name=assign,proto3,oneof"`
}

type ToSink_Revoke struct {
	Revoke *Offsets `protobuf:"bytes,3,opt,name=revoke,proto3,oneof"` // after flush(all)
}

type ToSink_Lost struct {
	Lost *Offsets `protobuf:"bytes,4,opt,name=lost,proto3,oneof"` // another has them already
}

type ToSink_Schema struct {
	Schema *Schema `protobuf:"bytes,5,opt,name=schema,proto3,oneof"`
}

type ToSink_Route struct {
	Route *Route `protobuf:"bytes,6,opt,name=route,proto3,oneof"`
}

type ToSink_Batch struct {
	Batch *Batch `protobuf:"bytes,7,opt,name=batch,proto3,oneof"`
}

type ToSink_Flush struct {
	Flush *Flush `protobuf:"bytes,8,opt,name=flush,proto3,oneof"`
}

type ToSink_Stop struct {
	Stop *Done `protobuf:"bytes,9,opt,name=stop,proto3,oneof"`
}

func (*ToSink_Open) isToSink_Msg() {}

func (*ToSink_Assign) isToSink_Msg() {}

func (*ToSink_Revoke) isToSink_Msg() {}

func (*ToSink_Lost) isToSink_Msg() {}

func (*ToSink_Schema) isToSink_Msg() {}

func (*ToSink_Route) isToSink_Msg() {}

func (*ToSink_Batch) isToSink_Msg() {}

func (*ToSink_Flush) isToSink_Msg() {}

func (*ToSink_Stop) isToSink_Msg() {}

type FromSink struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Msg:
	//
	//	*FromSink_Opened
	//	*FromSink_Credit
	//	*FromSink_Durable
	//	*FromSink_Failed
	//	*FromSink_Seek
	//	*FromSink_Flushed
	//	*FromSink_Failure
	//	*FromSink_Report
	//	*FromSink_Closed
	//	*FromSink_Assigned
	//	*FromSink_Revoked
	//	*FromSink_Commit
	Msg           isFromSink_Msg `protobuf_oneof:"msg"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *FromSink) Reset() {
	*x = FromSink{}
	mi := &file_connect_proto_msgTypes[33]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *FromSink) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*FromSink) ProtoMessage() {}

func (x *FromSink) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[33]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use FromSink.ProtoReflect.Descriptor instead.
func (*FromSink) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{33}
}

func (x *FromSink) GetMsg() isFromSink_Msg {
	if x != nil {
		return x.Msg
	}
	return nil
}

func (x *FromSink) GetOpened() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Opened); ok {
			return x.Opened
		}
	}
	return nil
}

func (x *FromSink) GetCredit() *Credit {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Credit); ok {
			return x.Credit
		}
	}
	return nil
}

func (x *FromSink) GetDurable() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Durable); ok {
			return x.Durable
		}
	}
	return nil
}

func (x *FromSink) GetFailed() *Failed {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Failed); ok {
			return x.Failed
		}
	}
	return nil
}

func (x *FromSink) GetSeek() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Seek); ok {
			return x.Seek
		}
	}
	return nil
}

func (x *FromSink) GetFlushed() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Flushed); ok {
			return x.Flushed
		}
	}
	return nil
}

func (x *FromSink) GetFailure() *Failure {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Failure); ok {
			return x.Failure
		}
	}
	return nil
}

func (x *FromSink) GetReport() *Report {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Report); ok {
			return x.Report
		}
	}
	return nil
}

func (x *FromSink) GetClosed() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Closed); ok {
			return x.Closed
		}
	}
	return nil
}

func (x *FromSink) GetAssigned() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Assigned); ok {
			return x.Assigned
		}
	}
	return nil
}

func (x *FromSink) GetRevoked() *Offsets {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Revoked); ok {
			return x.Revoked
		}
	}
	return nil
}

func (x *FromSink) GetCommit() *Done {
	if x != nil {
		if x, ok := x.Msg.(*FromSink_Commit); ok {
			return x.Commit
		}
	}
	return nil
}

type isFromSink_Msg interface {
	isFromSink_Msg()
}

type FromSink_Opened struct {
	Opened *Done `protobuf:"bytes,1,opt,name=opened,proto3,oneof"`
}

type FromSink_Credit struct {
	Credit *Credit `protobuf:"bytes,2,opt,name=credit,proto3,oneof"`
}

type FromSink_Durable struct {
	Durable *Offsets `protobuf:"bytes,3,opt,name=durable,proto3,oneof"`
}

type FromSink_Failed struct {
	Failed *Failed `protobuf:"bytes,4,opt,name=failed,proto3,oneof"`
}

type FromSink_Seek struct {
	Seek *Offsets `protobuf:"bytes,5,opt,name=seek,proto3,oneof"` // answered by a fresh assign of those partitions; their rows until then are dropped by the plugin
}

type FromSink_Flushed struct {
	Flushed *Done `protobuf:"bytes,6,opt,name=flushed,proto3,oneof"`
}

type FromSink_Failure struct {
	Failure *Failure `protobuf:"bytes,7,opt,name=failure,proto3,oneof"`
}

type FromSink_Report struct {
	Report *Report `protobuf:"bytes,8,opt,name=report,proto3,oneof"`
}

type FromSink_Closed struct {
	Closed *Done `protobuf:"bytes,9,opt,name=closed,proto3,oneof"`
}

type FromSink_Assigned struct {
	Assigned *Offsets `protobuf:"bytes,12,opt,name=assigned,proto3,oneof"` // answers assign: where to begin; no rows of these partitions come before it
}

type FromSink_Revoked struct {
	Revoked *Offsets `protobuf:"bytes,13,opt,name=revoked,proto3,oneof"` // answers revoke and lost
}

type FromSink_Commit struct {
	Commit *Done `protobuf:"bytes,14,opt,name=commit,proto3,oneof"` // please flush before the interval is over
}

func (*FromSink_Opened) isFromSink_Msg() {}

func (*FromSink_Credit) isFromSink_Msg() {}

func (*FromSink_Durable) isFromSink_Msg() {}

func (*FromSink_Failed) isFromSink_Msg() {}

func (*FromSink_Seek) isFromSink_Msg() {}

func (*FromSink_Flushed) isFromSink_Msg() {}

func (*FromSink_Failure) isFromSink_Msg() {}

func (*FromSink_Report) isFromSink_Msg() {}

func (*FromSink_Closed) isFromSink_Msg() {}

func (*FromSink_Assigned) isFromSink_Msg() {}

func (*FromSink_Revoked) isFromSink_Msg() {}

func (*FromSink_Commit) isFromSink_Msg() {}

type Offsets struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Of            []*PartitionOffset     `protobuf:"bytes,1,rep,name=of,proto3" json:"of,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Offsets) Reset() {
	*x = Offsets{}
	mi := &file_connect_proto_msgTypes[34]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Offsets) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Offsets) ProtoMessage() {}

func (x *Offsets) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[34]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Offsets.ProtoReflect.Descriptor instead.
func (*Offsets) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{34}
}

func (x *Offsets) GetOf() []*PartitionOffset {
	if x != nil {
		return x.Of
	}
	return nil
}

type Failed struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Record        *PartitionOffset       `protobuf:"bytes,1,opt,name=record,proto3" json:"record,omitempty"`
	Why           *Failure               `protobuf:"bytes,2,opt,name=why,proto3" json:"why,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Failed) Reset() {
	*x = Failed{}
	mi := &file_connect_proto_msgTypes[35]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Failed) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Failed) ProtoMessage() {}

func (x *Failed) ProtoReflect() protoreflect.Message {
	mi := &file_connect_proto_msgTypes[35]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Failed.ProtoReflect.Descriptor instead.
func (*Failed) Descriptor() ([]byte, []int) {
	return file_connect_proto_rawDescGZIP(), []int{35}
}

func (x *Failed) GetRecord() *PartitionOffset {
	if x != nil {
		return x.Record
	}
	return nil
}

func (x *Failed) GetWhy() *Failure {
	if x != nil {
		return x.Why
	}
	return nil
}

var File_connect_proto protoreflect.FileDescriptor

const file_connect_proto_rawDesc = "" +
	"\n" +
	"\rconnect.proto\x12\x13penstock.connect.v1\"\x11\n" +
	"\x0fDescribeRequest\"_\n" +
	"\fDescriptions\x120\n" +
	"\x02of\x18\x01 \x03(\v2 .penstock.connect.v1.DescriptionR\x02of\x12\x1d\n" +
	"\n" +
	"depends_on\x18\x02 \x03(\tR\tdependsOn\"\xb0\x03\n" +
	"\vDescription\x12\x1a\n" +
	"\bprotocol\x18\x01 \x01(\rR\bprotocol\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\x12\x18\n" +
	"\aversion\x18\x03 \x01(\tR\aversion\x12\x10\n" +
	"\x03doc\x18\x04 \x01(\tR\x03doc\x12\x18\n" +
	"\aaliases\x18\x05 \x03(\tR\aaliases\x129\n" +
	"\x04kind\x18\x06 \x01(\x0e2%.penstock.connect.v1.Description.KindR\x04kind\x120\n" +
	"\x06config\x18\a \x03(\v2\x18.penstock.connect.v1.KeyR\x06config\x125\n" +
	"\x16transaction_boundaries\x18\b \x01(\bR\x15transactionBoundaries\x12%\n" +
	"\x0ewants_produced\x18\t \x01(\bR\rwantsProduced\x125\n" +
	"\ametrics\x18\n" +
	" \x03(\v2\x1b.penstock.connect.v1.MetricR\ametrics\")\n" +
	"\x04Kind\x12\v\n" +
	"\aUNKNOWN\x10\x00\x12\n" +
	"\n" +
	"\x06SOURCE\x10\x01\x12\b\n" +
	"\x04SINK\x10\x02\"\x9a\x01\n" +
	"\x06Metric\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x124\n" +
	"\x04kind\x18\x02 \x01(\x0e2 .penstock.connect.v1.Metric.KindR\x04kind\x12\x12\n" +
	"\x04unit\x18\x03 \x01(\tR\x04unit\x12\x12\n" +
	"\x04help\x18\x04 \x01(\tR\x04help\"\x1e\n" +
	"\x04Kind\x12\t\n" +
	"\x05GAUGE\x10\x00\x12\v\n" +
	"\aCOUNTER\x10\x01\"\xc2\x05\n" +
	"\x03Key\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x121\n" +
	"\x04type\x18\x02 \x01(\x0e2\x1d.penstock.connect.v1.Key.TypeR\x04type\x12\x1d\n" +
	"\adefault\x18\x03 \x01(\tH\x00R\adefault\x88\x01\x01\x12C\n" +
	"\n" +
	"importance\x18\x04 \x01(\x0e2#.penstock.connect.v1.Key.ImportanceR\n" +
	"importance\x12\x10\n" +
	"\x03doc\x18\x05 \x01(\tR\x03doc\x12\x14\n" +
	"\x05group\x18\x06 \x01(\tR\x05group\x12\x18\n" +
	"\adisplay\x18\a \x01(\tR\adisplay\x12\x14\n" +
	"\x05order\x18\b \x01(\x05R\x05order\x12\x14\n" +
	"\x05width\x18\t \x01(\x05R\x05width\x12\x1e\n" +
	"\n" +
	"dependents\x18\n" +
	" \x03(\tR\n" +
	"dependents\x12\x15\n" +
	"\x06one_of\x18\v \x03(\tR\x05oneOf\x12\x15\n" +
	"\x03min\x18\f \x01(\x01H\x01R\x03min\x88\x01\x01\x12\x15\n" +
	"\x03max\x18\r \x01(\x01H\x02R\x03max\x88\x01\x01\x12\x1a\n" +
	"\binternal\x18\x0e \x01(\bR\binternal\x12\x16\n" +
	"\x06format\x18\x0f \x01(\tR\x06format\x12\x18\n" +
	"\aexample\x18\x10 \x01(\tR\aexample\x12\x1a\n" +
	"\brequired\x18\x11 \x01(\bR\brequired\x12\x1c\n" +
	"\tsuggested\x18\x12 \x03(\tR\tsuggested\"l\n" +
	"\x04Type\x12\n" +
	"\n" +
	"\x06STRING\x10\x00\x12\v\n" +
	"\aBOOLEAN\x10\x01\x12\a\n" +
	"\x03INT\x10\x02\x12\t\n" +
	"\x05SHORT\x10\x03\x12\b\n" +
	"\x04LONG\x10\x04\x12\n" +
	"\n" +
	"\x06DOUBLE\x10\x05\x12\b\n" +
	"\x04LIST\x10\x06\x12\t\n" +
	"\x05CLASS\x10\a\x12\f\n" +
	"\bPASSWORD\x10\b\"+\n" +
	"\n" +
	"Importance\x12\b\n" +
	"\x04HIGH\x10\x00\x12\n" +
	"\n" +
	"\x06MEDIUM\x10\x01\x12\a\n" +
	"\x03LOW\x10\x02B\n" +
	"\n" +
	"\b_defaultB\x06\n" +
	"\x04_minB\x06\n" +
	"\x04_max\"\xa2\x01\n" +
	"\x06Config\x12?\n" +
	"\x06values\x18\x01 \x03(\v2'.penstock.connect.v1.Config.ValuesEntryR\x06values\x12\x1c\n" +
	"\tconnector\x18\x02 \x01(\tR\tconnector\x1a9\n" +
	"\vValuesEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"i\n" +
	"\n" +
	"Validation\x128\n" +
	"\bfindings\x18\x01 \x03(\v2\x1c.penstock.connect.v1.FindingR\bfindings\x12!\n" +
	"\fexactly_once\x18\x02 \x01(\bR\vexactlyOnce\"\x89\x01\n" +
	"\aFinding\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x16\n" +
	"\x06errors\x18\x02 \x03(\tR\x06errors\x12 \n" +
	"\vrecommended\x18\x03 \x03(\tR\vrecommended\x12\x16\n" +
	"\x06hidden\x18\x04 \x01(\bR\x06hidden\x12\x1a\n" +
	"\bwarnings\x18\x05 \x03(\tR\bwarnings\"\x92\x01\n" +
	"\fTasksRequest\x123\n" +
	"\x06config\x18\x01 \x01(\v2\x1b.penstock.connect.v1.ConfigR\x06config\x12\x10\n" +
	"\x03max\x18\x02 \x01(\rR\x03max\x12;\n" +
	"\tcommitted\x18\x03 \x03(\v2\x1d.penstock.connect.v1.PositionR\tcommitted\"?\n" +
	"\n" +
	"TasksReply\x121\n" +
	"\x05tasks\x18\x01 \x03(\v2\x1b.penstock.connect.v1.ConfigR\x05tasks\"\t\n" +
	"\aChanged\"\x99\x01\n" +
	"\fAlterRequest\x123\n" +
	"\x06config\x18\x01 \x01(\v2\x1b.penstock.connect.v1.ConfigR\x06config\x12;\n" +
	"\tpositions\x18\x02 \x03(\v2\x1d.penstock.connect.v1.PositionR\tpositions\x12\x17\n" +
	"\adry_run\x18\x03 \x01(\bR\x06dryRun\"(\n" +
	"\n" +
	"AlterReply\x12\x1a\n" +
	"\bexternal\x18\x01 \x01(\bR\bexternal\"\x8d\x05\n" +
	"\x06Schema\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\rR\x02id\x124\n" +
	"\x04type\x18\x02 \x01(\x0e2 .penstock.connect.v1.Schema.TypeR\x04type\x12\x1a\n" +
	"\boptional\x18\x03 \x01(\bR\boptional\x12\x12\n" +
	"\x04name\x18\x04 \x01(\tR\x04name\x12\x18\n" +
	"\aversion\x18\x05 \x01(\x05R\aversion\x12\x10\n" +
	"\x03doc\x18\x06 \x01(\tR\x03doc\x12K\n" +
	"\n" +
	"parameters\x18\a \x03(\v2+.penstock.connect.v1.Schema.ParametersEntryR\n" +
	"parameters\x12\x1d\n" +
	"\adefault\x18\b \x01(\fH\x00R\adefault\x88\x01\x01\x122\n" +
	"\x06fields\x18\t \x03(\v2\x1a.penstock.connect.v1.FieldR\x06fields\x12/\n" +
	"\x04keys\x18\n" +
	" \x01(\v2\x1b.penstock.connect.v1.SchemaR\x04keys\x123\n" +
	"\x06values\x18\v \x01(\v2\x1b.penstock.connect.v1.SchemaR\x06values\x1a=\n" +
	"\x0fParametersEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"\x8f\x01\n" +
	"\x04Type\x12\b\n" +
	"\x04INT8\x10\x00\x12\t\n" +
	"\x05INT16\x10\x01\x12\t\n" +
	"\x05INT32\x10\x02\x12\t\n" +
	"\x05INT64\x10\x03\x12\v\n" +
	"\aFLOAT32\x10\x04\x12\v\n" +
	"\aFLOAT64\x10\x05\x12\v\n" +
	"\aBOOLEAN\x10\x06\x12\n" +
	"\n" +
	"\x06STRING\x10\a\x12\t\n" +
	"\x05BYTES\x10\b\x12\t\n" +
	"\x05ARRAY\x10\t\x12\a\n" +
	"\x03MAP\x10\n" +
	"\x12\n" +
	"\n" +
	"\x06STRUCT\x10\vB\n" +
	"\n" +
	"\b_default\"P\n" +
	"\x05Field\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x123\n" +
	"\x06schema\x18\x02 \x01(\v2\x1b.penstock.connect.v1.SchemaR\x06schema\"\xdf\x02\n" +
	"\x05Route\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\rR\x02id\x12\x14\n" +
	"\x05topic\x18\x02 \x01(\tR\x05topic\x12!\n" +
	"\tpartition\x18\x03 \x01(\x05H\x00R\tpartition\x88\x01\x01\x12\x1d\n" +
	"\n" +
	"key_schema\x18\x04 \x01(\rR\tkeySchema\x12!\n" +
	"\fvalue_schema\x18\x05 \x01(\rR\vvalueSchema\x12\x1b\n" +
	"\tread_from\x18\x06 \x01(\tR\breadFrom\x12\x10\n" +
	"\x03raw\x18\a \x01(\bR\x03raw\x12N\n" +
	"\ftopic_config\x18\b \x03(\v2+.penstock.connect.v1.Route.TopicConfigEntryR\vtopicConfig\x1a>\n" +
	"\x10TopicConfigEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01B\f\n" +
	"\n" +
	"_partition\"\x8b\x02\n" +
	"\x05Batch\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\x04R\x02id\x12\x14\n" +
	"\x05count\x18\x02 \x01(\rR\x05count\x12%\n" +
	"\x0ebase_timestamp\x18\x03 \x01(\x03R\rbaseTimestamp\x12\x12\n" +
	"\x04rows\x18\x04 \x01(\fR\x04rows\x12;\n" +
	"\tpositions\x18\x05 \x03(\v2\x1d.penstock.connect.v1.PositionR\tpositions\x128\n" +
	"\x04next\x18\x06 \x03(\v2$.penstock.connect.v1.PartitionOffsetR\x04next\x12\x12\n" +
	"\x04slot\x18\a \x01(\rR\x04slot\x12\x16\n" +
	"\x06length\x18\b \x01(\rR\x06length\"\xf9\x01\n" +
	"\bPosition\x12\x12\n" +
	"\x04rows\x18\x01 \x01(\rR\x04rows\x12\x1c\n" +
	"\tpartition\x18\x02 \x01(\tR\tpartition\x12\x1b\n" +
	"\x06offset\x18\x03 \x01(\tH\x00R\x06offset\x88\x01\x01\x12D\n" +
	"\vtransaction\x18\x04 \x01(\x0e2\".penstock.connect.v1.Position.MarkR\vtransaction\x12\x19\n" +
	"\back_only\x18\x05 \x01(\bR\aackOnly\"2\n" +
	"\x04Mark\x12\b\n" +
	"\x04NONE\x10\x00\x12\t\n" +
	"\x05BEGIN\x10\x01\x12\n" +
	"\n" +
	"\x06COMMIT\x10\x02\x12\t\n" +
	"\x05ABORT\x10\x03B\t\n" +
	"\a_offset\"]\n" +
	"\x0fPartitionOffset\x12\x14\n" +
	"\x05topic\x18\x01 \x01(\tR\x05topic\x12\x1c\n" +
	"\tpartition\x18\x02 \x01(\x05R\tpartition\x12\x16\n" +
	"\x06offset\x18\x03 \x01(\x03R\x06offset\"4\n" +
	"\x06Credit\x12\x14\n" +
	"\x05bytes\x18\x01 \x01(\x04R\x05bytes\x12\x14\n" +
	"\x05slots\x18\x02 \x03(\rR\x05slots\"Q\n" +
	"\x06Shared\x12\x12\n" +
	"\x04path\x18\x01 \x01(\tR\x04path\x12\x14\n" +
	"\x05slots\x18\x02 \x01(\rR\x05slots\x12\x1d\n" +
	"\n" +
	"slot_bytes\x18\x03 \x01(\rR\tslotBytes\"\xff\x01\n" +
	"\aFailure\x125\n" +
	"\x04kind\x18\x01 \x01(\x0e2!.penstock.connect.v1.Failure.KindR\x04kind\x12\x18\n" +
	"\amessage\x18\x02 \x01(\tR\amessage\x12\x10\n" +
	"\x03key\x18\x03 \x01(\tR\x03key\x12\x1d\n" +
	"\n" +
	"backoff_ms\x18\x04 \x01(\x03R\tbackoffMs\x12\x14\n" +
	"\x05trace\x18\x05 \x01(\tR\x05trace\"\\\n" +
	"\x04Kind\x12\n" +
	"\n" +
	"\x06SYSTEM\x10\x00\x12\n" +
	"\n" +
	"\x06CONFIG\x10\x01\x12\b\n" +
	"\x04DATA\x10\x02\x12\r\n" +
	"\tTRANSIENT\x10\x03\x12\x11\n" +
	"\rNOT_CONNECTED\x10\x04\x12\x10\n" +
	"\fEND_OF_INPUT\x10\x05\"\xa9\x01\n" +
	"\x06Report\x12\x1f\n" +
	"\vwaiting_for\x18\x01 \x01(\tR\n" +
	"waitingFor\x12B\n" +
	"\ametrics\x18\x02 \x03(\v2(.penstock.connect.v1.Report.MetricsEntryR\ametrics\x1a:\n" +
	"\fMetricsEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\x01R\x05value:\x028\x01\"\xdd\x02\n" +
	"\x04Open\x12\x1c\n" +
	"\tconnector\x18\x01 \x01(\tR\tconnector\x12\x12\n" +
	"\x04task\x18\x02 \x01(\rR\x04task\x123\n" +
	"\x06config\x18\x03 \x01(\v2\x1b.penstock.connect.v1.ConfigR\x06config\x12&\n" +
	"\x0fmax_batch_bytes\x18\x04 \x01(\x04R\rmaxBatchBytes\x12(\n" +
	"\x10retry_timeout_ms\x18\x05 \x01(\x03R\x0eretryTimeoutMs\x12;\n" +
	"\tcommitted\x18\x06 \x03(\v2\x1d.penstock.connect.v1.PositionR\tcommitted\x12*\n" +
	"\x11max_message_bytes\x18\a \x01(\x04R\x0fmaxMessageBytes\x123\n" +
	"\x06shared\x18\b \x01(\v2\x1b.penstock.connect.v1.SharedR\x06shared\"a\n" +
	"\tReadTopic\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\rR\x02id\x12\x14\n" +
	"\x05topic\x18\x02 \x01(\tR\x05topic\x12\x16\n" +
	"\x06follow\x18\x03 \x01(\bR\x06follow\x12\x16\n" +
	"\x06cancel\x18\x04 \x01(\bR\x06cancel\"\x9a\x01\n" +
	"\fTopicRecords\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\rR\x02id\x120\n" +
	"\x05batch\x18\x02 \x01(\v2\x1a.penstock.connect.v1.BatchR\x05batch\x12\x10\n" +
	"\x03end\x18\x03 \x01(\bR\x03end\x126\n" +
	"\afailure\x18\x04 \x01(\v2\x1c.penstock.connect.v1.FailureR\afailure\"\x06\n" +
	"\x04Done\"\x19\n" +
	"\x05Flush\x12\x10\n" +
	"\x03all\x18\x01 \x01(\bR\x03all\"V\n" +
	"\x03Ack\x12\x14\n" +
	"\x05batch\x18\x01 \x01(\x04R\x05batch\x129\n" +
	"\bproduced\x18\x02 \x03(\v2\x1d.penstock.connect.v1.ProducedR\bproduced\"s\n" +
	"\bProduced\x12\x10\n" +
	"\x03row\x18\x01 \x01(\rR\x03row\x12\x14\n" +
	"\x05count\x18\x02 \x01(\rR\x05count\x12\x1c\n" +
	"\tpartition\x18\x03 \x01(\x05R\tpartition\x12!\n" +
	"\ffirst_offset\x18\x04 \x01(\x03R\vfirstOffset\"\xfe\x02\n" +
	"\bToSource\x12/\n" +
	"\x04open\x18\x01 \x01(\v2\x19.penstock.connect.v1.OpenH\x00R\x04open\x125\n" +
	"\x06credit\x18\x02 \x01(\v2\x1b.penstock.connect.v1.CreditH\x00R\x06credit\x12,\n" +
	"\x03ack\x18\x03 \x01(\v2\x18.penstock.connect.v1.AckH\x00R\x03ack\x12/\n" +
	"\x04stop\x18\x04 \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x04stop\x129\n" +
	"\x05topic\x18\x05 \x01(\v2!.penstock.connect.v1.TopicRecordsH\x00R\x05topic\x125\n" +
	"\x06schema\x18\x06 \x01(\v2\x1b.penstock.connect.v1.SchemaH\x00R\x06schema\x122\n" +
	"\x05route\x18\a \x01(\v2\x1a.penstock.connect.v1.RouteH\x00R\x05routeB\x05\n" +
	"\x03msg\"\xfa\x03\n" +
	"\n" +
	"FromSource\x123\n" +
	"\x06opened\x18\x01 \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x06opened\x125\n" +
	"\x06schema\x18\x02 \x01(\v2\x1b.penstock.connect.v1.SchemaH\x00R\x06schema\x122\n" +
	"\x05route\x18\x03 \x01(\v2\x1a.penstock.connect.v1.RouteH\x00R\x05route\x122\n" +
	"\x05batch\x18\x04 \x01(\v2\x1a.penstock.connect.v1.BatchH\x00R\x05batch\x128\n" +
	"\afailure\x18\x05 \x01(\v2\x1c.penstock.connect.v1.FailureH\x00R\afailure\x125\n" +
	"\x06report\x18\x06 \x01(\v2\x1b.penstock.connect.v1.ReportH\x00R\x06report\x123\n" +
	"\x06closed\x18\a \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x06closed\x124\n" +
	"\x04read\x18\b \x01(\v2\x1e.penstock.connect.v1.ReadTopicH\x00R\x04read\x125\n" +
	"\x06credit\x18\t \x01(\v2\x1b.penstock.connect.v1.CreditH\x00R\x06creditB\x05\n" +
	"\x03msg\"\xe8\x03\n" +
	"\x06ToSink\x12/\n" +
	"\x04open\x18\x01 \x01(\v2\x19.penstock.connect.v1.OpenH\x00R\x04open\x126\n" +
	"\x06assign\x18\x02 \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\x06assign\x126\n" +
	"\x06revoke\x18\x03 \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\x06revoke\x122\n" +
	"\x04lost\x18\x04 \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\x04lost\x125\n" +
	"\x06schema\x18\x05 \x01(\v2\x1b.penstock.connect.v1.SchemaH\x00R\x06schema\x122\n" +
	"\x05route\x18\x06 \x01(\v2\x1a.penstock.connect.v1.RouteH\x00R\x05route\x122\n" +
	"\x05batch\x18\a \x01(\v2\x1a.penstock.connect.v1.BatchH\x00R\x05batch\x122\n" +
	"\x05flush\x18\b \x01(\v2\x1a.penstock.connect.v1.FlushH\x00R\x05flush\x12/\n" +
	"\x04stop\x18\t \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x04stopB\x05\n" +
	"\x03msg\"\xb6\x05\n" +
	"\bFromSink\x123\n" +
	"\x06opened\x18\x01 \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x06opened\x125\n" +
	"\x06credit\x18\x02 \x01(\v2\x1b.penstock.connect.v1.CreditH\x00R\x06credit\x128\n" +
	"\adurable\x18\x03 \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\adurable\x125\n" +
	"\x06failed\x18\x04 \x01(\v2\x1b.penstock.connect.v1.FailedH\x00R\x06failed\x122\n" +
	"\x04seek\x18\x05 \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\x04seek\x125\n" +
	"\aflushed\x18\x06 \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\aflushed\x128\n" +
	"\afailure\x18\a \x01(\v2\x1c.penstock.connect.v1.FailureH\x00R\afailure\x125\n" +
	"\x06report\x18\b \x01(\v2\x1b.penstock.connect.v1.ReportH\x00R\x06report\x123\n" +
	"\x06closed\x18\t \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x06closed\x12:\n" +
	"\bassigned\x18\f \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\bassigned\x128\n" +
	"\arevoked\x18\r \x01(\v2\x1c.penstock.connect.v1.OffsetsH\x00R\arevoked\x123\n" +
	"\x06commit\x18\x0e \x01(\v2\x19.penstock.connect.v1.DoneH\x00R\x06commitB\x05\n" +
	"\x03msgJ\x04\b\n" +
	"\x10\vJ\x04\b\v\x10\f\"?\n" +
	"\aOffsets\x124\n" +
	"\x02of\x18\x01 \x03(\v2$.penstock.connect.v1.PartitionOffsetR\x02of\"v\n" +
	"\x06Failed\x12<\n" +
	"\x06record\x18\x01 \x01(\v2$.penstock.connect.v1.PartitionOffsetR\x06record\x12.\n" +
	"\x03why\x18\x02 \x01(\v2\x1c.penstock.connect.v1.FailureR\x03why2\xe3\x04\n" +
	"\tConnector\x12S\n" +
	"\bDescribe\x12$.penstock.connect.v1.DescribeRequest\x1a!.penstock.connect.v1.Descriptions\x12H\n" +
	"\bValidate\x12\x1b.penstock.connect.v1.Config\x1a\x1f.penstock.connect.v1.Validation\x12K\n" +
	"\x05Tasks\x12!.penstock.connect.v1.TasksRequest\x1a\x1f.penstock.connect.v1.TasksReply\x12D\n" +
	"\x05Watch\x12\x1b.penstock.connect.v1.Config\x1a\x1c.penstock.connect.v1.Changed0\x01\x12K\n" +
	"\x05Alter\x12!.penstock.connect.v1.AlterRequest\x1a\x1f.penstock.connect.v1.AlterReply\x12A\n" +
	"\aDeleted\x12\x1b.penstock.connect.v1.Config\x1a\x19.penstock.connect.v1.Done\x12L\n" +
	"\x06Source\x12\x1d.penstock.connect.v1.ToSource\x1a\x1f.penstock.connect.v1.FromSource(\x010\x01\x12F\n" +
	"\x04Sink\x12\x1b.penstock.connect.v1.ToSink\x1a\x1d.penstock.connect.v1.FromSink(\x010\x01B6Z4github.com/penstockio/penstock/connect-api/connectpbb\x06proto3"

var (
	file_connect_proto_rawDescOnce sync.Once
	file_connect_proto_rawDescData []byte
)

func file_connect_proto_rawDescGZIP() []byte {
	file_connect_proto_rawDescOnce.Do(func() {
		file_connect_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_connect_proto_rawDesc), len(file_connect_proto_rawDesc)))
	})
	return file_connect_proto_rawDescData
}

var file_connect_proto_enumTypes = make([]protoimpl.EnumInfo, 7)
var file_connect_proto_msgTypes = make([]protoimpl.MessageInfo, 40)
var file_connect_proto_goTypes = []any{
	(Description_Kind)(0),   // 0: penstock.connect.v1.Description.Kind
	(Metric_Kind)(0),        // 1: penstock.connect.v1.Metric.Kind
	(Key_Type)(0),           // 2: penstock.connect.v1.Key.Type
	(Key_Importance)(0),     // 3: penstock.connect.v1.Key.Importance
	(Schema_Type)(0),        // 4: penstock.connect.v1.Schema.Type
	(Position_Mark)(0),      // 5: penstock.connect.v1.Position.Mark
	(Failure_Kind)(0),       // 6: penstock.connect.v1.Failure.Kind
	(*DescribeRequest)(nil), // 7: penstock.connect.v1.DescribeRequest
	(*Descriptions)(nil),    // 8: penstock.connect.v1.Descriptions
	(*Description)(nil),     // 9: penstock.connect.v1.Description
	(*Metric)(nil),          // 10: penstock.connect.v1.Metric
	(*Key)(nil),             // 11: penstock.connect.v1.Key
	(*Config)(nil),          // 12: penstock.connect.v1.Config
	(*Validation)(nil),      // 13: penstock.connect.v1.Validation
	(*Finding)(nil),         // 14: penstock.connect.v1.Finding
	(*TasksRequest)(nil),    // 15: penstock.connect.v1.TasksRequest
	(*TasksReply)(nil),      // 16: penstock.connect.v1.TasksReply
	(*Changed)(nil),         // 17: penstock.connect.v1.Changed
	(*AlterRequest)(nil),    // 18: penstock.connect.v1.AlterRequest
	(*AlterReply)(nil),      // 19: penstock.connect.v1.AlterReply
	(*Schema)(nil),          // 20: penstock.connect.v1.Schema
	(*Field)(nil),           // 21: penstock.connect.v1.Field
	(*Route)(nil),           // 22: penstock.connect.v1.Route
	(*Batch)(nil),           // 23: penstock.connect.v1.Batch
	(*Position)(nil),        // 24: penstock.connect.v1.Position
	(*PartitionOffset)(nil), // 25: penstock.connect.v1.PartitionOffset
	(*Credit)(nil),          // 26: penstock.connect.v1.Credit
	(*Shared)(nil),          // 27: penstock.connect.v1.Shared
	(*Failure)(nil),         // 28: penstock.connect.v1.Failure
	(*Report)(nil),          // 29: penstock.connect.v1.Report
	(*Open)(nil),            // 30: penstock.connect.v1.Open
	(*ReadTopic)(nil),       // 31: penstock.connect.v1.ReadTopic
	(*TopicRecords)(nil),    // 32: penstock.connect.v1.TopicRecords
	(*Done)(nil),            // 33: penstock.connect.v1.Done
	(*Flush)(nil),           // 34: penstock.connect.v1.Flush
	(*Ack)(nil),             // 35: penstock.connect.v1.Ack
	(*Produced)(nil),        // 36: penstock.connect.v1.Produced
	(*ToSource)(nil),        // 37: penstock.connect.v1.ToSource
	(*FromSource)(nil),      // 38: penstock.connect.v1.FromSource
	(*ToSink)(nil),          // 39: penstock.connect.v1.ToSink
	(*FromSink)(nil),        // 40: penstock.connect.v1.FromSink
	(*Offsets)(nil),         // 41: penstock.connect.v1.Offsets
	(*Failed)(nil),          // 42: penstock.connect.v1.Failed
	nil,                     // 43: penstock.connect.v1.Config.ValuesEntry
	nil,                     // 44: penstock.connect.v1.Schema.ParametersEntry
	nil,                     // 45: penstock.connect.v1.Route.TopicConfigEntry
	nil,                     // 46: penstock.connect.v1.Report.MetricsEntry
}
var file_connect_proto_depIdxs = []int32{
	9,  // 0: penstock.connect.v1.Descriptions.of:type_name -> penstock.connect.v1.Description
	0,  // 1: penstock.connect.v1.Description.kind:type_name -> penstock.connect.v1.Description.Kind
	11, // 2: penstock.connect.v1.Description.config:type_name -> penstock.connect.v1.Key
	10, // 3: penstock.connect.v1.Description.metrics:type_name -> penstock.connect.v1.Metric
	1,  // 4: penstock.connect.v1.Metric.kind:type_name -> penstock.connect.v1.Metric.Kind
	2,  // 5: penstock.connect.v1.Key.type:type_name -> penstock.connect.v1.Key.Type
	3,  // 6: penstock.connect.v1.Key.importance:type_name -> penstock.connect.v1.Key.Importance
	43, // 7: penstock.connect.v1.Config.values:type_name -> penstock.connect.v1.Config.ValuesEntry
	14, // 8: penstock.connect.v1.Validation.findings:type_name -> penstock.connect.v1.Finding
	12, // 9: penstock.connect.v1.TasksRequest.config:type_name -> penstock.connect.v1.Config
	24, // 10: penstock.connect.v1.TasksRequest.committed:type_name -> penstock.connect.v1.Position
	12, // 11: penstock.connect.v1.TasksReply.tasks:type_name -> penstock.connect.v1.Config
	12, // 12: penstock.connect.v1.AlterRequest.config:type_name -> penstock.connect.v1.Config
	24, // 13: penstock.connect.v1.AlterRequest.positions:type_name -> penstock.connect.v1.Position
	4,  // 14: penstock.connect.v1.Schema.type:type_name -> penstock.connect.v1.Schema.Type
	44, // 15: penstock.connect.v1.Schema.parameters:type_name -> penstock.connect.v1.Schema.ParametersEntry
	21, // 16: penstock.connect.v1.Schema.fields:type_name -> penstock.connect.v1.Field
	20, // 17: penstock.connect.v1.Schema.keys:type_name -> penstock.connect.v1.Schema
	20, // 18: penstock.connect.v1.Schema.values:type_name -> penstock.connect.v1.Schema
	20, // 19: penstock.connect.v1.Field.schema:type_name -> penstock.connect.v1.Schema
	45, // 20: penstock.connect.v1.Route.topic_config:type_name -> penstock.connect.v1.Route.TopicConfigEntry
	24, // 21: penstock.connect.v1.Batch.positions:type_name -> penstock.connect.v1.Position
	25, // 22: penstock.connect.v1.Batch.next:type_name -> penstock.connect.v1.PartitionOffset
	5,  // 23: penstock.connect.v1.Position.transaction:type_name -> penstock.connect.v1.Position.Mark
	6,  // 24: penstock.connect.v1.Failure.kind:type_name -> penstock.connect.v1.Failure.Kind
	46, // 25: penstock.connect.v1.Report.metrics:type_name -> penstock.connect.v1.Report.MetricsEntry
	12, // 26: penstock.connect.v1.Open.config:type_name -> penstock.connect.v1.Config
	24, // 27: penstock.connect.v1.Open.committed:type_name -> penstock.connect.v1.Position
	27, // 28: penstock.connect.v1.Open.shared:type_name -> penstock.connect.v1.Shared
	23, // 29: penstock.connect.v1.TopicRecords.batch:type_name -> penstock.connect.v1.Batch
	28, // 30: penstock.connect.v1.TopicRecords.failure:type_name -> penstock.connect.v1.Failure
	36, // 31: penstock.connect.v1.Ack.produced:type_name -> penstock.connect.v1.Produced
	30, // 32: penstock.connect.v1.ToSource.open:type_name -> penstock.connect.v1.Open
	26, // 33: penstock.connect.v1.ToSource.credit:type_name -> penstock.connect.v1.Credit
	35, // 34: penstock.connect.v1.ToSource.ack:type_name -> penstock.connect.v1.Ack
	33, // 35: penstock.connect.v1.ToSource.stop:type_name -> penstock.connect.v1.Done
	32, // 36: penstock.connect.v1.ToSource.topic:type_name -> penstock.connect.v1.TopicRecords
	20, // 37: penstock.connect.v1.ToSource.schema:type_name -> penstock.connect.v1.Schema
	22, // 38: penstock.connect.v1.ToSource.route:type_name -> penstock.connect.v1.Route
	33, // 39: penstock.connect.v1.FromSource.opened:type_name -> penstock.connect.v1.Done
	20, // 40: penstock.connect.v1.FromSource.schema:type_name -> penstock.connect.v1.Schema
	22, // 41: penstock.connect.v1.FromSource.route:type_name -> penstock.connect.v1.Route
	23, // 42: penstock.connect.v1.FromSource.batch:type_name -> penstock.connect.v1.Batch
	28, // 43: penstock.connect.v1.FromSource.failure:type_name -> penstock.connect.v1.Failure
	29, // 44: penstock.connect.v1.FromSource.report:type_name -> penstock.connect.v1.Report
	33, // 45: penstock.connect.v1.FromSource.closed:type_name -> penstock.connect.v1.Done
	31, // 46: penstock.connect.v1.FromSource.read:type_name -> penstock.connect.v1.ReadTopic
	26, // 47: penstock.connect.v1.FromSource.credit:type_name -> penstock.connect.v1.Credit
	30, // 48: penstock.connect.v1.ToSink.open:type_name -> penstock.connect.v1.Open
	41, // 49: penstock.connect.v1.ToSink.assign:type_name -> penstock.connect.v1.Offsets
	41, // 50: penstock.connect.v1.ToSink.revoke:type_name -> penstock.connect.v1.Offsets
	41, // 51: penstock.connect.v1.ToSink.lost:type_name -> penstock.connect.v1.Offsets
	20, // 52: penstock.connect.v1.ToSink.schema:type_name -> penstock.connect.v1.Schema
	22, // 53: penstock.connect.v1.ToSink.route:type_name -> penstock.connect.v1.Route
	23, // 54: penstock.connect.v1.ToSink.batch:type_name -> penstock.connect.v1.Batch
	34, // 55: penstock.connect.v1.ToSink.flush:type_name -> penstock.connect.v1.Flush
	33, // 56: penstock.connect.v1.ToSink.stop:type_name -> penstock.connect.v1.Done
	33, // 57: penstock.connect.v1.FromSink.opened:type_name -> penstock.connect.v1.Done
	26, // 58: penstock.connect.v1.FromSink.credit:type_name -> penstock.connect.v1.Credit
	41, // 59: penstock.connect.v1.FromSink.durable:type_name -> penstock.connect.v1.Offsets
	42, // 60: penstock.connect.v1.FromSink.failed:type_name -> penstock.connect.v1.Failed
	41, // 61: penstock.connect.v1.FromSink.seek:type_name -> penstock.connect.v1.Offsets
	33, // 62: penstock.connect.v1.FromSink.flushed:type_name -> penstock.connect.v1.Done
	28, // 63: penstock.connect.v1.FromSink.failure:type_name -> penstock.connect.v1.Failure
	29, // 64: penstock.connect.v1.FromSink.report:type_name -> penstock.connect.v1.Report
	33, // 65: penstock.connect.v1.FromSink.closed:type_name -> penstock.connect.v1.Done
	41, // 66: penstock.connect.v1.FromSink.assigned:type_name -> penstock.connect.v1.Offsets
	41, // 67: penstock.connect.v1.FromSink.revoked:type_name -> penstock.connect.v1.Offsets
	33, // 68: penstock.connect.v1.FromSink.commit:type_name -> penstock.connect.v1.Done
	25, // 69: penstock.connect.v1.Offsets.of:type_name -> penstock.connect.v1.PartitionOffset
	25, // 70: penstock.connect.v1.Failed.record:type_name -> penstock.connect.v1.PartitionOffset
	28, // 71: penstock.connect.v1.Failed.why:type_name -> penstock.connect.v1.Failure
	7,  // 72: penstock.connect.v1.Connector.Describe:input_type -> penstock.connect.v1.DescribeRequest
	12, // 73: penstock.connect.v1.Connector.Validate:input_type -> penstock.connect.v1.Config
	15, // 74: penstock.connect.v1.Connector.Tasks:input_type -> penstock.connect.v1.TasksRequest
	12, // 75: penstock.connect.v1.Connector.Watch:input_type -> penstock.connect.v1.Config
	18, // 76: penstock.connect.v1.Connector.Alter:input_type -> penstock.connect.v1.AlterRequest
	12, // 77: penstock.connect.v1.Connector.Deleted:input_type -> penstock.connect.v1.Config
	37, // 78: penstock.connect.v1.Connector.Source:input_type -> penstock.connect.v1.ToSource
	39, // 79: penstock.connect.v1.Connector.Sink:input_type -> penstock.connect.v1.ToSink
	8,  // 80: penstock.connect.v1.Connector.Describe:output_type -> penstock.connect.v1.Descriptions
	13, // 81: penstock.connect.v1.Connector.Validate:output_type -> penstock.connect.v1.Validation
	16, // 82: penstock.connect.v1.Connector.Tasks:output_type -> penstock.connect.v1.TasksReply
	17, // 83: penstock.connect.v1.Connector.Watch:output_type -> penstock.connect.v1.Changed
	19, // 84: penstock.connect.v1.Connector.Alter:output_type -> penstock.connect.v1.AlterReply
	33, // 85: penstock.connect.v1.Connector.Deleted:output_type -> penstock.connect.v1.Done
	38, // 86: penstock.connect.v1.Connector.Source:output_type -> penstock.connect.v1.FromSource
	40, // 87: penstock.connect.v1.Connector.Sink:output_type -> penstock.connect.v1.FromSink
	80, // [80:88] is the sub-list for method output_type
	72, // [72:80] is the sub-list for method input_type
	72, // [72:72] is the sub-list for extension type_name
	72, // [72:72] is the sub-list for extension extendee
	0,  // [0:72] is the sub-list for field type_name
}

func init() { file_connect_proto_init() }
func file_connect_proto_init() {
	if File_connect_proto != nil {
		return
	}
	file_connect_proto_msgTypes[4].OneofWrappers = []any{}
	file_connect_proto_msgTypes[13].OneofWrappers = []any{}
	file_connect_proto_msgTypes[15].OneofWrappers = []any{}
	file_connect_proto_msgTypes[17].OneofWrappers = []any{}
	file_connect_proto_msgTypes[30].OneofWrappers = []any{
		(*ToSource_Open)(nil),
		(*ToSource_Credit)(nil),
		(*ToSource_Ack)(nil),
		(*ToSource_Stop)(nil),
		(*ToSource_Topic)(nil),
		(*ToSource_Schema)(nil),
		(*ToSource_Route)(nil),
	}
	file_connect_proto_msgTypes[31].OneofWrappers = []any{
		(*FromSource_Opened)(nil),
		(*FromSource_Schema)(nil),
		(*FromSource_Route)(nil),
		(*FromSource_Batch)(nil),
		(*FromSource_Failure)(nil),
		(*FromSource_Report)(nil),
		(*FromSource_Closed)(nil),
		(*FromSource_Read)(nil),
		(*FromSource_Credit)(nil),
	}
	file_connect_proto_msgTypes[32].OneofWrappers = []any{
		(*ToSink_Open)(nil),
		(*ToSink_Assign)(nil),
		(*ToSink_Revoke)(nil),
		(*ToSink_Lost)(nil),
		(*ToSink_Schema)(nil),
		(*ToSink_Route)(nil),
		(*ToSink_Batch)(nil),
		(*ToSink_Flush)(nil),
		(*ToSink_Stop)(nil),
	}
	file_connect_proto_msgTypes[33].OneofWrappers = []any{
		(*FromSink_Opened)(nil),
		(*FromSink_Credit)(nil),
		(*FromSink_Durable)(nil),
		(*FromSink_Failed)(nil),
		(*FromSink_Seek)(nil),
		(*FromSink_Flushed)(nil),
		(*FromSink_Failure)(nil),
		(*FromSink_Report)(nil),
		(*FromSink_Closed)(nil),
		(*FromSink_Assigned)(nil),
		(*FromSink_Revoked)(nil),
		(*FromSink_Commit)(nil),
	}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_connect_proto_rawDesc), len(file_connect_proto_rawDesc)),
			NumEnums:      7,
			NumMessages:   40,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_connect_proto_goTypes,
		DependencyIndexes: file_connect_proto_depIdxs,
		EnumInfos:         file_connect_proto_enumTypes,
		MessageInfos:      file_connect_proto_msgTypes,
	}.Build()
	File_connect_proto = out.File
	file_connect_proto_goTypes = nil
	file_connect_proto_depIdxs = nil
}
