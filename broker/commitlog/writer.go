package commitlog

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/penstockio/penstock/broker/batch"
)

// Placed is a frame as it was placed into a round; its payload is in the log's memory until the round is released.
type Placed struct {
	Frame
	More bool // more of its group follows
}

// Round is what one sync covers. Frames holds what was appended, not the log's own synced and pad frames.
type Round struct {
	Start, End int64
	Frames     []Placed
	Tag        any // the appender's, who sets it between Begin and End

	seg    *segment
	pieces []piece
	synced []byte // the opening synced frame, completed just before it is written
	size   int64  // memory accounted to it
}

type piece struct {
	pos int64
	buf []byte
}

// writer is the writing half of a Log. mu is the sequencer: Begin takes it, End gives it back.
type writer struct {
	mu        sync.Mutex
	room      sync.Cond // signalled when memory was released, and at every end
	work      sync.Cond // signalled when a round is there to be written, and at every end
	end       int64     // position of the next frame
	epoch     uint32
	lastTime  int64
	cur       *segment
	open      *Round   // taking frames; it is also the last of queue
	queue     []*Round // not yet taken by the writer
	inflight  int64    // bytes of rounds not yet released
	failed    error
	closing   bool
	started   bool
	spaceErr  error
	spaceTry  time.Time
	fillShort bool // the space is missing for zeros ahead
	hooks     Hooks
	done      chan struct{}
	total     int64 // bytes written since the start
	foot      footer
	fill      filler
}

func (l *Log) initWriter() {
	l.room.L, l.work.L = &l.mu, &l.mu
	l.done = make(chan struct{})
	l.fill.init()
	l.foot.reset()
}

// Start opens the log for writing at the recovered end. The epoch frame is a round of its own; Start returns when it
// is synced, so nothing is placed before that. After a *SpaceError it may be tried again.
func (l *Log) Start(rec Recovery, e EpochRecord, h Hooks) error {
	l.mu.Lock()
	if l.started { // an earlier one found no space for the epoch frame
		l.mu.Unlock()
		return l.beginEpoch(rec, e)
	}
	l.end, l.epoch, l.lastTime, l.hooks = rec.End, e.Epoch, rec.Time, h
	if i := l.segmentAt(rec.End); i >= 0 && rec.End < l.segs[i].end() {
		l.cur = l.segs[i]
		if err := l.resumeFooter(rec.End); err != nil {
			l.mu.Unlock()
			return err
		}
	}
	for _, m := range []interface{ Store(int64) }{&l.written, &l.synced, &l.durable} {
		m.Store(rec.End)
	}
	l.fill.reset(rec.End)
	l.started = true
	l.mu.Unlock()
	go l.run()
	go l.fillLoop()
	return l.beginEpoch(rec, e)
}

// beginEpoch writes the epoch frame and waits until it is synced.
func (l *Log) beginEpoch(rec Recovery, e EpochRecord) error {
	e.PreviousEnd, e.Previous = rec.End, rec.Epoch
	payload := e.AppendTo(nil)
	if err := l.BeginAs(ForFreeing, FrameSize(len(payload)), true); err != nil {
		return err
	}
	l.ensureRound(false) // nothing of an epoch may stand before its epoch frame
	l.Put(KindEpoch, 0, payload, false)
	start := l.end
	l.seal()
	l.End()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.failed == nil && l.synced.Load() < start {
		l.room.Wait()
	}
	return l.failed
}

// Begin enters the sequencer with room for frames of size bytes in all (see FrameSize). Without an error the caller
// holds the sequencer until End; with one nothing has changed (I3). With wait it waits while memory for the log's end is
// full; who holds a lock that applying the log may need must not wait.
func (l *Log) Begin(size int64, wait bool) error { return l.BeginAs(ForData, size, wait) }

// BeginAs is Begin for an append that may use room which data leaves.
func (l *Log) BeginAs(u Use, size int64, wait bool) error {
	l.mu.Lock()
	for wait && l.failed == nil && !l.closing && l.inflight > 0 && l.inflight+size > l.o.TailBytes {
		l.room.Wait()
	}
	l.lastTime = max(l.lastTime, l.o.Now().UnixMilli())
	err := l.reserve(size, u)
	if err != nil {
		l.mu.Unlock()
	}
	return err
}

// seal ends the open round: the next frame begins another.
func (l *Log) seal() { l.open = nil }

// ensureRound opens a round, with its synced frame if wanted.
func (l *Log) ensureRound(synced bool) *Round {
	if l.open != nil {
		return l.open
	}
	r := &Round{Start: l.end, End: l.end, seg: l.cur}
	l.open = r
	l.queue = append(l.queue, r)
	if synced {
		r.synced = l.take(r, FrameSize(syncedSize))
		clear(r.synced)
		h := header{kind: KindSynced, payload: syncedSize, epoch: l.epoch, position: r.Start, time: l.lastTime}
		putHeader(r.synced, &h, nil)
	}
	return r
}

// take gives the next n bytes of the log in memory.
func (l *Log) take(r *Round, n int64) []byte {
	b := l.tail.grow(l.end, n)
	if k := len(r.pieces) - 1; k >= 0 {
		if p := &r.pieces[k]; p.pos+int64(len(p.buf)) == l.end && cap(p.buf)-len(p.buf) >= len(b) &&
			&p.buf[:len(p.buf)+1][len(p.buf)] == &b[0] {
			p.buf = p.buf[:len(p.buf)+len(b)]
			b = b[:n:n]
			l.account(r, n)
			return b
		}
	}
	r.pieces = append(r.pieces, piece{l.end, b})
	l.account(r, n)
	return b[:n:n]
}

func (l *Log) account(r *Round, n int64) {
	l.end += n
	r.End = l.end
	r.size += n
	l.inflight += n
}

// Now is the append time of the frames being placed, Unix ms: one for all between Begin and End, and never going back.
// Only between Begin and End.
func (l *Log) Now() int64 { return l.lastTime }

// Patch is what the sequencer writes into the stored copy of a record batch.
type Patch struct {
	BaseOffset  int64
	LeaderEpoch int32
	AppendTime  bool // make the append time every record's timestamp
}

// PutBatch places a record batch with its patch; see Put.
func (l *Log) PutBatch(queue uint32, b batch.Batch, p Patch, more bool) *Placed {
	return l.put(KindData, queue, b, more, &p)
}

// Put places one frame; the sum of sizes may not pass what Begin reserved. Only between Begin and End.
func (l *Log) Put(k Kind, queue uint32, payload []byte, more bool) *Placed {
	return l.put(k, queue, payload, more, nil)
}

func (l *Log) put(k Kind, queue uint32, payload []byte, more bool, patch *Patch) *Placed {
	r := l.ensureRound(true)
	pos, n := l.end, FrameSize(len(payload))
	b := l.take(r, n)
	stored := b[HeaderSize:][:len(payload):len(payload)]
	copy(stored, payload)
	clear(b[HeaderSize+len(payload):])
	if patch != nil {
		b := batch.Batch(stored)
		b.SetBaseOffset(patch.BaseOffset)
		b.SetLeaderEpoch(patch.LeaderEpoch)
		if patch.AppendTime {
			b.SetAppendTime(l.Now())
		}
	}
	h := header{kind: k, payload: len(payload), epoch: l.epoch, position: pos, queue: queue, time: l.Now()}
	if more {
		h.flags = FlagMore
	}
	if k != KindData {
		h.payloadCRC = crcOf(stored)
	}
	l.foot.note(k, queue, stored)
	putHeader(b, &h, stored)
	r.Frames = append(r.Frames, Placed{
		Frame: Frame{Kind: k, Queue: queue, Position: pos, Epoch: l.epoch, Time: h.time, Payload: stored}, More: more,
	})
	return &r.Frames[len(r.Frames)-1]
}

// Current is the round that takes frames, or the last one not yet taken by the writer, or nil. Only between Begin and End.
func (l *Log) Current() *Round {
	if k := len(l.queue); k > 0 {
		return l.queue[k-1]
	}
	return nil
}

// Position is where the next frame goes. Only between Begin and End.
func (l *Log) Position() int64 { return l.end }

// End leaves the sequencer.
func (l *Log) End() {
	if len(l.queue) > 0 {
		l.work.Signal()
	}
	l.mu.Unlock()
}

// Health says why appends are refused: a *FailedError, a *SpaceError, or nil. While space is missing it tries again, so
// that a log nobody appends to because it is unhealthy becomes healthy.
func (l *Log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil && l.spaceErr != nil && !l.closing {
		if l.fillShort {
			l.retryFill()
		} else if err := l.roll(); err == nil && len(l.queue) > 0 {
			l.work.Signal()
		}
	}
	if l.failed != nil {
		return l.failed
	}
	return l.spaceErr
}

func (l *Log) retryFill() {
	if l.o.Now().Sub(l.spaceTry).Abs() >= spaceRetry {
		l.spaceTry = l.o.Now()
		l.fill.wake()
	}
}

// fail fences writing (I4). The lock is held.
func (l *Log) fail(err error) {
	if l.failed == nil {
		l.failed = &FailedError{err}
		l.m.failed.Set(1)
		l.log.Error("writing to the log failed; it is fenced until a restart", "error", err)
	}
	l.room.Broadcast()
	l.work.Broadcast()
}

// Close writes the frame of a clean stop, waits for everything placed and closes the files. Appends that wait get
// ErrClosed. It returns the failure that fenced the log, if any.
func (l *Log) Close() error {
	l.mu.Lock()
	started := l.started && !l.closing
	if started && l.failed == nil && l.reserve(FrameSize(0), ForFreeing) == nil {
		l.Put(KindClosed, 0, nil, false)
	}
	l.closing = true
	l.room.Broadcast()
	l.work.Broadcast()
	l.mu.Unlock()
	if started {
		<-l.done
		l.fill.stop()
	}
	l.mu.Lock()
	failed := l.failed
	l.mu.Unlock()
	return errors.Join(failed, l.closeFiles())
}

// stamp completes the opening frame of a round: when it is written everything before it has been synced.
func (r *Round) stamp(synced int64) {
	if r.synced == nil {
		return
	}
	payload := r.synced[HeaderSize:]
	binary.BigEndian.PutUint64(payload, uint64(synced))
	h, err := parseHeader(r.synced, r.Start)
	if err != nil {
		panic(err) // it was made by ensureRound
	}
	h.payloadCRC = crcOf(payload)
	putHeader(r.synced, &h, payload)
}

// Seal ends the round that takes frames: the next frame begins another. Only between Begin and End.
func (l *Log) Seal() { l.seal() }
