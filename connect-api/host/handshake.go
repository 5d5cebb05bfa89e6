package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api/connectpb"
)

var errNoHandshake = errors.New("no handshake in time")

// shake is what a plugin says about itself.
type shake struct {
	addr net.Addr
}

// readStdout hands over the first line, and logs what comes later.
func (p *Process) readStdout(r io.Reader, lines chan<- string) {
	in := bufio.NewReaderSize(r, longestLine)
	line, _ := in.ReadSlice('\n')
	first := string(line)
	lines <- first
	close(lines)
	pump(in, p.log, nil)
}

// handshake waits for the first line and reads it.
func (p *Process) handshake(ctx context.Context, lines <-chan string) (*shake, error) {
	fail := &StartError{Path: p.opts.Path}
	var line string
	select {
	case line = <-lines:
	case <-ctx.Done():
		if context.Cause(ctx) != errNoHandshake { // the cause itself
			return nil, fmt.Errorf("starting plugin %s: %w", p.opts.Path, context.Cause(ctx))
		}
		fail.Reason, fail.After, fail.Stderr = NoHandshake, p.opts.StartTimeout, p.Stderr()
		return nil, fail
	}
	if line == "" { // stdout ended: so did the process, or it soon will
		select {
		case <-p.done:
			fail.Reason, fail.Status = ExitedAtOnce, p.status
		case <-ctx.Done():
			fail.Reason, fail.After = NoHandshake, p.opts.StartTimeout
		}
		fail.Stderr = p.Stderr()
		return nil, fail
	}
	hs, err := p.parse(strings.TrimRight(line, "\r\n"))
	if err != nil {
		var s *StartError
		if errors.As(err, &s) {
			s.Path, s.Stderr = p.opts.Path, p.Stderr()
		}
		return nil, err
	}
	return hs, nil
}

// parse reads "core|version|network|address|protocol|certificate".
func (p *Process) parse(line string) (*shake, error) {
	parts := strings.Split(line, "|")
	core, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 4 {
		return nil, &StartError{Reason: PrintedFirst, Printed: line}
	}
	if core != connectpb.CoreVersion {
		return nil, &StartError{Reason: CannotBeSupported, Printed: line}
	}
	if v := parts[1]; v != strconv.Itoa(connectpb.ProtocolVersion) {
		return nil, &StartError{Reason: WrongVersion, HostVersion: connectpb.ProtocolVersion, PluginVersion: v}
	}
	if len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC) {
		return nil, &StartError{Reason: CannotBeSupported, Printed: line}
	}
	if parts[2] != "unix" {
		return nil, &StartError{Reason: CannotBeSupported, Printed: line}
	}
	return &shake{addr: &net.UnixAddr{Name: parts[3], Net: "unix"}}, nil
}

// attached lets go-plugin's client use a process that it did not start.
type attached struct{ p *Process }

var _ runner.AttachedRunner = attached{}

func (a attached) Wait(context.Context) error { <-a.p.done; return nil }
func (a attached) Kill(context.Context) error { return killGroup(a.p.PID()) }
func (a attached) ID() string                 { return strconv.Itoa(a.p.PID()) }

func (attached) PluginToHost(network, addr string) (string, string, error) { return network, addr, nil }

func (attached) HostToPlugin(network, addr string) (string, string, error) { return network, addr, nil }

// socketBuffer is what is written to, and read from, a plugin's socket at once: batches are larger, and each time that one end waits
// for the other costs more than the bytes.
const socketBuffer = 256 << 10

// sendBuffer is what the socket may hold meanwhile, where the system allows so much.
const sendBuffer = 1 << 20

func dialer(to net.Addr) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, to.Network(), to.String())
		if c, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
			_ = c.SetWriteBuffer(sendBuffer) // a smaller one does too
		}
		return conn, err
	}
}

// connect makes the gRPC connection and waits until the plugin's server answers. The process was started here and not by
// go-plugin: it would hide why a start fails, and forks from any thread.
func (p *Process) connect(ctx context.Context, hs *shake) error {
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: connectpb.ProtocolVersion, MagicCookieKey: connectpb.CookieKey, MagicCookieValue: connectpb.CookieValue,
		},
		Plugins:          plugin.PluginSet{},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       &lineLog{log: p.log},
		SyncStderr:       &lineLog{log: p.log, keep: &p.stderr},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(
				grpc.ForceCodecV2(connectpb.Codec{}),
				grpc.MaxCallRecvMsgSize(p.opts.MaxMessageBytes+messageRoom),
				grpc.MaxCallSendMsgSize(p.opts.MaxMessageBytes+messageRoom)),
			grpc.WithReadBufferSize(socketBuffer), grpc.WithWriteBufferSize(socketBuffer), grpc.WithContextDialer(dialer(hs.addr)),
			grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(4 << 20),
			experimental.WithBufferPool(connectpb.Buffers), // grpc's own clears what is read over at once
		},
		Reattach: &plugin.ReattachConfig{
			Protocol: plugin.ProtocolGRPC, ProtocolVersion: connectpb.ProtocolVersion, Addr: hs.addr, Pid: p.PID(),
			ReattachFunc: func() (runner.AttachedRunner, error) { return attached{p}, nil },
		},
	})
	proto, err := p.client.Client()
	if err != nil {
		return p.notReachable(ctx, err)
	}
	g, ok := proto.(*plugin.GRPCClient)
	if !ok {
		return p.notReachable(ctx, fmt.Errorf("it answers by %T", proto))
	}
	p.conn = g.Conn
	p.api = connectpb.NewConnectorClient(g.Conn)
	_, err = grpc_health_v1.NewHealthClient(g.Conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName}, grpc.WaitForReady(true))
	if err != nil {
		return p.notReachable(ctx, err)
	}
	return nil
}

// messageRoom is what a message may hold beside rows.
const messageRoom = 1 << 20

func (p *Process) notReachable(ctx context.Context, err error) error {
	if context.Cause(ctx) == errNoHandshake { // the cause itself
		err = fmt.Errorf("not within %v: %w", p.opts.StartTimeout, err)
	}
	select {
	case <-p.exited:
		return &StartError{Path: p.opts.Path, Reason: ExitedAtOnce, Status: p.status, Stderr: p.Stderr(), Err: err}
	default:
		return &StartError{Path: p.opts.Path, Reason: NotReachable, Err: err, Stderr: p.Stderr()}
	}
}

// isBroken says whether a gRPC error is the connection's.
func isBroken(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.Internal, codes.Unknown:
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed)
}

// lineLog logs what a plugin's Go code wrote to os.Stdout or os.Stderr once go-plugin had taken them.
type lineLog struct {
	log  *slog.Logger
	keep *tail
	part []byte
}

func (l *lineLog) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := strings.IndexByte(string(b), '\n')
		if i < 0 {
			if l.part = append(l.part, b...); len(l.part) < longestLine {
				return n, nil
			}
			i, b = 0, []byte{'\n'}
		}
		line := append(l.part, b[:i]...)
		if b, l.part = b[i+1:], nil; len(line) == 0 {
			continue
		}
		if text := logLine(l.log, line); l.keep != nil {
			l.keep.add([]byte(text))
		}
	}
	return n, nil
}
