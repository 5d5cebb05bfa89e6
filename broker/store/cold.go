package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

func (s *Store) coldDir() string { return filepath.Join(s.dir, "log", "cold") }

// coldSegmentBytes: a round of one batch of any size must fit into a quarter.
func (o *Options) coldSegmentBytes() int64 {
	return max(o.SegmentBytes/2, 8*int64(o.MaxMessageBytes))
}

// openCold lists the cold log; its files are made when something is first moved there.
func (s *Store) openCold(o commitlog.Options) (err error) {
	o.Dir, o.Store, o.SegmentBytes = s.coldDir(), commitlog.StoreCold, s.o.coldSegmentBytes()
	o.TailBytes, o.FillAhead = 1<<20, 0
	o.Release = func() bool { return s.log.Short() && s.giveReserve() }
	s.cold, err = commitlog.Open(o)
	return err
}

// startCold opens the cold log for writing. Only one goroutine moves data.
func (s *Store) startCold() error {
	if s.coldStarted {
		return nil
	}
	err := s.cold.Start(s.coldRec, commitlog.EpochRecord{
		Epoch: s.meta.Epoch, Node: s.meta.NodeUUID, Reason: commitlog.ReasonStart, History: s.meta.History,
	}, commitlog.Hooks{
		Written: func(*commitlog.Round) {},
		Synced: func(r *commitlog.Round) {
			s.cold.Release(r)
			if t, ok := r.Tag.(*coldTag); ok {
				t.finish(nil)
			}
		},
		Failed: func(r *commitlog.Round, err error) {
			if t, ok := r.Tag.(*coldTag); ok {
				t.finish(err)
			}
		},
	})
	s.coldFailed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("opening the cold log in %s for writing: %w", s.coldDir(), err)
	}
	s.coldStarted = true
	return nil
}

// coldTag lets the one who writes a round wait for it.
type coldTag struct{ done chan error }

func (t *coldTag) finish(err error) { t.done <- err }

// move writes a round, makes it durable, and only then lets the index name its copies.
func (s *Store) move(ctx context.Context, r *round, use commitlog.Use) error {
	if err := s.startCold(); err != nil {
		return err
	}
	if r.asOf == 0 {
		r.asOf = s.applied.Load()
	}
	size := commitlog.FrameSize(len(r.begin())) + commitlog.FrameSize(len(r.commit()))
	for i := range r.copies {
		size += commitlog.FrameSize(commitlog.CopiedSize(len(r.copies[i].batch)))
	}
	if len(r.copies) == 0 {
		use = commitlog.ForFreeing // it only takes away
	}
	if err := s.cold.BeginAs(use, size, true); err != nil {
		s.coldFailed.Store(true)
		return fmt.Errorf("writing %d bytes to the cold log: %w", size, err)
	}
	r.number = uint64(s.cold.Position())
	s.cold.Put(commitlog.KindRound, 0, r.begin(), true)
	var buf []byte
	for i := range r.copies {
		c := &r.copies[i]
		buf = commitlog.AppendCopied(buf[:0], &commitlog.Copied{Refs: []commitlog.Ref{c.ref}, Batch: c.batch})
		c.entry.Store, c.entry.Position = index.StoreCold, s.cold.Put(commitlog.KindCopied, c.ref.Queue, buf, true).Position
		c.batch = nil
	}
	s.cold.Put(commitlog.KindCommit, 0, r.commit(), false)
	r.end = s.cold.Position()
	tag := &coldTag{make(chan error, 1)}
	s.cold.Current().Tag = tag
	s.cold.Seal()
	s.cold.End()
	err := <-tag.done
	s.coldFailed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("writing %d bytes to the cold log: %w", size, err)
	}
	s.m.copied.Add(float64(size))
	return s.do(ctx, func(a *applier) error { return a.swap(r) })
}

// replayCold applies the rounds the index has not seen. The main log has been applied to its end: what is trimmed or
// dropped since a round was written needs no copy.
func (s *Store) replayCold(ctx context.Context, from int64) error {
	var r *round
	return s.cold.Replay(from, func(f commitlog.Frame, _ bool, end int64) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replaying the cold log: %w", err)
		}
		var err error
		switch f.Kind {
		case commitlog.KindRound:
			r, err = decodeRound(f.Payload)
		case commitlog.KindCopied:
			if r == nil {
				return nil
			}
			err = r.add(f)
		case commitlog.KindCommit:
			number, n, cerr := decodeCommit(f.Payload)
			if err = cerr; err != nil || r == nil || r.number != number {
				break
			}
			if uint64(len(r.copies)) != n { // some were damaged and have been taken out by a repair
				s.l.Warn("a round of the cold log lacks batches; they are lost", "position", r.number, "copies", len(r.copies), "of", n)
			}
			r.end = end
			err = s.apply.swap(r)
			r = nil
		}
		if err != nil {
			return fmt.Errorf("applying the cold log at position %d: %w", f.Position, err)
		}
		return nil
	})
}

// swap swaps the index's entries of a round's ranges for its copies, in one batch with the cold log's position.
func (a *applier) swap(r *round) error {
	if a.frames > 0 || a.b != nil { // so that the index has all entries
		if err := a.commit(); err != nil {
			return err
		}
	}
	for _, x := range union(r.ranges) {
		if err := a.replace(x); err != nil {
			return err
		}
	}
	for i := range r.copies {
		e := &r.copies[i].entry
		q := queue.ID(r.copies[i].ref.Queue)
		h := a.head(q)
		if h == nil || e.Last < h.st.LogStart {
			continue
		}
		if err := a.enter(q, h, e); err != nil {
			return err
		}
	}
	for _, m := range r.cleaned {
		if h := a.head(m.q); h != nil && m.offset > h.st.Cleaned {
			h.st.Cleaned, h.valid = m.offset, true
		}
	}
	for _, m := range r.markers {
		if err := a.batch().Delete(index.AbortedKey(uint32(m.q), m.offset)); err != nil {
			return err
		}
	}
	a.cp.Cold = r.end
	return a.commit()
}

// replace removes the entries of a range.
func (a *applier) replace(x span) error {
	h := a.head(x.q)
	if h == nil {
		return nil
	}
	from, to := index.BatchKey(uint32(x.q), x.from), index.BatchKey(uint32(x.q), x.to+1)
	it, err := a.s.db.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		_, last := index.BatchLast(it.Key())
		e, err := index.DecodeEntry(last, it.Value())
		if err == nil {
			err = a.lose(x.q, &e)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		h.st.Bytes -= int64(e.Size)
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	h.valid = true
	return a.batch().DeleteRange(from, to)
}
