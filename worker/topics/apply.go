package topics

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (c *Config) apply(r *kgo.Record) {
	c.mu.Lock()
	change, told := c.applyLocked(string(r.Key), r.Value, r.Offset)
	told = told && c.live
	c.mu.Unlock()
	if told && c.onChange != nil {
		c.onChange(change)
	}
}

// applyLocked tests the prefixes of Kafka Connect's keys; anything else is ignored (I4).
func (c *Config) applyLocked(key string, value []byte, offset int64) (Change, bool) {
	if n, ok := strings.CutPrefix(key, "target-state-"); ok {
		return c.applyTarget(n, value)
	}
	if n, ok := strings.CutPrefix(key, "connector-"); ok {
		return c.applyConnector(n, value)
	}
	if n, ok := strings.CutPrefix(key, "task-"); ok {
		c.stage(n, value)
		return Change{}, false
	}
	if n, ok := strings.CutPrefix(key, "commit-"); ok {
		return c.applyCommit(n, value, offset)
	}
	if n, ok := strings.CutPrefix(key, "restart-connector-"); ok {
		return c.applyRestart(n, value)
	}
	if n, ok := strings.CutPrefix(key, "tasks-fencing-"); ok {
		return c.applyFenced(n, value)
	}
	if n, ok := strings.CutPrefix(key, loggerPrefix); ok {
		return applyLogger(c.log, n, value)
	}
	if key == sessionKey && value != nil {
		if err := c.applySessionKey(value); err != nil {
			c.log.Warn("ignoring a session key that cannot be read", "error", err)
		}
	}
	return Change{}, false
}

func (c *Config) applyTarget(name string, value []byte) (Change, bool) {
	s := Started
	if value != nil {
		var t struct {
			State string  `json:"state"`
			V2    *string `json:"state.v2"`
		}
		if err := json.Unmarshal(value, &t); err != nil {
			c.log.Warn("ignoring a target state that cannot be read", "connector", name, "error", err)
			return Change{}, false
		}
		s = TargetState(t.State)
		if t.V2 != nil {
			s = TargetState(*t.V2)
		}
	}
	switch s {
	case Started, Paused, Stopped:
	default:
		c.log.Warn("ignoring an unknown target state", "connector", name, "state", string(s))
		return Change{}, false
	}
	if value == nil {
		delete(c.targets, name)
	} else {
		c.targets[name] = s
	}
	k, ok := c.conns[name]
	if !ok || k.Target == s {
		return Change{}, false
	}
	k.Target = s
	return Change{Connector: name, Kind: TargetChanged}, true
}

func (c *Config) applyConnector(name string, value []byte) (Change, bool) {
	if value == nil {
		_, had := c.conns[name]
		delete(c.conns, name)
		return Change{Connector: name, Kind: Removed}, had
	}
	cfg, err := decodeProps(value)
	if err != nil {
		c.log.Warn("ignoring a connector configuration that cannot be read", "connector", name, "error", err)
		return Change{}, false
	}
	k, ok := c.conns[name]
	if !ok {
		k = &Connector{Target: Started}
		if t, ok := c.targets[name]; ok {
			k.Target = t
		}
		c.conns[name] = k
	}
	k.Config = cfg
	return Change{Connector: name, Kind: ConfigChanged}, true
}

func (c *Config) stage(nameAndID string, value []byte) {
	i := strings.LastIndexByte(nameAndID, '-')
	id, err := strconv.Atoi(nameAndID[i+1:])
	if i < 0 || err != nil || value == nil {
		return
	}
	cfg, err := decodeProps(value)
	if err != nil {
		c.log.Warn("ignoring a task configuration that cannot be read", "task", nameAndID, "error", err)
		return
	}
	name := nameAndID[:i]
	if c.staged[name] == nil {
		c.staged[name] = map[int]map[string]string{}
	}
	c.staged[name][id] = cfg
}

// applyCommit makes the staged set current when it is complete (I1); ids staged by earlier commits count, since an
// unchanged set may be committed again.
func (c *Config) applyCommit(name string, value []byte, offset int64) (Change, bool) {
	staged := c.staged[name]
	delete(c.staged, name)
	c.pending[name] = true
	k, ok := c.conns[name]
	if !ok {
		return Change{}, false
	}
	var n struct {
		Tasks *int `json:"tasks"`
	}
	if err := json.Unmarshal(value, &n); value == nil || err != nil || n.Tasks == nil || *n.Tasks < 0 {
		c.log.Warn("ignoring a commit of tasks that cannot be read", "connector", name)
		return Change{}, false
	}
	change := Change{Connector: name, Kind: TasksCommitted, Before: len(k.Tasks)}
	tasks := make([]map[string]string, 0, min(*n.Tasks, len(staged)))
	for i := range *n.Tasks {
		t, ok := staged[i]
		if !ok {
			k.Tasks, k.Inconsistent, k.Committed = nil, true, offset+1
			return change, true
		}
		tasks = append(tasks, t)
	}
	k.Tasks, k.Inconsistent, k.Applied, k.Committed = tasks, false, k.Config, offset+1
	return change, true
}

func (c *Config) applyFenced(name string, value []byte) (Change, bool) {
	var r struct {
		Count *int `json:"task-count"`
	}
	if value == nil || json.Unmarshal(value, &r) != nil || r.Count == nil {
		return Change{}, false
	}
	c.fenced[name] = *r.Count
	delete(c.pending, name)
	_, known := c.conns[name]
	return Change{Connector: name, Kind: TasksFenced}, known
}

func (c *Config) applyRestart(name string, value []byte) (Change, bool) {
	var r struct {
		Tasks  bool `json:"include-tasks"`
		Failed bool `json:"only-failed"`
	}
	if _, known := c.conns[name]; !known || value == nil || json.Unmarshal(value, &r) != nil {
		return Change{}, false
	}
	return Change{Connector: name, Kind: RestartRequested, IncludeTasks: r.Tasks, OnlyFailed: r.Failed}, true
}

func decodeProps(b []byte) (map[string]string, error) {
	var p properties
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, err
	}
	if p.Properties == nil {
		return nil, fmt.Errorf(`no "properties" in it`)
	}
	out := make(map[string]string, len(p.Properties))
	for k, v := range p.Properties {
		if v != nil {
			out[k] = *v
		}
	}
	return out, nil
}
