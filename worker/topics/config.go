package topics

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sort"
	"sync"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/kafka/table"
	"github.com/penstockio/penstock/worker/peer"
)

// TargetState is what the user asked a connector to be.
type TargetState string

// The target states. STOPPED is written as PAUSED beside a state.v2 for readers older than Kafka Connect 3.5.
const (
	Started TargetState = "STARTED"
	Paused  TargetState = "PAUSED"
	Stopped TargetState = "STOPPED"
)

// Connector is one connector in the local view.
type Connector struct {
	Config  map[string]string
	Target  TargetState
	Tasks   []map[string]string // committed task configurations, by id
	Applied map[string]string   // connector configuration the tasks were made from
	// Committed is the config offset behind the commit of the tasks.
	Committed int64
	// Inconsistent tells that the committed task set is incomplete (compaction took part of it): make a new one.
	Inconsistent bool
	// FencingPending tells that tasks were committed since producers of earlier tasks were last fenced; Fenced is for how many
	// tasks that was, -1 never (KIP-618).
	FencingPending bool
	Fenced         int
}

// Change says what a record did to the view.
type Change struct {
	Connector string
	Kind      ChangeKind
	Before    int // of TasksCommitted: how many tasks there were
	// IncludeTasks and OnlyFailed belong to RestartRequested.
	IncludeTasks, OnlyFailed bool
	// Logger and Level belong to LoggerSet, which is of no connector.
	Logger, Level string
}

// ChangeKind is the kind of a Change.
type ChangeKind int

// The kinds of changes.
const (
	ConfigChanged ChangeKind = iota
	Removed
	TasksCommitted
	TargetChanged
	RestartRequested
	TasksFenced
	LoggerSet
)

// Config is the config topic and its view. Safe for concurrent use.
type Config struct {
	tab *table.Table

	leadMu sync.Mutex
	writer *table.Writer // nil while this node does not lead

	log *slog.Logger

	mu       sync.Mutex
	conns    map[string]*Connector
	targets  map[string]TargetState
	fenced   map[string]int  // task counts of tasks-fencing records
	pending  map[string]bool // tasks committed since
	staged   map[string]map[int]map[string]string
	session  peer.Key
	live     bool // replay is over: changes are told
	onChange func(Change)
}

// OpenConfig opens the config topic, one partition exactly, and reads it to its end. onChange is told of every change
// after that, on the table's goroutine: it must not block and must not call the store's writers.
func OpenConfig(ctx context.Context, clients *kafka.Clients, t kafka.TopicSpec, log *slog.Logger, onChange func(Change)) (*Config, error) {
	c := newConfig(log, onChange)
	t.Partitions = 1
	tab, err := table.Open(ctx, clients, table.Spec{Topic: t, MustHave: true, Apply: c.apply}, log)
	if err != nil {
		return nil, err
	}
	c.tab = tab
	c.mu.Lock()
	c.live = true
	c.mu.Unlock()
	return c, nil
}

func newConfig(log *slog.Logger, onChange func(Change)) *Config {
	return &Config{
		log: log, onChange: onChange, conns: map[string]*Connector{}, targets: map[string]TargetState{}, fenced: map[string]int{},
		pending: map[string]bool{}, staged: map[string]map[int]map[string]string{},
	}
}

// Close stops following the topic.
func (c *Config) Close() {
	c.Unlead()
	c.tab.Close()
}

// Offset is the group protocol's config offset: offset of the last record read, plus one.
func (c *Config) Offset() int64 { return c.tab.End(0) }

// ReadToEnd waits until the view holds all that is durable now.
func (c *Config) ReadToEnd(ctx context.Context) error { return c.tab.ReadToEnd(ctx) }

// Names lists the connectors, sorted.
func (c *Config) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.conns))
	for n := range c.conns {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Get gives a copy of a connector.
func (c *Config) Get(name string) (Connector, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.conns[name]
	if !ok {
		return Connector{}, false
	}
	out := *k
	out.Config, out.Applied = maps.Clone(k.Config), maps.Clone(k.Applied)
	out.FencingPending, out.Fenced = c.pending[name], -1
	if n, ok := c.fenced[name]; ok {
		out.Fenced = n
	}
	out.Tasks = append([]map[string]string(nil), k.Tasks...) // maps inside are never changed
	return out, true
}

type properties struct {
	Properties map[string]*string `json:"properties"`
}

// PutConnector writes a configuration, the target state first when one is given.
func (c *Config) PutConnector(ctx context.Context, name string, cfg map[string]string, target *TargetState) error {
	var rows []table.Record
	if target != nil {
		rows = append(rows, targetRecord(name, *target))
	}
	rows = append(rows, table.Record{Key: []byte("connector-" + name), Value: encodeProps(cfg)})
	return c.lead(ctx, rows...)
}

// RemoveConnector writes the two tombstones of a deletion; tasks, commits and offsets stay, as in Kafka Connect.
func (c *Config) RemoveConnector(ctx context.Context, name string) error {
	return c.lead(ctx, table.Record{Key: []byte("connector-" + name)}, table.Record{Key: []byte("target-state-" + name)})
}

// PutTarget writes a target state.
func (c *Config) PutTarget(ctx context.Context, name string, s TargetState) error {
	return c.tab.WriteApplied(ctx, targetRecord(name, s))
}

// PutTasks writes a whole set of task configurations and commits it.
func (c *Config) PutTasks(ctx context.Context, name string, tasks []map[string]string) error {
	if err := c.tab.ReadToEnd(ctx); err != nil {
		return err
	}
	var rows []table.Record
	for i, t := range tasks {
		rows = append(rows, table.Record{Key: fmt.Appendf(nil, "task-%s-%d", name, i), Value: encodeProps(t)})
	}
	if len(rows) > 0 {
		if err := c.lead(ctx, rows...); err != nil {
			return err
		}
	}
	return c.lead(ctx, table.Record{Key: []byte("commit-" + name), Value: fmt.Appendf(nil, `{"tasks":%d}`, len(tasks))})
}

// PutFenced notes that the producers of a connector's tasks were fenced for a set of so many tasks.
func (c *Config) PutFenced(ctx context.Context, name string, tasks int) error {
	return c.lead(ctx, table.Record{Key: []byte("tasks-fencing-" + name), Value: fmt.Appendf(nil, `{"task-count":%d}`, tasks)})
}

// PutRestart asks every worker to restart its part of a connector.
func (c *Config) PutRestart(ctx context.Context, name string, includeTasks, onlyFailed bool) error {
	return c.lead(ctx, table.Record{
		Key:   []byte("restart-connector-" + name),
		Value: fmt.Appendf(nil, `{"include-tasks":%t,"only-failed":%t}`, includeTasks, onlyFailed),
	})
}

func targetRecord(name string, s TargetState) table.Record {
	v1 := s
	if s == Stopped {
		v1 = Paused
	}
	return table.Record{Key: []byte("target-state-" + name), Value: fmt.Appendf(nil, `{"state":%q,"state.v2":%q}`, v1, s)}
}

func encodeProps(cfg map[string]string) []byte {
	p := properties{Properties: make(map[string]*string, len(cfg))}
	for k, v := range cfg {
		p.Properties[k] = &v
	}
	return encodeJSON(p)
}
