package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maintainer is the store's background work: retention, compaction, making space and snapshots, one after the other in
// one goroutine, so that only one of them moves data at a time; and beside it the scrubber, which only reads.
type maintainer struct {
	cancel context.CancelFunc
	said   map[string]string // the last error of each job, so that it is said once
	done   sync.WaitGroup
}

func (m *maintainer) start(s *Store) {
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	m.said = map[string]string{}
	m.done.Go(func() { s.maintainLoop(ctx) })
	if s.o.ScrubBytes > 0 {
		m.done.Go(func() { s.scrubLoop(ctx) })
	}
}

// stop ends the work in the middle of whatever it does; nothing of it needs its end.
func (m *maintainer) stop() {
	if m.cancel != nil {
		m.cancel()
		m.done.Wait()
	}
}

// maintainLoop wakes up for each job when it is due.
func (s *Store) maintainLoop(ctx context.Context) {
	retention, clean := time.NewTimer(s.o.RetentionCheck), time.NewTimer(s.o.CleanBackoff)
	defer retention.Stop()
	defer clean.Stop()
	for {
		var job func(context.Context) error
		var what string
		select {
		case <-ctx.Done():
			return
		case <-retention.C:
			what, job = "retention", s.Retain
			retention.Reset(s.o.RetentionCheck)
		case <-clean.C:
			what, job = "compaction", s.Compact
			clean.Reset(s.o.CleanBackoff)
		}
		s.job(ctx, what, job)
		s.job(ctx, "making space in the log", s.MakeSpace)
	}
}

// job runs one piece of work and says what went wrong: it is tried again when it is next due.
func (s *Store) job(ctx context.Context, what string, f func(context.Context) error) {
	if s.broken.Load() != nil {
		return
	}
	err := f(ctx)
	if ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return
	}
	if err == nil {
		delete(s.maintain.said, what)
		return
	}
	s.m.maintenanceErrors.Inc()
	if s.maintain.said[what] != err.Error() {
		s.maintain.said[what] = err.Error()
		s.l.Warn(what+" failed; it is tried again", "error", err)
	}
}
