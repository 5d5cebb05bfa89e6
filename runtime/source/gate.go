package source

import (
	"context"
	"sync"
)

// Gate holds a task back while it is paused. Safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	open   chan struct{} // closed while open
	isOpen bool
}

// NewGate makes a gate.
func NewGate(open bool) *Gate {
	g := &Gate{open: make(chan struct{}), isOpen: open}
	if open {
		close(g.open)
	}
	return g
}

// Set opens or closes the gate.
func (g *Gate) Set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open && !g.isOpen:
		close(g.open)
	case !open && g.isOpen:
		g.open = make(chan struct{})
	}
	g.isOpen = open
}

// Open tells whether the gate is open now.
func (g *Gate) Open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isOpen
}

// Wait returns when the gate is open, or ctx's error.
func (g *Gate) Wait(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
