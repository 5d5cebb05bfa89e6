package host

import (
	"context"
	"sync"
)

// sendGuard ends a stream when the ctx of a Send ends while the plugin does not even receive: what is half sent cannot be taken
// back (I3). Senders use one ctx for many batches, so it is watched once and not anew for every batch. enter and leave are for
// the one goroutine that sends.
type sendGuard struct {
	mu      sync.Mutex
	watched <-chan struct{} // Done of the ctx that is watched
	unwatch func() bool
	sending bool
}

// enter begins a Send under ctx.
func (g *sendGuard) enter(ctx context.Context, end context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sending = true
	done := ctx.Done()
	if g.watched == done && ctx.Err() == nil {
		return
	}
	if g.unwatch != nil {
		g.unwatch()
	}
	g.watched = done
	g.unwatch = context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.sending && g.watched == done {
			end(context.Cause(ctx))
		}
	})
}

// leave ends a Send.
func (g *sendGuard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sending = false
}

// stop watches no more.
func (g *sendGuard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unwatch != nil {
		g.unwatch()
	}
}
