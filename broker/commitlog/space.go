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
func (l *Log) Remove(first int64) error {
	l.segMu.Lock()
	i := slices.IndexFunc(l.segs, func(s *segment) bool { return s.first == first })
	if i < 0 || l.segs[i].end() > l.durable.Load() {
		l.segMu.Unlock()
		return fmt.Errorf("removing the log segment at %d: it is not there or still written to", first)
	}
	s := l.segs[i]
	l.segs = slices.Delete(slices.Clone(l.segs), i, i+1)
	l.m.segments.Set(float64(len(l.segs)))
	l.segMu.Unlock()
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	if err := errors.Join(s.close(), ignoreMissing(l.fs.Remove(s.path))); err != nil {
		return fmt.Errorf("removing the log segment %s: %w", s.path, err)
	}
	l.m.removed.Inc()
	return l.fs.SyncDir(l.dir)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
