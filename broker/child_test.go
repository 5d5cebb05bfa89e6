package broker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The environment that makes the test binary a broker of its own, so that it can be killed.
const (
	childDir  = "PENSTOCK_TEST_BROKER_DIR"
	childAddr = "PENSTOCK_TEST_BROKER_ADDR"
	childBig  = "PENSTOCK_TEST_BROKER_DEFAULTS" // any value: the default settings, not those for tests
	// key=value pairs, comma separated, on top of these
	childSettings = "PENSTOCK_TEST_BROKER_SETTINGS"
)

// childBroker runs a broker if the environment asks for one, until its standard input ends.
func childBroker() bool {
	dir := os.Getenv(childDir)
	if dir == "" {
		return false
	}
	ls, err := ParseListeners(os.Getenv(childAddr))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	settings := maps.Clone(small)
	if os.Getenv(childBig) != "" {
		settings = map[string]string{}
	}
	for pair := range strings.SplitSeq(os.Getenv(childSettings), ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			settings[k] = v
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	b, err := Open(Config{DataDir: dir, Listeners: ls, Settings: settings}, log, nil)
	if err == nil {
		err = b.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready", b.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// child is a broker in a process of its own.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

// spawn starts a child over dir and waits until it is ready.
func spawn(t testing.TB, dir, addr string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childDir+"="+dir, childAddr+"="+addr)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	ready, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the child broker did not start: %q, %v", line, err)
	}
	return &child{cmd: cmd, stdin: in, addr: ready}
}

// kill ends the child as a crash would.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// stop ends the child in order.
func (c *child) stop(t testing.TB) {
	t.Helper()
	c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the child broker ended with %v", err)
	}
}
