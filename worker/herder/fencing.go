package herder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/worker/topics"
)

// fenceRetry is the wait after producers could not be fenced.
const fenceRetry = time.Second

// mayStart tells whether a source's tasks may run: with exactly-once support, only after the leader has fenced the producers of
// the set of tasks before. A task that stays in the set is fenced by its own successor; one that goes has none (KIP-618).
func (h *Herder) mayStart(k topics.Connector) bool {
	return !h.ExactlyOnce || !k.FencingPending || h.typeOf(k.Config) == "sink"
}

// fenceDue tells that the producers of a connector's earlier tasks are to be fenced: these tasks have stopped, where they still
// had a worker, and there are others to start.
func (h *Herder) fenceDue(k topics.Connector) bool {
	return k.FencingPending && len(k.Tasks) > 0 && !h.waits(k) && h.typeOf(k.Config) != "sink"
}

// fencePending fences what is due, off the loop; the leader does it after a round.
func (h *Herder) fencePending(names ...string) {
	if !h.ExactlyOnce {
		return
	}
	var due []string
	for _, n := range names {
		if k, ok := h.Configs.Get(n); ok && !h.fencing[n] && h.fenceDue(k) {
			due = append(due, n)
			h.fencing[n] = true
		}
	}
	for _, n := range due {
		go h.fence(n)
	}
}

func (h *Herder) fence(name string) {
	defer h.post(func() {
		delete(h.fencing, name)
		if h.leads() {
			h.fencePending(name) // committed again while this ended
		}
	})
	for h.runCtx.Err() == nil {
		if leader, err := h.Leader(h.runCtx); err != nil || leader != "" {
			return // the new leader's business
		}
		k, ok := h.Configs.Get(name)
		if !ok || !h.fenceDue(k) {
			return
		}
		ctx, cancel := context.WithTimeout(h.runCtx, publishTimeout)
		err := h.fenceTasks(ctx, name, k)
		cancel()
		if err == nil {
			continue // committed again meanwhile, perhaps
		}
		h.Log.Warn("fencing the producers of a connector's earlier tasks failed, trying again; its tasks wait", "connector", name, "error", err, "in", fenceRetry)
		select {
		case <-time.After(fenceRetry):
		case <-h.runCtx.Done():
		}
	}
}

// fenceTasks takes the transactional ids of the tasks before and notes the new number of tasks.
func (h *Herder) fenceTasks(ctx context.Context, name string, k topics.Connector) error {
	if before := k.Fenced; before > 0 && !(before == 1 && len(k.Tasks) == 1) {
		for i := range before {
			if err := h.fenceOne(ctx, h.transactionalID(name, i)); err != nil {
				return err
			}
		}
	}
	ctx, end, err := h.beginLeading(ctx)
	if err != nil {
		return err
	}
	defer end()
	if now, ok := h.Configs.Get(name); !ok || len(now.Tasks) != len(k.Tasks) {
		return nil // another set meanwhile: fence for that
	}
	return h.Configs.PutFenced(ctx, name, len(k.Tasks))
}

// fenceRetired fences, off the loop, the tasks that a smaller set has no number for any more: a worker that lost its place and
// does not know it yet may still have one of them, and no successor of it would ever refuse its positions. The leader does it,
// after a round. With exactly-once support fencePending does more.
func (h *Herder) fenceRetired() {
	if h.ExactlyOnce {
		return
	}
	for name, before := range h.retired {
		k, ok := h.Configs.Get(name)
		if !ok || h.waits(k) || before <= len(k.Tasks) || h.typeOf(k.Config) != "source" {
			continue
		}
		go func() {
			ctx, cancel := context.WithTimeout(h.runCtx, publishTimeout)
			defer cancel()
			for i := before - 1; i >= 0; i-- {
				if k, ok := h.Configs.Get(name); !ok || i < len(k.Tasks) {
					return // the number has a task again, whose start fences
				}
				if err := h.fenceOne(ctx, h.transactionalID(name, i)); err != nil && h.runCtx.Err() == nil {
					h.Log.Warn("fencing a task that is no more failed", "connector", name, "task", i, "error", err)
				}
			}
		}()
	}
}

func (h *Herder) transactionalID(name string, task int) string {
	return fmt.Sprintf("%s-%s-%d", h.Group, name, task)
}

// fenceOne raises the epoch of a transactional id, as its next holder would.
func (h *Herder) fenceOne(ctx context.Context, id string) error {
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(time.Minute.Milliseconds())
		resp, err := req.RequestWith(ctx, h.Fencer)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err == nil {
			return nil
		}
		if !kerr.IsRetriable(err) && !errors.Is(err, kerr.ConcurrentTransactions) {
			return fmt.Errorf("fencing the transactional id %s: %w", id, err)
		}
		select { // its transaction is being aborted
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("fencing the transactional id %s: %w", id, err)
		}
	}
}
