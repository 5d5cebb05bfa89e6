package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/convert"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/policy"
	"github.com/penstockio/penstock/runtime/transform"
)

// credit is how many bytes of rows may be between a plugin and the broker's acknowledgement.
const credit = 8 << 20

// Topics makes topics that a task is about to write to.
type Topics interface {
	// Ensure is called before the first record of a topic; settings are those of a raw route, else nil.
	Ensure(ctx context.Context, topic string, settings map[string]string) error
	// Read hands a topic's records out from its start.
	Read(ctx context.Context, topic string, follow bool, each func(*kgo.Record) error) error
}

// Config makes a task.
type Config struct {
	Connector  string // instance name
	Plugin     string // name of the connector in its binary
	Task       int
	Props      map[string]string // the task's resolved configuration
	Process    *host.Process
	Producer   *kgo.Client // of records, unless Exact is set; of raw records always
	Fenced     *kgo.Client // has the task's transactional id: writes positions, and with Exact records
	Exact      *Exact      // nil: at least once
	Offsets    Offsets
	Lease      func() error // says why the worker may have lost its place; nil: it cannot
	Topics     Topics
	Chain      *transform.Chain
	Key, Value convert.Converter
	Header     convert.HeaderConverter
	Policy     *policy.Policy
	Interval   time.Duration                               // between commits of positions
	Drain      func(stopped context.Context) time.Duration // for a clean stop, by why the context of Run ended
	Used       func(topic string)                          // is told of the topic of each record that was acknowledged; must not block
	Metrics    *TaskMetrics
	Log        *slog.Logger
}

// Task is a running task.
type Task struct {
	Config
	stream *host.Source
	ledger *ledger
	pause  *Gate

	failOnce sync.Once
	failed   chan struct{} // closed on the first failure of a row or a commit
	failure  error
	draining chan struct{} // closed when stopping: positions are committed at once
	cutOff   atomic.Bool   // the drain time is over
	known    map[string]bool
	arena    []byte
}

// Open opens the task in its plugin.
func Open(ctx context.Context, c Config, pause *Gate) (*Task, error) {
	t := &Task{Config: c, ledger: newLedger(), pause: pause, failed: make(chan struct{}), draining: make(chan struct{}), known: map[string]bool{}}
	if err := t.leased(ctx); err != nil {
		return nil, err
	}
	if err := t.fence(ctx); err != nil { // I5
		return nil, err
	}
	committed, err := c.Offsets.Committed(ctx, c.Connector)
	if err != nil {
		return nil, err
	}
	t.stream, err = c.Process.OpenSource(ctx, host.SourceOptions{
		Connector: c.Plugin, Task: c.Task, Config: c.Props, Committed: committed, Credit: credit, ReadTopic: t.readTopic,
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Run moves records until ctx ends, then drains: what the plugin sent is produced, committed and acknowledged, within
// the drain time. It returns nil after a clean stop, else why the task failed.
func (t *Task) Run(ctx context.Context) error {
	defer t.stream.Close()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	control := make(chan struct{})
	dataDone := make(chan struct{})
	run := t.data
	if t.Exact != nil {
		run = t.exactly
		close(control)
	} else {
		go func() { defer close(control); t.control(work, dataDone) }()
	}
	stopWatch := t.watchStop(ctx, work, cancel)
	defer stopWatch()
	err := run(ctx, work)
	close(dataDone)
	if err != nil {
		cancel()
	}
	<-control
	select {
	case <-t.failed:
		return t.failure
	default:
	}
	if err != nil && t.cutOff.Load() {
		return fmt.Errorf("the task did not drain within %v and was cut off; what was not committed is read again", t.Drain(ctx))
	}
	return err
}

// watchStop turns the end of ctx into an orderly stop with a deadline, and a failure into an immediate one.
func (t *Task) watchStop(ctx, work context.Context, cancel context.CancelFunc) (stop func()) {
	quit := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-t.failed:
			cancel()
			return
		case <-quit:
			return
		}
		close(t.draining)
		// A plugin that receives nothing any more holds even Stop back: its stream ends with the drain time.
		cut := time.AfterFunc(t.Drain(ctx), func() { t.cutOff.Store(true); cancel(); t.stream.Close() })
		defer cut.Stop()
		_ = t.stream.Stop() // a broken stream shows in Recv
		select {
		case <-t.failed:
			cancel()
		case <-quit:
		case <-work.Done():
		}
	}()
	return func() { close(quit); <-done }
}

func (t *Task) fail(err error) {
	t.failOnce.Do(func() { t.failure = err; close(t.failed) })
}

// data receives until the plugin has closed the task.
func (t *Task) data(ctx, work context.Context) error {
	for {
		if err := t.pause.Wait(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		b, err := t.stream.Recv(work)
		var said *connectapi.Error
		switch {
		case errors.As(err, &said) && said.Kind == connectapi.EndOfInput:
			t.endOfInput(ctx, work)
			continue
		case errors.Is(err, io.EOF):
			return nil // the plugin has closed the task
		case err != nil:
			return err
		}
		if err := t.pause.Wait(ctx); err != nil && ctx.Err() == nil { // paused while it waited for the batch
			return err
		}
		if err := t.handle(work, b); err != nil {
			return err
		}
	}
}

// endOfInput waits for the stop of a task that has nothing more to read.
func (t *Task) endOfInput(ctx, work context.Context) {
	t.Log.Info("the source has come to its end; the task stays until it is stopped")
	select {
	case <-ctx.Done():
	case <-work.Done():
	}
}

// produceError says which record could not be produced, and for one that is too large which limits to raise.
func produceError(r *kgo.Record, err error) error {
	err = fmt.Errorf("producing a record of %d bytes with key %s: %w", len(r.Key)+len(r.Value), shortened(r.Key), err)
	if errors.Is(err, kerr.MessageTooLarge) {
		err = fmt.Errorf("%w: to let it through, raise producer.override.max.request.size of the connector (%d bytes unless it is set), and max.message.bytes "+
			"of topic %s or message.max.bytes of the broker", err, kafka.MaxRecord, r.Topic)
	}
	return err
}

// shortened shows the beginning of a key.
func shortened(key []byte) string {
	const most = 100
	if len(key) > most {
		return fmt.Sprintf("%q and %d bytes more", key[:most], len(key)-most)
	}
	return fmt.Sprintf("%q", key)
}

// handle hands one batch on. Its bytes stay until every row is safe (I3).
func (t *Task) handle(ctx context.Context, b *host.SourceBatch) error {
	if err := t.leased(ctx); err != nil {
		return err
	}
	entry := t.ledger.add(b.ID, b.Positions, b.Release)
	recs := make([]kgo.Record, 0, b.Count)
	promise := func(r *kgo.Record, err error) {
		if err != nil && ctx.Err() != nil {
			return // cut off: not safe, and no failure of its own
		}
		if err != nil {
			err = t.Policy.Failed(policy.KafkaProduce, connectapi.Origin{Topic: r.Topic, Offset: -1}, produceError(r, err))
		}
		if err != nil {
			t.fail(err)
			return // never counted as safe: I1
		}
		t.Metrics.written.Inc()
		t.Used(r.Topic)
		entry.done()
	}
	rows := b.Rows()
	var row connectapi.RawRow
	for rows.Next(&row) {
		t.Metrics.polled.Inc()
		if row.Route.Raw != nil {
			if err := t.raw(ctx, &row); err != nil {
				return err
			}
			continue
		}
		r, ok, err := t.convert(&row)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !t.known[r.Topic] {
			if err := t.Topics.Ensure(ctx, r.Topic, nil); err != nil {
				return err
			}
			t.known[r.Topic] = true
		}
		recs = append(recs, r)
		entry.expect()
		t.Producer.Produce(ctx, &recs[len(recs)-1], promise)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	entry.done() // handed on whole; after an error it never is, so no position passes it (I1)
	return nil
}

// convert runs a row through transforms and converters; ok false: it was dropped.
func (t *Task) convert(row *connectapi.RawRow) (r kgo.Record, ok bool, err error) {
	in := transform.Record{Topic: row.Route.Topic, Partition: row.Route.Partition, Millis: row.Millis, Key: row.Key, Value: row.Value}
	if row.Headers.Len() > 0 {
		for h := range row.Headers.All() {
			in.Headers = append(in.Headers, h)
		}
	}
	at := connectapi.Origin{Topic: row.Route.Topic, Offset: -1}
	if keep, err := t.Chain.Apply(&in); err != nil || !keep {
		if err != nil {
			err = t.Policy.Failed(policy.Transformation, at, err)
		}
		return r, false, err
	}
	r.Topic, r.Partition = in.Topic, in.Partition
	if in.Millis != connectapi.NoTime {
		r.Timestamp = time.UnixMilli(in.Millis)
	}
	key, err := t.Key.Encode(in.Topic, in.Key)
	if err != nil {
		return r, false, t.Policy.Failed(policy.KeyConverter, at, err)
	}
	r.Key = t.keep(key)
	value, err := t.Value.Encode(in.Topic, in.Value)
	if err != nil {
		return r, false, t.Policy.Failed(policy.ValueConverter, at, err)
	}
	r.Value = t.keep(value)
	for _, h := range in.Headers {
		b, err := t.Header.EncodeHeader(h.Value)
		if err != nil {
			return r, false, t.Policy.Failed(policy.HeaderConverter, at, fmt.Errorf("header %s: %w", h.Name, err))
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: t.keep(b)})
	}
	return r, true, nil
}

const arenaSize = 256 << 10

// keep copies bytes that must live until the record is acknowledged, without an allocation for each.
func (t *Task) keep(b []byte) []byte {
	if b == nil {
		return nil
	}
	if len(b) > arenaSize/4 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if cap(t.arena)-len(t.arena) < len(b) {
		t.arena = make([]byte, 0, arenaSize)
	}
	at := len(t.arena)
	t.arena = append(t.arena, b...)
	return t.arena[at:len(t.arena):len(t.arena)]
}

// raw produces a row as it is and waits: it must be durable before any later row (schema history).
func (t *Task) raw(ctx context.Context, row *connectapi.RawRow) error {
	topic := row.Route.Topic
	if !t.known[topic] {
		if err := t.Topics.Ensure(ctx, topic, row.Route.Raw); err != nil {
			return err
		}
		t.known[topic] = true
	}
	r := &kgo.Record{Topic: topic, Partition: row.Route.Partition, Key: t.keep(row.Key.Encoded()), Value: t.keep(row.Value.Encoded())}
	if row.Millis != connectapi.NoTime {
		r.Timestamp = time.UnixMilli(row.Millis)
	}
	if err := t.Producer.ProduceSync(ctx, r).FirstErr(); err != nil {
		return fmt.Errorf("writing to topic %s: %w", topic, err)
	}
	return nil
}

func (t *Task) readTopic(ctx context.Context, topic string, follow bool, w *host.TopicWriter) error {
	return t.Topics.Read(ctx, topic, follow, func(r *kgo.Record) error {
		if r == nil { // nothing more for the moment
			return w.Flush()
		}
		return w.Append(r.Partition, r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value)
	})
}
