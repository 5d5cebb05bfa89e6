package host_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

// script writes an executable shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartErrors(t *testing.T) {
	binary := plugintest.Build(t, "connect-api/internal/testplugin")
	notExecutable := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(notExecutable, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		path   string
		env    []string
		reason host.StartReason
		says   []string
	}{
		{"missing", "/nowhere/plugin", nil, host.NotExecutable, []string{"/nowhere/plugin", "cannot be run", "no such file"}},
		{"not executable", notExecutable, nil, host.NotExecutable, []string{"permission denied"}},
		{"exits", binary, []string{"TESTPLUGIN_START=exit"}, host.ExitedAtOnce, []string{"exit status 3", "cannot find libfoo.so"}},
		{"prints", script(t, "echo hello world; sleep 30"), nil, host.PrintedFirst, []string{`"hello world"`, "stdout"}},
		{"hangs", binary, []string{"TESTPLUGIN_START=hang"}, host.NoHandshake, []string{"no handshake within 1s"}},
		{"closes stdout and hangs", script(t, "exec 1>&-; sleep 30"), nil, host.NoHandshake, []string{"no handshake within 1s"}},
		{"version", script(t, "echo '1|7|unix|/tmp/x|grpc|'; sleep 30"), nil, host.WrongVersion, []string{"version 7", "version 1"}},
		{"not grpc", script(t, "echo '1|1|unix|/tmp/x|netrpc|'; sleep 30"), nil, host.CannotBeSupported, []string{"not one of gRPC"}},
		{"no server", script(t, "echo '1|1|unix|/tmp/nothing-listens-here|grpc|'; sleep 30"), nil, host.NotReachable, []string{"does not answer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			dir := t.TempDir()
			_, err := host.Start(within(t, 20*time.Second), host.Options{
				Path: c.path, Env: append([]string{"PATH=" + os.Getenv("PATH")}, c.env...), StartTimeout: time.Second, Dir: dir,
				Log: slog.New(slog.DiscardHandler),
			})
			var s *host.StartError
			if !errors.As(err, &s) || s.Reason != c.reason {
				t.Fatalf("%v", err)
			}
			for _, w := range c.says {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if time.Since(began) > 10*time.Second {
				t.Errorf("it took %v", time.Since(began))
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("%d files are left in the folder for sockets", len(left))
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := host.Start(ctx, host.Options{
		Path: plugintest.Build(t, "connect-api/internal/testplugin"), Env: []string{"TESTPLUGIN_START=hang"},
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
}

func TestPluginSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("HOST_SECRET", "do not show")
	p := start(t, "DECLARED=yes")
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "HOST_SECRET") || !strings.Contains(string(env), "DECLARED=yes") {
		t.Fatalf("environment: %q", env)
	}
}

// next skips batches to the first error.
func failure(t *testing.T, ctx context.Context, s *host.Source) (rows int, err error) {
	t.Helper()
	for {
		b, err := s.Recv(ctx)
		if err != nil {
			return rows, err
		}
		rows += b.Count
		b.Release()
	}
}

// C082: a panic fails its task with a trace; the other task goes on.
func TestPanicFailsTheTaskAlone(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	other, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Task: 1, Config: map[string]string{"every.ms": "20", "batch": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"panic.at": "2", "batch": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	rows, err := failure(t, ctx, s)
	var e *connectapi.Error
	if !errors.As(err, &e) || e.Kind != connectapi.System || !strings.Contains(err.Error(), "panicked: as it was told") ||
		!strings.Contains(e.Trace, "numbersTask") || rows != 2 {
		t.Fatalf("after %d rows: %v", rows, err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Fatalf("it took %v", d)
	}
	for range 3 {
		b, err := other.Recv(ctx)
		if err != nil {
			t.Fatalf("the other task: %v", err)
		}
		b.Release()
	}
}

func TestSinkPanicIsItsFailure(t *testing.T) {
	ctx := within(t, 30*time.Second)
	s := openSink(t, ctx, start(t), map[string]string{"dir": t.TempDir()})
	b := s.NewBatch()
	if err := b.Append(route("t", ""), 0, 0, nil, []byte("panic")); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ctx, b, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx); err == nil || !strings.Contains(err.Error(), "panicked: a record told it to") {
		t.Fatalf("%v", err)
	}
}

// C082: a process that dies is noticed at once, with its last lines.
func TestDeathOfTheProcess(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"die.at": "2", "batch": "1", "every.ms": "50"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = failure(t, ctx, s)
	var e *host.ExitError
	if !errors.As(err, &e) || !strings.Contains(e.Stderr, "died as it was told") || !strings.Contains(e.Status, "exit status 2") {
		t.Fatalf("%v", err)
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		t.Fatal("Done is not closed")
	}
	if !errors.As(p.Err(), &e) {
		t.Fatalf("Err: %v", p.Err())
	}
	if _, err := p.Describe(ctx); !errors.As(err, &e) {
		t.Fatalf("a call of a dead process: %v", err)
	}
}

// C082: a task that hangs does not hang its host.
func TestHangingTask(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"hang.at": "2", "batch": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	for rows := 0; rows < 2; {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows += b.Count
		b.Release()
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := s.Recv(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	began := time.Now()
	s.Close()
	if err := p.Stop(ctx); err != nil && !strings.Contains(err.Error(), "was killed") {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 8*time.Second {
		t.Fatalf("stopping a hanging plugin took %v", d)
	}
	if syscall.Kill(p.PID(), 0) == nil {
		t.Fatal("the process is still there")
	}
}

// A plugin that is stopped in its tracks (SIGSTOP) answers nothing: calls end with their context, Stop kills it.
func TestDeafProcess(t *testing.T) {
	p := plugintest.Start(t, host.Options{
		Path: plugintest.Build(t, "connect-api/internal/testplugin"), Grace: 300 * time.Millisecond,
	})
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for limit := within(t, 20*time.Second); ; { // the signal takes a moment to arrive
		_, err := p.Describe(within(t, 300*time.Millisecond))
		if errors.Is(err, context.DeadlineExceeded) {
			break
		} else if err != nil || limit.Err() != nil {
			t.Fatalf("%v", err)
		}
	}
	if _, err := p.OpenSource(within(t, 300*time.Millisecond), host.SourceOptions{Connector: "numbers"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	began := time.Now()
	if err := p.Stop(within(t, 20*time.Second)); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Fatalf("it took %v", d)
	}
}

// C082: a process that answers nothing is killed, and whoever waits for it learns why. One that does answer is left alone.
func TestSilentProcessIsKilled(t *testing.T) {
	path := plugintest.Build(t, "connect-api/internal/testplugin")
	p := plugintest.Start(t, host.Options{Path: path, AnswerTimeout: 2 * time.Second})
	healthy := plugintest.Start(t, host.Options{Path: path, AnswerTimeout: 2 * time.Second})
	ctx := within(t, 30*time.Second)
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "files", Config: map[string]string{"dir": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv(ctx)
	var exit *host.ExitError
	if !errors.As(err, &exit) || !strings.Contains(exit.Status, "had not answered for 2s") {
		t.Fatalf("%v", err)
	}
	if err := healthy.Err(); err != nil {
		t.Fatalf("one that answers was killed too: %v", err)
	}
}

// When the host dies, however it dies, its plugins go.
func TestNoOrphanOfAKilledHost(t *testing.T) {
	if addr := os.Getenv("PENSTOCK_TEST_HOST"); addr != "" {
		beAHost(t, addr)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoOrphanOfAKilledHost$")
	cmd.Env = append(os.Environ(), "PENSTOCK_TEST_HOST="+l.Addr().String(), "PENSTOCK_TEST_PLUGIN="+plugintest.Build(t, "connect-api/internal/testplugin"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 32)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(buf[:n]))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); alive(pid); {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the plugin outlived its host")
		}
		time.Sleep(10 * time.Millisecond) // polled: a process that is not our child tells nobody
	}
}

// alive says whether a process runs; a zombie that nobody waits for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// beAHost is the other process: it starts a plugin, tells its id and waits to be killed.
func beAHost(t *testing.T, addr string) {
	p, err := host.Start(context.Background(), host.Options{Path: os.Getenv("PENSTOCK_TEST_PLUGIN")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.OpenSource(context.Background(), host.SourceOptions{Connector: "numbers"}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(strconv.Itoa(p.PID()))); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

func TestStderrTailAndConcurrentStops(t *testing.T) {
	p := start(t)
	ctx := within(t, 20*time.Second)
	done := make(chan error, 4)
	for range 4 {
		go func() { done <- p.Stop(ctx) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if s := p.Stderr(); !strings.Contains(s, "printed in main") {
		t.Fatalf("stderr: %q", s)
	}
}

// TestSilentHostIsNotServed: a sink writes nothing while its host has been silent for too long, and goes on when it is back; so
// does a source with what it read.
func TestSilentHostIsNotServed(t *testing.T) {
	path := plugintest.Build(t, "connect-api/internal/testplugin")
	var out atomic.Bool
	lease := func() error {
		if out.Load() {
			return errors.New("out")
		}
		return nil
	}
	const silence = 500 * time.Millisecond
	p := plugintest.Start(t, host.Options{Path: path, Silence: silence, Lease: lease})
	ctx := within(t, 60*time.Second)
	src, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"batch": "1", "every.ms": "5"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	came := make(chan struct{}, 1<<16)
	go func() {
		for {
			if _, err := src.Recv(ctx); err != nil {
				return
			}
			came <- struct{}{}
		}
	}()
	<-came
	dir := t.TempDir()
	snk := openSink(t, ctx, p, map[string]string{"dir": dir})
	if err := snk.Assign(connectapi.Offsets{tp: 10}); err != nil {
		t.Fatal(err)
	}
	event[*host.Assigned](t, ctx, snk)
	out.Store(true)
	time.Sleep(4 * silence) // longer than it takes to fall silent: what comes after this was sent too late
	for len(came) > 0 {
		<-came
	}
	b := snk.NewBatch()
	if err := b.Append(route("renamed", "t"), 5, 10, nil, []byte("late")); err != nil {
		t.Fatal(err)
	}
	if err := snk.Send(ctx, b, connectapi.Offsets{tp: 11}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * silence)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("a sink wrote %v for a host that is silent: %v", files, err)
	}
	if n := len(came); n > 0 {
		t.Errorf("a source sent %d messages to a host that is silent", n)
	}
	out.Store(false)
	if d := event[*host.Durable](t, ctx, snk); d.Offsets[tp] != 11 {
		t.Errorf("durable: %v", d.Offsets)
	}
	select {
	case <-came:
	case <-ctx.Done():
		t.Fatal("nothing came when the host was there again")
	}
}
