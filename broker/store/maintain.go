package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maintainer is the store's background work. One goroutine compacts, makes space and takes snapshots, one after the other,
// so that only one of them moves data at a time (I9). Retention has its own, so that it does not wait for a long compaction,
// and the scrubber, which only reads.
type maintainer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (m *maintainer) start(s *Store) {
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	m.done.Go(func() { s.every(ctx, s.o.RetentionCheck, "retention", s.Retain) })
	m.done.Go(func() { s.every(ctx, s.o.CleanBackoff, "compaction and making space", s.clean) })
	m.done.Go(func() { s.keepReserve(ctx) })
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

// every runs a job again and again, with a pause between.
func (s *Store) every(ctx context.Context, pause time.Duration, what string, job func(context.Context) error) {
	t := time.NewTimer(pause)
	defer t.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		said = s.job(ctx, what, said, job)
		t.Reset(pause)
	}
}

// clean finishes what was to be dropped, compacts and then makes space; none of it keeps space from being made.
func (s *Store) clean(ctx context.Context) error {
	return errors.Join(s.dropOwed(), s.Compact(ctx), s.MakeSpace(ctx))
}

// job runs one piece of work and says what went wrong, once: it is tried again when it is next due.
func (s *Store) job(ctx context.Context, what, said string, f func(context.Context) error) string {
	if s.broken.Load() != nil {
		return said
	}
	err := f(ctx)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrClosed):
		return said
	case err == nil:
		return ""
	}
	s.m.maintenanceErrors.Inc()
	if err.Error() != said {
		s.l.Warn(what+" failed; it is tried again", "error", err)
	}
	return err.Error()
}
