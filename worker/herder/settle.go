package herder

import (
	"context"
	"maps"
	"time"

	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/worker/topics"
)

// A connector's new tasks may share out its work in another way than those before, which still drain on other workers: what
// these write last would come after what the new ones write. So every worker joins a round only when the tasks that a commit
// took from it have stopped, and new tasks start after the first round that all had joined with that commit (as Kafka
// Connect stops all tasks of a connector before it rebalances).

// waitAgain is when a round is asked for, after one that some member had joined before it knew of a commit.
const waitAgain = 50 * time.Millisecond

// BeforeJoin reads the config topic to its end, waits until no task runs here that must not by what it says, and gives the config
// offset for which that is so.
func (h *Herder) BeforeJoin(ctx context.Context) int64 {
	err := h.Configs.ReadToEnd(ctx)
	h.mu.Lock()
	h.answered = err == nil
	h.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			h.Log.Warn("reading the config topic to its end before a round failed", "error", err)
		}
		return h.stableAt()
	}
	offset := h.Configs.Offset()
	stopped := make(chan struct{})
	h.post(func() { // behind all changes up to the offset
		names := h.changed
		h.changed = map[string]bool{}
		wait := h.unsettled(names)
		go func() {
			settled(wait)
			close(stopped)
		}()
		context.AfterFunc(ctx, func() {
			select {
			case <-stopped:
			default: // the next round waits for them again
				h.post(func() { maps.Copy(h.changed, names) })
			}
		})
	})
	select {
	case <-stopped:
		return offset
	case <-ctx.Done():
	case <-h.stopped:
	}
	return h.stableAt()
}

// stableAt is the config offset at which all workers had stopped what was not to run.
func (h *Herder) stableAt() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stable
}

// waits tells that tasks were committed after that offset.
func (h *Herder) waits(k topics.Connector) bool { return k.Committed > h.stableAt() }

// startWaiting starts what a round has made free to start; it gives whether more waits.
func (h *Herder) startWaiting() bool {
	before := h.waiting
	h.waiting = map[string]bool{}
	for name := range before {
		h.align(name)
	}
	return len(h.waiting) > 0
}

// settle closes done when what must not run of these connectors has stopped and its states are written, off the loop.
func (h *Herder) settle(names map[string]bool, done chan struct{}) {
	wait := h.unsettled(names)
	go func() {
		settled(wait)
		h.status.flush(names)
		close(done)
	}()
}

// unsettled gives the runners of these connectors, also those of earlier lives.
func (h *Herder) unsettled(names map[string]bool) (all []*runtime.Runner) {
	for name := range names {
		if r := h.runners[name]; r != nil {
			all = append(all, r)
		}
	}
	for r, name := range h.closing {
		if names[name] {
			all = append(all, r)
		}
	}
	return all
}

func settled(all []*runtime.Runner) {
	for _, r := range all {
		r.Settled()
	}
}
