package serve

import (
	"sync"

	"github.com/penstockio/penstock/connect-api"
)

// acks remembers the positions of batches until they are durable.
type acks struct {
	mu       sync.Mutex
	pending  []sentBatch
	durable  uint64 // the host's word
	told     uint64 // the task's
	produced []connectapi.Produced
	changed  chan struct{}
	waiter   chan struct{} // closed when told reaches want
	want     uint64
	closed   bool
}

type sentBatch struct {
	id    uint64
	marks []connectapi.Mark
}

func (a *acks) init() { a.changed = make(chan struct{}, 1) }

// sent notes a batch before it leaves.
func (a *acks) sent(id uint64, marks []connectapi.Mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(marks) > 0 {
		a.pending = append(a.pending, sentBatch{id, marks})
	}
}

// acked notes the host's word; it may come twice.
func (a *acks) acked(id uint64, produced []connectapi.Produced) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id > a.durable {
		a.durable = id
		a.produced = produced
		poke(a.changed)
	}
}

func (a *acks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	poke(a.changed)
}

// settled returns a channel that is closed when the task knows that everything up to id is durable.
func (a *acks) settled(id uint64) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiter, a.want = make(chan struct{}), id
	if a.told >= id {
		close(a.waiter)
		a.want = 0
	}
	return a.waiter
}

// next returns what became durable since the last call: of each partition the last position, and every AckOnly one.
func (a *acks) next() (positions []connectapi.Position, upTo uint64, closed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := map[connectapi.Partition]int{}
	n := 0
	for ; n < len(a.pending) && a.pending[n].id <= a.durable; n++ {
		for _, m := range a.pending[n].marks {
			if m.Partition == "" {
				continue
			}
			p := connectapi.Position{Partition: m.Partition, Offset: m.Offset}
			if i, ok := at[m.Partition]; ok && !m.AckOnly {
				positions[i] = p
				continue
			}
			if !m.AckOnly {
				at[m.Partition] = len(positions)
			}
			positions = append(positions, p)
		}
	}
	a.pending = a.pending[:copy(a.pending, a.pending[n:])]
	if len(positions) > 0 {
		positions[len(positions)-1].Produced = a.produced
	}
	return positions, a.durable, a.closed
}

func (a *acks) taskTold(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = id
	if a.waiter != nil && a.want > 0 && a.told >= a.want {
		close(a.waiter)
		a.want = 0
	}
}

// ackLoop tells the task what is durable (I2).
func (t *source) ackLoop() {
	acker, _ := t.task.(connectapi.Acker)
	for range t.acks.changed {
		positions, upTo, closed := t.acks.next()
		if acker != nil && len(positions) > 0 {
			err := func() (err error) { defer guard(&err); return acker.Ack(t.ctx, positions) }()
			if err != nil && t.ctx.Err() == nil {
				t.log.Warn("acknowledging at the source", "error", err.Error())
			}
		}
		t.acks.taskTold(upTo)
		if closed {
			return
		}
	}
}
