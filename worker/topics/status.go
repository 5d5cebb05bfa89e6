package topics

import (
	"context"
	"encoding/json"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/kafka/table"
)

// Status is the last known state of a connector or task, as any worker wrote it.
type Status struct {
	State      string  `json:"state"`
	Trace      *string `json:"trace"`
	WorkerID   string  `json:"worker_id"`
	Generation int32   `json:"generation"`

	// Ours; a Java worker ignores them. Of a failed unit: how often in a row it is started again by itself, and when.
	Attempts int   `json:"restart_attempts,omitempty"`
	NextTry  int64 `json:"next_restart_ms,omitempty"`
}

// Statuses is the status topic and its view. Safe for concurrent use.
type Statuses struct {
	tab *table.Table
	log *slog.Logger

	mu    sync.Mutex
	conns map[string]Status
	tasks map[string]map[int]Status
	uses  map[string]map[string]struct{} // topics, by connector

	forgotten atomic.Uint64
}

// OpenStatuses opens the status topic and reads it to its end.
func OpenStatuses(ctx context.Context, clients *kafka.Clients, t kafka.TopicSpec, log *slog.Logger) (*Statuses, error) {
	s := &Statuses{log: log, conns: map[string]Status{}, tasks: map[string]map[int]Status{}, uses: map[string]map[string]struct{}{}}
	tab, err := table.Open(ctx, clients, table.Spec{Topic: t, Apply: s.apply}, log)
	if err != nil {
		return nil, err
	}
	s.tab = tab
	return s, nil
}

// Close stops following the topic.
func (s *Statuses) Close() { s.tab.Close() }

// Connector gives a connector's status.
func (s *Statuses) Connector(name string) (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.conns[name]
	return st, ok
}

// TaskStatus is a task's status with its number.
type TaskStatus struct {
	ID int
	Status
}

// Tasks gives the statuses of a connector's tasks, sorted by number.
func (s *Statuses) Tasks(name string) []TaskStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []TaskStatus
	for id, st := range s.tasks[name] {
		out = append(out, TaskStatus{ID: id, Status: st})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Names lists every connector of which the topic knows something.
func (s *Statuses) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for n := range s.conns {
		out = append(out, n)
	}
	for n := range s.tasks {
		if _, ok := s.conns[n]; !ok {
			out = append(out, n)
		}
	}
	for n := range s.uses {
		_, conn := s.conns[n]
		if _, task := s.tasks[n]; !conn && !task {
			out = append(out, n)
		}
	}
	return out
}

// PutConnector writes a connector's status and waits until the view has it.
func (s *Statuses) PutConnector(ctx context.Context, name string, st Status) error {
	return s.tab.WriteApplied(ctx, table.Record{Key: []byte("status-connector-" + name), Value: encodeJSON(st)})
}

// PutTask writes a task's status and waits until the view has it.
func (s *Statuses) PutTask(ctx context.Context, name string, id int, st Status) error {
	return s.tab.WriteApplied(ctx, table.Record{Key: taskKey(name, id), Value: encodeJSON(st)})
}

// Forget writes tombstones for a connector (all of its tasks and topics, too) or, with tasks given, for those alone.
func (s *Statuses) Forget(ctx context.Context, name string, tasks ...int) error {
	var rows []table.Record
	if tasks == nil {
		for _, t := range s.Tasks(name) {
			tasks = append(tasks, t.ID)
		}
		rows = append(rows, table.Record{Key: []byte("status-connector-" + name)})
		for _, topic := range s.Uses(name) {
			rows = append(rows, table.Record{Key: topicKey(name, topic)})
		}
	}
	for _, id := range tasks {
		rows = append(rows, table.Record{Key: taskKey(name, id)})
	}
	return s.tab.WriteApplied(ctx, rows...)
}

func taskKey(name string, id int) []byte {
	return []byte("status-task-" + name + "-" + strconv.Itoa(id))
}

func (s *Statuses) apply(r *kgo.Record) {
	key := string(r.Key)
	if n, ok := strings.CutPrefix(key, topicPrefix); ok {
		s.applyUse(n, r.Value)
		return
	}
	var st Status
	if r.Value != nil {
		if err := json.Unmarshal(r.Value, &st); err != nil {
			s.log.Warn("ignoring a status that cannot be read", "key", key, "error", err)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := strings.CutPrefix(key, "status-connector-"); ok {
		switch have, known := s.conns[n]; {
		case r.Value == nil:
			delete(s.conns, n)
		case !known || st.Generation >= have.Generation:
			s.conns[n] = st
		}
		return
	}
	n, ok := strings.CutPrefix(key, "status-task-")
	i := strings.LastIndexByte(n, '-')
	if !ok || i < 0 {
		return // whatever newer workers write: I4
	}
	id, err := strconv.Atoi(n[i+1:])
	if err != nil {
		return
	}
	switch have, known := s.tasks[n[:i]][id]; {
	case r.Value == nil:
		s.dropTask(n[:i], id)
	case !known || st.Generation >= have.Generation:
		s.setTask(n[:i], id, st)
	}
}

func (s *Statuses) setTask(name string, id int, st Status) {
	if s.tasks[name] == nil {
		s.tasks[name] = map[int]Status{}
	}
	s.tasks[name][id] = st
}

func (s *Statuses) dropTask(name string, id int) {
	delete(s.tasks[name], id)
	if len(s.tasks[name]) == 0 {
		delete(s.tasks, name)
	}
}

// HighestGeneration is the highest any state was written with: a group that began to count anew goes on from there.
func (s *Statuses) HighestGeneration() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var high int32
	for _, st := range s.conns {
		high = max(high, st.Generation)
	}
	for _, ts := range s.tasks {
		for _, st := range ts {
			high = max(high, st.Generation)
		}
	}
	return high
}
