package testenv

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

func listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
