package store

import (
	"context"
	"errors"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Head implements API.
func (s *Store) Head(q queue.ID) (Head, error) {
	st, stable, ok := s.table.Stable(q)
	if !ok {
		return Head{}, ErrNoQueue
	}
	return headOf(&st, stable), nil
}

// Size implements API: the bytes of the batches a queue keeps.
func (s *Store) Size(q queue.ID) (int64, error) {
	st, _, ok := s.table.Get(q)
	if !ok {
		return 0, ErrNoQueue
	}
	return st.Bytes, nil
}

// OffsetAt implements API; -1 and -1 mean that no record is so late. The highest timestamp up to a batch never falls
// along a queue, so the first batch that can hold the answer is found by bisection.
func (s *Store) OffsetAt(ctx context.Context, q queue.ID, ms int64) (offset, at int64, err error) {
	return s.unmoved(func() (int64, int64, error) { return s.offsetAt(ctx, q, ms) })
}

// unmoved does a look-up again when batches were moved under it.
func (s *Store) unmoved(f func() (int64, int64, error)) (offset, at int64, err error) {
	for range goneTries {
		if offset, at, err = f(); !errors.Is(err, commitlog.ErrGone) {
			return offset, at, err
		}
	}
	return -1, -1, &commitlog.CorruptError{File: s.dir, Reason: "a batch that is looked for is in no segment: " + err.Error()}
}

func (s *Store) offsetAt(ctx context.Context, q queue.ID, ms int64) (offset, at int64, err error) {
	st, _, ok := s.table.Get(q)
	if !ok {
		return -1, -1, ErrNoQueue
	}
	var sc scan
	defer sc.release()
	lo, hi := st.LogStart, st.High
	for lo < hi {
		ok, err := sc.seek(s.db, q, lo+(hi-lo)/2)
		if err != nil {
			return -1, -1, err
		}
		if !ok || sc.e.Base >= st.High {
			hi = lo + (hi-lo)/2
		} else if sc.e.MaxTime >= ms {
			hi = min(lo+(hi-lo)/2, max(sc.e.Base, lo))
		} else {
			lo = sc.e.Last + 1
		}
	}
	if lo >= st.High {
		return -1, -1, nil
	}
	// The batch at lo has the first maximum that is late enough, but that may be a trimmed record's: go on from there.
	var buf []byte
	for ok, err = sc.seek(s.db, q, lo); ok && err == nil && sc.e.Base < st.High; ok, err = sc.next() {
		if err := ctx.Err(); err != nil {
			return -1, -1, err
		}
		if sc.e.MaxTime < ms {
			continue
		}
		if buf, err = s.readBatch(buf[:0], q, &sc.e); err != nil {
			return -1, -1, err
		}
		offset, at, err := firstAt(buf, &sc.e, st.LogStart, ms)
		if err != nil || offset >= 0 {
			return offset, at, err
		}
	}
	return -1, -1, errors.Join(err, sc.close())
}

// firstAt finds the first record of a batch at or after a time and at or above the log start.
func firstAt(b batch.Batch, e *index.Entry, start, ms int64) (offset, at int64, err error) {
	offset, at = -1, -1
	if b.MaxTime() < ms {
		return offset, at, nil
	}
	err = b.Walk(func(m batch.Meta) error {
		if o := e.Base + int64(m.OffsetDelta); m.Time >= ms && o >= start {
			offset, at = o, m.Time
			return batch.ErrStop
		}
		return nil
	})
	return offset, at, err
}

// MaxTimestamp implements API; -1 and -1 for a queue without records.
func (s *Store) MaxTimestamp(ctx context.Context, q queue.ID) (offset, at int64, err error) {
	return s.unmoved(func() (int64, int64, error) { return s.maxTimestamp(ctx, q) })
}

func (s *Store) maxTimestamp(ctx context.Context, q queue.ID) (offset, at int64, err error) {
	st, _, ok := s.table.Get(q)
	if !ok {
		return -1, -1, ErrNoQueue
	}
	if st.LogStart >= st.High {
		return -1, -1, nil
	}
	if st.MaxTimeAt >= st.LogStart {
		offset, at, err = s.latest(ctx, q, &st, st.MaxTimeAt, st.MaxTimeAt)
		if err != nil || at == st.MaxTime {
			return offset, at, err
		}
	}
	return s.latest(ctx, q, &st, st.LogStart, st.High-1) // the record that was the latest is trimmed or compacted away
}

// latest finds the record with the highest timestamp in the batches that hold two offsets and all between.
func (s *Store) latest(ctx context.Context, q queue.ID, st *queue.State, from, to int64) (offset, at int64, err error) {
	var sc scan
	defer sc.release()
	offset, at = -1, -1
	var buf []byte
	ok, err := sc.seek(s.db, q, from)
	for ; ok && err == nil && sc.e.Base <= to; ok, err = sc.next() {
		if err := ctx.Err(); err != nil {
			return -1, -1, err
		}
		if buf, err = s.readBatch(buf[:0], q, &sc.e); err != nil {
			return -1, -1, err
		}
		if b := batch.Batch(buf); at < b.MaxTime() {
			if err := b.Walk(func(m batch.Meta) error {
				if o := sc.e.Base + int64(m.OffsetDelta); m.Time > at && o >= st.LogStart {
					offset, at = o, m.Time
				}
				return nil
			}); err != nil {
				return -1, -1, err
			}
		}
	}
	return offset, at, errors.Join(err, sc.close())
}

type epochStart struct {
	epoch int32
	start int64
}

// epochs lists a queue's leader epochs, lowest first.
func (s *Store) epochs(q queue.ID) ([]epochStart, error) {
	from, to := index.QueueRange(index.PrefixEpoch, uint32(q))
	it, err := s.db.Iter(from, to)
	if err != nil {
		return nil, err
	}
	var list []epochStart
	for ok := it.First(); ok; ok = it.Next() {
		start, err := index.DecodeEpochStart(it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		list = append(list, epochStart{index.EpochOf(it.Key()), start})
	}
	return list, it.Close()
}

// EpochEnd implements API (KIP-101, KIP-279): the largest epoch at or below the one asked, and the offset where it
// ended; -1 and -1 for an epoch later than the current one.
func (s *Store) EpochEnd(q queue.ID, epoch int32) (int32, int64, error) {
	st, _, ok := s.table.Get(q)
	if !ok {
		return -1, -1, ErrNoQueue
	}
	if epoch < 0 || epoch > st.Epoch {
		return -1, -1, nil
	}
	if epoch == st.Epoch {
		return epoch, st.High, nil
	}
	list, err := s.epochs(q)
	if err != nil {
		return -1, -1, err
	}
	found, end := int32(-1), st.High
	for _, e := range list {
		if e.epoch > epoch {
			end = e.start
			break
		}
		found = e.epoch
	}
	return found, end, nil
}
