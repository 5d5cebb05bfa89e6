package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// When segments are emptied, and how much a round of the cold log moves at once.
const (
	fewLive     = 0.3 // of a segment: the rest of it is worth more than moving these bytes costs
	longLive    = 0.7 // of a segment that holds only what is kept for ever, and so will not empty by itself
	coldLive    = 0.5 // of the cold log as a whole
	roundBytes  = 8 << 20
	roundRanges = 4096
	roundCopies = 1 << 16
	rangeBytes  = 32 // of a range in a round, at most
)

// When a snapshot is due by itself (log-format L9).
const (
	snapshotAfter = 1 << 30
	snapshotTimes = 8
	snapshotWorth = 4 // dead segments must give so many times a snapshot's size
)

// MakeSpace takes a snapshot when one is due, moves what lives in nearly dead segments into the cold log, and removes
// segments in which nothing lives.
func (s *Store) MakeSpace(ctx context.Context) error {
	err := s.emptySegments(ctx)
	// On a full disk only this helps, and the rest may be possible after it.
	if err = errors.Join(err, s.removeDead(ctx)); err != nil {
		return err
	}
	s.m.lastSpace.SetToCurrentTime()
	return nil
}

func (s *Store) emptySegments(ctx context.Context) error {
	if s.snapshotDue() {
		if err := s.Snapshot(ctx); err != nil {
			return err
		}
	}
	if err := s.emptyMain(ctx); err != nil {
		return err
	}
	return s.emptyCold(ctx)
}

func (s *Store) snapshotDue() bool {
	last := s.snapshotted.Load()
	if last == nil {
		return s.log.Durable()-s.log.First() >= snapshotAfter
	}
	return s.log.Durable()-last.end >= max(snapshotAfter, snapshotTimes*last.size)
}

// sealed lists the segments of a log nothing is written to any more, all of whose frames are applied.
func (s *Store) sealed(log *commitlog.Log, applied int64) []commitlog.Segment {
	all := log.Segments()
	for i, sg := range all {
		if sg.End > applied || i == len(all)-1 {
			return all[:i]
		}
	}
	return all
}

// emptyMain moves what lives out of segments that are nearly dead, or that hold only what is kept for ever. Those with the
// least come first: when space is short there may be room for these alone.
func (s *Store) emptyMain(ctx context.Context) error {
	live := s.lives.all()
	all := s.sealed(s.log, s.applied.Load())
	slices.SortStableFunc(all, func(a, b commitlog.Segment) int {
		return cmp.Compare(live[segID{index.StoreMain, a.First}], live[segID{index.StoreMain, b.First}])
	})
	for _, sg := range all {
		id := segID{index.StoreMain, sg.First}
		share := float64(live[id]) / float64(sg.End-sg.First)
		if live[id] == 0 || share >= longLive {
			continue
		}
		if share >= fewLive {
			if forever, err := s.forever(id); err != nil || !forever {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := s.empty(ctx, id); err != nil {
			return fmt.Errorf("emptying the log segment at %d: %w", sg.First, err)
		}
	}
	return nil
}

// forever tells whether a segment holds nothing that time or size will take away.
func (s *Store) forever(id segID) (bool, error) {
	yes := true
	err := s.eachShare(id, func(q queue.ID, _ index.Share) error {
		if _, p, ok := s.table.Get(q); ok && p.Delete && (p.RetentionMs >= 0 || p.RetentionBytes >= 0) {
			yes = false
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return yes, err
}

var errStop = errors.New("stop")

// emptyCold moves what lives in the oldest cold segment to the end of the cold log, while too much of it is dead. Cold
// segments go oldest first: a round counts only while what it replaces may still be found somewhere.
func (s *Store) emptyCold(ctx context.Context) error {
	for {
		live, all := s.lives.all(), s.sealed(s.cold, s.cold.Durable())
		for len(all) > 0 && live[segID{index.StoreCold, all[0].First}] == 0 {
			all = all[1:] // it goes as it is
		}
		var alive, size int64
		for _, sg := range all {
			alive += live[segID{index.StoreCold, sg.First}]
			size += sg.End - sg.First
		}
		if len(all) == 0 || float64(alive) >= coldLive*float64(size) {
			return nil
		}
		id := segID{index.StoreCold, all[0].First}
		if err := s.empty(ctx, id); err != nil {
			return fmt.Errorf("emptying the cold log segment at %d: %w", id.first, err)
		}
		if s.lives.all()[id] != 0 { // something in it can't be read
			return nil
		}
	}
}

// removeDead removes segments in which nothing lives, after making sure that neither a rebuild nor a restart needs them:
// the index that no longer names them is on disk, and a snapshot behind them is in the log.
func (s *Store) removeDead(ctx context.Context) error {
	var dead []commitlog.Segment
	err := s.do(ctx, func(a *applier) error {
		dead = s.dead(s.log, index.StoreMain, a.cp.Position)
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.snapshotFor(ctx, dead); err != nil {
		return err
	}
	if last := s.snapshotted.Load(); last != nil {
		dead = slices.DeleteFunc(dead, func(sg commitlog.Segment) bool { return sg.End > last.position })
		if err := s.remove(ctx, index.StoreMain, dead); err != nil {
			return err
		}
	}
	return s.removeDeadCold(ctx)
}

// dead lists sealed segments without a batch that lives.
func (s *Store) dead(log *commitlog.Log, store uint8, applied int64) (dead []commitlog.Segment) {
	live := s.lives.all()
	for _, sg := range s.sealed(log, applied) {
		if live[segID{store, sg.First}] == 0 {
			dead = append(dead, sg)
		}
	}
	return dead
}

// snapshotFor takes a snapshot if dead segments wait for one, unless it would take about as much as they give.
func (s *Store) snapshotFor(ctx context.Context, dead []commitlog.Segment) error {
	last := s.snapshotted.Load()
	if last == nil {
		last = &lastSnapshot{}
	}
	var waiting int64
	for _, sg := range dead {
		if sg.End > last.position {
			waiting += sg.End - sg.First
		}
	}
	if waiting == 0 || waiting < snapshotWorth*last.size {
		return nil
	}
	return s.Snapshot(ctx)
}

// removeDeadCold removes the oldest cold segments while nothing lives in them. What their rounds took away without
// putting something in its place must stay away: as long as the main log or the newest snapshot may hold it, a later
// round says so again. Snapshots and rounds come from one goroutine: a round as of a position before a snapshot's is in it.
func (s *Store) removeDeadCold(ctx context.Context) error {
	live := s.lives.all()
	var dead []commitlog.Segment
	for _, sg := range s.sealed(s.cold, s.cold.Durable()) {
		if live[segID{index.StoreCold, sg.First}] != 0 {
			break
		}
		if err := s.carry(ctx, sg); err != nil {
			return fmt.Errorf("carrying on what the cold segment at %d removed: %w", sg.First, err)
		}
		dead = append(dead, sg)
	}
	return s.remove(ctx, index.StoreCold, dead)
}

// carry writes the ranges of a cold segment's rounds in which nothing lives into new rounds.
func (s *Store) carry(ctx context.Context, sg commitlog.Segment) error {
	m := &mover{s: s, ctx: ctx, r: &round{}}
	return errors.Join(s.cold.ReplayTo(sg.First, sg.End, func(f commitlog.Frame, _ bool, _ int64) error {
		if f.Kind != commitlog.KindRound {
			return ctx.Err()
		}
		r, err := decodeRound(f.Payload)
		if err != nil {
			return err
		}
		if last := s.snapshotted.Load(); last == nil || r.asOf >= last.position { // a later snapshot has them
			m.r.asOf = max(m.r.asOf, r.asOf)
			m.r.cleaned = append(m.r.cleaned, r.cleaned...)
		}
		if r.asOf < s.log.First() {
			return nil
		}
		m.r.asOf = max(m.r.asOf, r.asOf)
		m.r.markers = append(m.r.markers, r.markers...)
		for _, x := range r.ranges {
			if err := m.holes(x); err != nil {
				return err
			}
		}
		return nil
	}), m.carried())
}

// remove deletes segments for good.
func (s *Store) remove(ctx context.Context, store uint8, dead []commitlog.Segment) error {
	if len(dead) == 0 {
		return nil
	}
	for _, sg := range dead {
		if err := s.do(ctx, func(a *applier) error { return a.forgetSegment(segID{store, sg.First}) }); err != nil {
			return err
		}
	}
	if err := s.db.Flush(ctx); err != nil { // after a crash the index must not name what is gone
		return err
	}
	log := s.log
	if store == index.StoreCold {
		log = s.cold
	}
	for _, sg := range dead {
		if err := log.Remove(sg.First); err != nil {
			return err
		}
		s.m.removedBytes.Add(float64(sg.End - sg.First))
		s.l.Info("removed a log segment in which nothing lived", "store", store, "position", sg.First)
	}
	return nil
}

// liveRatio is the share of sealed segments that lives; 1 without any.
func (s *Store) liveRatio() float64 {
	live, size, alive := s.lives.all(), int64(0), int64(0)
	for store, log := range []*commitlog.Log{s.log, s.cold} {
		for _, sg := range s.sealed(log, log.Durable()) {
			size += sg.End - sg.First
			alive += live[segID{uint8(store), sg.First}]
		}
	}
	if size == 0 {
		return 1
	}
	return float64(alive) / float64(size)
}
