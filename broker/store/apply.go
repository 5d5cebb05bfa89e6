package store

import (
	"context"
	"fmt"
	"time"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// applier turns frames into index entries and queue state, in log order. Live and at replay it is the same code (I4);
// it works alone: before the start, or on the store's applying goroutine.
type applier struct {
	s     *Store
	cp    index.Checkpoint
	b     *index.Batch
	heads map[queue.ID]*headChange
	prods map[producerKey]queue.Producer
	open  map[queue.ID]queue.OpenSet // of queues with open transactions
	spans []Span
	bytes []int64 // of each span
	moved []stableSpan
	buf   []byte
	key   []byte

	seg    segID // the segment last looked for, and where it ends
	segEnd int64
	shares map[shareKey]*share

	restoring bool // nothing is complete yet: no checkpoint is written
	snapshot  struct {
		id       uint64 // of one whose end has not come yet
		position int64
	}

	frames  int   // in the open batch
	flushed int64 // position at the last flush of the index
	timer   *time.Timer
	spare   []*headChange
}

// headChange is a queue's state as of the frames applied, published when the batch is committed (I2).
type headChange struct {
	st      queue.State
	policy  Policy
	from    int64
	added   int64 // bytes
	gone    bool
	trimmed bool
	valid   bool // LogStart or policy changed, or batches came
}

func newApplier(s *Store, cp index.Checkpoint) *applier {
	cp.LogUUID, cp.History, cp.Format = s.meta.LogUUID, s.meta.History, index.Format
	cp.Machines = map[index.Prefix]uint8{}
	for _, o := range s.owners {
		cp.Machines[o.prefix] = o.m.Version()
	}
	return &applier{
		s: s, cp: cp, heads: map[queue.ID]*headChange{}, prods: map[producerKey]queue.Producer{},
		open: map[queue.ID]queue.OpenSet{}, flushed: cp.Position, shares: map[shareKey]*share{},
	}
}

func (a *applier) batch() *index.Batch {
	if a.b == nil {
		a.b = a.s.db.NewBatch()
	}
	return a.b
}

// head gives the changing state of a queue, nil if there is no such queue.
func (a *applier) head(q queue.ID) *headChange {
	if h := a.heads[q]; h != nil {
		if h.gone {
			return nil
		}
		return h
	}
	st, p, ok := a.s.table.Get(q)
	if !ok {
		return nil
	}
	return a.change(q, st, p)
}

func (a *applier) change(q queue.ID, st queue.State, p Policy) *headChange {
	var h *headChange
	if k := len(a.spare); k > 0 {
		h, a.spare = a.spare[k-1], a.spare[:k-1]
	} else {
		h = new(headChange)
	}
	*h = headChange{st: st, policy: p, from: st.High}
	a.heads[q] = h
	return h
}

// replayed applies a frame at start: producers' windows are those of the frames themselves.
func (a *applier) replayed(f commitlog.Frame) error {
	if f.Kind == commitlog.KindData {
		b := batch.Batch(f.Payload)
		if b.ProducerID() >= 0 && a.head(queue.ID(f.Queue)) != nil {
			k := producerKey{queue.ID(f.Queue), b.ProducerID()}
			p := a.s.producers
			st, ok := a.prods[k]
			if !ok {
				known, err := p.get(k)
				if err != nil {
					return err
				}
				st = known.Producer
			}
			answered := int64(-1)
			if b.AppendTime() {
				answered = b.MaxTime()
			}
			st.Add(b, b.BaseOffset(), answered, f.Time)
			a.prods[k] = st
		}
	}
	return a.frame(f)
}

// frame applies one frame. It never refuses one for what it says: what makes no sense changes nothing.
func (a *applier) frame(f commitlog.Frame) error {
	a.frames++
	a.cp.Time = f.Time
	a.cp.Closed = f.Kind == commitlog.KindClosed
	switch f.Kind {
	case commitlog.KindData:
		return a.data(f)
	case commitlog.KindEpoch:
		a.cp.Epoch = f.Epoch
		return nil
	case commitlog.KindLogStart:
		return a.logStart(f)
	case commitlog.KindQueue:
		return a.queue(f)
	case commitlog.KindExpired:
		return a.expired(f)
	case commitlog.KindSnapBegin, commitlog.KindSnapPart, commitlog.KindSnapEnd:
		return a.snapshotFrame(f)
	case commitlog.KindPad, commitlog.KindSynced, commitlog.KindClosed, commitlog.KindFooter:
		return nil
	}
	m := a.s.machines[f.Kind]
	if m == nil {
		if f.Kind.Skippable() {
			return nil
		}
		return fmt.Errorf("applying the log at %d: no machine is registered for frames of kind 0x%02x", f.Position, byte(f.Kind))
	}
	if err := m.Apply(f, a.batch()); err != nil {
		return fmt.Errorf("applying the record of kind 0x%02x at log position %d: %w", byte(f.Kind), f.Position, err)
	}
	return nil
}

func (a *applier) data(f commitlog.Frame) error {
	q, b := queue.ID(f.Queue), batch.Batch(f.Payload)
	h := a.head(q)
	if h == nil {
		return nil // its queue was dropped
	}
	e := index.Entry{Last: b.LastOffset(), Base: b.BaseOffset(), Position: f.Position, Size: len(b), Count: b.Count()}
	if b.MaxTime() > h.st.MaxTime {
		h.st.MaxTime, h.st.MaxTimeAt = b.MaxTime(), e.Last
	}
	e.MaxTime = h.st.MaxTime
	h.st.High = e.Last + 1
	h.added += int64(len(b))
	if b.Transactional() {
		if err := a.transaction(q, h, b); err != nil {
			return err
		}
	}
	return a.enter(q, h, &e)
}

// groupEnd notes that everything up to a position has been applied.
func (a *applier) groupEnd(pos int64) { a.cp.Position = pos }

// commit makes what was applied visible: index first, then queues' ends, then waiters and watchers (I2).
func (a *applier) commit() error {
	b := a.batch()
	for q, h := range a.heads {
		if h.gone || !h.valid {
			continue
		}
		head := toHead(&h.st, h.policy)
		a.buf = index.AppendHead(a.buf[:0], &head)
		if err := b.Set(index.HeadKey(uint32(q)), a.buf); err != nil {
			return err
		}
	}
	for k, p := range a.prods {
		if h := a.heads[k.q]; h != nil && h.gone {
			continue
		}
		if !p.Known { // expired
			if err := b.Delete(index.ProducerKey(uint32(k.q), k.id)); err != nil {
				return err
			}
			continue
		}
		a.buf = p.AppendTo(a.buf[:0])
		if err := b.Set(index.ProducerKey(uint32(k.q), k.id), a.buf); err != nil {
			return err
		}
	}
	if err := a.commitShares(b); err != nil {
		return err
	}
	if !a.restoring {
		a.buf = index.AppendCheckpoint(a.buf[:0], &a.cp)
		if err := b.Set(index.CheckpointKey(), a.buf); err != nil {
			return err
		}
	}
	a.b, a.frames = nil, 0
	if err := a.s.db.Commit(b); err != nil {
		return err
	}
	a.s.applied.Store(a.cp.Position)
	a.publish()
	return a.flushDue()
}

// publish moves queues' ends and tells who waits.
func (a *applier) publish() {
	a.spans, a.bytes, a.moved = a.spans[:0], a.bytes[:0], a.moved[:0]
	a.s.wait.mu.Lock() // so that who begins to wait sees an end either before or after, and counts no byte twice
	for q, h := range a.heads {
		delete(a.heads, q)
		switch {
		case h.gone:
			a.s.table.Remove(q)
			a.s.wait.changed(q)
		case h.valid:
			from, to := a.s.table.Advance(q, a.open[q].First(), func(st *queue.State) {
				st.LogStart, st.High, st.Next = h.st.LogStart, h.st.High, max(st.Next, h.st.High)
				st.Bytes, st.MaxTime, st.MaxTimeAt = h.st.Bytes, h.st.MaxTime, h.st.MaxTimeAt
				st.Aborts, st.Cleaned = h.st.Aborts, h.st.Cleaned
			})
			if to > from {
				a.moved = append(a.moved, stableSpan{q, from, to})
			}
			if h.trimmed {
				a.s.wait.changed(q)
			}
			if h.st.High > h.from {
				a.spans = append(a.spans, Span{Queue: q, From: h.from, To: h.st.High})
				a.bytes = append(a.bytes, h.added)
			}
		}
		a.spare = append(a.spare, h)
	}
	a.s.wait.advanced(a.spans, a.bytes)
	a.s.wait.stable(a.s.db, a.moved)
	a.s.wait.mu.Unlock()
	clear(a.prods)
	if len(a.spans) > 0 {
		a.s.tell(a.spans)
	}
}

// applyRounds is the store's applying goroutine.
func (s *Store) applyRounds() {
	defer close(s.done)
	for {
		select {
		case r, ok := <-s.rounds:
			if !ok {
				return
			}
			s.applyRound(r)
		case t := <-s.tasks:
			t.done <- s.applyTask(t.f)
		}
	}
}

// task is work for the applier besides rounds: what was moved in the cold log, segments that go.
type task struct {
	f    func(*applier) error
	done chan error
}

// do lets the applier run f between two rounds.
func (s *Store) do(ctx context.Context, f func(*applier) error) error {
	t := task{f, make(chan error, 1)}
	select {
	case s.tasks <- t:
		return <-t.done
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) applyTask(f func(*applier) error) error {
	if err := s.broken.Load(); err != nil {
		return err
	}
	if err := f(s.apply); err != nil {
		return s.breakIndex(err)
	}
	return nil
}

// breakIndex fences writing: the index no longer follows the log.
func (s *Store) breakIndex(err error) *StorageError {
	e := &StorageError{Failed, fmt.Errorf("writing is fenced until a restart, which rebuilds the index: %w", err)}
	s.broken.Store(e)
	s.l.Error("the index failed", "error", err)
	s.log.Fence(err)
	return e
}

func (s *Store) applyRound(r *commitlog.Round) {
	g, _ := r.Tag.(*tag)
	err := s.broken.Load()
	if err == nil {
		if aerr := s.apply.round(r, g); aerr != nil {
			err = s.breakIndex(aerr)
		}
	}
	s.log.Release(r)
	if g == nil {
		return
	}
	if err != nil {
		g.reach(stageFailed, err)
		return
	}
	g.reach(stageApplied, nil)
}

// round applies all frames of one round and commits them.
func (a *applier) round(r *commitlog.Round, g *tag) error {
	var prods []producerAt
	if g != nil {
		prods, g.producers = g.producers, nil
	}
	for i := range r.Frames {
		if len(prods) > 0 && prods[0].position == r.Frames[i].Position {
			a.prods[prods[0].key] = prods[0].state
			prods = prods[1:]
		}
		if err := a.frame(r.Frames[i].Frame); err != nil {
			return err
		}
	}
	a.groupEnd(r.End)
	return a.commit()
}

// flushDue flushes the index after much log or some time, so that a restart replays little. The timer runs only while
// there is something to flush.
func (a *applier) flushDue() error {
	if a.cp.Position-a.flushed >= a.s.o.FlushLogBytes {
		a.flushed = a.cp.Position
		return a.s.db.AsyncFlush()
	}
	if a.timer == nil {
		a.timer = time.AfterFunc(a.s.o.FlushInterval, a.flushTimer)
		a.s.dirty.Store(true)
	} else if !a.s.dirty.Swap(true) {
		a.timer.Reset(a.s.o.FlushInterval)
	}
	return nil
}

// flushTimer runs on the timer's goroutine.
func (a *applier) flushTimer() {
	a.s.flushMu.Lock()
	defer a.s.flushMu.Unlock()
	if a.s.stopped {
		return
	}
	a.s.dirty.Store(false)
	if err := a.s.db.AsyncFlush(); err != nil {
		a.s.l.Error("flushing the index failed", "error", err)
	}
}

// stop ends the timer and waits for a flush it may be beginning.
func (a *applier) stop() {
	a.s.flushMu.Lock()
	defer a.s.flushMu.Unlock()
	a.s.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
