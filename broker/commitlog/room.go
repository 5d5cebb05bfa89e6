package commitlog

import (
	"fmt"
	"time"

	"github.com/penstockio/penstock/broker/disk"
)

// spaceRetry bounds how often a full disk is asked again.
const spaceRetry = 100 * time.Millisecond

// Use is what an append is for, which says how much of a segment it leaves when the log cannot grow.
type Use int

// A log full of what retention would take away must still take the frames that say so. So the last part of a segment is
// kept for them (see spare); a snapshot, without which segments can't be removed, leaves half of that. When that part is
// full, too, they get a short segment, for which the reserve is given away.
const (
	ForData      Use = iota
	ForSnapshots     // and copies, without which segments can't be emptied
	ForFreeing       // log starts, drops, and the frames of a start and a clean stop
)

// spare is what an append must leave of a segment.
func (l *Log) spare(u Use) int64 {
	switch u {
	case ForData:
		return l.o.SegmentBytes / spareShare
	case ForSnapshots:
		return l.o.SegmentBytes / spareShare / 2
	default:
		return 0
	}
}

// These parts of a segment are spare, and are the size of a short one: 4 and 32 MiB of 256.
const (
	spareShare = 64
	shortShare = 8
)

// reserve makes sure of room for a group of size bytes, in the current segment or a new one. The lock is held.
func (l *Log) reserve(size int64, u Use) error {
	switch {
	case l.failed != nil:
		return l.failed
	case l.closing || !l.started:
		return ErrClosed
	case size > l.MaxGroup():
		return fmt.Errorf("appending %d bytes: %w", size, ErrTooLarge)
	}
	if l.fillShort {
		l.retryFill()
		return l.spaceErr
	}
	need := size
	if l.open == nil {
		need += FrameSize(syncedSize)
	}
	room := int64(-1)
	if l.cur != nil {
		room = l.cur.end() - l.end - need - l.foot.room(size)
	}
	if room >= l.spare(ForData) {
		return nil
	}
	err := l.roll()
	if err == nil || err != l.spaceErr { // there is a new one, or there will be none
		return err
	}
	if room >= l.spare(u) || u != ForData && l.rollShort(size) {
		return nil
	}
	return err
}

// MaxGroup is the most bytes a group may take: a quarter of a segment, and the header of one frame, so that a message of
// a quarter segment fits.
func (l *Log) MaxGroup() int64 { return FrameSize(int(l.o.SegmentBytes / 4)) }

// roll makes the next segment and only then ends the current one with a pad.
func (l *Log) roll() error {
	if l.spaceErr != nil && l.o.Now().Sub(l.spaceTry).Abs() < spaceRetry {
		return l.spaceErr
	}
	s, err := l.create(l.o.SegmentBytes - blockSize)
	if err != nil {
		if !disk.MayHeal(err) {
			l.fail(err)
			return l.failed
		}
		l.m.spaceFail.Inc()
		if l.spaceErr == nil {
			l.log.Warn("the log cannot grow; appends are refused until it can", "error", err)
		}
		l.spaceErr, l.spaceTry = &SpaceError{err}, l.o.Now()
		return l.spaceErr
	}
	if l.spaceErr != nil {
		l.spaceErr = nil
		l.log.Info("the log grows again")
	}
	l.use(s)
	return nil
}

// rollShort makes a short segment for a group of size bytes where there is no room for a whole one, if need be of what is
// kept in reserve, and tells whether it could.
func (l *Log) rollShort(size int64) bool {
	if !disk.IsNoSpace(l.spaceErr) {
		return false
	}
	var none footer
	capacity := align(max(l.o.SegmentBytes/shortShare, size+none.room(size)+FrameSize(syncedSize)+blockSize)) - blockSize
	s, err := l.create(capacity)
	if disk.IsNoSpace(err) && l.o.Release != nil && l.o.Release() {
		s, err = l.create(capacity)
	}
	if err != nil {
		return false
	}
	l.log.Info("the log got a short segment", "position", s.first, "bytes", capacity)
	l.use(s)
	return true
}

// Short tells whether the log could not grow when it was last tried.
func (l *Log) Short() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spaceErr != nil
}

// create makes the file of the segment that follows.
func (l *Log) create(capacity int64) (*segment, error) {
	first := l.end
	if l.cur != nil {
		first = l.cur.end()
	}
	return createSegment(l.fs, l.dir, segHeader{log: l.o.LogUUID, store: l.o.Store, first: first, epoch: l.epoch, capacity: capacity})
}

// use ends the current segment and goes on in the next.
func (l *Log) use(s *segment) {
	l.m.rolls.Inc()
	l.padToEnd()
	l.segMu.Lock()
	l.segs = append(l.segs, s)
	l.m.segments.Set(float64(len(l.segs)))
	l.segMu.Unlock()
	l.cur, l.end = s, s.first
	l.foot.reset()
}

// padToEnd ends the current segment with its footer and a pad. What is left is 0 or at least a header.
func (l *Log) padToEnd() {
	if l.cur == nil {
		return
	}
	rem := l.cur.end() - l.end
	if l.open == nil && rem >= FrameSize(syncedSize)+HeaderSize {
		l.ensureRound(true)
		rem = l.cur.end() - l.end
	}
	if n := l.foot.size(); !l.foot.unknown && l.open != nil && rem >= n+HeaderSize {
		l.Put(KindFooter, 0, l.foot.encode(), false)
		rem -= n
	}
	if rem > 0 {
		r := l.ensureRound(false)
		n := rem - HeaderSize
		h := header{kind: KindPad, payload: int(n), epoch: l.epoch, position: l.end, time: l.lastTime, payloadCRC: zeroCRC(n)}
		b := l.take(r, HeaderSize)
		putHeader(b, &h, nil)
		l.end += n // the payload is zero already
		r.End = l.end
	}
	l.seal()
}
