package connectapi

import (
	"context"
	"iter"
	"log/slog"
)

// Info is what source and sink connectors have in common.
type Info struct {
	Name, Version, Doc string
	Aliases            []string // Java class names
	WantsProduced      bool     // Ack tells where rows went
	Metrics            []Metric // those Report may carry
}

// Metric declares a metric of a task.
type Metric struct {
	Name, Unit, Help string
	Counter          bool // only ever grows; otherwise a gauge
}

// Source describes a source connector; C is its configuration, a struct with `connect` tags. Only Name and Open must be set.
type Source[C any] struct {
	Info
	Validate   func(ctx context.Context, cfg C) error                 // may connect; ConfigError(key, err) names the key, errors.Join several
	Tasks      func(ctx context.Context, cfg C, max int) ([]C, error) // nil: one task
	Watch      func(ctx context.Context, cfg C, changed func()) error // until ctx ends; changed asks for Tasks again
	Alter      func(ctx context.Context, cfg C, to []Position, dryRun bool) (external bool, err error)
	Deleted    func(ctx context.Context, cfg C) error // clean up outside
	Open       func(ctx context.Context, cfg C, t SourceContext) (SourceTask, error)
	Boundaries bool // its tasks mark transactions
	// ExactlyOnce promises that with this configuration a task that begins at a position goes on with exactly the record behind
	// it: none is lost, none repeated. nil: no promise.
	ExactlyOnce func(cfg C) bool
}

// Sink describes a sink connector; C is its configuration. Only Name and Open must be set.
type Sink[C any] struct {
	Info
	Validate func(ctx context.Context, cfg C) error
	Tasks    func(ctx context.Context, cfg C, max int) ([]C, error) // nil: max equal tasks
	Deleted  func(ctx context.Context, cfg C) error
	Open     func(ctx context.Context, cfg C, t SinkContext) (SinkTask, error)
}

// OneTask is a Tasks function: all the work is one task's.
func OneTask[C any](_ context.Context, cfg C, _ int) ([]C, error) { return []C{cfg}, nil }

// SourceTask reads. Read and Close never run at once.
type SourceTask interface {
	// Read waits for data, fills b, and returns: soon when there is some, and with what there is when ctx ends. io.EOF
	// ends the task, Retry repeats the call later. Rows added before an error are sent.
	Read(ctx context.Context, b *Batch) error
	// Close comes after the last Ack.
	Close(ctx context.Context) error
}

// Acker is a source that lets go of data at its end once it is durable.
type Acker interface {
	// Ack may run beside Read, never beside itself. Of each partition it gets the last durable position, and every AckOnly
	// one; with Info.WantsProduced each position tells where its batch's rows went.
	Ack(ctx context.Context, durable []Position) error
}

// SinkTask writes. No two of a sink task's methods run at once.
type SinkTask interface {
	// Write returns nil when all records not failed are durable, or, of a Committer, taken. An error is the whole batch's;
	// Retry repeats the call with the same records.
	Write(ctx context.Context, rs *Records) error
	Close(ctx context.Context) error
}

// Committer is a sink that holds records beyond Write.
type Committer interface {
	// Commit returns the next offset of each partition below which all is durable; all: nothing may stay behind. It is
	// called at the commit interval, before partitions move and at stop.
	Commit(ctx context.Context, all bool) (Offsets, error)
}

// Assigner is a sink that knows better where to begin, or keeps state a partition.
type Assigner interface {
	// Assigned is called before any record of these partitions and returns where to begin; partitions it leaves out begin
	// where they were.
	Assigned(ctx context.Context, at Offsets) (from Offsets, err error)
	// Revoked is called when partitions go. Commit(all) came first, unless they are lost: then another has them already.
	Revoked(ctx context.Context, gone []TopicPartition, lost bool) error
}

// TaskContext is what a task sees of its host.
type TaskContext interface {
	// Log goes to the worker's log, tagged with connector and task.
	Log() *slog.Logger
	// Report is shown in status and metrics: what the task waits for (empty: nothing), and values of declared metrics.
	Report(waitingFor string, metrics map[string]float64)
}

// SourceContext is what a source task sees.
type SourceContext interface {
	TaskContext
	// Committed returns the positions stored when the task was opened.
	Committed() map[Partition]Offset
	// ReadTopic reads a topic from its start (schema history, signals): up to its end when asked, or, with follow, on and
	// on. Records are valid until the next one. It must not be called from two goroutines for one iteration.
	ReadTopic(ctx context.Context, topic string, follow bool) iter.Seq2[Record, error]
}

// SinkContext is what a sink task sees.
type SinkContext interface {
	TaskContext
	// RequestCommit asks for a Commit before the interval is over.
	RequestCommit()
}

// Connector is a [Source], a [Sink] or a [Definition].
type Connector interface {
	// Definition returns the connector in the form the SDK runs; an error is a mistake in its configuration struct.
	Definition() (*Definition, error)
}

// Definition is a connector whose configuration is a map of strings: what Source and Sink become, and what a host of
// other languages' connectors fills itself. Exactly one of OpenSource and OpenSink is set.
type Definition struct {
	Info
	Config     *ConfigDef
	Boundaries bool

	// ExactlyOnce is a source's promise; it is asked only about configurations that are valid.
	ExactlyOnce func(cfg map[string]string) bool
	// Validate returns findings about values; those of Config are made before and not repeated. May be nil, as may all but Open….
	Validate   func(ctx context.Context, cfg map[string]string) ([]Finding, error)
	Tasks      func(ctx context.Context, cfg map[string]string, max int) ([]map[string]string, error)
	Watch      func(ctx context.Context, cfg map[string]string, changed func()) error
	Alter      func(ctx context.Context, cfg map[string]string, to []Position, dryRun bool) (external bool, err error)
	Deleted    func(ctx context.Context, cfg map[string]string) error
	OpenSource func(ctx context.Context, cfg map[string]string, t SourceContext) (SourceTask, error)
	OpenSink   func(ctx context.Context, cfg map[string]string, t SinkContext) (SinkTask, error)
}

// Definition returns the definition itself.
func (d *Definition) Definition() (*Definition, error) { return d, nil }
