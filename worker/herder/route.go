package herder

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/worker/assign"
)

// place is this node's place in the group after its last round.
type place struct {
	leader    bool
	leaderURL string
	owners    map[assign.Unit]string // of the leader alone
}

// Leader gives the URL of the worker that writes configurations; empty: this one. An error means that it is not known now.
func (h *Herder) Leader(ctx context.Context) (url string, err error) {
	h.awaitAnswer(ctx)
	p, err := h.where()
	if err != nil || p.leader {
		return "", err
	}
	return p.leaderURL, nil
}

// Owner gives the URL of the worker that runs a task, or with a negative number the connector itself; empty: this one. Where
// only the leader knows, it is the leader's.
func (h *Herder) Owner(ctx context.Context, id api.TaskID) (url string, err error) {
	u := assign.Unit{Connector: id.Connector, Task: int32(max(id.Task, int(assign.ConnectorUnit)))}
	here := make(chan bool, 1)
	h.post(func() { here <- h.owned[u] })
	select {
	case yes := <-here:
		if yes {
			return "", nil
		}
	case <-h.stopped:
		return "", errors.New("the worker is shutting down")
	case <-ctx.Done():
		return "", ctx.Err()
	}
	h.awaitAnswer(ctx)
	p, err := h.where()
	if err != nil {
		return "", err
	}
	if !p.leader {
		return p.leaderURL, nil
	}
	url, ok := p.owners[u]
	if !ok {
		return "", fmt.Errorf("connector %s is not assigned to a worker yet", id.Connector)
	}
	return url, nil
}

func (h *Herder) leads() bool {
	p, err := h.where()
	return err == nil && p.leader
}

func (h *Herder) where() (place, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.rejoins():
		return place{}, fmt.Errorf("this worker joins its group again: %w", h.lost)
	case h.lost != nil:
		return place{}, outOfGroup(h.lost)
	case !h.started:
		return place{}, errors.New("this worker has not joined its group yet")
	}
	return h.place, nil
}
