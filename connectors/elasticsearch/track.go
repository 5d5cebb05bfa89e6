package elasticsearch

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/penstockio/penstock/connect-api"
)

// batch is what one Write brought: offsets are durable batch by batch (I1).
type batch struct {
	t       *tracker
	seq     uint64
	pending atomic.Int64 // records under way, and one while Write fills it
	next    connectapi.Offsets
}

// done says that n records are durable, failed, or need nothing.
func (b *batch) done(n int) {
	if b.pending.Add(int64(-n)) == 0 {
		b.t.advance()
	}
}

// tracker knows below which offsets everything is durable.
type tracker struct {
	mu      sync.Mutex
	open    []*batch // in the order they came
	seq     uint64
	durable connectapi.Offsets
	moved   chan struct{} // closed and replaced when batches are done
	gone    map[connectapi.TopicPartition]uint64
}

func newTracker() *tracker {
	return &tracker{durable: connectapi.Offsets{}, moved: make(chan struct{}), gone: map[connectapi.TopicPartition]uint64{}}
}

// begin opens a batch; its offsets are set before the hold of one is given back with done(1).
func (t *tracker) begin() *batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	b := &batch{t: t, seq: t.seq, next: connectapi.Offsets{}}
	b.pending.Store(1)
	t.open = append(t.open, b)
	return b
}

func (t *tracker) advance() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for n < len(t.open) && t.open[n].pending.Load() == 0 {
		maps.Copy(t.durable, t.open[n].next)
		n++
	}
	if n == 0 {
		return
	}
	t.open = append(t.open[:0], t.open[n:]...)
	if len(t.open) == 0 {
		clear(t.gone)
	}
	close(t.moved)
	t.moved = make(chan struct{})
}

// state returns the durable offsets, whether nothing is under way, and what is closed when that changes.
func (t *tracker) state() (durable connectapi.Offsets, idle bool, moved <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.durable), len(t.open) == 0, t.moved
}

// revoke forgets partitions: their offsets are not said again, and their records that wait are not sent.
func (t *tracker) revoke(tps []connectapi.TopicPartition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tp := range tps {
		delete(t.durable, tp)
		for _, b := range t.open {
			delete(b.next, tp)
		}
		if len(t.open) > 0 {
			t.gone[tp] = t.seq
		} else {
			delete(t.gone, tp)
		}
	}
}

// anyGone says whether isGone could ever say yes.
func (t *tracker) anyGone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.gone) > 0
}

// isGone says whether a record's partition was revoked since the record came.
func (t *tracker) isGone(tp connectapi.TopicPartition, b *batch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return b.seq <= t.gone[tp]
}
