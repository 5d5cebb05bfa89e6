package testenv

import "testing"

// Split is a `penstock worker`, and a `penstock broker` beside it that can be killed alone.
type Split struct {
	*Penstock
	broker *Broker
}

// NewSplit makes both; neither is started yet. They are stopped when the test ends.
func NewSplit(t testing.TB, plugins []string, args ...string) *Split {
	t.Helper()
	s := &Split{broker: NewBroker(t)} // made first, so stopped after the worker: it commits as it stops
	s.Penstock = NewWorker(t, s.broker.Addr, plugins, args...)
	return s
}

// NewWorker makes a `penstock worker` of the broker at an address, not started yet. It is stopped when the test ends.
func NewWorker(t testing.TB, broker string, plugins []string, args ...string) *Penstock {
	t.Helper()
	s := NewPenstock(t, plugins, args...)
	s.Broker = broker
	s.node = []string{"worker", "--bootstrap-servers", broker}
	return s
}

// StartBroker starts the broker and waits until it listens.
func (s *Split) StartBroker(t testing.TB) {
	t.Helper()
	s.broker.Start(t)
}

// KillBroker ends the broker with SIGKILL.
func (s *Split) KillBroker() { s.broker.Kill() }
