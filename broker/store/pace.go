package store

import (
	"context"
	"sync"
	"time"
)

// pace bounds how many bytes a second background work reads and writes, so that clients keep the disk.
type pace struct {
	mu   sync.Mutex
	rate int64     // bytes a second; 0: no bound
	free time.Time // when what was taken so far is paid for
}

// shortest is the least that is waited for: many small takes are paid for together.
const shortest = 5 * time.Millisecond

// take waits until n more bytes may be moved.
func (p *pace) take(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil || p.rate <= 0 {
		return err
	}
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now)
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	p.mu.Unlock()
	if wait < shortest {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
