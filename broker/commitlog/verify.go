package commitlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Damage is a stretch of the log that holds no valid frame though it should.
type Damage struct {
	File     string
	From, To int64 // positions; equal when only the segment's header block is damaged
	Reason   string
}

func (d Damage) String() string {
	if d.From == d.To {
		return fmt.Sprintf("%s: %s", d.File, d.Reason)
	}
	return fmt.Sprintf("%s: log positions %d to %d (file offset %d): %s", d.File, d.From, d.To, d.offset(), d.Reason)
}

func (d Damage) offset() int64 {
	var first int64
	if _, err := fmt.Sscanf(filepath.Base(d.File), "%d", &first); err != nil {
		return 0
	}
	return blockSize + d.From - first
}

// Report is what a walk over the whole log found.
type Report struct {
	Segments, Frames, Batches int64
	Bytes                     int64
	Skipped                   int64      // frames of skippable kinds this version does not know
	End                       int64      // behind the last valid frame
	Torn                      int64      // bytes behind the end that are not zero, as after a crash: they go at the next start
	Gaps                      [][2]int64 // stretches without a segment
	Damage                    []Damage
}

// Verify walks every frame of every segment, of a log that is not open for writing. What is damaged is in the report; an
// error means that it could not be read, or holds what this version does not know. visit, if any, sees every frame.
func (l *Log) Verify(ctx context.Context, visit func(Frame)) (Report, error) {
	var r Report
	if err := l.load(); err != nil {
		return r, err
	}
	w := walker{l: l, r: &r, visit: visit, pace: func(int) error { return ctx.Err() }}
	for i, s := range l.segs {
		if i > 0 && s.first > l.segs[i-1].end() {
			r.Gaps = append(r.Gaps, [2]int64{l.segs[i-1].end(), s.first})
		}
		if err := w.segment(s); err != nil {
			return r, err
		}
	}
	return r, w.end()
}

// VerifySegment walks one sealed segment, at the pace of whoever asks. A segment that was removed meanwhile is no damage.
func (l *Log) VerifySegment(first int64, pace func(n int) error) (Report, error) {
	var r Report
	s, err := l.find(first)
	if err == nil {
		w := walker{l: l, r: &r, pace: pace}
		if err = w.segment(s); err == nil {
			w.pending(s.end())
		}
	}
	if errors.Is(err, ErrGone) {
		return Report{}, nil
	}
	if len(r.Damage) > 0 {
		s.uncheck()
	}
	return r, err
}

// walker walks segments and collects what is wrong with them.
type walker struct {
	l     *Log
	r     *Report
	visit func(Frame)
	pace  func(n int) error
	epoch uint32
	open  *Damage // what may be damage, or the log's torn end: whichever the bytes behind it say
}

// pending makes damage of what was open, since there are frames behind it.
func (w *walker) pending(to int64) {
	if w.open != nil {
		w.open.To = to
		w.r.Damage = append(w.r.Damage, *w.open)
		w.open = nil
	}
}

func (w *walker) segment(s *segment) error {
	w.r.Segments++
	w.epoch = max(w.epoch, s.epoch)
	if s.bad != "" {
		w.r.Damage = append(w.r.Damage, Damage{s.path, s.first, s.first, s.bad})
	}
	sc := &scanner{fs: w.l.fs}
	sc.enter(s)
	for pos := s.first; pos < s.end(); {
		h, payload, err := sc.frame(pos)
		var bad invalid
		switch {
		case err == nil && h.epoch < w.epoch:
			bad.reason = fmt.Sprintf("its writer epoch %d is older than %d", h.epoch, w.epoch)
		case errors.As(err, &bad):
		case err != nil:
			return err
		}
		if bad.reason != "" {
			if w.open == nil {
				w.open = &Damage{File: s.path, From: pos, Reason: bad.reason}
			}
			next, err := w.next(sc, pos+frameAlign)
			if err != nil {
				return err
			}
			if next < 0 {
				if w.open.File == s.path { // whether it is damage is known when later segments were looked at
					w.open.To = s.end()
				}
				return nil
			}
			pos = next
			continue
		}
		w.pending(min(pos, w.limit()))
		if what := h.unknown(); what != "" {
			return &UnsupportedError{File: s.path, Position: pos, What: what}
		}
		w.epoch = max(w.epoch, h.epoch)
		w.count(&h, pos, payload)
		if err := w.pace(int(h.size())); err != nil {
			return err
		}
		pos += h.size()
		w.r.End = pos
	}
	return nil
}

// limit ends open damage with its segment.
func (w *walker) limit() int64 {
	if w.open != nil && w.open.To > 0 {
		return w.open.To
	}
	return 1<<63 - 1
}

func (w *walker) count(h *header, pos int64, payload []byte) {
	w.r.Frames++
	w.r.Bytes += h.size()
	if h.kind == KindData || h.kind == KindCopied {
		w.r.Batches++
	}
	if h.kind.Skippable() && !known[h.kind] {
		w.r.Skipped++
	}
	if w.visit != nil {
		w.visit(Frame{Kind: h.kind, Queue: h.queue, Position: pos, Epoch: h.epoch, Time: h.time, Payload: payload})
	}
}

// next looks for a valid frame of this or a later epoch; -1: there is none in the segment.
func (w *walker) next(sc *scanner, from int64) (int64, error) {
	s := sc.seg
	for pos := from; pos < s.end(); {
		n := min(int64(len(zeros)), s.end()-pos)
		b, err := sc.bytes(pos, n)
		if err != nil {
			return -1, err
		}
		if err := w.pace(int(n)); err != nil {
			return -1, err
		}
		if bytes.Equal(b, zeros[:n]) {
			pos += n
			continue
		}
		var at []int64
		for i := int64(0); i < n; i += frameAlign {
			if b[i] == frameMagic {
				at = append(at, pos+i)
			}
		}
		for _, p := range at {
			h, _, err := sc.frame(p)
			if errors.As(err, new(invalid)) {
				continue
			}
			if err != nil {
				return -1, err
			}
			if h.epoch >= w.epoch {
				return p, nil
			}
		}
		pos += n
	}
	return -1, nil
}

// end decides on what is open at the log's end: nothing but zeros, a torn tail, or damage.
func (w *walker) end() error {
	if w.open == nil {
		return nil
	}
	t := trace{synced: -1, nonZero: -1}
	sc := &scanner{fs: w.l.fs}
	for _, s := range w.l.segs {
		if s.end() <= w.open.From {
			continue
		}
		sc.enter(s)
		if err := sc.search(max(s.first, w.open.From), w.epoch, &t); err != nil {
			return err
		}
	}
	if t.synced > w.open.From {
		w.pending(w.open.To)
	} else if t.nonZero > w.open.From {
		w.r.Torn = t.nonZero - w.open.From
	}
	return nil
}

// Mended is one place that Repair made readable again.
type Mended struct {
	Damage
	Kept string // the file under lost/ that keeps the bytes, "" without any
}

// Repair makes a log whose damage was refused readable: damaged stretches become pad frames, after their bytes were kept
// under lost/, and damaged header blocks are written anew. The log must not be open. What stood there is gone for good.
func (l *Log) Repair(ctx context.Context, e EpochRecord) ([]Mended, error) {
	r, err := l.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	var done []Mended
	for _, d := range r.Damage {
		i := slices.IndexFunc(l.segs, func(s *segment) bool { return s.path == d.File })
		if i < 0 {
			return done, fmt.Errorf("repairing %s: it is no segment of the log", d.File)
		}
		m := Mended{Damage: d}
		if d.From == d.To {
			err = l.mendHeader(l.segs[i])
		} else {
			m.Kept, err = l.mendFrames(l.segs[i], d, e)
		}
		if err != nil {
			return done, fmt.Errorf("repairing %s: %w", d, err)
		}
		done = append(done, m)
	}
	return done, l.closeFiles()
}

// mendHeader writes a segment's header block as its name and size say.
func (l *Log) mendHeader(s *segment) error {
	sc := &scanner{fs: l.fs}
	sc.enter(s)
	if h, _, err := sc.frame(s.first); err == nil {
		s.epoch = h.epoch
	}
	f, err := s.file(l.fs)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(s.encode(), 0); err != nil {
		return err
	}
	s.bad = ""
	return f.SyncData()
}

// mendFrames lays pads over a stretch. Where the epoch frame of what follows is lost, another one takes its place.
func (l *Log) mendFrames(s *segment, d Damage, e EpochRecord) (kept string, err error) {
	var rec Recovery
	to := min(d.To, s.end())
	if err := l.keep(s, d.From, to, &rec); err != nil {
		return "", err
	}
	before, time := l.epochBefore(s, d.From)
	after := before
	sc := &scanner{fs: l.fs}
	if i := slices.Index(l.segs, s); to < s.end() {
		sc.enter(s)
	} else if i+1 < len(l.segs) && l.segs[i+1].first == to {
		sc.enter(l.segs[i+1])
	}
	if sc.seg != nil {
		if h, _, err := sc.frame(to); err == nil && h.kind != KindEpoch {
			after = h.epoch
		}
	}
	f, err := s.file(l.fs)
	if err != nil {
		return rec.Lost, err
	}
	for pos := d.From; pos < to; {
		n := min(int64(len(zeros)), to-pos)
		if _, err := f.WriteAt(zeros[:n], s.offset(pos)); err != nil {
			return rec.Lost, err
		}
		pos += n
	}
	pos, epoch := d.From, before
	put := func(k Kind, payload []byte, size int64) error {
		h := header{kind: k, payload: int(size), epoch: epoch, position: pos, time: time, payloadCRC: zeroCRC(size)}
		if payload != nil {
			h.payloadCRC = crcOf(payload)
		}
		b := make([]byte, HeaderSize, HeaderSize+len(payload))
		putHeader(b, &h, nil)
		_, err := f.WriteAt(append(b, payload...), s.offset(pos))
		pos += FrameSize(int(size))
		return err
	}
	if after > before {
		e.Epoch, e.Previous, e.PreviousEnd, e.Reason = after, before, d.From, ReasonRepair
		payload := e.AppendTo(nil)
		if rest := to - pos - FrameSize(len(payload)); rest != 0 && rest < HeaderSize {
			return rec.Lost, fmt.Errorf("%d bytes have no room for the epoch frame that is lost", to-d.From)
		}
		epoch = after
		if err := put(KindEpoch, payload, int64(len(payload))); err != nil {
			return rec.Lost, err
		}
	}
	if pos < to {
		if err := put(KindPad, nil, to-pos-HeaderSize); err != nil {
			return rec.Lost, err
		}
	}
	return rec.Lost, f.SyncData()
}

// epochBefore is the writer epoch and time of the last valid frame before a position.
func (l *Log) epochBefore(s *segment, to int64) (uint32, int64) {
	epoch, time := s.epoch, int64(0)
	sc := &scanner{fs: l.fs}
	sc.enter(s)
	for pos := s.first; pos < to; {
		h, _, err := sc.frame(pos)
		if err != nil {
			break
		}
		epoch, time = max(epoch, h.epoch), max(time, h.time)
		pos += h.size()
	}
	return epoch, time
}

// Fill makes segments of pads where files are missing, so that what stands behind them can be used. The positions must be
// those of a gap.
func (l *Log) Fill(from, to int64, epoch uint32) error {
	for first := from; first < to; {
		n := min(to-first, 1<<30)
		s, err := createSegment(l.fs, l.dir, segHeader{log: l.o.LogUUID, store: l.o.Store, first: first, epoch: epoch, capacity: n})
		if err != nil {
			return err
		}
		b := make([]byte, HeaderSize)
		putHeader(b, &header{kind: KindPad, payload: int(n - HeaderSize), epoch: epoch, position: first, payloadCRC: zeroCRC(n - HeaderSize)}, nil)
		f, err := s.file(l.fs)
		if err == nil {
			_, err = f.WriteAt(b, s.offset(first))
		}
		if err == nil {
			err = f.SyncData()
		}
		if err = errors.Join(err, s.close()); err != nil {
			return fmt.Errorf("making a segment for the log positions %d to %d: %w", first, first+n, err)
		}
		first += n
	}
	return nil
}

// EpochAt is the writer epoch of a segment, by its first position; 0 if there is no such segment.
func (l *Log) EpochAt(first int64) uint32 {
	if s, err := l.find(first); err == nil {
		return s.epoch
	}
	return 0
}
