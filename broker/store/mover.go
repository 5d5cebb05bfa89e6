package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// empty copies all batches that live in a segment, in rounds of bounded size.
func (s *Store) empty(ctx context.Context, id segID) error {
	type hold struct {
		q        queue.ID
		from, to int64
	}
	var holds []hold
	if err := s.eachShare(id, func(q queue.ID, sh index.Share) error {
		holds = append(holds, hold{q, sh.First, sh.Last})
		return nil
	}); err != nil {
		return err
	}
	mv := &mover{s: s, ctx: ctx, r: &round{}, use: commitlog.ForSnapshots}
	for _, h := range holds {
		if err := mv.queue(id, h.q, h.from, h.to); err != nil {
			return err
		}
	}
	return mv.flush()
}

// mover gathers batches into rounds.
type mover struct {
	s     *Store
	ctx   context.Context
	r     *round
	bytes int64         // of the round in the cold log
	use   commitlog.Use // emptying segments gives more space than it takes
}

// queue takes a queue's batches between two offsets that stand in a segment.
func (m *mover) queue(id segID, q queue.ID, from, to int64) error {
	log := m.s.log
	if id.store == index.StoreCold {
		log = m.s.cold
	}
	sg, ok := log.SegmentOf(id.first)
	if !ok {
		return nil
	}
	var entries []index.Entry
	next := from
	for more := true; more; { // not across the rounds: an iterator held keeps files
		entries, more = entries[:0], false
		var sc scan
		ok, err := sc.seek(m.s.db, q, next)
		for ; ok && err == nil && sc.e.Base <= to; ok, err = sc.next() {
			if entries = append(entries, sc.e); len(entries) == 1024 {
				next, more = sc.e.Last+1, true
				break
			}
		}
		if err := errors.Join(err, sc.close()); err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			if e.Store != id.store || e.Position < sg.First || e.Position >= sg.End {
				continue
			}
			if err := m.batch(q, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch copies one batch as it is.
func (m *mover) batch(q queue.ID, e *index.Entry) error {
	if err := m.s.pace.take(m.ctx, 2*e.Size); err != nil {
		return err
	}
	b, err := m.s.readBatch(nil, q, e)
	if m.s.damaged(err, e) { // it stays where it is, and with it its segment
		return nil
	}
	if err != nil {
		return fmt.Errorf("copying the batch at offset %d of queue %d: %w", e.Base, q, err)
	}
	return m.put(q, e, b)
}

func (m *mover) flush() error {
	r := m.r
	m.r, m.bytes = &round{}, 0
	if len(r.ranges) == 0 && len(r.cleaned) == 0 && len(r.markers) == 0 {
		return nil
	}
	return m.s.move(m.ctx, r, m.use)
}

// put replaces a batch by what is left of it, nil for nothing.
func (m *mover) put(q queue.ID, e *index.Entry, b batch.Batch) error {
	at, err := m.s.appendTime(e)
	if err != nil {
		return err
	}
	size := int64(rangeBytes)
	if b != nil {
		size += commitlog.FrameSize(commitlog.CopiedSize(len(b)))
	}
	if m.bytes+size > min(roundBytes, m.s.cold.MaxGroup()/2) && len(m.r.ranges) > 0 {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.bytes += size
	if k := len(m.r.ranges) - 1; k >= 0 && m.r.ranges[k].q == q && m.r.ranges[k].to+1 == e.Base {
		m.r.ranges[k].to = e.Last
	} else {
		m.r.ranges = append(m.r.ranges, span{q, e.Base, e.Last})
	}
	if b != nil {
		to := *e
		to.Size, to.Count = len(b), b.Count()
		m.r.copies = append(m.r.copies, copied{ref: commitlog.Ref{Queue: uint32(q), Base: e.Base, MaxTime: e.MaxTime, Time: at}, batch: b, entry: to})
	}
	if len(m.r.ranges) >= roundRanges || len(m.r.copies) >= roundCopies {
		return m.flush()
	}
	return nil
}

// holes takes the parts of a range in which nothing lives.
func (m *mover) holes(x span) error {
	st, _, ok := m.s.table.Get(x.q)
	if !ok || x.to < st.LogStart {
		return nil
	}
	var sc scan
	defer sc.release()
	at := x.from
	ok, err := sc.seek(m.s.db, x.q, x.from)
	for ; ok && err == nil && sc.e.Base <= x.to; ok, err = sc.next() {
		if sc.e.Base > at {
			m.r.ranges = append(m.r.ranges, span{x.q, at, sc.e.Base - 1})
		}
		at = sc.e.Last + 1
	}
	if err := errors.Join(err, sc.close()); err != nil {
		return err
	}
	if at <= x.to {
		m.r.ranges = append(m.r.ranges, span{x.q, at, x.to})
	}
	if len(m.r.ranges) < roundRanges {
		return nil
	}
	if m.r.ranges = union(m.r.ranges); len(m.r.ranges) >= roundRanges/2 {
		asOf := m.r.asOf
		err := m.flush()
		m.r.asOf = asOf
		return err
	}
	return nil
}

func (m *mover) carried() error {
	m.r.ranges = union(m.r.ranges)
	most := map[queue.ID]int64{}
	for _, x := range m.r.cleaned {
		most[x.q] = max(most[x.q], x.offset)
	}
	m.r.cleaned = m.r.cleaned[:0]
	for q, offset := range most {
		m.r.cleaned = append(m.r.cleaned, mark{q, offset})
	}
	return m.flush()
}
