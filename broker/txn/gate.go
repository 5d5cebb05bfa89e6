package txn

import (
	"fmt"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/queue"
)

// gate says what producers with a transactional id may append (I4). The store asks within the append; the coordinator
// changes it before it appends the end of a transaction, and after it appended what adds a partition.
type gate struct {
	mu sync.RWMutex
	by map[int64]*pass
}

// pass is what one producer id may do.
type pass struct {
	id     string // transactional id
	epoch  int16
	queues map[queue.ID]struct{} // of its open transaction
}

func newGate() *gate { return &gate{by: map[int64]*pass{}} }

// check is the store's guard.
func (g *gate) check(q queue.ID, b batch.Batch) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.by[b.ProducerID()]
	switch {
	case p == nil && !b.Transactional():
		return nil // an idempotent producer
	case p == nil:
		return fmt.Errorf("producer %d has no transactional id: %w", b.ProducerID(), kerr.InvalidProducerIDMapping)
	case b.ProducerEpoch() != p.epoch:
		return fmt.Errorf("producer %d of transactional id %q is at epoch %d, the batch came with %d: %w", b.ProducerID(), p.id, p.epoch, b.ProducerEpoch(), kerr.InvalidProducerEpoch)
	case !b.Transactional() && len(p.queues) == 0:
		return nil
	case !b.Transactional():
		return fmt.Errorf("producer %d of transactional id %q has a transaction open, the batch is not transactional: %w", b.ProducerID(), p.id, kerr.InvalidTxnState)
	}
	if _, ok := p.queues[q]; !ok {
		return fmt.Errorf("transactional id %q, queue %d: %w", p.id, q, ErrNotAdded)
	}
	return nil
}

// set makes a record what its producer may do.
func (g *gate) set(r *Record) {
	p := &pass{id: r.TransactionalID, epoch: r.Epoch}
	if r.State == Ongoing {
		p.queues = make(map[queue.ID]struct{}, len(r.Partitions))
		for _, part := range r.Partitions {
			p.queues[part.Queue] = struct{}{}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.by[r.ProducerID] = p
	if r.LastProducer >= 0 { // the epochs of that one are used up
		g.by[r.LastProducer] = &pass{id: r.TransactionalID, epoch: math.MaxInt16}
	}
}

// add lets a producer append to more queues.
func (g *gate) add(producer int64, parts []Partition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.by[producer]
	if p.queues == nil {
		p.queues = make(map[queue.ID]struct{}, len(parts))
	}
	for _, part := range parts {
		p.queues[part.Queue] = struct{}{}
	}
}

// fence ends what a producer may append, and everything below an epoch.
func (g *gate) fence(r *Record, epoch int16) {
	g.mu.Lock()
	g.by[r.ProducerID] = &pass{id: r.TransactionalID, epoch: epoch}
	g.mu.Unlock()
}

func (g *gate) remove(r *Record) {
	g.mu.Lock()
	delete(g.by, r.ProducerID)
	delete(g.by, r.LastProducer)
	g.mu.Unlock()
}

func (g *gate) has(producer int64, q queue.ID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.by[producer]
	if p == nil {
		return false
	}
	_, ok := p.queues[q]
	return ok
}

// owner is the transactional id of a producer id.
func (g *gate) owner(producer int64) (string, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.by[producer]
	if p == nil {
		return "", false
	}
	return p.id, true
}
