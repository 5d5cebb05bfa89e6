package api

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// State is the state of a connector or a task. No other names are ever served: clients parse them as an enum.
type State string

// The states. A task is never STOPPED.
const (
	Running    State = "RUNNING"
	Failed     State = "FAILED"
	Paused     State = "PAUSED"
	Unassigned State = "UNASSIGNED"
	Restarting State = "RESTARTING"
	Stopped    State = "STOPPED"
)

// ServerInfo answers GET /. Version is the Kafka Connect version we are compatible with, since clients gate features
// on it; Penstock is our own.
type ServerInfo struct {
	Version        string `json:"version"`
	Commit         string `json:"commit"`
	KafkaClusterID string `json:"kafka_cluster_id"`
	Penstock       string `json:"penstock_version"`
}

// TaskID names a task.
type TaskID struct {
	Connector string `json:"connector"`
	Task      int    `json:"task"`
}

func (t TaskID) String() string { return fmt.Sprintf("%s-%d", t.Connector, t.Task) }

// ConnectorInfo describes a connector as configured; values are as the user wrote them, unresolved.
type ConnectorInfo struct {
	Name   string            `json:"name"`
	Config map[string]string `json:"config"`
	Tasks  []TaskID          `json:"tasks"`
	Type   string            `json:"type"`
}

// TaskInfo is one task's configuration.
type TaskInfo struct {
	ID     TaskID            `json:"id"`
	Config map[string]string `json:"config"`
}

// ConnectorState is the connector's own state. All members are strings: some clients decode a string map.
type ConnectorState struct {
	State    State  `json:"state"`
	WorkerID string `json:"worker_id"`
	Trace    string `json:"trace,omitempty"`

	// Of a failed one that is started again by itself: how often in a row, and when next (RFC 3339). Ours, not Kafka Connect's.
	RestartAttempts string `json:"restart_attempts,omitempty"`
	NextRestart     string `json:"next_restart,omitempty"`
}

// TaskState is one task's state.
type TaskState struct {
	ID       int    `json:"id"`
	State    State  `json:"state"`
	WorkerID string `json:"worker_id"`
	Trace    string `json:"trace,omitempty"`

	RestartAttempts int    `json:"restart_attempts,omitempty"` // as of a connector
	NextRestart     string `json:"next_restart,omitempty"`
}

// StateInfo answers GET /connectors/{c}/status, tasks sorted by id.
type StateInfo struct {
	Name      string         `json:"name"`
	Connector ConnectorState `json:"connector"`
	Tasks     []TaskState    `json:"tasks"`
	Type      string         `json:"type"`
}

// Expanded is one connector in GET /connectors?expand=….
type Expanded struct {
	Status *StateInfo     `json:"status,omitempty"`
	Info   *ConnectorInfo `json:"info,omitempty"`
}

// PluginInfo is one line of GET /connector-plugins.
type PluginInfo struct {
	Class   string `json:"class"`
	Type    string `json:"type"`
	Version string `json:"version,omitempty"`
}

// CreateRequest is the body of POST /connectors.
type CreateRequest struct {
	Name         string  `json:"name"`
	Config       Config  `json:"config"`
	InitialState *string `json:"initial_state"`
}

// Config is a flat configuration. JSON numbers and booleans become strings, as Kafka Connect takes them; a nested
// value is an error that names the key.
type Config map[string]string

// UnmarshalJSON reads a flat object.
func (c *Config) UnmarshalJSON(b []byte) error {
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		*c = nil
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	out := make(Config, len(raw))
	for k, v := range raw {
		s, null, err := scalar(v)
		if err != nil {
			return fmt.Errorf("configuration key %q: %w", k, err)
		}
		if !null {
			out[k] = s
		}
	}
	*c = out
	return nil
}

func scalar(v json.RawMessage) (s string, null bool, err error) {
	switch {
	case len(v) == 0 || v[0] == '{' || v[0] == '[':
		return "", false, fmt.Errorf("a value must be a string, number or boolean, not %.40s", v)
	case v[0] == '"':
		err = json.Unmarshal(v, &s)
		return s, false, err
	case string(v) == "null":
		return "", true, nil
	default:
		return string(v), false, nil // numbers keep their digits
	}
}

// Patch is the body of PATCH /connectors/{c}/config: null deletes a key.
type Patch map[string]*string

// UnmarshalJSON reads a flat object in which null has a meaning.
func (p *Patch) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*p = make(Patch, len(raw))
	for k, v := range raw {
		s, null, err := scalar(v)
		switch {
		case err != nil:
			return fmt.Errorf("configuration key %q: %w", k, err)
		case null:
			(*p)[k] = nil
		default:
			(*p)[k] = &s
		}
	}
	return nil
}

// ConfigInfos answers PUT /connector-plugins/{p}/config/validate.
type ConfigInfos struct {
	Name       string       `json:"name"`
	ErrorCount int          `json:"error_count"`
	Groups     []string     `json:"groups"`
	Configs    []ConfigInfo `json:"configs"`
}

// ConfigInfo is one key: its definition (nil for a value without one) and its value.
type ConfigInfo struct {
	Definition *ConfigKey   `json:"definition"`
	Value      *ConfigValue `json:"value"`
}

// ConfigKey describes a key.
type ConfigKey struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	Required      bool     `json:"required"`
	DefaultValue  *string  `json:"default_value"`
	Importance    string   `json:"importance"`
	Documentation string   `json:"documentation"`
	Group         *string  `json:"group"`
	Width         string   `json:"width"`
	DisplayName   string   `json:"display_name"`
	Dependents    []string `json:"dependents"`
	Order         int      `json:"order"`
}

// ConfigValue is what a key has, and what is wrong with it.
type ConfigValue struct {
	Name              string   `json:"name"`
	Value             *string  `json:"value"`
	RecommendedValues []string `json:"recommended_values"`
	Errors            []string `json:"errors"`
	Visible           bool     `json:"visible"`
}

// OffsetsInfo answers GET /connectors/{c}/offsets.
type OffsetsInfo struct {
	Offsets []OffsetInfo `json:"offsets"`
}

// OffsetInfo is one position; partition and offset are flat JSON objects, kept as they are stored.
type OffsetInfo struct {
	Partition json.RawMessage `json:"partition"`
	Offset    json.RawMessage `json:"offset"`
}

// TopicsInfo is what GET /connectors/{c}/topics answers of the connector, by its name.
type TopicsInfo struct {
	Topics []string `json:"topics"`
}

// LoggerLevel is a logger's level. Modified is when it was changed last, Unix ms; null: not since the start.
type LoggerLevel struct {
	Level    string `json:"level"`
	Modified *int64 `json:"last_modified"`
}

// Health answers GET /health and its two sisters for orchestrators.
type Health struct {
	Status  string `json:"status"` // healthy, starting, unhealthy
	Message string `json:"message"`
}
