package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Segment is one file of the log.
type Segment struct {
	First, End int64 // positions
}

// Segments lists the segments, oldest first.
func (l *Log) Segments() []Segment {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	out := make([]Segment, len(l.segs))
	for i, s := range l.segs {
		out[i] = Segment{s.first, s.end()}
	}
	return out
}

// SegmentOf gives the segment that holds a position; false if none does.
func (l *Log) SegmentOf(pos int64) (Segment, bool) {
	s, err := l.find(pos)
	if err != nil {
		return Segment{}, false
	}
	return Segment{s.first, s.end()}, true
}

// Remove deletes a sealed segment, all of whose content is kept elsewhere or by nobody. Who reads from it gets ErrGone.
// With an error the segment is still one of the log's. Only one goroutine may remove.
func (l *Log) Remove(first int64) error {
	l.segMu.RLock()
	i := slices.IndexFunc(l.segs, func(s *segment) bool { return s.first == first })
	if i < 0 || l.segs[i].end() > l.durable.Load() {
		l.segMu.RUnlock()
		return fmt.Errorf("removing the log segment at %d: it is not there or still written to", first)
	}
	s := l.segs[i]
	l.segMu.RUnlock()
	s.setGone(true)
	if err := ignoreMissing(l.fs.Remove(s.path)); err != nil {
		s.setGone(false)
		return fmt.Errorf("removing the log segment %s: %w", s.path, err)
	}
	l.segMu.Lock()
	l.segs = slices.DeleteFunc(slices.Clone(l.segs), func(x *segment) bool { return x == s })
	l.m.segments.Set(float64(len(l.segs)))
	l.segMu.Unlock()
	l.m.removed.Inc()
	if err := errors.Join(s.close(), l.fs.SyncDir(l.dir)); err != nil {
		return fmt.Errorf("removing the log segment %s: %w", s.path, err)
	}
	return nil
}

func (s *segment) setGone(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = gone
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
