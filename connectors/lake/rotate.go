package lake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// partition is a topic partition: its files end together.
type partition struct {
	tp      connectapi.TopicPartition
	next    int64 // behind the last record taken
	durable int64 // below it everything is published
	slots   map[slotKey]*slot
	last    *slot

	count   int       // records since the files began
	bytes   int64     // of their keys and values
	began   time.Time // record time of the first
	opened  time.Time // by the clock
	touched time.Time
	ending  bool // publishing began: nothing more is added
}

// slotKey is what the rows of one file have in common.
type slotKey struct {
	topic  string
	part   string
	layout *layout
}

func (k slotKey) dir() string { return folderName(k.topic) + "/" + k.part }

// slot is the place of an open file.
type slot struct {
	key  slotKey
	file *file
	skip []int64 // offsets that a published file holds, ascending
}

// written says whether a published file holds the row. Offsets are asked for in ascending order.
func (s *slot) written(offset int64) bool {
	for len(s.skip) > 0 && s.skip[0] < offset {
		s.skip = s.skip[1:]
	}
	return len(s.skip) > 0 && s.skip[0] == offset
}

func newPartition(tp connectapi.TopicPartition, at int64) *partition {
	return &partition{tp: tp, next: at, durable: at, slots: map[slotKey]*slot{}}
}

func (p *partition) slot(k slotKey) *slot {
	if p.last != nil && p.last.key == k {
		return p.last
	}
	s, ok := p.slots[k]
	if !ok {
		s = &slot{key: k}
		p.slots[k] = s
	}
	p.last = s
	return s
}

func (p *partition) files() (n int) {
	for _, s := range p.slots {
		if s.file != nil {
			n++
		}
	}
	return n
}

// sorted returns the slots with files in the order in which they are published.
func (p *partition) sorted() []*slot {
	var out []*slot
	for _, s := range p.slots {
		if s.file != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *slot) int { return cmp.Compare(a.file.first, b.file.first) })
	return out
}

// reset begins anew behind published files. What is to be left out still is.
func (p *partition) reset() {
	p.durable, p.count, p.bytes, p.ending, p.last = p.next, 0, 0, false, nil
	for k, s := range p.slots {
		if len(s.skip) == 0 {
			delete(p.slots, k)
		}
	}
}

func (p *partition) discard() error {
	var all []error
	for _, s := range p.sorted() {
		all = append(all, s.file.up.discard())
	}
	clear(p.slots)
	p.last = nil
	return errors.Join(all...)
}

// due says when the clock ends a partition's files; zero: never.
func (t *task) due(p *partition) time.Time {
	if p.count == 0 || p.files() == 0 {
		return time.Time{}
	}
	var at time.Time
	if t.cfg.RotateSchedule > 0 {
		at = boundary(p.opened, t.cfg.RotateSchedule, t.parts.zone)
	}
	if t.cfg.RotateIdle > 0 {
		if idle := p.touched.Add(t.cfg.RotateIdle); at.IsZero() || idle.Before(at) {
			at = idle
		}
	}
	return at
}

// boundary is the next multiple of a span since midnight.
func boundary(after time.Time, span time.Duration, zone *time.Location) time.Time {
	y, m, d := after.In(zone).Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, zone)
	return midnight.Add((after.Sub(midnight)/span + 1) * span)
}

// endDue ends the files whose time has come, those whose end was begun, or all.
func (t *task) endDue(ctx context.Context, all bool) error {
	now := t.now()
	for _, p := range t.inOrder() {
		at := t.due(p)
		if !all && !p.ending && (at.IsZero() || now.Before(at)) {
			continue
		}
		if p.files() == 0 {
			continue
		}
		if err := t.end(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// arm asks for a commit when the clock will end the next files.
func (t *task) arm() {
	var next time.Time
	for _, p := range t.of {
		if at := t.due(p); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.Equal(t.deadline) {
		return
	}
	t.deadline = next
	t.timer.Stop()
	if !next.IsZero() {
		t.timer.Reset(max(next.Sub(t.now()), 0))
	}
}

func (t *task) buffered() (n int64) {
	for _, p := range t.of {
		for _, s := range p.slots {
			if s.file != nil {
				n += s.file.mem
			}
		}
	}
	return n
}

// relieve keeps the memory of open files within the budget: the largest is written to disk first; when what is left is
// the files themselves, those of the partition that waited longest end.
func (t *task) relieve(ctx context.Context) error {
	for t.open > 0 && t.buffered() > t.cfg.BufferBytes {
		f := t.largest()
		if f != nil && f.mem > 2*f.fixed() {
			if err := f.spill(); err != nil {
				t.broken = err
				return err
			}
			continue
		}
		if err := t.end(ctx, t.oldest()); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) largest() (best *file) {
	for _, p := range t.of {
		for _, s := range p.slots {
			if f := s.file; f != nil && !f.finished && (best == nil || f.mem > best.mem) {
				best = f
			}
		}
	}
	return best
}

// oldest returns the partition with open files that waited longest for a record.
func (t *task) oldest() (best *partition) {
	for _, p := range t.of {
		if p.files() > 0 && (best == nil || p.touched.Before(best.touched) ||
			p.touched.Equal(best.touched) && strings.Compare(p.tp.Topic, best.tp.Topic) < 0) {
			best = p
		}
	}
	return best
}
