package commitlog

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstockio/penstock/broker/disk"
)

// run is the writer: one round after the other, written, synced, handed on. While it syncs, the next round gathers.
func (l *Log) run() {
	defer close(l.done)
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closing && l.failed == nil {
			l.work.Wait()
		}
		if l.failed != nil {
			l.abandon()
			for !l.closing {
				l.work.Wait()
			}
			l.mu.Unlock()
			return
		}
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return
		}
		r := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		if len(l.queue) == 0 {
			l.queue = nil // lets go of the array
		}
		if l.open == r {
			l.open = nil
		}
		l.mu.Unlock()
		if err := l.write(r); err != nil {
			l.mu.Lock()
			l.fail(err)
			failed := l.failed
			l.mu.Unlock()
			l.hooks.Failed(r, failed)
		}
	}
}

// abandon gives up the rounds not written. The lock is held and given back for the calls.
func (l *Log) abandon() {
	queue, failed := l.queue, l.failed
	l.queue, l.open = nil, nil
	l.mu.Unlock()
	for _, r := range queue {
		l.hooks.Failed(r, failed)
	}
	l.mu.Lock()
}

// write makes one round durable.
func (l *Log) write(r *Round) error {
	f, err := r.seg.file(l.fs)
	if err != nil {
		return fmt.Errorf("opening %s: %w", r.seg.path, err)
	}
	r.stamp(l.synced.Load())
	l.fill.claim(r.seg, r.Start, r.End)
	for _, p := range r.pieces {
		if _, err := f.WriteAt(p.buf, r.seg.offset(p.pos)); err != nil {
			return fmt.Errorf("writing %d bytes to %s at log position %d: %w", len(p.buf), r.seg.path, p.pos, err)
		}
	}
	l.written.Store(r.End)
	l.hooks.Written(r)
	began := time.Now()
	if err := f.SyncData(); err != nil {
		return fmt.Errorf("syncing %s: %w", r.seg.path, err)
	}
	l.m.sync.Observe(time.Since(began).Seconds())
	l.m.rounds.Inc()
	l.m.bytes.Add(float64(r.End - r.Start))
	for i := range r.Frames {
		if p := &r.Frames[i]; p.Kind == KindData {
			l.check(r.seg, p.Position, len(p.Payload))
		}
	}
	l.synced.Store(r.End)
	l.durable.Store(r.End) // X7: on one node durable is synced
	l.hooks.Synced(r)
	l.mu.Lock()
	l.total += r.End - r.Start
	if l.total >= l.o.FillAfter && l.o.FillAhead > 0 {
		l.fill.wake()
	}
	l.room.Broadcast()
	l.mu.Unlock()
	return nil
}

// Release gives a synced round's memory back to the tail.
func (l *Log) Release(r *Round) {
	l.tail.evict(r.End)
	l.mu.Lock()
	l.inflight -= r.size
	l.room.Broadcast()
	l.mu.Unlock()
}

// filler writes zeros ahead of the writer: a sync of blocks already written is several times cheaper than one that
// must also record new blocks. It never touches a byte the writer has claimed. While rounds are large it pauses: there the
// cost of new blocks is spread over many bytes, and writing everything twice costs more (a quarter of the CPU, measured).
type filler struct {
	mu     sync.Mutex
	idle   sync.Cond
	seg    *segment
	claimd int64 // the writer may be writing below
	filled int64 // zeros stand up to here
	round  int64 // size of rounds, smoothed
	busy   bool
	kick   chan struct{}
	quit   chan struct{}
	ended  chan struct{}
}

const fillStep = 1 << 20

// fillRounds is the size of rounds above which nothing is filled.
const fillRounds = 256 << 10

func (f *filler) init() {
	f.idle.L = &f.mu
	f.kick, f.quit, f.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

func (f *filler) reset(end int64) { f.claimd, f.filled = end, end }

// claim tells that the writer is about to write [from, to) and waits for a step that reaches into it.
func (f *filler) claim(s *segment, from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy && f.seg == s && from < f.filled+fillStep && to > f.filled {
		f.idle.Wait()
	}
	f.seg, f.claimd = s, to
	f.round += (to - from - f.round) / 8
	f.filled = max(f.filled, to)
}

func (f *filler) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *filler) stop() {
	close(f.quit)
	<-f.ended
}

func (l *Log) fillLoop() {
	defer close(l.fill.ended)
	for {
		select {
		case <-l.fill.quit:
			return
		case <-l.fill.kick:
		}
		for l.fillOnce() {
		}
	}
}

// fillOnce writes one step of zeros and tells whether more is wanted.
func (l *Log) fillOnce() bool {
	f := &l.fill
	f.mu.Lock()
	s, from := f.seg, f.filled
	if s == nil || from >= s.end() || from-f.claimd >= l.o.FillAhead || f.round > fillRounds {
		f.mu.Unlock()
		return false
	}
	f.busy = true
	f.mu.Unlock()
	to := min(from+fillStep, s.end())
	err := l.zero(s, from, to)
	f.mu.Lock()
	f.busy = false
	if f.seg == s && err == nil {
		f.filled = max(f.filled, to)
	}
	f.idle.Broadcast()
	f.mu.Unlock()
	if !l.filledStep(err) {
		return false
	}
	select {
	case <-f.quit:
		return false
	default:
		return true
	}
}

// filledStep takes note of a step's outcome. Missing space refuses appends until a later step succeeds; any other error
// fences the log.
func (l *Log) filledStep(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		if l.fillShort {
			l.fillShort, l.spaceErr = false, nil
			l.log.Info("the log grows again")
		}
		return true
	case disk.MayHeal(err):
		l.m.spaceFail.Inc()
		if !l.fillShort {
			l.log.Warn("the log cannot grow; appends are refused until there is space", "error", err)
		}
		l.fillShort, l.spaceErr, l.spaceTry = true, &SpaceError{err}, l.o.Now()
	case !l.closing:
		l.fail(err)
	}
	return false
}

func (l *Log) zero(s *segment, from, to int64) error {
	file, err := s.file(l.fs)
	if err != nil {
		return fmt.Errorf("opening %s: %w", s.path, err)
	}
	for pos := from; pos < to; {
		n := min(int64(len(zeros)), to-pos)
		if _, err := file.WriteAt(zeros[:n], s.offset(pos)); err != nil {
			return fmt.Errorf("zero-filling %s at log position %d: %w", s.path, pos, err)
		}
		pos += n
	}
	if err := file.SyncData(); err != nil {
		return fmt.Errorf("syncing %s: %w", s.path, err)
	}
	return nil
}

// Fence ends writing for good, because what follows the log (the index) cannot.
func (l *Log) Fence(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(err)
}
