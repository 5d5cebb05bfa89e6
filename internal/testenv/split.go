package testenv

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Split is a `penstock worker`, and a `penstock broker` beside it that can be killed alone.
type Split struct {
	*Penstock
	data   string // the broker's folder
	broker *process
}

// NewSplit makes both; neither is started yet. They are stopped when the test ends.
func NewSplit(t testing.TB, plugins []string, args ...string) *Split {
	t.Helper()
	s := &Split{data: t.TempDir()}
	t.Cleanup(func() { // after the worker has stopped: it commits as it does
		if s.broker != nil {
			s.broker.stopAlone(30 * time.Second)
		}
	})
	s.Penstock = NewPenstock(t, plugins, args...)
	s.node = []string{"worker", "--bootstrap-servers", s.Broker}
	return s
}

// StartBroker starts the broker and waits until it listens.
func (s *Split) StartBroker(t testing.TB) {
	t.Helper()
	bin, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "penstock"), "broker", "--data-dir", s.data, "--broker-listen", s.Broker)
	if s.broker, err = start(filepath.Join(s.Dir, "broker.log"), cmd); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = s.broker.await(ctx, "penstock broker", func() bool {
		c, err := net.Dial("tcp", s.Broker)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// KillBroker ends the broker with SIGKILL.
func (s *Split) KillBroker() { s.broker.kill() }
