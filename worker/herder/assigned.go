package herder

import (
	"context"
	"strconv"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/group"
)

// Configured is what the group's leader assigns.
func (h *Herder) Configured() map[string]assign.Work {
	out := map[string]assign.Work{}
	h.Configs.Each(func(name string, cfg map[string]string, tasks int) {
		w, _ := strconv.Atoi(cfg[runtime.TaskWeight]) // validation told of nonsense; it counts as 1
		out[name] = assign.Work{Tasks: tasks, Weight: w}
	})
	return out
}

// LastOwners tells who ran units last, by the states in the status topic.
func (h *Herder) LastOwners(ctx context.Context, units []assign.Unit) (map[assign.Unit]group.Owner, error) {
	if err := h.Statuses.ReadToEnd(ctx); err != nil {
		return nil, err
	}
	out := make(map[assign.Unit]group.Owner, len(units))
	for _, u := range units {
		st, ok := h.Statuses.Connector(u.Connector)
		if u.Task != assign.ConnectorUnit {
			st, ok = h.Statuses.Task(u.Connector, int(u.Task))
		}
		if !ok {
			continue
		}
		switch api.State(st.State) {
		case api.State(runtime.Running), api.State(runtime.Paused), api.Restarting:
			out[u] = group.Owner{URL: "http://" + st.WorkerID + "/", Crashed: true}
		default:
			out[u] = group.Owner{URL: "http://" + st.WorkerID + "/"}
		}
	}
	return out, nil
}
