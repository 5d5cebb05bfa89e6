package herder

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"time"

	"github.com/penstockio/penstock/rest/api"
)

// ServerInfo says what this node is.
func (h *Herder) ServerInfo() api.ServerInfo { return h.Config.Info }

// CatchUp waits until this node's view has all that was written before.
func (h *Herder) CatchUp(ctx context.Context) error { return h.Configs.ReadToEnd(ctx) }

// Connectors lists the names.
func (h *Herder) Connectors() []string { return h.Configs.Names() }

// Info describes a connector.
func (h *Herder) Info(name string) (api.ConnectorInfo, error) {
	k, ok := h.Configs.Get(name)
	if !ok {
		return api.ConnectorInfo{}, notFound(name)
	}
	info := api.ConnectorInfo{Name: name, Config: k.Config, Tasks: []api.TaskID{}, Type: h.typeOf(k.Config)}
	for i := range k.Tasks {
		info.Tasks = append(info.Tasks, api.TaskID{Connector: name, Task: i})
	}
	return info, nil
}

// typeOf is source, sink, or unknown while its plugin is not there. It never starts a plugin.
func (h *Herder) typeOf(cfg map[string]string) string {
	if p := h.Runtime.Plugins().Known(cfg["connector.class"]); p != nil {
		return p.Type()
	}
	return "unknown"
}

// Status gives the states of a connector and its tasks.
func (h *Herder) Status(name string) (api.StateInfo, error) {
	k, ok := h.Configs.Get(name)
	st, has := h.Statuses.Connector(name)
	if !ok || !has {
		return api.StateInfo{}, api.Errorf(http.StatusNotFound, "No status found for connector %s", name)
	}
	out := api.StateInfo{Name: name, Tasks: []api.TaskState{}, Type: h.typeOf(k.Config)}
	out.Connector = api.ConnectorState{State: api.State(st.State), WorkerID: st.WorkerID}
	if st.Trace != nil {
		out.Connector.Trace = *st.Trace
	}
	if st.Attempts > 0 {
		out.Connector.RestartAttempts = strconv.Itoa(st.Attempts)
	}
	out.Connector.NextRestart = nextRestart(st.NextTry)
	for _, t := range h.Statuses.Tasks(name) {
		if t.ID >= len(k.Tasks) {
			continue // of an earlier, larger set; its tombstone is on the way
		}
		ts := api.TaskState{ID: t.ID, State: api.State(t.State), WorkerID: t.WorkerID}
		if t.Trace != nil {
			ts.Trace = *t.Trace
		}
		ts.RestartAttempts, ts.NextRestart = t.Attempts, nextRestart(t.NextTry)
		out.Tasks = append(out.Tasks, ts)
	}
	return out, nil
}

// nextRestart is a time as REST shows it, empty for none.
func nextRestart(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// Tasks gives the tasks' configurations.
func (h *Herder) Tasks(name string) ([]api.TaskInfo, error) {
	k, ok := h.Configs.Get(name)
	if !ok {
		return nil, notFound(name)
	}
	out := []api.TaskInfo{}
	for i, t := range k.Tasks {
		out = append(out, api.TaskInfo{ID: api.TaskID{Connector: name, Task: i}, Config: t})
	}
	return out, nil
}

// Offsets tells how far a connector came: a source's positions, a sink's consumer offsets.
func (h *Herder) Offsets(ctx context.Context, name string) (api.OffsetsInfo, error) {
	k, ok := h.Configs.Get(name)
	if !ok {
		return api.OffsetsInfo{}, notFound(name)
	}
	out := api.OffsetsInfo{Offsets: []api.OffsetInfo{}}
	if h.typeOf(k.Config) != "sink" {
		stored, err := h.Config.Offsets.Committed(ctx, name)
		if err != nil {
			return out, err
		}
		for _, o := range stored {
			out.Offsets = append(out.Offsets, api.OffsetInfo{Partition: o.Partition, Offset: o.Value})
		}
		return out, nil
	}
	group, err := h.Runtime.ConsumerGroup(name, k.Config)
	if err != nil {
		return out, err
	}
	fetched, err := h.Admin.FetchOffsets(ctx, group)
	if err != nil {
		return out, fmt.Errorf("reading the consumer offsets of group %s: %w", group, err)
	}
	sorted := fetched.Sorted()
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Topic < sorted[j].Topic })
	for _, o := range sorted {
		p, err := json.Marshal(map[string]any{"kafka_topic": o.Topic, "kafka_partition": o.Partition})
		if err != nil {
			return out, err
		}
		out.Offsets = append(out.Offsets, api.OffsetInfo{Partition: p, Offset: json.RawMessage(fmt.Sprintf(`{"kafka_offset":%d}`, o.At))})
	}
	return out, nil
}
