package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstockio/penstock/connect-api/connectpb"
)

// Options say how to start a plugin.
type Options struct {
	Path string   // the executable
	Args []string // without the executable's name
	Env  []string // KEY=VALUE: all that the plugin sees beside the protocol's variables (I2)
	// Dir is a folder of mode 0700 with a short name, for sockets; the caller makes it. Empty: one of its own in the system's
	// folder for temporary files, removed by Stop.
	Dir string
	Log *slog.Logger // tagged by the caller; nil: slog.Default()

	StartTimeout  time.Duration // until the plugin answers; 0: 10 s
	CallTimeout   time.Duration // of Describe, Validate, Tasks, Alter, Deleted, and of opening a stream; 0: 60 s
	Grace         time.Duration // for a plugin asked to end; 0: 5 s
	AnswerTimeout time.Duration // a process whose server is silent for so long is killed; 0: 30 s
	// Silence is how long the plugin may write after this process fell silent; 0: for ever. The host speaks to it, by health
	// checks, while Lease is nil or gives nil.
	Silence         time.Duration
	Lease           func() error
	MaxMessageBytes int // of a message, and so of a record; 0: 64 MiB
}

func (o *Options) defaults() error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, 10*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.AnswerTimeout = cmp.Or(o.AnswerTimeout, 30*time.Second)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, connectpb.DefaultMaxMessage)
	if o.MaxMessageBytes < 1<<16 || o.MaxMessageBytes > connectpb.MaxMessage {
		return fmt.Errorf("starting plugin %s: a message limit of %d bytes is not between 64 KiB and 2 GiB", o.Path, o.MaxMessageBytes)
	}
	return nil
}

// Process is a running plugin. Its methods are safe for use by many goroutines.
type Process struct {
	opts   Options
	log    *slog.Logger
	cmd    *exec.Cmd
	stderr tail
	client *plugin.Client
	api    connectpb.ConnectorClient
	conn   *grpc.ClientConn

	socketDir string
	done      chan struct{} // closed when the process is gone and its output read
	exited    chan struct{} // closed when the process is gone
	status    string        // valid once exited is closed
	hung      atomic.Bool   // it was killed because it did not answer
	readers   sync.WaitGroup
	stopping  chan struct{}
	stopOnce  sync.Once
	stopped   chan struct{}
}

// Start launches a plugin and waits for its handshake. The error is a [*StartError], or ctx's. The ctx is for the start alone.
func Start(ctx context.Context, o Options) (*Process, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	p := &Process{
		opts: o, log: o.Log, done: make(chan struct{}), exited: make(chan struct{}), stopping: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, errNoHandshake)
	defer cancel()
	if err := p.makeSocketDir(); err != nil {
		return nil, fmt.Errorf("starting plugin %s: %w", o.Path, err)
	}
	lines, err := p.launch()
	if err != nil {
		p.removeSocketDir()
		return nil, &StartError{Path: o.Path, Reason: NotExecutable, Err: err}
	}
	hs, err := p.handshake(ctx, lines)
	if err == nil {
		err = p.connect(ctx, hs)
	}
	if err != nil {
		p.destroy()
		return nil, err
	}
	go p.watch()
	return p, nil
}

// makeSocketDir makes a folder for this process alone: sockets stay behind when a process is killed.
func (p *Process) makeSocketDir() (err error) {
	if p.opts.Dir == "" {
		p.socketDir, err = os.MkdirTemp("", "psk")
	} else {
		p.socketDir, err = os.MkdirTemp(p.opts.Dir, "p")
	}
	if err != nil {
		return fmt.Errorf("making a folder for its socket: %w", err)
	}
	if n := len(filepath.Join(p.socketDir, "plugin1234567890")); n > 100 {
		p.removeSocketDir()
		return fmt.Errorf("the folder for sockets, %s, has too long a name: a unix socket's path may have 108 bytes", p.opts.Dir)
	}
	return nil
}

func (p *Process) removeSocketDir() { _ = os.RemoveAll(p.socketDir) }

// launch starts the process and the goroutines that read its output and wait for its end. Lines of stdout come through the
// channel until it is no longer read.
func (p *Process) launch() (<-chan string, error) {
	cmd := exec.Command(p.opts.Path, p.opts.Args...)
	cmd.Env = append([]string{}, p.opts.Env...) // I2: never nil, which would mean all of ours
	cmd.Env = append(cmd.Env,
		connectpb.CookieKey+"="+connectpb.CookieValue,
		"PLUGIN_PROTOCOL_VERSIONS="+strconv.Itoa(connectpb.ProtocolVersion),
		connectpb.SocketDirKey+"="+p.socketDir,
		connectpb.MaxMessageKey+"="+strconv.Itoa(p.opts.MaxMessageBytes),
		"TMPDIR="+p.socketDir)
	if p.opts.Silence > 0 {
		cmd.Env = append(cmd.Env, connectpb.SilenceKey+"="+strconv.FormatInt(p.opts.Silence.Milliseconds(), 10))
	}
	cmd.SysProcAttr = processAttributes()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		_, _ = outR.Close(), outW.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	p.cmd = cmd
	err = launch(cmd)
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		return nil, err
	}
	lines := make(chan string, 1)
	p.readers.Go(func() { p.readStdout(outR, lines) })
	p.readers.Go(func() { pump(errR, p.log, &p.stderr) })
	go p.wait(outR, errR)
	return lines, nil
}

// wait notices the end of the process, and gives its output a moment to be read: a grandchild may hold it open.
func (p *Process) wait(pipes ...*os.File) {
	err := p.cmd.Wait()
	p.status = "exit status 0"
	if err != nil {
		p.status = err.Error()
	}
	close(p.exited)
	read := make(chan struct{})
	go func() { p.readers.Wait(); close(read) }()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		_ = killGroup(p.cmd.Process.Pid)
	}
	for _, f := range pipes {
		_ = f.Close()
	}
	<-read
	close(p.done)
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last lines, about 4 KiB, the process wrote to stderr.
func (p *Process) Stderr() string { return p.stderr.String() }

// Done is closed at once when the process ends, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil while the process runs, else an [*ExitError] that says how it ended.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return &ExitError{Path: p.opts.Path, Status: p.ending(), Stderr: p.Stderr()}
	default:
		return nil
	}
}

// destroy ends a process that did not start well.
func (p *Process) destroy() {
	_ = killGroup(p.cmd.Process.Pid)
	<-p.done
	p.closeClient()
	p.removeSocketDir()
	close(p.stopped)
	p.stopOnce.Do(func() { close(p.stopping) })
}

func (p *Process) closeClient() {
	if p.client != nil {
		p.client.Kill() // the process is gone: only goroutines and the connection are left
	}
}

// Stop ends the process: asks it to, waits the grace, or until ctx ends, then kills it and its children. It returns when
// the process is gone; nil also if it was before. Streams should have been closed before: they break.
func (p *Process) Stop(ctx context.Context) error {
	first := false
	p.stopOnce.Do(func() { first = true; close(p.stopping) })
	if !first {
		<-p.stopped
		return nil
	}
	defer close(p.stopped)
	var killed error
	if !p.gone() {
		_ = terminate(p.cmd.Process.Pid)
		timer := time.NewTimer(p.opts.Grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
			killed = fmt.Errorf("stopping plugin %s: it did not end within %v and was killed", p.opts.Path, p.opts.Grace)
		case <-ctx.Done():
			killed = fmt.Errorf("stopping plugin %s: it was killed: %w", p.opts.Path, context.Cause(ctx))
		}
	}
	_ = killGroup(p.cmd.Process.Pid) // children of the plugin, too
	<-p.done
	p.closeClient()
	p.removeSocketDir()
	return killed
}

// Kill ends the process at once.
func (p *Process) Kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Stop(ctx)
}

func (p *Process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// explain prefers the process's end, if that is the cause, to the broken connection it shows as.
func (p *Process) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if !isBroken(err) {
		return err
	}
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.Err()
	case <-timer.C:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}
