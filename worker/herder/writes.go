package herder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/topics"
)

// Create makes a connector.
func (h *Herder) Create(ctx context.Context, r api.CreateRequest) (api.ConnectorInfo, error) {
	cfg := map[string]string(maps.Clone(r.Config))
	if n, given := cfg["name"]; given && n != r.Name {
		return api.ConnectorInfo{}, api.Errorf(http.StatusBadRequest, "Connector name configuration (%s) doesn't match connector name in the request (%s)", n, r.Name)
	}
	cfg["name"] = r.Name
	var target *topics.TargetState
	if r.InitialState != nil {
		t, err := initialState(*r.InitialState)
		if err != nil {
			return api.ConnectorInfo{}, err
		}
		target = &t
	}
	if err := h.check(ctx, cfg); err != nil {
		return api.ConnectorInfo{}, err
	}
	ctx, end, err := h.beginLeading(ctx)
	if err != nil {
		return api.ConnectorInfo{}, err
	}
	defer end()
	if _, exists := h.Configs.Get(r.Name); exists {
		return api.ConnectorInfo{}, api.Errorf(http.StatusConflict, "Connector %s already exists", r.Name)
	}
	if err := h.Configs.PutConnector(ctx, r.Name, cfg, target); err != nil {
		return api.ConnectorInfo{}, conflicting(err)
	}
	h.Log.Info("connector created", "connector", r.Name, "class", cfg["connector.class"])
	return h.Info(r.Name)
}

func outOfGroup(why error) error {
	return api.Errorf(http.StatusInternalServerError,
		"This worker is out of its group, so nothing was changed; try again when /health is healthy: %v", why)
}

func initialState(s string) (topics.TargetState, error) {
	switch strings.ToUpper(s) {
	case "RUNNING":
		return topics.Started, nil
	case "PAUSED":
		return topics.Paused, nil
	case "STOPPED":
		return topics.Stopped, nil
	}
	return "", api.Errorf(http.StatusBadRequest, "initial_state %s must be RUNNING, PAUSED or STOPPED", s)
}

// PutConfig replaces or makes a connector's configuration.
func (h *Herder) PutConfig(ctx context.Context, name string, cfg api.Config) (api.ConnectorInfo, bool, error) {
	full := map[string]string(maps.Clone(cfg))
	if n, given := full["name"]; given && n != name {
		return api.ConnectorInfo{}, false, api.Errorf(http.StatusBadRequest, "Connector name configuration (%s) doesn't match connector name in the URL (%s)", n, name)
	}
	full["name"] = name
	if err := h.check(ctx, full); err != nil {
		return api.ConnectorInfo{}, false, err
	}
	return h.put(ctx, name, full)
}

func (h *Herder) put(ctx context.Context, name string, cfg map[string]string) (api.ConnectorInfo, bool, error) {
	ctx, end, err := h.beginLeading(ctx)
	if err != nil {
		return api.ConnectorInfo{}, false, err
	}
	defer end()
	before, exists := h.Configs.Get(name)
	if err := h.Configs.PutConnector(ctx, name, cfg, nil); err != nil {
		return api.ConnectorInfo{}, false, conflicting(err)
	}
	switch {
	case !exists:
		h.Log.Info("connector created", "connector", name, "class", cfg["connector.class"])
	case !maps.Equal(before.Config, cfg):
		h.Log.Info("connector configuration changed", "connector", name)
	}
	info, err := h.Info(name)
	return info, !exists, err
}

// PatchConfig changes some keys.
func (h *Herder) PatchConfig(ctx context.Context, name string, p api.Patch) (api.ConnectorInfo, error) {
	k, ok := h.Configs.Get(name)
	if !ok {
		return api.ConnectorInfo{}, notFound(name)
	}
	for key, v := range p {
		if v == nil {
			delete(k.Config, key)
		} else {
			k.Config[key] = *v
		}
	}
	k.Config["name"] = name
	if err := h.check(ctx, k.Config); err != nil {
		return api.ConnectorInfo{}, err
	}
	info, _, err := h.put(ctx, name, k.Config)
	return info, err
}

func notFound(name string) error {
	return api.Errorf(http.StatusNotFound, "Connector %s not found", name)
}

// check validates a configuration: 400 with all that is wrong.
func (h *Herder) check(ctx context.Context, cfg map[string]string) error {
	v, err := h.Runtime.Validate(ctx, cfg)
	if err != nil {
		return validateError(err)
	}
	errs := v.Errors()
	if len(errs) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Connector configuration is invalid and contains the following %d error(s):\n", len(errs))
	for _, e := range errs {
		b.WriteString(e + "\n")
	}
	b.WriteString("You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`")
	return api.Errorf(http.StatusBadRequest, "%s", b.String())
}

func validateError(err error) error {
	var unknown *plugins.UnknownClassError
	switch {
	case errors.Is(err, runtime.ErrNoClass):
		return api.Errorf(http.StatusBadRequest, "%v", err)
	case errors.As(err, &unknown):
		return api.Errorf(http.StatusInternalServerError, "%v", err)
	}
	return err
}

// Delete removes a connector; its offsets and consumer group stay, as in Kafka Connect.
func (h *Herder) Delete(ctx context.Context, name string) error {
	ctx, end, err := h.beginLeading(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, ok := h.Configs.Get(name); !ok {
		return notFound(name)
	}
	if err := h.Configs.RemoveConnector(ctx, name); err != nil {
		return conflicting(err)
	}
	h.Log.Info("connector deleted", "connector", name)
	return nil
}

// Pause holds a connector's tasks; they keep their places.
func (h *Herder) Pause(ctx context.Context, name string) error {
	return h.target(ctx, name, topics.Paused, false)
}

// Resume lets a paused or stopped connector go on.
func (h *Herder) Resume(ctx context.Context, name string) error {
	return h.target(ctx, name, topics.Started, false)
}

// Stop ends a connector's tasks and takes their configurations away.
func (h *Herder) Stop(ctx context.Context, name string) error {
	return h.target(ctx, name, topics.Stopped, true)
}

func (h *Herder) target(ctx context.Context, name string, s topics.TargetState, empty bool) error {
	begin := h.beginLeading
	if !empty {
		begin = h.beginWrite
	}
	ctx, end, err := begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, ok := h.Configs.Get(name); !ok {
		return api.Errorf(http.StatusNotFound, "Unknown connector %s", name)
	}
	if err := h.Configs.PutTarget(ctx, name, s); err != nil {
		return err
	}
	h.Log.Info(map[topics.TargetState]string{
		topics.Started: "connector resumed", topics.Paused: "connector paused", topics.Stopped: "connector stopped",
	}[s], "connector", name)
	if !empty {
		return nil
	}
	if err := h.Configs.PutTasks(ctx, name, nil); err != nil {
		return conflicting(fmt.Errorf("connector %s is stopped, but taking its tasks' configurations away failed; stop it again: %w", name, err))
	}
	return nil
}

// Restart starts a connector again, and its tasks if asked.
func (h *Herder) Restart(ctx context.Context, name string, includeTasks, onlyFailed bool) (*api.StateInfo, error) {
	if _, ok := h.Configs.Get(name); !ok {
		return nil, api.Errorf(http.StatusNotFound, "Unknown connector: %s", name)
	}
	h.Log.Info("restart of a connector asked for", "connector", name, "include_tasks", includeTasks, "only_failed", onlyFailed)
	if includeTasks || onlyFailed {
		st, err := h.Status(name)
		if err != nil {
			return nil, err
		}
		if !onlyFailed || st.Connector.State == api.Failed {
			st.Connector.State, st.Connector.Trace = api.Restarting, ""
		}
		for i := range st.Tasks {
			if includeTasks && (!onlyFailed || st.Tasks[i].State == api.Failed) {
				st.Tasks[i].State, st.Tasks[i].Trace = api.Restarting, ""
			}
		}
		ctx, end, err := h.beginLeading(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		return &st, conflicting(h.Configs.PutRestart(ctx, name, includeTasks, onlyFailed))
	}
	r, err := h.runner(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := r.RestartConnector(ctx); err != nil {
		return nil, api.Errorf(http.StatusInternalServerError, "Failed to start connector %s: %v", name, err)
	}
	return nil, nil
}

// RestartTask starts one task again.
func (h *Herder) RestartTask(ctx context.Context, id api.TaskID) error {
	k, ok := h.Configs.Get(id.Connector)
	if !ok {
		return api.Errorf(http.StatusNotFound, "Unknown connector: %s", id.Connector)
	}
	if id.Task < 0 || id.Task >= len(k.Tasks) {
		return api.Errorf(http.StatusNotFound, "Unknown task: %s", id)
	}
	h.Log.Info("restart of a task asked for", "connector", id.Connector, "task", id.Task)
	r, err := h.runner(ctx, id.Connector)
	if err != nil {
		return err
	}
	return r.RestartTask(ctx, id.Task)
}

// runner gives the runner of a connector that runs here, waiting a moment for one that was just made.
func (h *Herder) runner(ctx context.Context, name string) (*runtime.Runner, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got := make(chan *runtime.Runner, 1)
		h.post(func() { got <- h.runners[name] })
		select {
		case r := <-got:
			if r != nil {
				return r, nil
			}
		case <-h.stopped:
			return nil, api.Errorf(http.StatusInternalServerError, "Worker is shutting down")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, api.Errorf(http.StatusConflict, "Cannot complete request because of a conflicting operation (e.g. worker rebalance): connector %s is not assigned yet", name)
		}
	}
}

// restartHere does this node's part of a restart that was asked of all.
func (h *Herder) restartHere(c topics.Change) {
	r := h.runners[c.Connector]
	if r == nil || !h.ownsAny(c.Connector) {
		return
	}
	go func() {
		if err := r.Restart(h.runCtx, c.IncludeTasks, c.OnlyFailed); err != nil && h.runCtx.Err() == nil {
			h.Log.Warn("restarting a connector failed", "connector", c.Connector, "error", err)
		}
	}()
}

func (h *Herder) ownsAny(name string) bool {
	for u := range h.owned {
		if u.Connector == name {
			return true
		}
	}
	return h.owned[assign.Unit{Connector: name, Task: assign.ConnectorUnit}]
}

// storedTask is a task's configuration as it stands in the config topic: with the Java task class, so that a Java worker
// can take over, and for sinks with their topics.
func storedTask(connector, task map[string]string) map[string]string {
	out := maps.Clone(task)
	if out == nil {
		out = map[string]string{}
	}
	out["task.class"] = plugins.TaskClass(connector["connector.class"])
	for _, k := range []string{"topics", "topics.regex"} {
		if v, ok := connector[k]; ok {
			out[k] = v
		}
	}
	return out
}
