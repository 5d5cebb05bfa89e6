package commitlog

import (
	"errors"
	"sync"
	"time"
)

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
