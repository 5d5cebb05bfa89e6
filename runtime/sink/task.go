package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/convert"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/policy"
	"github.com/penstockio/penstock/runtime/transform"
)

const (
	batchBytes  = 1 << 20
	pollRecords = 10_000
)

// Gate holds a task back while it is paused.
type Gate interface {
	Wait(ctx context.Context) error
}

// Config makes a task.
type Config struct {
	Connector  string // instance name
	Plugin     string // name of the connector in its binary
	Task       int
	Props      map[string]string // the task's resolved configuration
	Process    *host.Process
	Clients    *kafka.Clients
	Overrides  map[string]string // consumer.override.*
	Group      string            // consumer group
	Member     string            // group.instance.id: a restarted task takes its place at once
	Session    time.Duration
	Chain      *transform.Chain
	Key, Value convert.Converter
	Header     convert.HeaderConverter
	Policy     *policy.Policy
	DeadLetter *DeadLetter                                 // nil: none
	Interval   time.Duration                               // between commits
	Drain      func(stopped context.Context) time.Duration // for a clean stop, by why the context of Run ended
	Used       func(topic string)                          // is told of each topic that records come from; must not block
	Metrics    *TaskMetrics
	Log        *slog.Logger
}

// Task is a running task.
type Task struct {
	Config
	stream *host.Sink
	client *kgo.Client
	drop   context.CancelFunc // ends what the client waits for
	gate   Gate
	work   context.Context // ends when the task is cut off

	flush    sync.Mutex // one flush at a time
	flushed  chan struct{}
	assigned chan *host.Assigned
	revoked  chan struct{}
	seeks    chan connectapi.Offsets
	commitRq chan struct{}

	mu        sync.Mutex
	ours      connectapi.Offsets // the partitions this task has, with where it began to read; below 0: nothing was committed
	durable   connectapi.Offsets // called durable by the plugin
	sent      connectapi.Offsets // behind the last record handed to the plugin
	read      connectapi.Offsets // behind the last record read; what lies after sent was dropped or passed over
	committed connectapi.Offsets

	troubled atomic.Bool   // reading fails, and that was told
	stopping atomic.Bool   // Stop was sent: the end of the stream is expected
	begun    chan struct{} // closed when partitions have come
	beginOne sync.Once
	failOnce sync.Once
	failed   chan struct{}
	failure  error

	record    transform.Record // the one that is being converted
	routes    map[routeKey]*connectapi.Route
	lastKey   routeKey
	lastRoute *connectapi.Route
}

type routeKey struct {
	topic, from string
	partition   int32
	key, value  *connectapi.Schema
}

// Open opens the task in its plugin. Run joins the group.
func Open(ctx context.Context, c Config, gate Gate) (*Task, error) {
	t := &Task{
		Config: c, gate: gate, flushed: make(chan struct{}, 1), assigned: make(chan *host.Assigned, 1), revoked: make(chan struct{}, 1),
		seeks: make(chan connectapi.Offsets, 1), commitRq: make(chan struct{}, 1), failed: make(chan struct{}), begun: make(chan struct{}),
		ours: connectapi.Offsets{}, durable: connectapi.Offsets{}, sent: connectapi.Offsets{}, read: connectapi.Offsets{}, committed: connectapi.Offsets{}, routes: map[routeKey]*connectapi.Route{},
	}
	var err error
	t.stream, err = c.Process.OpenSink(ctx, host.SinkOptions{Connector: c.Plugin, Task: c.Task, Config: c.Props})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Task) consumer() (*kgo.Client, error) {
	life, drop := context.WithCancel(context.Background())
	t.drop = drop
	opts := []kgo.Opt{
		kgo.WithContext(life),
		kgo.AdjustFetchOffsetsFn(t.onAssigned), kgo.OnPartitionsRevoked(t.onRevoked), kgo.OnPartitionsLost(t.onLost),
		kgo.SessionTimeout(t.Session), kgo.HeartbeatInterval(t.Session / 3), kgo.InstanceID(t.Member),
	}
	if re := t.Props["topics.regex"]; re != "" {
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^(?:"+re+")$"))
	} else {
		opts = append(opts, kgo.ConsumeTopics(kafka.SplitList(t.Props["topics"])...))
	}
	return t.Clients.Consumer(fmt.Sprintf("connector-consumer-%s-%d", t.Connector, t.Task), t.Group, t.Overrides, opts...)
}

// Run moves records until ctx ends, then flushes, commits and leaves, within the drain time. It returns nil after a
// clean stop, else why the task failed.
func (t *Task) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t.work = work
	client, err := t.consumer() // it joins at once, and its callbacks use the stream and work
	if err != nil {
		t.drop()
		t.stream.Close()
		return err
	}
	t.client = client
	var wg sync.WaitGroup
	eventsDone := make(chan error, 1)
	wg.Go(func() { err := t.events(work); eventsDone <- err; cancelOn(err, cancel) })
	data, stopData := context.WithCancel(ctx)
	wg.Go(func() { t.control(data) })
	wg.Go(func() { t.discover(data) })
	go func() {
		select {
		case <-t.failed:
		case <-work.Done():
		case <-data.Done():
		}
		stopData()
	}()
	stopped := make(chan struct{})
	wg.Go(func() { t.cutOff(ctx, stopped) })
	err = t.data(data)
	stopData()
	if err != nil && ctx.Err() == nil {
		_ = t.finish(ctx, work, err) // what stands before a record that cannot be handled is written and committed; err is told
		t.fail(err)
	}
	clean := t.finish(ctx, work, ctx.Err())
	close(stopped)
	t.stream.Close()
	cancel()
	wg.Wait()
	t.close(clean == nil)
	select {
	case <-t.failed:
		return t.failure
	default:
	}
	if err := <-eventsDone; err != nil && ctx.Err() == nil {
		return err
	}
	return clean
}

func cancelOn(err error, cancel context.CancelFunc) {
	if err != nil {
		cancel()
	}
}

// discover looks for the topics often until the first partitions have come: a source that was made a moment before will make
// them soon.
func (t *Task) discover(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 60 {
		select {
		case <-ctx.Done():
			return
		case <-t.begun:
			return
		case <-tick.C:
			t.client.ForceMetadataRefresh()
		}
	}
}

func (t *Task) fail(err error) {
	t.failOnce.Do(func() { t.failure = err; close(t.failed) })
}

// data polls and sends until ctx ends.
func (t *Task) data(ctx context.Context) error {
	batch := t.stream.NewBatch()
	for {
		if err := t.gate.Wait(ctx); err != nil {
			return nil // stopped while paused
		}
		select {
		case to := <-t.seeks:
			if err := t.seek(ctx, to); err != nil {
				return err
			}
		default:
		}
		fetches := t.client.PollRecords(ctx, pollRecords)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			t.client.AllowRebalance()
			return nil
		}
		err := t.fetchErrors(fetches)
		if err == nil {
			err = t.send(ctx, batch, fetches)
		}
		t.client.AllowRebalance()
		if err != nil {
			return err
		}
	}
}

// fetchErrors gives the first error that will not go away. The others are told once until reading goes on: the client reads
// and joins again by itself.
func (t *Task) fetchErrors(fetches kgo.Fetches) error {
	var first error
	fetches.EachError(func(topic string, p int32, err error) {
		passing := kafka.Passing(err)
		if topic == "" { // not of a partition: the client could not join, or not stay in, its group
			err = fmt.Errorf("consumer group %s: %w", t.Group, err)
		} else {
			err = fmt.Errorf("reading topic %s, partition %d: %w", topic, p, err)
		}
		switch {
		case !passing && first == nil:
			first = err
		case passing && !t.troubled.Swap(true):
			t.Log.Warn("reading failed, trying again until it works", "error", err)
		}
	})
	return first
}

// reading tells that what fetchErrors told of is over.
func (t *Task) reading() {
	if t.troubled.Swap(false) {
		t.Log.Info("reading again")
	}
}

func (t *Task) send(ctx context.Context, batch *host.SinkBatch, fetches kgo.Fetches) error {
	next, sent := connectapi.Offsets{}, connectapi.Offsets{}
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if err != nil {
			return
		}
		tp := connectapi.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		t.Metrics.read.Add(float64(len(p.Records)))
		at, handed := int64(-1), int64(-1) // behind the last record that was converted, and that is in the batch; -1: none since note
		note := func() {
			if at >= 0 {
				next[tp] = at
			}
			if handed >= 0 {
				sent[tp] = handed
			}
			at, handed = -1, -1
		}
		for i, r := range p.Records {
			n := batch.Len()
			if err = t.convert(batch, r); err != nil {
				if note(); len(next) > 0 { // the records before it
					err = errors.Join(err, t.hand(batch, next, sent))
				}
				return
			}
			at = r.Offset + 1
			if i == len(p.Records)-1 {
				t.Metrics.lag(p.Topic, p.Partition, p.HighWatermark-at)
			}
			r.Recycle() // it is in the batch, or nowhere
			if batch.Len() > n {
				handed = at
			}
			if batch.Size() >= batchBytes {
				note()
				if err = t.hand(batch, next, sent); err != nil {
					return
				}
			}
		}
		note()
		if len(p.Records) > 0 {
			t.Used(p.Topic)
			t.reading()
		}
	})
	if err != nil || len(next) == 0 {
		return t.gone(err)
	}
	if ctx.Err() != nil && batch.Len() == 0 {
		return nil
	}
	return t.gone(t.hand(batch, next, sent))
}

// hand sends the batch, and empties it and both maps.
func (t *Task) hand(batch *host.SinkBatch, next, sent connectapi.Offsets) error {
	t.mu.Lock()
	maps.Copy(t.sent, sent)
	maps.Copy(t.read, next)
	t.mu.Unlock()
	t.Metrics.sent.Add(float64(batch.Len()))
	err := t.stream.Send(t.work, batch, next)
	clear(next)
	clear(sent)
	return err
}

// gone lets the events goroutine tell why a stream broke: it knows more than a failed send does.
func (t *Task) gone(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-t.stream.Done():
		return nil
	default:
		return err
	}
}

func (t *Task) seek(ctx context.Context, to connectapi.Offsets) error {
	set := map[string]map[int32]kgo.EpochOffset{}
	for tp, o := range to {
		if set[tp.Topic] == nil {
			set[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		set[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o}
	}
	t.mu.Lock()
	for tp := range to {
		t.forget(tp)
	}
	t.mu.Unlock()
	t.client.SetOffsets(set)
	from, err := t.assign(ctx, to)
	t.begin(from)
	return err
}
