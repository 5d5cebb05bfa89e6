package store

import (
	"fmt"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/queue"
)

// plan is what the sequencer decided for one entry.
type plan struct {
	place bool
	data  bool
	patch commitlog.Patch
	prod  *producer
	key   producerKey
}

// Append implements API.
func (s *Store) Append(safety Safety, entries ...Entry) *Ticket {
	t := &Ticket{}
	size, data, err := s.measure(entries)
	if err == nil {
		// A machine appends under its own lock, which applying needs, too: only clients' data waits for memory.
		err = s.enter(useOf(entries), size, data == len(entries))
	}
	if err != nil {
		t.finish(err)
		return t
	}
	if data > 0 {
		t.results = make([]Appended, data)
	}
	g := s.sequence(t, entries)
	s.log.End()
	if g == nil {
		t.finish(nil)
		return t
	}
	g.attach(t, safety)
	return t
}

// useOf says what an append is for: one that gives space back must be possible on a full disk.
func useOf(entries []Entry) commitlog.Use {
	for i := range entries {
		if entries[i].Frees {
			return commitlog.ForFreeing
		}
	}
	return commitlog.ForData
}

// enter enters the sequencer with room for size bytes; see commitlog.Log.BeginAs.
func (s *Store) enter(u commitlog.Use, size int64, wait bool) error {
	if e := s.failing.Load(); e != nil {
		return e
	}
	if u == commitlog.ForData {
		if e := s.short(); e != nil {
			return e
		}
	}
	return storageErr(s.log.BeginAs(u, size, wait))
}

// measure adds up the room of all entries and refuses what may not be appended from outside.
func (s *Store) measure(entries []Entry) (size int64, data int, err error) {
	for i := range entries {
		e := &entries[i]
		n := len(e.Payload)
		switch {
		case e.Kind == commitlog.KindData:
			n = len(e.Batch)
			data++
			if n < batch.HeaderSize || e.Batch.Size() != n {
				return 0, 0, fmt.Errorf("appending to queue %d: %d bytes are no record batch", e.Queue, n)
			}
		case !e.own && s.machines[e.Kind] == nil:
			return 0, 0, fmt.Errorf("appending a record of kind 0x%02x: no machine is registered for it", byte(e.Kind))
		}
		size += commitlog.FrameSize(n)
	}
	return size, data, nil
}

// sequence gives offsets, checks producers' sequences and places what is accepted; the sequencer is held and room
// reserved, so that nothing placed can fail (I6). It returns the tag of the round the ticket must wait for: that of its
// own entries, or for duplicates alone the last one placed (I5); nil if there is nothing to wait for.
func (s *Store) sequence(t *Ticket, entries []Entry) *tag {
	var few [8]plan
	plans := few[:0]
	last, di, dup := -1, 0, false
	for i := range entries {
		p := plan{place: true}
		if entries[i].Kind == commitlog.KindData {
			p = s.decide(&entries[i], &t.results[di])
			dup = dup || t.results[di].Duplicate
			di++
		} else if entries[i].drop {
			p.place = s.table.Dropping(entries[i].Queue)
		}
		if p.place {
			last = i
		}
		plans = append(plans, p)
		if p.prod != nil { // the next entry may be of the same producer
			s.remember(&plans[i], entries[i].Batch)
		}
	}
	if last < 0 {
		if dup {
			return s.newest
		}
		return nil
	}
	var g *tag
	for i := range entries {
		p, e := &plans[i], &entries[i]
		if !p.place {
			continue
		}
		var placed *commitlog.Placed
		if p.data {
			placed = s.log.PutBatch(uint32(e.Queue), e.Batch, p.patch, i != last)
		} else {
			placed = s.log.Put(e.Kind, uint32(e.Queue), e.Payload, i != last)
		}
		if g == nil {
			g = s.roundTag()
		}
		if p.prod != nil {
			g.producers = append(g.producers, producerAt{placed.Position, p.key, p.prod.Producer})
		}
	}
	return g
}

// roundTag gives the tag of the round that takes frames.
func (s *Store) roundTag() *tag {
	r := s.log.Current()
	if r.Tag == nil {
		r.Tag = &tag{}
	}
	s.newest = r.Tag.(*tag)
	return s.newest
}

// decide answers one batch: a refusal, a duplicate, or offsets.
func (s *Store) decide(e *Entry, a *Appended) plan {
	*a = Appended{BaseOffset: -1, AppendTime: -1}
	head, _, ok := s.table.Get(e.Queue)
	if !ok || head.IsDropping() {
		a.Err = ErrNoQueue
		return plan{}
	}
	a.LogStart = head.LogStart
	p := plan{place: true, data: true}
	b := e.Batch
	if b.ProducerID() >= 0 {
		p.key = producerKey{e.Queue, b.ProducerID()}
		st, err := s.producers.get(p.key)
		if err != nil {
			a.Err = err
			return plan{}
		}
		dup, err := st.Check(e.Queue, b)
		if err != nil {
			a.Err = err
			return plan{}
		}
		if dup != nil {
			a.BaseOffset, a.AppendTime, a.Duplicate = dup.Base, dup.Time, true
			s.m.duplicates.Inc()
			return plan{}
		}
		if s.guard != nil && !b.Control() {
			if a.Err = s.guard(e.Queue, b); a.Err != nil {
				return plan{}
			}
		}
		p.prod = st
	}
	head, policy, _ := s.table.Give(e.Queue, int64(b.LastDelta())+1) // I1
	p.patch = commitlog.Patch{BaseOffset: head.Next, LeaderEpoch: head.Epoch, AppendTime: policy.AppendTime}
	a.BaseOffset = head.Next
	if policy.AppendTime {
		a.AppendTime = s.log.Now()
	}
	return p
}

// remember moves a producer's window on, as the batch will be stored.
func (s *Store) remember(p *plan, b batch.Batch) {
	now := s.log.Now()
	answered := int64(-1)
	if p.patch.AppendTime {
		answered = now
	}
	s.producers.add(p.key, p.prod, b, p.patch.BaseOffset, answered, now, s.log.Position(), s.applied.Load())
	cp := *p.prod
	p.prod = &cp
}

// appendOwn appends one record of the store's own and waits until it is applied.
func (s *Store) appendOwn(u commitlog.Use, k commitlog.Kind, payload []byte, queues ...queue.ID) error {
	t := &Ticket{}
	size := commitlog.FrameSize(len(payload)) * int64(len(queues))
	if err := s.enter(u, size, false); err != nil {
		return err
	}
	for i, q := range queues {
		s.log.Put(k, uint32(q), payload, i != len(queues)-1)
	}
	g := s.roundTag()
	s.log.End()
	g.attach(t, Durable)
	<-t.Done()
	return t.Err()
}
