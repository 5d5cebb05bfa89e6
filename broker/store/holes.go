package store

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// A segment that was removed because nothing lived in it and one that was lost look the same from outside: no file. The
// index knows the difference. When that is lost, too, offsets tell: a queue's batches follow on each other without a gap,
// from its start to its end. Only compaction takes batches out of the middle, so of what was compacted, or was to be,
// nothing can be known.

// holeFinder goes over all entries of an index just rebuilt, in order, and finds the first stretch of offsets that is in no
// segment though it should be.
type holeFinder struct {
	s         *Store
	main, all [][2]int64 // stretches of log positions without a segment: of the main log, and of both
	seen      map[queue.ID]bool
	q         queue.ID
	open      bool // a queue is looked at
	next      int64
	end       int64
	last      index.Entry // valid if next is not the queue's start any more
	has       bool
	found     *commitlog.CorruptError
}

// holes makes a finder; nil if no segment is missing.
func (s *Store) holes() *holeFinder {
	f := &holeFinder{s: s, main: gaps(s.log), seen: map[queue.ID]bool{}}
	f.all = append(append(f.all, f.main...), gaps(s.cold)...)
	if len(f.all) == 0 {
		return nil
	}
	return f
}

func gaps(l *commitlog.Log) (out [][2]int64) {
	at := int64(0)
	for _, sg := range l.Segments() {
		if sg.First > at {
			out = append(out, [2]int64{at, sg.First})
		}
		at = sg.End
	}
	return out
}

// entry takes the next entry.
func (f *holeFinder) entry(q queue.ID, e *index.Entry) {
	if f.found != nil {
		return
	}
	if q != f.q || !f.open {
		f.tail()
		f.begin(q)
	}
	if !f.open {
		return
	}
	if e.Base > f.next {
		f.hole(e.Base, e)
	}
	f.next, f.last, f.has = max(f.next, e.Last+1), *e, true
}

// begin turns to a queue, unless nothing can be known of it.
func (f *holeFinder) begin(q queue.ID) {
	f.q, f.seen[q] = q, true
	st, p, ok := f.s.table.Get(q)
	f.open = ok && !p.Compact && st.Cleaned == 0
	f.next, f.end, f.has = st.LogStart, st.High, false
}

// tail looks at the end of the queue that was gone over.
func (f *holeFinder) tail() {
	if f.open && f.found == nil && f.next < f.end {
		f.hole(f.end, nil)
	}
	f.open = false
}

// done looks at what is left, and gives what was found.
func (f *holeFinder) done() error {
	f.tail()
	for _, q := range f.s.table.IDs() {
		if f.found == nil && !f.seen[q] {
			f.begin(q)
			f.tail()
		}
	}
	if f.found == nil {
		return nil
	}
	return fmt.Errorf("rebuilding the index in %s: %w; put the file back from a copy, or accept the loss with `penstock log repair --yes`", f.s.dir, f.found)
}

// hole takes note of missing offsets before an entry, or at the queue's end, if a missing segment explains them and nobody
// has accepted their loss.
func (f *holeFinder) hole(to int64, before *index.Entry) {
	if a := f.s.meta.Accepted; a > 0 && (!f.has || f.last.Store != index.StoreMain || f.last.Position < a) {
		f.s.l.Warn("records are missing, as a repair accepted", "queue", f.q, "from", f.next, "to", to-1)
		return
	}
	from, until, among := int64(-1), int64(math.MaxInt64), f.main
	if f.has {
		from = f.last.Position
	}
	if before != nil {
		until = before.Position
	}
	if f.has && f.last.Store != index.StoreMain || before != nil && before.Store != index.StoreMain {
		from, until, among = -1, math.MaxInt64, f.all
	}
	for i, g := range among {
		if g[1] <= from || g[0] >= until {
			continue
		}
		dir := filepath.Join(f.s.dir, "log")
		if i >= len(f.main) {
			dir = f.s.coldDir()
		}
		f.found = &commitlog.CorruptError{
			File: filepath.Join(dir, fmt.Sprintf("%020d.log", g[0])), Position: g[0],
			Reason: fmt.Sprintf("the segments of log positions %d to %d are missing, and with them records that were not deleted: offsets %d to %d of queue %d", g[0], g[1], f.next, to-1, f.q),
		}
		return
	}
}
