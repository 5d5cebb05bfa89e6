package herder

import (
	"context"
	"maps"
	"time"

	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/topics"
)

// How long one attempt to publish a connector's tasks may take, and the wait after it failed.
const (
	publishTimeout    = 30 * time.Second
	publishBackoff    = time.Second
	publishMaxBackoff = time.Minute
)

// taskConfigs publishes the tasks a connector made, when they differ from those in force. It tries until that succeeds, or
// the connector has another configuration or another owner, who splits it again.
func (h *Herder) taskConfigs(name string, from map[string]string, tasks []map[string]string) {
	go func() {
		for wait := publishBackoff; ; wait = min(2*wait, publishMaxBackoff) {
			ctx, cancel := context.WithTimeout(h.runCtx, publishTimeout)
			err := h.publish(ctx, name, from, tasks)
			cancel()
			if err == nil || h.runCtx.Err() != nil {
				return
			}
			h.Log.Error("publishing the tasks of a connector failed, trying again", "connector", name, "error", err, "in", wait)
			select {
			case <-time.After(wait):
			case <-h.runCtx.Done():
				return
			}
			if k, _ := h.Configs.Get(name); !maps.Equal(k.Config, from) || !h.owns(name) {
				return
			}
		}
	}()
}

// owns asks the loop whether the connector itself is this node's; never called on the loop.
func (h *Herder) owns(name string) bool {
	answer := make(chan bool, 1)
	h.post(func() { answer <- h.owned[assign.Unit{Connector: name, Task: assign.ConnectorUnit}] })
	select {
	case yes := <-answer:
		return yes
	case <-h.stopped:
		return false
	}
}

func (h *Herder) publish(ctx context.Context, name string, from map[string]string, tasks []map[string]string) error {
	h.write.Lock()
	defer h.write.Unlock()
	k, ok := h.Configs.Get(name)
	if !ok {
		return nil // deleted meanwhile
	}
	stored := make([]map[string]string, len(tasks))
	for i, t := range tasks {
		stored[i] = storedTask(from, t)
	}
	same := len(stored) == len(k.Tasks) && !k.Inconsistent && maps.Equal(k.Applied, from)
	for i := 0; same && i < len(stored); i++ {
		same = maps.Equal(stored[i], k.Tasks[i])
	}
	if same || k.Target == topics.Stopped {
		return nil
	}
	return h.Configs.PutTasks(ctx, name, stored)
}
