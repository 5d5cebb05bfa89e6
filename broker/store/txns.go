package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// transaction applies what a transactional batch means for its queue: data opens the producer's transaction there, a
// marker ends it, and an aborted one is remembered for readers of committed data.
func (a *applier) transaction(q queue.ID, h *headChange, b batch.Batch) error {
	set, producer := a.open[q], b.ProducerID()
	if !b.Control() {
		if !set.Begin(producer, b.BaseOffset()) {
			return nil
		}
		a.open[q] = set
		a.buf = index.AppendOpen(a.buf[:0], producer)
		return a.batch().Set(index.OpenKey(uint32(q), b.BaseOffset()), a.buf)
	}
	commit, ok := b.Marker()
	if !ok {
		return nil
	}
	t, ok := set.End(producer)
	if !ok {
		return nil // it wrote nothing here, or the marker is a repeated one
	}
	if a.open[q] = set; len(set) == 0 {
		delete(a.open, q)
	}
	if err := a.batch().Delete(index.OpenKey(uint32(q), t.First)); err != nil || commit {
		return err
	}
	h.st.Aborts = true
	x := index.Aborted{Producer: producer, First: t.First, Last: b.LastOffset(), Stable: set.First()}
	if x.Stable < 0 {
		x.Stable = x.Last + 1
	}
	a.buf = index.AppendAborted(a.buf[:0], &x)
	return a.batch().Set(index.AbortedKey(uint32(q), x.Last), a.buf)
}

// loadOpen fills the open transactions from the index.
func (a *applier) loadOpen() error {
	it, err := a.s.db.Iter(index.PrefixRange(index.PrefixOpen))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		id, first := index.KeyOffset(it.Key())
		producer, err := index.DecodeOpen(it.Value())
		if err != nil {
			return errors.Join(fmt.Errorf("reading the transaction open at %d in queue %d: %w", first, id, err), it.Close())
		}
		q := queue.ID(id)
		set := a.open[q]
		set.Begin(producer, first)
		a.open[q] = set
	}
	for q, set := range a.open {
		a.s.table.Advance(q, set.First(), func(*queue.State) {})
	}
	return it.Close()
}

// abortedIn lists the aborted transactions that reach into the offsets from from up to to (exclusive), by first offset.
func (s *Store) abortedIn(q queue.ID, from, to int64) (list []Aborted, err error) {
	_, end := index.QueueRange(index.PrefixAborted, uint32(q))
	it, err := s.db.Iter(index.AbortedKey(uint32(q), from), end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		x, err := index.DecodeAborted(v)
		if err != nil {
			return nil, fmt.Errorf("reading the aborted transactions of queue %d: %w", q, err)
		}
		if x.First < to {
			list = append(list, Aborted{x.Producer, x.First})
		}
		if x.Stable >= to {
			break
		}
	}
	slices.SortFunc(list, func(a, b Aborted) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) })
	return list, it.Error()
}

// Producers implements API.
func (s *Store) Producers(q queue.ID) (list []Producer, err error) {
	if _, _, ok := s.table.Get(q); !ok {
		return nil, ErrNoQueue
	}
	it, err := s.db.Iter(index.QueueRange(index.PrefixProducer, uint32(q)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		st, err := queue.DecodeProducer(v)
		if err != nil {
			return nil, fmt.Errorf("reading the producers of queue %d: %w", q, err)
		}
		p := Producer{ID: index.ProducerID(it.Key()), Epoch: st.Epoch, LastSequence: -1, Updated: st.Updated, Open: -1}
		if st.N > 0 {
			p.LastSequence = st.Batches[st.N-1].Last
		}
		if first, open := st.Open(); open {
			p.Open = first
		}
		list = append(list, p)
	}
	return list, it.Error()
}
