package store

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// segID names a segment of the main or the cold log by its first position.
type segID struct {
	store uint8
	first int64
}

// lives says how many bytes of batches live in each segment, as of what is committed to the index. The applier writes it,
// whoever makes space reads it.
type lives struct {
	mu    sync.Mutex
	bytes map[segID]int64
}

func (l *lives) add(id segID, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes == nil {
		l.bytes = map[segID]int64{}
	}
	if l.bytes[id] += n; l.bytes[id] == 0 {
		delete(l.bytes, id)
	}
}

// all copies the numbers.
func (l *lives) all() map[segID]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := maps.Clone(l.bytes)
	if out == nil {
		out = map[segID]int64{}
	}
	return out
}

func (l *lives) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.bytes)
}

// shareKey is a key under the prefix of segments (log-format X5).
type shareKey struct {
	seg segID
	q   queue.ID
}

// share is such a key's value as of the frames applied.
type share struct {
	index.Share
	counted int64 // bytes that lives knows of
	dirty   bool
}

// keepShares bounds how many shares the applier keeps between commits.
const keepShares = 1 << 15

// segment names the segment a batch lies in.
func (a *applier) segment(store uint8, pos int64) (segID, error) {
	if a.seg.store == store && pos >= a.seg.first && pos < a.segEnd {
		return a.seg, nil
	}
	log := a.s.log
	if store == index.StoreCold {
		log = a.s.cold
	}
	sg, ok := log.SegmentOf(pos)
	if !ok {
		return segID{}, fmt.Errorf("position %d of store %d: %w", pos, store, commitlog.ErrGone)
	}
	a.seg, a.segEnd = segID{store, sg.First}, sg.End
	return a.seg, nil
}

func (a *applier) share(k shareKey) (*share, error) {
	if sh := a.shares[k]; sh != nil {
		return sh, nil
	}
	sh := &share{}
	v, err := a.s.db.Get(index.SegmentKey(k.seg.store, k.seg.first, uint32(k.q)))
	if err == nil {
		sh.Share, err = index.DecodeShare(v)
		sh.counted = sh.Bytes
	} else if errors.Is(err, index.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what queue %d keeps in the segment at %d: %w", k.q, k.seg.first, err)
	}
	a.shares[k] = sh
	return sh, nil
}

// keep counts a batch that lives from now on.
func (a *applier) keep(q queue.ID, e *index.Entry) error {
	id, err := a.segment(e.Store, e.Position)
	if err != nil {
		return err
	}
	sh, err := a.share(shareKey{id, q})
	if err != nil {
		return err
	}
	if sh.Bytes == 0 {
		sh.First, sh.Last = e.Base, e.Last
	}
	sh.First, sh.Last, sh.dirty = min(sh.First, e.Base), max(sh.Last, e.Last), true
	sh.Batches++
	sh.Bytes += int64(e.Size)
	return nil
}

// lose counts a batch that is trimmed or moved; its segment may be gone already when the index is being rebuilt.
func (a *applier) lose(q queue.ID, e *index.Entry) error {
	id, err := a.segment(e.Store, e.Position)
	if errors.Is(err, commitlog.ErrGone) {
		return nil
	}
	sh, err := a.share(shareKey{id, q})
	if err != nil {
		return err
	}
	sh.Batches--
	sh.Bytes -= int64(e.Size)
	sh.dirty = true
	return nil
}

// loseAll counts all batches of a queue that is dropped.
func (a *applier) loseAll(q queue.ID) error {
	segs := a.s.lives.all()
	for k := range a.shares { // those not counted yet, too
		if k.q == q {
			segs[k.seg] = 0
		}
	}
	for id := range segs {
		sh, err := a.share(shareKey{id, q})
		if err != nil {
			return err
		}
		if sh.Bytes > 0 {
			sh.Share, sh.dirty = index.Share{}, true
		}
	}
	return nil
}

// commitShares writes what changed into the open batch.
func (a *applier) commitShares(b *index.Batch) error {
	for k, sh := range a.shares {
		if !sh.dirty {
			continue
		}
		sh.dirty = false
		a.s.lives.add(k.seg, sh.Bytes-sh.counted)
		sh.counted = sh.Bytes
		a.key = index.AppendSegmentKey(a.key[:0], k.seg.store, k.seg.first, uint32(k.q))
		var err error
		if sh.Bytes <= 0 {
			delete(a.shares, k)
			err = b.Delete(a.key)
		} else {
			a.buf = index.AppendShare(a.buf[:0], &sh.Share)
			err = b.Set(a.key, a.buf)
		}
		if err != nil {
			return err
		}
	}
	if len(a.shares) > keepShares {
		clear(a.shares)
	}
	return nil
}

// forgetSegment removes the keys of a segment that is about to be removed.
func (a *applier) forgetSegment(id segID) error {
	for k := range a.shares {
		if k.seg == id {
			delete(a.shares, k)
		}
	}
	from, to := index.SegmentRange(id.store, id.first)
	if err := a.batch().DeleteRange(from, to); err != nil {
		return err
	}
	return a.commit()
}

// loadShares counts what lives in each segment.
func (s *Store) loadShares() error {
	s.lives.forget()
	it, err := s.db.Iter(index.PrefixRange(index.PrefixSegment))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		store, first, _, err := index.SegmentOf(it.Key())
		var sh index.Share
		if err == nil {
			sh, err = index.DecodeShare(it.Value())
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		s.lives.add(segID{store, first}, sh.Bytes)
	}
	return errors.Join(it.Error(), it.Close())
}

// eachShare lists what lives in one segment.
func (s *Store) eachShare(id segID, f func(q queue.ID, sh index.Share) error) error {
	it, err := s.db.Iter(index.SegmentRange(id.store, id.first))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		_, _, q, err := index.SegmentOf(it.Key())
		var sh index.Share
		if err == nil {
			sh, err = index.DecodeShare(it.Value())
		}
		if err == nil {
			err = f(queue.ID(q), sh)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return errors.Join(it.Error(), it.Close())
}
