package commitlog

import (
	"errors"
	"fmt"
	"slices"
)

// Checkpoint is the place up to which somebody (the index) holds the log's content, a group end.
type Checkpoint struct {
	Position int64
	Epoch    uint32 // of the last epoch frame before it
	Time     int64  // of the last frame before it
	Closed   bool   // the frame before it is the end of a clean stop
	Last     bool   // no writer epoch was given out after Epoch: with Closed, nobody has written since
}

// Recovery says how the log was found.
type Recovery struct {
	End      int64  // G: where writing goes on
	Epoch    uint32 // the highest seen
	Time     int64  // the latest seen
	Cut      int64  // bytes taken away from the end, up to the last that was not zero
	Lost     string // the file that keeps them, "" if there was nothing to keep
	BelowCut bool   // the end lies before the checkpoint: what holds the log's content must be rebuilt
	Start    int64  // no segment is missing from here on; what came before was removed, or the scan began here
}

// scanState walks frames and remembers the last whole group.
type scanState struct {
	pos, groupEnd int64
	epoch         uint32
	time          int64
	inGroup       bool
	reason        string // why the frame at pos is none
	seg           int    // index of the segment pos is in, or len
	start         int64  // where the scan began, or behind the last segment that is missing
	closed        bool   // the scan began behind the frame of a clean stop
}

// Recover finds the log's end as of its checkpoint, cuts a torn tail and refuses damage with a *CorruptError.
func (l *Log) Recover(cp Checkpoint) (Recovery, error) {
	if err := l.load(); err != nil {
		return Recovery{}, err
	}
	if len(l.segs) == 0 {
		return Recovery{Epoch: cp.Epoch, Time: cp.Time, BelowCut: cp.Position > 0}, l.dropLater(0, &Recovery{})
	}
	st, err := l.scanStart(cp)
	if err != nil {
		return Recovery{}, err
	}
	sc := &scanner{fs: l.fs}
	if err := l.scanFrames(sc, st, cp.Position); err != nil {
		return Recovery{}, err
	}
	t := trace{synced: -1, nonZero: -1}
	untouched := cp.Last && st.closed && st.pos == cp.Position // then all that follows are zeros written ahead
	for i := st.seg; i < len(l.segs) && !untouched; i++ {
		sc.enter(l.segs[i])
		if err := sc.search(max(st.pos, l.segs[i].first), st.epoch, &t); err != nil {
			return Recovery{}, err
		}
	}
	if st.pos < t.synced { // D < T: bytes that were stated as synced are gone
		return Recovery{}, &CorruptError{
			File: l.fileAt(st), Position: st.pos,
			Reason: fmt.Sprintf("%s, though the log was synced up to %d; restore it from a copy", st.reason, t.synced),
		}
	}
	rec := Recovery{Start: st.start, End: st.groupEnd, Epoch: st.epoch, Time: max(st.time, cp.Time), BelowCut: st.groupEnd < cp.Position}
	if err := l.cut(st, t, &rec); err != nil {
		return Recovery{}, fmt.Errorf("cutting the torn end of the log at %d: %w", rec.End, err)
	}
	l.end = rec.End
	return rec, nil
}

// scanStart: from the checkpoint after a clean stop; else from the earlier of it and the start of the last segment
// with frames.
func (l *Log) scanStart(cp Checkpoint) (*scanState, error) {
	i := l.segmentAt(cp.Position)
	if closed, err := l.closedBefore(cp, i); err != nil {
		return nil, err
	} else if closed {
		return &scanState{
			pos: cp.Position, groupEnd: cp.Position, start: cp.Position, epoch: cp.Epoch, time: cp.Time, seg: i, closed: true,
		}, nil
	}
	start := len(l.segs) - 1
	for ; start > 0; start-- {
		sc := &scanner{fs: l.fs}
		sc.enter(l.segs[start])
		if _, _, err := sc.frame(l.segs[start].first); err == nil {
			break
		} else if !errors.As(err, new(invalid)) {
			return nil, err
		}
	}
	if i >= 0 {
		start = min(start, i)
	} else if cp.Position < l.segs[0].first {
		start = 0
	}
	s := l.segs[start]
	return &scanState{pos: s.first, groupEnd: s.first, start: s.first, epoch: s.epoch, time: cp.Time, seg: start}, nil
}

// closedBefore tells whether the log really holds the frame of a clean stop right before the checkpoint: it does not if
// an older copy of it was put in place.
func (l *Log) closedBefore(cp Checkpoint, i int) (bool, error) {
	at := cp.Position - FrameSize(0)
	if !cp.Closed || i < 0 || at < l.segs[i].first {
		return false, nil
	}
	sc := &scanner{fs: l.fs}
	sc.enter(l.segs[i])
	h, _, err := sc.frame(at)
	if errors.As(err, new(invalid)) {
		return false, nil
	}
	return err == nil && h.kind == KindClosed && h.epoch == cp.Epoch, err
}

// scanFrames moves st over valid frames up to D. Segments may be missing below the checkpoint known, or if there is none:
// space was made by removing them, and whoever rebuilds from the log must know what they held.
func (l *Log) scanFrames(sc *scanner, st *scanState, known int64) error {
	for ; st.seg < len(l.segs); st.seg++ {
		s := l.segs[st.seg]
		if s.first > st.pos && (known == 0 || s.first <= known) {
			*st = scanState{pos: s.first, groupEnd: s.first, start: s.first, epoch: max(st.epoch, s.epoch), time: st.time, seg: st.seg}
		}
		if st.pos != s.first && (st.pos < s.first || st.pos > s.end()) {
			return &CorruptError{File: s.path, Position: st.pos, Reason: "the segment file that should begin here is missing"}
		}
		if s.bad != "" {
			st.reason = s.bad
			return nil
		}
		sc.enter(s)
		for st.pos < s.end() {
			h, _, err := sc.frame(st.pos)
			var bad invalid
			if errors.As(err, &bad) {
				st.reason = bad.reason
				return nil
			}
			if err != nil {
				return err
			}
			if !st.accept(&h) {
				return nil
			}
			if what := h.unknown(); what != "" {
				return &UnsupportedError{File: s.path, Position: st.pos, What: what}
			}
			st.pass(&h)
		}
	}
	st.reason = "the log ends"
	st.seg = len(l.segs)
	return nil
}

// accept applies the rule of epochs: a frame's is that of the last epoch frame passed, an epoch frame's is greater.
func (st *scanState) accept(h *header) bool {
	switch {
	case h.kind == KindEpoch && h.epoch > st.epoch:
		st.epoch = h.epoch
		return true
	case h.epoch == st.epoch:
		return true
	case h.epoch < st.epoch:
		st.reason = fmt.Sprintf("its writer epoch %d is older than %d", h.epoch, st.epoch)
	default:
		st.reason = fmt.Sprintf("its writer epoch %d begins without an epoch frame", h.epoch)
	}
	return false
}

func (st *scanState) pass(h *header) {
	st.pos += h.size()
	st.time = max(st.time, h.time)
	if h.kind != KindPad {
		st.inGroup = h.flags&FlagMore != 0
	}
	if !st.inGroup {
		st.groupEnd = st.pos
	}
}

func (l *Log) fileAt(st *scanState) string {
	if st.seg < len(l.segs) {
		return l.segs[st.seg].path
	}
	return l.segs[len(l.segs)-1].path
}

// Replay calls f for each frame of whole groups from a position, a group end, to the log's end. last is true for the
// frame that ends a group. Frames of skippable kinds this version does not know are counted and passed over.
func (l *Log) Replay(from int64, f func(fr Frame, last bool, end int64) error) error {
	return l.ReplayTo(from, l.end, f)
}

// ReplayTo is Replay up to a position.
func (l *Log) ReplayTo(from, to int64, f func(fr Frame, last bool, end int64) error) error {
	l.segMu.RLock()
	segs := slices.Clone(l.segs)
	l.segMu.RUnlock()
	sc := &scanner{fs: l.fs}
	for _, s := range segs {
		if s.end() <= from {
			continue
		}
		sc.enter(s)
		for pos := max(from, s.first); pos < min(s.end(), to); {
			h, payload, err := sc.frame(pos)
			if errors.As(err, new(invalid)) {
				return &CorruptError{File: s.path, Position: pos, Reason: err.Error()}
			}
			if err != nil {
				return err
			}
			if what := h.unknown(); what != "" {
				return &UnsupportedError{File: s.path, Position: pos, What: what}
			}
			if h.kind.Skippable() && !known[h.kind] {
				l.m.skipped.Inc()
			}
			fr := Frame{Kind: h.kind, Queue: h.queue, Position: pos, Epoch: h.epoch, Time: h.time, Payload: payload}
			pos += h.size()
			if err := f(fr, h.kind != KindPad && h.flags&FlagMore == 0, pos); err != nil {
				return err
			}
		}
	}
	return nil
}
