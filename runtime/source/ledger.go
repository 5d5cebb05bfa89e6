package source

import (
	"sync"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// ledger follows batches from the plugin until every row of theirs is safe in Kafka, and gives positions free in order:
// the position behind a batch only when all batches up to it are done (I1).
type ledger struct {
	mu      sync.Mutex
	entries []*entry      // in the order received; done ones leave from the front
	freed   chan struct{} // has room for one signal: the front moved

	last     uint64 // id of the last batch given free
	pending  map[connectapi.Partition]connectapi.Offset
	order    []connectapi.Partition // of pending, as first seen since the last take
	inflight int
}

// entry is one batch.
type entry struct {
	l       *ledger
	id      uint64
	marks   []connectapi.Mark
	rows    int // not yet safe, plus one while the batch is still being handed on
	release func()
}

func newLedger() *ledger {
	return &ledger{freed: make(chan struct{}, 1), pending: map[connectapi.Partition]connectapi.Offset{}}
}

// add enters a batch; it stays open until sealed. release is called once when its rows have left the worker's memory.
func (l *ledger) add(id uint64, marks []connectapi.Mark, release func()) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &entry{l: l, id: id, marks: marks, rows: 1, release: release}
	l.entries = append(l.entries, e)
	l.inflight++
	return e
}

// expect counts one more row that must become safe.
func (e *entry) expect() {
	e.l.mu.Lock()
	e.rows++
	e.l.mu.Unlock()
}

// done counts one row as safe, or the batch as handed on.
func (e *entry) done() {
	e.l.mu.Lock()
	e.rows--
	var releases []func()
	if e.rows == 0 {
		releases = append(releases, e.release)
		e.l.advance()
	}
	e.l.mu.Unlock()
	for _, r := range releases {
		r()
	}
}

// advance takes finished batches off the front and merges their positions. The caller holds the lock.
func (l *ledger) advance() {
	n := 0
	for n < len(l.entries) && l.entries[n].rows == 0 {
		e := l.entries[n]
		for _, m := range e.marks {
			if m.AckOnly || m.Partition == "" {
				continue
			}
			if _, seen := l.pending[m.Partition]; !seen {
				l.order = append(l.order, m.Partition)
			}
			l.pending[m.Partition] = m.Offset
		}
		l.last = e.id
		l.entries[n] = nil
		n++
	}
	if n == 0 {
		return
	}
	l.entries = l.entries[n:]
	l.inflight -= n
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// commit is what may be written and then acknowledged.
type commit struct {
	batch     uint64 // all batches up to this id
	positions []connectapi.Position
}

// take gives what became free since the last take.
func (l *ledger) take() commit {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := commit{batch: l.last}
	for _, p := range l.order {
		c.positions = append(c.positions, connectapi.Position{Partition: p, Offset: l.pending[p]})
	}
	clear(l.pending)
	l.order = nil
	return c
}

// putBack returns positions that could not be written; newer ones win.
func (l *ledger) putBack(c commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range c.positions {
		if _, newer := l.pending[p.Partition]; !newer {
			l.pending[p.Partition] = p.Offset
			l.order = append(l.order, p.Partition)
		}
	}
}

// idle tells that no batch is on its way and no position waits.
func (l *ledger) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inflight == 0 && len(l.order) == 0
}
