package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

const (
	stopGrace   = 4 * time.Second // for tasks when SIGTERM comes
	hostGone    = 2 * time.Second // without a connection until the host counts as gone
	parentCheck = 2 * time.Second
)

// Main serves the connectors to the worker that started the process, and does not return. Started by hand, it says what the
// binary is and prints its connectors' documentation.
func Main(connectors ...connectapi.Connector) {
	defs, err := definitions(connectors)
	if err != nil {
		fmt.Fprintln(os.Stderr, "This plugin cannot be served:", err)
		os.Exit(1)
	}
	if !started() {
		usage(os.Stdout, os.Args[0], defs)
		os.Exit(0)
	}
	os.Exit(run(defs))
}

func definitions(connectors []connectapi.Connector) ([]*connectapi.Definition, error) {
	var defs []*connectapi.Definition
	names := map[string]bool{}
	for _, c := range connectors {
		d, err := c.Definition()
		if err != nil {
			return nil, err
		}
		switch {
		case d.Name == "" || names[d.Name]:
			return nil, fmt.Errorf("two connectors named %q, or one without a name", d.Name)
		case (d.OpenSource == nil) == (d.OpenSink == nil):
			return nil, fmt.Errorf("connector %s: exactly one of OpenSource and OpenSink must be set", d.Name)
		}
		names[d.Name] = true
		if d.Config == nil {
			d.Config, _ = connectapi.NewConfigDef()
		}
		defs = append(defs, d)
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("it has no connectors")
	}
	return defs, nil
}

// run serves until the host is gone, asks for it by go-plugin's Shutdown, or SIGTERM comes.
func run(defs []*connectapi.Definition) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	srv := newServer(ctx, defs, maxMessage())
	ready := make(chan *plugin.ReattachConfig, 1)
	closed := make(chan struct{})
	serving, stopServing := context.WithCancel(context.Background())
	defer stopServing()
	conns := &connections{gone: make(chan struct{}, 1), ear: &srv.ear}
	// go-plugin's test mode is the one in which it leaves stdout, stderr, signals and the exit to its caller: it would print
	// the handshake on os.Stdout, where code of a connector may print too (I1).
	go plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: connectpb.ProtocolVersion, MagicCookieKey: connectpb.CookieKey, MagicCookieValue: connectpb.CookieValue,
		},
		Plugins:    plugin.PluginSet{"connector": &service{s: srv}},
		Logger:     hclog.NewNullLogger(),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server { return grpc.NewServer(serverOptions(opts, srv, conns)...) },
		Test:       &plugin.ServeTestConfig{Context: serving, ReattachConfigCh: ready, CloseCh: closed},
	})
	select {
	case at := <-ready:
		if err := shakeHands(handshakeOut, at.Addr); err != nil {
			fmt.Fprintln(os.Stderr, "writing the handshake:", err)
			return 1
		}
	case <-closed:
		fmt.Fprintf(os.Stderr, "no socket could be made in %s\n", os.Getenv(connectpb.SocketDirKey))
		return 1
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	parent := os.Getppid()
	tick := time.NewTicker(parentCheck)
	defer tick.Stop()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGINT {
				continue // a terminal's ^C is the host's business
			}
		case <-tick.C:
			if os.Getppid() == parent {
				continue
			}
		case <-conns.gone:
		case <-closed:
		}
		break
	}
	cancel()
	srv.wait(stopGrace)
	stopServing()
	return 0
}

// shakeHands prints go-plugin's line.
func shakeHands(out io.WriteCloser, addr net.Addr) error {
	_, err := fmt.Fprintf(out, "%d|%d|%s|%s|grpc|\n", connectpb.CoreVersion, connectpb.ProtocolVersion, addr.Network(), addr.String())
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// silence is how long the host may be silent; 0: for ever.
func silence() time.Duration {
	ms, err := strconv.ParseInt(os.Getenv(connectpb.SilenceKey), 10, 64)
	if err != nil || ms <= 0 {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

func maxMessage() int {
	n, err := strconv.Atoi(os.Getenv(connectpb.MaxMessageKey))
	if err != nil || n <= 0 || n > connectpb.MaxMessage {
		return connectpb.DefaultMaxMessage
	}
	return n
}

// socketBuffer is what is read from, and written to, the host's socket at once.
const socketBuffer = 256 << 10

// messageRoom is what a message may hold beside rows.
const messageRoom = 1 << 20

func serverOptions(opts []grpc.ServerOption, s *server, c *connections) []grpc.ServerOption {
	return append(opts,
		grpc.ForceServerCodecV2(connectpb.Codec{}),
		grpc.MaxRecvMsgSize(s.maxMessage+messageRoom), grpc.MaxSendMsgSize(s.maxMessage+messageRoom),
		grpc.InitialWindowSize(1<<20), grpc.InitialConnWindowSize(4<<20),
		grpc.ReadBufferSize(socketBuffer), grpc.WriteBufferSize(socketBuffer),
		experimental.BufferPool(connectpb.Buffers), // grpc's own clears what is read over at once
		grpc.StatsHandler(c))
}

// connections notices that the host has gone (I6).
type connections struct {
	n    atomic.Int32
	gone chan struct{}
	ear  *ear
}

var _ stats.Handler = (*connections)(nil)

func (*connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC hears health checks.
func (c *connections) HandleRPC(_ context.Context, s stats.RPCStats) {
	if h, ok := s.(*stats.InHeader); ok && h.FullMethod == grpc_health_v1.Health_Check_FullMethodName {
		c.ear.hear()
	}
}

func (*connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

// HandleConn counts connections; a host that connects again within a moment is the same host.
func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.n.Add(1)
	case *stats.ConnEnd:
		if c.n.Add(-1) == 0 {
			time.AfterFunc(hostGone, func() {
				if c.n.Load() == 0 {
					select {
					case c.gone <- struct{}{}:
					default:
					}
				}
			})
		}
	}
}

// service registers the server with go-plugin.
type service struct {
	plugin.NetRPCUnsupportedPlugin
	s *server
}

var _ plugin.GRPCPlugin = (*service)(nil)

func (p *service) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	connectpb.RegisterConnectorServer(g, p.s)
	return nil
}

func (*service) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("this is the plugin's end")
}
