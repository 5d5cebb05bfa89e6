package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Checked is what Verify found in a data directory.
type Checked struct {
	Meta      Meta
	Log, Cold commitlog.Report
	Snapshot  int64 // the log position of the newest whole snapshot, -1 without one
	Problems  []string
}

// openOffline takes an existing data directory without starting anything.
func openOffline(dir string, o Options, log *slog.Logger) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if f, err := o.Disk.Open(filepath.Join(dir, "meta")); err == nil {
		f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no data directory of a broker: it has no file \"meta\"", dir)
	} else {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	return Open(dir, o, log, nil)
}

// Verify walks everything a stopped broker's data directory holds, and changes nothing.
func Verify(ctx context.Context, dir string, o Options, log *slog.Logger) (c Checked, err error) {
	s, err := openOffline(dir, o, log)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	c.Meta, c.Snapshot = s.meta, -1
	seen := snapshots{}
	if c.Log, err = s.log.Verify(ctx, seen.see); err != nil {
		return c, fmt.Errorf("verifying the log: %w", err)
	}
	if c.Cold, err = s.cold.Verify(ctx, nil); err != nil {
		return c, fmt.Errorf("verifying the cold log: %w", err)
	}
	for _, r := range []*commitlog.Report{&c.Log, &c.Cold} {
		for _, d := range r.Damage {
			c.Problems = append(c.Problems, d.String())
		}
	}
	if seen.best != nil {
		c.Snapshot = seen.best.position
	}
	first := int64(0)
	for _, g := range c.Log.Gaps {
		first = max(first, g[1])
	}
	if first = max(first, s.log.First()); first > 0 && c.Snapshot < first {
		c.Problems = append(c.Problems, fmt.Sprintf("log segments before position %d are missing, and no whole snapshot behind them says what they held", first))
	}
	return c, nil
}

// Gap is a stretch of offsets of a queue that are gone.
type Gap struct {
	Queue    queue.ID
	From, To int64 // To is exclusive
}

// Repaired is what Repair did.
type Repaired struct {
	Log, Cold []commitlog.Mended
	Filled    [][2]int64 // log positions whose segment was missing
	Lost      []Gap
	History   uint32
}

// Repair makes the damaged log of a stopped broker usable: what can't be read is taken out, and its bytes are kept. The
// index goes and is rebuilt at the next start. With nothing to repair it changes nothing.
func Repair(ctx context.Context, dir string, o Options, log *slog.Logger) (r Repaired, err error) {
	s, err := openOffline(dir, o, log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	e := commitlog.EpochRecord{Node: s.meta.NodeUUID, History: s.meta.History + 1}
	before, err := s.indexedEnds()
	if err != nil {
		log.Warn("the index can't tell which offsets were given; those at the end of a queue may be given again", "error", err)
	}
	if r.Log, err = s.log.Repair(ctx, e); err != nil {
		return r, fmt.Errorf("repairing the log: %w", err)
	}
	if r.Cold, err = s.cold.Repair(ctx, e); err != nil {
		return r, fmt.Errorf("repairing the cold log: %w", err)
	}
	if r.Filled, err = s.fillGaps(ctx); err != nil {
		return r, err
	}
	accept := false
	if len(gaps(s.log))+len(gaps(s.cold)) > 0 { // without its index nobody knows whether they lost something
		if accept, err = s.indexIncomplete(); err != nil {
			return r, err
		}
	}
	end := int64(0)
	if all := s.log.Segments(); len(all) > 0 {
		end = all[len(all)-1].End
	}
	if len(r.Log)+len(r.Cold)+len(r.Filled) == 0 && (!accept || s.meta.Accepted == end) {
		return r, nil
	}
	holes := slices.Clone(r.Filled)
	for _, m := range r.Log {
		holes = append(holes, [2]int64{m.From, m.To})
	}
	if r.Lost, err = s.lostOffsets(ctx, holes, before, len(r.Cold) == 0); err != nil {
		return r, err
	}
	// History first: an index of the old history is not believed any more, whatever happens to it.
	s.meta.History++
	s.meta.Accepted = end
	r.History = s.meta.History
	if err := s.meta.write(s.o.Disk, s.dir); err != nil {
		return r, err
	}
	return r, index.Remove(s.o.IndexFS, s.indexDir())
}

// fillGaps puts pads where segments are missing that no snapshot makes up for.
func (s *Store) fillGaps(ctx context.Context) ([][2]int64, error) {
	seen := snapshots{}
	r, err := s.log.Verify(ctx, seen.see)
	if err != nil {
		return nil, err
	}
	position := int64(0)
	if seen.best != nil {
		position = seen.best.position
	}
	var filled [][2]int64
	for _, g := range r.Gaps {
		if position >= g[1] {
			continue
		}
		if err := s.log.Fill(g[0], g[1], s.log.EpochAt(g[1])); err != nil {
			return filled, err
		}
		filled = append(filled, g)
	}
	return filled, nil
}

// snapshots follows the snapshots among frames.
type snapshots struct {
	scan snapScan
	best *found
}

func (x *snapshots) see(f commitlog.Frame) {
	if got, _ := x.scan.frame(f); got != nil {
		x.best = got
	}
}

// indexIncomplete tells whether there is no index, or one whose rebuild was not finished.
func (s *Store) indexIncomplete() (bool, error) {
	db, err := index.Open(index.Options{Dir: s.indexDir(), FS: s.o.IndexFS, MemTableBytes: s.o.MemTableBytes, CacheBytes: s.o.CacheBytes, Log: s.l})
	if err != nil {
		return true, nil //nolint:nilerr // it is rebuilt whatever it is that is wrong with it
	}
	_, err = db.Get(index.CheckpointKey())
	if errors.Is(err, index.ErrNotFound) {
		return true, db.Abandon()
	}
	return false, errors.Join(err, db.Abandon())
}

// indexedEnds reads where the index says queues end.
func (s *Store) indexedEnds() (map[queue.ID]int64, error) {
	db, err := index.Open(index.Options{Dir: s.indexDir(), FS: s.o.IndexFS, MemTableBytes: s.o.MemTableBytes, CacheBytes: s.o.CacheBytes, Log: s.l})
	if err != nil {
		return nil, err
	}
	ends := map[queue.ID]int64{}
	it, err := db.Iter(index.PrefixRange(index.PrefixHead))
	if err != nil {
		return nil, errors.Join(err, db.Abandon())
	}
	for ok := it.First(); ok; ok = it.Next() {
		if h, err := index.DecodeHead(it.Value()); err == nil {
			ends[queue.ID(index.HeadQueue(it.Key()))] = h.Next
		}
	}
	return ends, errors.Join(it.Error(), it.Close(), db.Abandon())
}

// lostOffsets finds the jumps that stretches taken out left in queues, and what is missing at their ends. What the cold log
// has replaced is not lost with the main log's bytes, if nothing is damaged there.
func (s *Store) lostOffsets(ctx context.Context, holes [][2]int64, ends map[queue.ID]int64, coldWhole bool) ([]Gap, error) {
	next, at := map[queue.ID]int64{}, map[queue.ID]int64{}
	var lost []Gap
	_, err := s.log.Verify(ctx, func(f commitlog.Frame) {
		if f.Kind != commitlog.KindData {
			return
		}
		q, b := queue.ID(f.Queue), batch.Batch(f.Payload)
		if want, ok := next[q]; ok && b.BaseOffset() > want {
			for _, h := range holes { // a jump over segments that were removed is none
				if h[0] > at[q] && h[0] < f.Position {
					lost = append(lost, Gap{q, want, b.BaseOffset()})
					break
				}
			}
		}
		next[q], at[q] = b.LastOffset()+1, f.Position
	})
	if err == nil {
		var r *round
		var replaced []span
		_, err = s.cold.Verify(ctx, func(f commitlog.Frame) {
			switch f.Kind {
			case commitlog.KindRound:
				r, _ = decodeRound(f.Payload) // nil if it says nothing
			case commitlog.KindCopied:
				if c, err := commitlog.DecodeCopied(f.Payload); err == nil {
					q := queue.ID(f.Queue)
					next[q] = max(next[q], c.Batch.LastOffset()+1)
				}
			case commitlog.KindCommit:
				if number, _, err := decodeCommit(f.Payload); err == nil && r != nil && r.number == number {
					replaced = append(replaced, r.ranges...)
				}
				r = nil
			}
		})
		if coldWhole {
			lost = without(lost, union(replaced))
		}
	}
	s.keepEnds(ends, next)
	for _, q := range slices.Sorted(maps.Keys(ends)) {
		end := ends[q]
		if have, ok := next[q]; ok && have < end {
			lost = append(lost, Gap{q, have, end})
		}
	}
	return lost, err
}

// without takes ranges, ordered and disjoint, out of gaps.
func without(gaps []Gap, ranges []span) (left []Gap) {
	for _, g := range gaps {
		for _, x := range ranges {
			if x.q != g.Queue || x.to < g.From || x.from >= g.To {
				continue
			}
			if x.from > g.From {
				left = append(left, Gap{g.Queue, g.From, x.from})
			}
			g.From = x.to + 1
		}
		if g.From < g.To {
			left = append(left, g)
		}
	}
	return left
}

// floors is how many queues a repair remembers the end of.
const floors = 10_000

// keepEnds remembers where queues ended whose end may be lost.
func (s *Store) keepEnds(ends, have map[queue.ID]int64) {
	s.meta.Floors = map[queue.ID]int64{}
	for q, end := range ends {
		if n, ok := have[q]; ok && n < end || !ok && end > 0 && len(s.meta.Floors) < floors {
			s.meta.Floors[q] = end
		}
	}
}

// raiseFloors makes the ends a repair remembered known to the log. Nothing else appends yet.
func (s *Store) raiseFloors() error {
	if len(s.meta.Floors) == 0 {
		return nil
	}
	for _, q := range slices.Sorted(maps.Keys(s.meta.Floors)) {
		next := s.meta.Floors[q]
		if st, _, ok := s.table.Get(q); !ok || st.Next >= next {
			continue
		}
		b := appendField(appendField([]byte{recordVersion}, fieldOp, opSkip), fieldNext, uint64(next))
		if err := s.appendOwn(commitlog.ForFreeing, commitlog.KindQueue, b, q); err != nil {
			return fmt.Errorf("making the end of queue %d known: %w", q, err)
		}
	}
	s.meta.Floors = nil
	return s.writeMeta()
}
