package store

import "sync"

// Ticket is the receipt of an Append. It is safe for concurrent use.
type Ticket struct {
	mu       sync.Mutex
	finished bool
	err      error
	results  []Appended
	done     chan struct{} // made when somebody asks
	then     []func()
}

// Done is closed when the entries are as safe as asked, or were refused.
func (t *Ticket) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.finished {
			close(t.done)
		}
	}
	return t.done
}

// OnDone calls f once when the ticket is done: at once, or later from a goroutine of the store. There it must not block,
// and so must not append data: that may wait for memory which this very goroutine has to give back.
func (t *Ticket) OnDone(f func()) {
	t.mu.Lock()
	if !t.finished {
		t.then = append(t.then, f)
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	f()
}

// Results has one element per Data entry, in order. Valid after Done and only if Err is nil.
func (t *Ticket) Results() []Appended { return t.results }

// Err is why nothing of the append counts: a *StorageError, ErrClosed, ErrTooLarge. Valid after Done. After a
// *StorageError with reason Failed it is not known whether the entries survive.
func (t *Ticket) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *Ticket) finish(err error) {
	t.mu.Lock()
	if t.finished {
		t.mu.Unlock()
		return
	}
	t.finished, t.err = true, err
	if t.done != nil {
		close(t.done)
	}
	then := t.then
	t.then = nil
	t.mu.Unlock()
	for _, f := range then {
		f()
	}
}

// stage is how far a round has come.
type stage uint8

const (
	stagePending stage = iota
	stageWritten
	stageApplied
	stageFailed
)

// tag is what the store hangs onto a round of the log: who waits, and producers' states as of each batch.
type tag struct {
	mu        sync.Mutex
	stage     stage
	err       error
	written   []*Ticket // wait for Written
	durable   []*Ticket // wait for Synced or Durable
	producers []producerAt
}

// attach makes the round finish a ticket.
func (g *tag) attach(t *Ticket, s Safety) {
	g.mu.Lock()
	switch {
	case g.stage == stageFailed:
		err := g.err
		g.mu.Unlock()
		t.finish(err)
		return
	case s == Buffered, g.stage == stageApplied, s == Written && g.stage == stageWritten:
		g.mu.Unlock()
		t.finish(nil)
		return
	case s == Written:
		g.written = append(g.written, t)
	default:
		g.durable = append(g.durable, t)
	}
	g.mu.Unlock()
}

// reach moves the round on and finishes whom that satisfies.
func (g *tag) reach(s stage, err error) {
	g.mu.Lock()
	g.stage, g.err = max(g.stage, s), err
	ready := g.written
	g.written = nil
	if s != stageWritten {
		ready = append(ready, g.durable...)
		g.durable = nil
	}
	g.mu.Unlock()
	for _, t := range ready {
		t.finish(err)
	}
}
