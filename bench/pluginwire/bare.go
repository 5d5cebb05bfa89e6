package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstockio/penstock/connect-api/connectpb"
)

// The bare arm: a go-plugin plugin whose service is two streams of byte frames, with the codec and the windows of the real one.

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "PLUGINWIRE_BARE", MagicCookieValue: "yes"}

var streams = grpc.ServiceDesc{
	ServiceName: "pluginwire.Bare", HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{
		{StreamName: "Source", Handler: bareSource, ServerStreams: true, ClientStreams: true},
		{StreamName: "Sink", Handler: bareSink, ServerStreams: true, ClientStreams: true},
	},
}

type barePlugin struct{ plugin.NetRPCUnsupportedPlugin }

func (barePlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&streams, struct{}{})
	return nil
}

func (barePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

func received() *connectpb.Frame {
	return &connectpb.Frame{Field: connectpb.SourceBatchField, Msg: &connectpb.FromSource{}}
}

func sent(rows []byte) *connectpb.Frame {
	return &connectpb.Frame{Field: connectpb.SourceBatchField, IsBatch: true, Rows: rows}
}

// bareSource sends as many frames as the first message says.
func bareSource(_ any, s grpc.ServerStream) error {
	f := received()
	if err := s.RecvMsg(f); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint64(f.Rows))
	f.Release()
	rows := newFramer()
	for range n {
		if err := s.SendMsg(sent(rows.frame())); err != nil {
			return err
		}
	}
	return nil
}

// bareSink takes frames to the end and says how many rows there were.
func bareSink(_ any, s grpc.ServerStream) error {
	n := uint64(0)
	w := newWalker()
	for {
		f := received()
		err := s.RecvMsg(f)
		if err == io.EOF {
			return s.SendMsg(sent(binary.BigEndian.AppendUint64(nil, n)))
		}
		if err != nil {
			return err
		}
		rows, err := w.count(f.Rows)
		if err != nil {
			return err
		}
		n += uint64(rows)
		f.Release()
	}
}

func serveBare() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"bare": barePlugin{}}, Logger: hclog.NewNullLogger(),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.ForceServerCodecV2(connectpb.Codec{}),
				grpc.MaxRecvMsgSize(connectpb.DefaultMaxMessage), grpc.InitialWindowSize(1<<20), grpc.InitialConnWindowSize(4<<20),
				grpc.ReadBufferSize(64<<10), grpc.WriteBufferSize(64<<10))...)
		},
	})
}

type bare struct {
	client *plugin.Client
	conn   *grpc.ClientConn
	pid    int
}

func startBare(self string) (*bare, error) {
	cmd := exec.Command(self)
	cmd.Env = []string{"PLUGINWIRE=bare"}
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"bare": barePlugin{}}, Cmd: cmd, SkipHostEnv: true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(connectpb.Codec{})), grpc.WithReadBufferSize(64 << 10),
			grpc.WithWriteBufferSize(64 << 10), grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(4 << 20),
		},
	})
	proto, err := c.Client()
	if err != nil {
		c.Kill()
		return nil, err
	}
	return &bare{client: c, conn: proto.(*plugin.GRPCClient).Conn, pid: cmd.Process.Pid}, nil
}

func (b *bare) stop() { b.client.Kill() }

func (b *bare) open(ctx context.Context, name string) (grpc.ClientStream, error) {
	return b.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/pluginwire.Bare/"+name)
}

func (b *bare) source(ctx context.Context, n int) (time.Duration, error) {
	began := cpu(b.pid)
	s, err := b.open(ctx, "Source")
	if err != nil {
		return 0, err
	}
	if err := s.SendMsg(sent(binary.BigEndian.AppendUint64(nil, uint64(n/perBatch)))); err != nil {
		return 0, err
	}
	w := newWalker()
	for got := 0; got < n; {
		f := received()
		if err := s.RecvMsg(f); err != nil {
			return 0, err
		}
		rows, err := w.count(f.Rows)
		if err != nil {
			return 0, err
		}
		got += rows
		f.Release()
	}
	return cpu(b.pid) - began, nil
}

func (b *bare) sink(ctx context.Context, n int) (time.Duration, error) {
	began := cpu(b.pid)
	s, err := b.open(ctx, "Sink")
	if err != nil {
		return 0, err
	}
	rows := newFramer()
	for range n / perBatch {
		if err := s.SendMsg(sent(rows.frame())); err != nil {
			return 0, err
		}
	}
	if err := s.CloseSend(); err != nil {
		return 0, err
	}
	f := received()
	if err := s.RecvMsg(f); err != nil {
		return 0, err
	}
	if got := binary.BigEndian.Uint64(f.Rows); got != uint64(n) {
		return 0, fmt.Errorf("%d rows arrived", got)
	}
	f.Release()
	return cpu(b.pid) - began, nil
}
