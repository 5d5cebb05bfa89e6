package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// start is a queue's log start to be.
type logStart struct {
	q      queue.ID
	offset int64
	cause  uint64
}

// retainGroup bounds how many log starts are moved with one append.
const retainGroup = 256

// retainSteps bounds how many batches of a queue go with one record: applying it holds up everything else.
const retainSteps = 4096

// retainClock is the time retention is decided by. It goes no faster than the monotonic clock since the store was started, so
// that a wall clock that jumps ahead does not expire what is kept.
type retainClock struct {
	mu    sync.Mutex
	wall  time.Time
	since time.Time
}

func (c *retainClock) now(wall time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		c.wall, c.since = wall, time.Now()
	}
	return min(wall.UnixMilli(), c.wall.Add(time.Since(c.since)).UnixMilli())
}

// Retain moves the log starts of queues past what their policy keeps no longer: whole batches, oldest first. What it
// decides is in the log, so that it is decided once.
func (s *Store) Retain(ctx context.Context) error {
	now := s.retainClock.now(s.o.Now())
	var moves []logStart
	for _, q := range s.table.IDs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for more := true; more; {
			m, again, err := s.expired(q, now)
			if err != nil {
				return fmt.Errorf("looking for what queue %d keeps no longer: %w", q, err)
			}
			more = again
			if m.offset > 0 {
				moves = append(moves, m)
			}
			if len(moves) >= retainGroup || more {
				if err := s.moveStarts(moves); err != nil {
					return err
				}
				moves = moves[:0]
			}
		}
	}
	return s.moveStarts(moves)
}

// expired finds how far a queue's log start may move; more says that it may move further after that.
func (s *Store) expired(q queue.ID, now int64) (m logStart, more bool, err error) {
	st, p, ok := s.table.Get(q)
	if !ok || st.IsDropping() || !p.Delete || st.LogStart >= st.High {
		return m, false, nil
	}
	byTime := p.RetentionMs >= 0 && now-p.RetentionMs >= 0
	if !byTime && (p.RetentionBytes < 0 || st.Bytes <= p.RetentionBytes) {
		return m, false, nil
	}
	head, err := s.Head(q)
	if err != nil {
		return m, false, nil // dropped meanwhile
	}
	var sc scan
	defer sc.release()
	left, n := st.Bytes, 0
	ok, err = sc.seek(s.db, q, st.LogStart)
	for ; ok && err == nil && sc.e.Last < head.LastStable; ok, err = sc.next() { // an open transaction is not expired
		cause := uint64(0)
		if p.RetentionBytes >= 0 && left-int64(sc.e.Size) >= p.RetentionBytes {
			cause = causeRetentionBytes
		}
		if cause == 0 && byTime {
			at, err := s.batchTime(&sc.e, now)
			if err != nil {
				return m, false, err
			}
			if at < now-p.RetentionMs {
				cause = causeRetentionTime
			}
		}
		if cause == 0 {
			break
		}
		if n == retainSteps {
			more = true
			break
		}
		n++
		left -= int64(sc.e.Size)
		m = logStart{q, sc.e.Last + 1, cause}
	}
	return m, more, errors.Join(err, sc.close())
}

// batchTime is the time a batch ages by: the queue's highest timestamp up to it. A producer whose clock is ahead would
// make that a time to come, and everything after it would be kept too long: then the broker's own time of the append
// counts.
func (s *Store) batchTime(e *index.Entry, now int64) (int64, error) {
	if e.MaxTime <= now {
		return e.MaxTime, nil
	}
	at, err := s.appendTime(e)
	if errors.Is(err, commitlog.ErrGone) || errors.As(err, new(*commitlog.CorruptError)) {
		return e.MaxTime, nil // moved meanwhile, or damaged: kept, for now
	}
	return min(at, e.MaxTime), err
}

// appendTime is when a batch was appended, wherever it stands now.
func (s *Store) appendTime(e *index.Entry) (int64, error) {
	if e.Store == index.StoreCold {
		return s.cold.AppendTime(e.Position)
	}
	return s.log.AppendTime(e.Position)
}

// moveStarts appends log starts, each a group of its own, and waits until they are applied.
func (s *Store) moveStarts(moves []logStart) error {
	if len(moves) == 0 {
		return nil
	}
	payloads, size := make([][]byte, len(moves)), int64(0)
	for i, m := range moves {
		payloads[i] = appendField(appendField([]byte{recordVersion}, fieldNewStart, uint64(m.offset)), fieldCause, m.cause)
		size += commitlog.FrameSize(len(payloads[i]))
	}
	if err := s.enter(commitlog.ForFreeing, size, true); err != nil {
		return err
	}
	for i, m := range moves {
		s.log.Put(commitlog.KindLogStart, uint32(m.q), payloads[i], false)
	}
	g, t := s.roundTag(), &Ticket{}
	s.log.End()
	g.attach(t, Durable)
	<-t.Done()
	if t.Err() == nil {
		s.m.expired.Add(float64(len(moves)))
	}
	return t.Err()
}
