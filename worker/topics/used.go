package topics

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/penstockio/penstock/runtime/kafka/table"
)

// Records of the topics that connectors use (KIP-558): one for each connector and topic, written by the task that was first.
const (
	topicPrefix = "status-topic-"
	topicOf     = ":connector-" // behind the topic, in whose name there is no colon
)

type topicRecord struct {
	Topic topicUse `json:"topic"`
}

type topicUse struct {
	Name       string `json:"name"`
	Connector  string `json:"connector"`
	Task       int    `json:"task"`
	Discovered int64  `json:"discoverTimestamp"` // Unix ms
}

func topicKey(connector, topic string) []byte {
	return []byte(topicPrefix + topic + topicOf + connector)
}

// Uses lists the topics that a connector used, sorted.
func (s *Statuses) Uses(connector string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.uses[connector]))
	for topic := range s.uses[connector] {
		out = append(out, topic)
	}
	slices.Sort(out)
	return out
}

// PutUse notes that a connector's task uses a topic, unless that is known.
func (s *Statuses) PutUse(ctx context.Context, connector string, task int, topic string) error {
	s.mu.Lock()
	_, known := s.uses[connector][topic]
	s.mu.Unlock()
	if known {
		return nil
	}
	use := topicUse{Name: topic, Connector: connector, Task: task, Discovered: time.Now().UnixMilli()}
	return s.tab.WriteApplied(ctx, table.Record{Key: topicKey(connector, topic), Value: encodeJSON(topicRecord{use})})
}

// ForgetUses writes tombstones for all topics of a connector.
func (s *Statuses) ForgetUses(ctx context.Context, connector string) error {
	var rows []table.Record
	for _, topic := range s.Uses(connector) {
		rows = append(rows, table.Record{Key: topicKey(connector, topic)})
	}
	if len(rows) == 0 {
		return nil
	}
	return s.tab.WriteApplied(ctx, rows...)
}

// Forgotten counts how often it became unknown that a topic is used: whoever noted one notes it again.
func (s *Statuses) Forgotten() uint64 { return s.forgotten.Load() }

// NotNoted tells that noting a topic failed.
func (s *Statuses) NotNoted() { s.forgotten.Add(1) }

// applyUse takes a record of that key, behind its prefix.
func (s *Statuses) applyUse(key string, value []byte) {
	topic, connector, ok := strings.Cut(key, topicOf)
	if !ok {
		return // whatever newer workers write: I4
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.uses[connector], topic)
		if len(s.uses[connector]) == 0 {
			delete(s.uses, connector)
		}
		s.forgotten.Add(1)
		return
	}
	var r topicRecord
	if err := json.Unmarshal(value, &r); err != nil {
		s.log.Warn("ignoring a note of a connector's topic that cannot be read", "key", topicPrefix+key, "error", err)
		return
	}
	if s.uses[connector] == nil {
		s.uses[connector] = map[string]struct{}{}
	}
	s.uses[connector][topic] = struct{}{}
}
