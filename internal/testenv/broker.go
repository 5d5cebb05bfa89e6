package testenv

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Broker is a `penstock broker` in a process of its own.
type Broker struct {
	Addr string // host:port
	Dir  string // its folder: data/, log
	Args []string
	p    *process
}

// NewBroker makes a broker that is not started yet; extra arguments go to its command line. It is stopped when the test
// ends.
func NewBroker(t testing.TB, args ...string) *Broker {
	t.Helper()
	NeedServers(t)
	b := &Broker{Addr: "127.0.0.1:" + strconv.Itoa(FreePort()), Dir: t.TempDir(), Args: args}
	t.Cleanup(func() {
		if b.p != nil {
			b.p.stopAlone(30 * time.Second)
			if t.Failed() {
				t.Logf("the broker's log ends with:\n%s", b.p.tail())
			}
		}
	})
	return b
}

// Start starts the broker and waits until it listens.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	bin, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"broker", "--data-dir", filepath.Join(b.Dir, "data"), "--broker-listen", b.Addr}, b.Args)
	if b.p, err = start(filepath.Join(b.Dir, "log"), exec.Command(filepath.Join(bin, "penstock"), args...)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := b.p.await(ctx, "penstock broker", func() bool { return listens(b.Addr) }); err != nil {
		t.Fatal(err)
	}
}

// PID is its process id.
func (b *Broker) PID() int { return b.p.cmd.Process.Pid }

// Kill ends it with SIGKILL.
func (b *Broker) Kill() { b.p.kill() }

// Hang stops it as SIGSTOP does; when Hang returns all its threads stand still. Continue lets it go on.
func (b *Broker) Hang(t testing.TB) {
	t.Helper()
	if err := b.p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); !b.p.hangs(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a broker that got SIGSTOP goes on")
		}
	}
}

// Continue ends Hang.
func (b *Broker) Continue(t testing.TB) {
	t.Helper()
	if err := b.p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// hangs tells that every thread is stopped.
func (p *process) hangs() bool {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "task", "*", "stat"))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if _, behind, ok := strings.Cut(string(b), ") "); err != nil || !ok || behind[0] != 'T' {
			return false
		}
	}
	return true
}

func listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
