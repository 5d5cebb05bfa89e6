package store

import (
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

type producerKey struct {
	q  queue.ID
	id int64
}

// producerAt is a producer's state right after one batch: what the index must hold at that log position.
type producerAt struct {
	position int64 // of the batch's frame
	key      producerKey
	state    queue.Producer
}

// producers are the windows the sequencer works with: the newest state, which may be ahead of the index. Guarded by
// the sequencer; at replay by being alone.
type producers struct {
	db    *index.DB
	limit int
	m     map[producerKey]*producer
}

type producer struct {
	queue.Producer
	position int64 // of its last batch: the index holds the state once that is applied
}

// get gives a producer's state, from the index if memory does not have it.
func (p *producers) get(k producerKey) (*producer, error) {
	if st := p.m[k]; st != nil {
		return st, nil
	}
	v, err := p.db.Get(index.ProducerKey(uint32(k.q), k.id))
	if errors.Is(err, index.ErrNotFound) {
		return &producer{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of producer %d in queue %d: %w", k.id, k.q, err)
	}
	st, err := queue.DecodeProducer(v)
	if err != nil {
		return nil, fmt.Errorf("reading the state of producer %d in queue %d: %w", k.id, k.q, err)
	}
	return &producer{Producer: st}, nil
}

// add takes note of an appended batch. answered is the append time its producer is told, applied the log position the
// index has reached.
func (p *producers) add(k producerKey, st *producer, b batch.Batch, base, answered, now, position, applied int64) {
	st.Add(b, base, answered, now)
	st.position = position
	if _, ok := p.m[k]; !ok {
		p.evict(applied)
		p.m[k] = st
	}
}

// forget takes note that a producer's state expired with the frame at a position.
func (p *producers) forget(k producerKey, position, applied int64) {
	if _, ok := p.m[k]; !ok {
		p.evict(applied)
	}
	p.m[k] = &producer{position: position}
}

// evict makes room by dropping states the index holds as they are; map order makes the choice random.
func (p *producers) evict(applied int64) {
	if len(p.m) < p.limit {
		return
	}
	for k, st := range p.m {
		if st.position < applied {
			delete(p.m, k)
		}
		if len(p.m) < p.limit-p.limit/16 {
			return
		}
	}
}
