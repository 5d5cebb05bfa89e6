package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/compact"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// cleanState is what the last look at a compacted queue found. It is only a memory: without it the queue is looked at.
type cleanState struct {
	high    int64 // the queue's end then
	policy  Policy
	again   int64 // when to look again even if nothing was appended, Unix ms; 0: no need
	horizon int64 // when a tombstone's time is over, 0 if none waits
	dirty
}

// dirty is what of a queue waits for compaction.
type dirty struct {
	from  int64 // where it begins
	to    int64 // end of what may be compacted now
	bytes int64 // of that
	other int64 // bytes of everything else below to
	first int64 // time of the oldest record that waits
	later int64 // when more may be compacted without anything appended, 0 if that is not known
	held  int64 // bytes of the batch at to, which may be the last a reader sees: of all, or of what is committed
	next  int64 // where to look on
}

// Compact compacts the queues whose policy asks for it and that have enough to gain. It never touches what is above the
// last stable offset, younger than the policy's lag, or the last batch below either end: a reader in a hole always finds a
// record behind it, also a reader of committed data.
func (s *Store) Compact(ctx context.Context) error {
	now := s.retainClock.now(s.o.Now())
	var errs []error
	for _, q := range s.table.IDs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		st, p, ok := s.table.Get(q)
		if !ok || !p.Compact || st.IsDropping() {
			delete(s.cleaning, q)
			continue
		}
		if err := s.compactIfDue(ctx, q, &st, p, now); err != nil {
			errs = append(errs, fmt.Errorf("compacting queue %d: %w", q, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) compactIfDue(ctx context.Context, q queue.ID, st *queue.State, p Policy, now int64) error {
	was := s.cleaning[q]
	timeUp := was.horizon != 0 && now >= was.horizon
	if was.high == st.High && was.policy == p && !timeUp && (was.again == 0 || now < was.again) {
		return nil
	}
	d, err := s.waiting(q, st, p, now, was.dirty)
	if err != nil {
		return err
	}
	late := p.MaxLagMs > 0 && now-p.MaxLagMs > 0 && d.bytes > 0 && d.first < now-p.MaxLagMs
	much := d.bytes >= s.o.CompactFloor && d.bytes*1000 >= int64(p.Dirty)*(d.bytes+d.other)
	is := cleanState{high: st.High, policy: p, again: d.later, horizon: was.horizon, dirty: d}
	if p.MaxLagMs > 0 && d.bytes > 0 && d.first+p.MaxLagMs > d.first {
		is.again = soonest(is.again, d.first+p.MaxLagMs+1)
	}
	if late || d.bytes > 0 && much || timeUp {
		if is.horizon, err = s.compactQueue(ctx, q, p, d.to, now); err != nil {
			return err
		}
		if err := s.MakeSpace(ctx); err != nil { // there may be many queues, and each frees something
			return err
		}
		is.high = -1 // look again: a pass may not have taken all
		if d.bytes == 0 {
			is.high = st.High
		}
	}
	s.cleaning[q] = is
	return nil
}

func soonest(a, b int64) int64 {
	if a == 0 || b < a {
		return b
	}
	return a
}

// waiting adds up what may be compacted, and goes on where it ended the last time.
func (s *Store) waiting(q queue.ID, st *queue.State, p Policy, now int64, d dirty) (dirty, error) {
	if from := max(st.Cleaned, st.LogStart); d.from != from || d.next == 0 {
		d = dirty{from: from, to: from, next: from}
	}
	d.later = 0
	head, err := s.Head(q)
	if err != nil {
		return d, nil // dropped meanwhile
	}
	var sc scan
	defer sc.release()
	ok, err := sc.seek(s.db, q, d.next)
	for ; ok && err == nil && sc.e.Last < head.LastStable; ok, err = sc.next() {
		at, err := s.batchTime(&sc.e, now)
		if err != nil {
			return d, err
		}
		d.to, d.bytes, d.held = sc.e.Base, d.bytes+d.held, 0
		if p.MinLagMs > 0 && at > now-p.MinLagMs {
			d.later = at + p.MinLagMs + 1
			break
		}
		if d.first == 0 {
			d.first = max(at, 1)
		}
		d.held, d.next = int64(sc.e.Size), sc.e.Last+1
	}
	d.other = max(st.Bytes-d.bytes-d.held, 0)
	return d, errors.Join(err, sc.close())
}

// compactQueue makes passes until everything below an offset is compacted, or the keys of the rest do not fit. It gives
// the time at which a tombstone or marker it met is over.
func (s *Store) compactQueue(ctx context.Context, q queue.ID, p Policy, to, now int64) (horizon int64, err error) {
	if s.keys == nil {
		s.keys = compact.NewKeys(s.o.CompactMemory)
	}
	for {
		st, _, ok := s.table.Get(q)
		if !ok || st.IsDropping() {
			return 0, nil
		}
		aborted, err := s.abortions(q, st.LogStart)
		if err != nil {
			return 0, err
		}
		s.keys.Reset()
		learned, err := s.learn(ctx, q, max(st.Cleaned, st.LogStart), to, aborted)
		if err != nil {
			return 0, err
		}
		pass := &compact.Pass{Keys: s.keys, Now: now, Tombstone: p.TombstoneMs}
		if err := s.rewrite(ctx, q, pass, learned, aborted); err != nil {
			return 0, err
		}
		s.m.compactions.Inc()
		if learned >= to {
			return pass.Horizon, nil
		}
	}
}

// abortions tells whether a batch belongs to an aborted transaction.
type abortions struct {
	by map[int64][]abortion // by producer
}

type abortion struct {
	first, last int64 // the last is its marker
}

func (a *abortions) holds(b batch.Batch) bool {
	if !b.Transactional() || b.Control() {
		return false
	}
	return slices.ContainsFunc(a.by[b.ProducerID()], func(x abortion) bool {
		return x.first <= b.BaseOffset() && b.BaseOffset() <= x.last
	})
}

// abortions lists the aborted transactions of a queue whose marker stands at or above an offset.
func (s *Store) abortions(q queue.ID, from int64) (*abortions, error) {
	a := &abortions{by: map[int64][]abortion{}}
	_, end := index.QueueRange(index.PrefixAborted, uint32(q))
	it, err := s.db.Iter(index.AbortedKey(uint32(q), from), end)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		x, err := index.DecodeAborted(it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		a.by[x.Producer] = append(a.by[x.Producer], abortion{x.First, x.Last})
	}
	return a, errors.Join(it.Error(), it.Close())
}

// learn notes the keys between two offsets, and gives the end of what fit.
func (s *Store) learn(ctx context.Context, q queue.ID, from, to int64, aborted *abortions) (int64, error) {
	end := from
	err := s.eachBatch(ctx, q, from, to, func(e *index.Entry, b batch.Batch) (bool, error) {
		if !aborted.holds(b) && !s.keys.Learn(b) {
			if end == from {
				return false, fmt.Errorf("the keys of the batch at offset %d do not fit into log.cleaner.dedupe.buffer.size=%d", e.Base, s.o.CompactMemory)
			}
			return false, nil
		}
		end = e.Last + 1
		return true, nil
	})
	if err == nil && end < to && s.keys.Len() < s.keys.Cap() { // nothing stands in the rest of the range
		end = to
	}
	return end, err
}

// rewrite takes out of the batches is below an offset, in rounds.
func (s *Store) rewrite(ctx context.Context, q queue.ID, pass *compact.Pass, to int64, aborted *abortions) error {
	st, _, ok := s.table.Get(q)
	if !ok {
		return nil
	}
	m := &mover{s: s, ctx: ctx, r: &round{}}
	err := s.eachBatch(ctx, q, st.LogStart, to, func(e *index.Entry, b batch.Batch) (bool, error) {
		outcome, out, err := pass.Clean(b, aborted.holds(b))
		if e.Count == 0 {
			outcome = compact.Empty // a header an earlier pass left
		}
		if err != nil || outcome == compact.Same {
			return true, err
		}
		if outcome == compact.Empty {
			if b.Control() {
				m.r.markers = append(m.r.markers, mark{q, e.Base})
			}
			keep := e.Last+1 >= to
			if !keep && b.ProducerID() >= 0 && !b.Control() {
				if keep, err = s.newestOf(q, b.ProducerID(), e.Base); err != nil {
					return false, err
				}
			}
			if e.Count == 0 && keep {
				return true, nil
			}
			if !keep {
				out = nil
			}
		}
		s.m.compactedBytes.Add(float64(max(e.Size-len(out), 0))) // a horizon can make a batch longer
		return true, m.put(q, e, out)
	})
	if err != nil {
		return err
	}
	m.r.cleaned = append(m.r.cleaned, mark{q, to})
	return m.flush()
}

// newestOf tells whether a batch is the last one known of its producer.
func (s *Store) newestOf(q queue.ID, id, base int64) (bool, error) {
	v, err := s.db.Get(index.ProducerKey(uint32(q), id))
	if errors.Is(err, index.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, err := queue.DecodeProducer(v)
	return err == nil && p.N > 0 && p.Batches[p.N-1].Base == base, err
}

// eachBatch reads the batches between two offsets at the pace of maintenance. f says whether to go on.
func (s *Store) eachBatch(ctx context.Context, q queue.ID, from, to int64, f func(*index.Entry, batch.Batch) (bool, error)) error {
	var buf []byte
	entries := make([]index.Entry, 0, 256)
	for more := true; more; {
		entries, more = entries[:0], false
		var sc scan
		ok, err := sc.seek(s.db, q, from)
		for ; ok && err == nil && sc.e.Last < to; ok, err = sc.next() {
			entries = append(entries, sc.e)
			from = sc.e.Last + 1
			if more = len(entries) == cap(entries); more {
				break
			}
		}
		if err := errors.Join(err, sc.close()); err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			if err := s.pace.take(ctx, e.Size); err != nil {
				return err
			}
			if buf, err = s.readBatch(buf[:0], q, e); s.damaged(err, e) {
				continue // left alone
			}
			if err != nil {
				return fmt.Errorf("reading the batch at offset %d: %w", e.Base, err)
			}
			if goOn, err := f(e, buf); err != nil || !goOn {
				return err
			}
		}
	}
	return nil
}
