package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// openIndex opens the index and reads its checkpoint. An index that is damaged, of another format, log or history, or
// written by other versions of the machines is thrown away: the log holds everything.
func (s *Store) openIndex() (index.Checkpoint, error) {
	err := s.tryIndex()
	if err != nil {
		s.l.Warn("the index cannot be opened and will be rebuilt from the log", "error", err)
		return s.resetIndex("it could not be opened")
	}
	v, err := s.db.Get(index.CheckpointKey())
	if errors.Is(err, index.ErrNotFound) {
		if empty, err := s.emptyIndex(); err != nil || !empty {
			return s.resetIndex("it was not completed")
		}
		return index.Checkpoint{}, nil
	}
	if err != nil {
		return s.resetIndex(err.Error())
	}
	cp, err := index.DecodeCheckpoint(v)
	if err != nil {
		return s.resetIndex(err.Error())
	}
	if why := s.foreign(cp); why != "" {
		return s.resetIndex(why)
	}
	return cp, nil
}

// foreign tells why an index does not fit this log and this program, "" if it does.
func (s *Store) foreign(cp index.Checkpoint) string {
	switch {
	case cp.Format != index.Format:
		return fmt.Sprintf("its format is %d, not %d", cp.Format, index.Format)
	case cp.LogUUID != s.meta.LogUUID:
		return "it belongs to another log"
	case cp.History != s.meta.History:
		return "it belongs to another history of this log"
	}
	for _, o := range s.owners {
		if v, ok := cp.Machines[o.prefix]; !ok || v != o.m.Version() {
			return fmt.Sprintf("keys %q were written by version %d, now it is %d", byte(o.prefix), v, o.m.Version())
		}
	}
	return ""
}

// emptyIndex tells whether the index has no key at all.
func (s *Store) emptyIndex() (bool, error) {
	it, err := s.db.Iter([]byte{0}, nil)
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, errors.Join(it.Error(), it.Close())
}

func (s *Store) tryIndex() (err error) {
	s.db, err = index.Open(index.Options{
		Dir: s.indexDir(), FS: s.o.IndexFS, MemTableBytes: s.o.MemTableBytes, CacheBytes: s.o.CacheBytes, Log: s.l,
		OnFailing: s.onIndexFailing, Reserve: s.giveReserve,
	})
	return err
}

// onIndexFailing refuses appends while the index cannot be written to disk: it would grow in memory until it blocks.
func (s *Store) onIndexFailing(err error) {
	if err == nil {
		s.failing.Store(nil)
		s.l.Info("the index can be written again")
		return
	}
	e := &StorageError{reason(err), fmt.Errorf("writing the index in %s, which is tried again: %w", s.indexDir(), err)}
	s.failing.Store(e)
	s.l.Warn("the index cannot be written; appends are refused until it can", "reason", e.Reason, "error", err)
}

// resetIndex deletes the index and opens an empty one.
func (s *Store) resetIndex(why string) (index.Checkpoint, error) {
	s.l.Info("rebuilding the index from the log", "reason", why)
	if s.db != nil {
		if err := s.db.Abandon(); err != nil {
			s.l.Debug("closing the old index", "error", err)
		}
		s.db = nil
	}
	if err := index.Remove(s.o.IndexFS, s.indexDir()); err != nil {
		return index.Checkpoint{}, err
	}
	s.m.rebuilds.Inc()
	return index.Checkpoint{}, s.tryIndex()
}

// load fills the queue table from the index, lets machines load, and applies the rest of both logs.
func (s *Store) load(ctx context.Context, cp index.Checkpoint, rec commitlog.Recovery) (err error) {
	restored := cp.Position < rec.Start
	if restored {
		if cp, err = s.restore(ctx, rec); err != nil {
			return err
		}
	}
	if err := s.loadHeads(); err != nil {
		return err
	}
	if err := s.loadShares(); err != nil {
		return err
	}
	if cp.Snapshot > 0 {
		s.snapshotted.Store(&lastSnapshot{cp.Snapshot, cp.SnapshotEnd, cp.SnapshotBytes})
	}
	for _, o := range s.owners {
		if err := o.m.Load(s.db); err != nil {
			return fmt.Errorf("loading the state under %q from the index: %w", byte(o.prefix), err)
		}
	}
	s.producers = producers{db: s.db, limit: s.o.MaxProducers, m: map[producerKey]*producer{}}
	s.apply = newApplier(s, cp)
	if err := s.apply.loadOpen(); err != nil {
		return err
	}
	if restored { // an index without all batches must not look complete
		s.apply.restoring = true
	}
	if err := s.replay(ctx, cp.Position, rec.End); err != nil {
		return err
	}
	if err := s.replayCold(ctx, cp.Cold); err != nil {
		return err
	}
	if restored {
		f := s.holes()
		if err := s.apply.raiseTimes(f); err != nil {
			return err
		}
		if f != nil {
			if err := f.done(); err != nil {
				return err
			}
		}
		s.apply.restoring = false
		if err := s.apply.commit(); err != nil {
			return err
		}
	}
	for _, d := range s.missing() {
		s.noteDamage(d)
	}
	return nil
}

func (s *Store) loadHeads() error {
	from, to := index.PrefixRange(index.PrefixHead)
	it, err := s.db.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		h, err := index.DecodeHead(it.Value())
		if err != nil {
			return errors.Join(fmt.Errorf("reading the head of queue %d: %w", index.HeadQueue(it.Key()), err), it.Close())
		}
		st, p := fromHead(&h)
		s.table.Put(queue.ID(index.HeadQueue(it.Key())), st, p)
	}
	return it.Close()
}

func fromHead(h *index.Head) (queue.State, Policy) {
	st := queue.State{
		LogStart: h.LogStart, High: h.Next, Next: h.Next, Bytes: h.Bytes, MaxTime: h.MaxTime, MaxTimeAt: h.MaxTimeAt, Epoch: h.Epoch,
		Aborts: h.Aborts, Cleaned: h.Cleaned,
	}
	return st, Policy{
		AppendTime: h.AppendTime, RetentionMs: h.RetainMs, RetentionBytes: h.RetainSize, Compact: h.Compact, Delete: h.Delete,
		MinLagMs: h.MinLag, MaxLagMs: h.MaxLag, TombstoneMs: h.Tombstone, Dirty: h.Dirty,
	}
}

func toHead(st *queue.State, p Policy) index.Head {
	return index.Head{
		LogStart: st.LogStart, Next: st.High, LocalStart: st.LogStart, TierEnd: -1, Epoch: st.Epoch, Bytes: st.Bytes,
		MaxTime: st.MaxTime, MaxTimeAt: st.MaxTimeAt, AppendTime: p.AppendTime, RetainMs: p.RetentionMs,
		RetainSize: p.RetentionBytes, Compact: p.Compact, Delete: p.Delete, Aborts: st.Aborts, Cleaned: st.Cleaned,
		MinLag: p.MinLagMs, MaxLag: p.MaxLagMs, Tombstone: p.TombstoneMs, Dirty: p.Dirty,
	}
}

// replayCommit bounds how many frames one index batch holds at replay.
const replayCommit = 4096

// replay applies what the index has not seen.
func (s *Store) replay(ctx context.Context, from, to int64) error {
	if from >= to {
		return nil
	}
	began, frames := time.Now(), 0
	err := s.log.Replay(from, func(f commitlog.Frame, last bool, end int64) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replaying the log: %w", err)
		}
		if err := s.apply.replayed(f); err != nil {
			return err
		}
		frames++
		if last {
			s.apply.groupEnd(end)
			if s.apply.frames >= replayCommit {
				return s.apply.commit()
			}
		}
		return nil
	})
	if err == nil {
		err = s.apply.commit()
	}
	if err != nil {
		return err
	}
	s.l.Info("replayed the log", "from", from, "to", to, "frames", frames, "took", time.Since(began))
	return nil
}
