package table

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
)

// Spec says what to open.
type Spec struct {
	Topic kafka.TopicSpec // partitions are checked only when MustHave is set
	// MustHave demands exactly Topic.Partitions partitions of an existing topic.
	MustHave bool
	// Apply is given every record, tombstones too. It must not keep the record's bytes' slices modified.
	Apply func(*kgo.Record)
}

// Table is an open table. Its methods are safe for concurrent use.
type Table struct {
	topic   string
	brokers []string // to begin with, for errors
	client  *kgo.Client
	admin   *kadm.Client
	log     *slog.Logger
	apply   func(*kgo.Record)
	tail    tail
	turn    chan struct{} // to write: what one call's context cuts off is its own

	mu      sync.Mutex
	applied map[int32]int64 // next offset of each partition
	moved   chan struct{}   // closed and replaced when applied advances

	cancel context.CancelFunc
	done   chan struct{}
}

// Open creates the topic when it is missing, checks that it is compacted, and reads it to its end. It retries until
// ctx ends when the cluster cannot be reached yet.
func Open(ctx context.Context, clients *kafka.Clients, s Spec, log *slog.Logger) (*Table, error) {
	if err := prepare(ctx, clients, s); err != nil {
		return nil, err
	}
	applied, err := load(ctx, clients, s)
	if err != nil {
		return nil, err
	}
	from := map[int32]kgo.Offset{}
	for p, next := range applied {
		from[p] = kgo.NewOffset().At(next)
	}
	cl, err := clients.Internal("table-"+s.Topic.Name, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.Topic.Name: from}),
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(5*time.Second),
		kgo.AllowIdempotentProduceCancellation()) // I4
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.Background())
	t := &Table{
		topic: s.Topic.Name, brokers: clients.Bootstrap(), client: cl, admin: kadm.NewClient(cl), log: log.With("topic", s.Topic.Name), apply: s.Apply,
		tail: tail{clients: clients}, turn: make(chan struct{}, 1), applied: applied, moved: make(chan struct{}), cancel: cancel, done: make(chan struct{}),
	}
	go t.follow(run)
	if err := t.ReadToEnd(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// prepare makes the topic with a client of its own, before the table's client can remember that it was missing.
func prepare(ctx context.Context, clients *kafka.Clients, s Spec) error {
	adm, err := clients.Admin("prepare-"+s.Topic.Name, nil)
	if err != nil {
		return err
	}
	defer adm.Close()
	settings := map[string]string{}
	for k, v := range s.Topic.Settings {
		settings[k] = v
	}
	settings["cleanup.policy"] = "compact"
	s.Topic.Settings = settings
	if _, err := kafka.EnsureTopic(ctx, adm, s.Topic); err != nil {
		return err
	}
	err = settled(ctx, func() error { return checkPolicy(ctx, adm, s.Topic.Name) })
	if err != nil {
		return err
	}
	if !s.MustHave {
		return nil
	}
	topic := s.Topic.Name
	d, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("describing topic %s: %w", topic, err)
	}
	if n := len(d[topic].Partitions); d[topic].Err == nil && n != int(s.Topic.Partitions) {
		return fmt.Errorf("topic %s has %d partitions but must have exactly %d: name another topic, or recreate this one", topic, n, s.Topic.Partitions)
	}
	return nil
}

// settleTime is how long a cluster may take until all its brokers know a topic that was just made.
const settleTime = 30 * time.Second

// settled repeats what fails only because a new topic, or its leader, is not known everywhere yet.
func settled(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := do()
		if !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.LeaderNotAvailable) && !errors.Is(err, kerr.NotLeaderForPartition) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// checkPolicy refuses a topic whose records retention may delete: configuration would vanish.
func checkPolicy(ctx context.Context, adm *kadm.Client, topic string) error {
	rcs, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading the settings of topic %s: %w", topic, err)
	}
	for _, rc := range rcs {
		if rc.Err != nil {
			return fmt.Errorf("reading the settings of topic %s: %w", topic, rc.Err)
		}
		for _, c := range rc.Configs {
			if c.Key == "cleanup.policy" && c.MaybeValue() != "compact" {
				return fmt.Errorf("topic %s has cleanup.policy=%s but must have compact, or records would be lost: "+
					"kafka-configs --alter --topic %s --add-config cleanup.policy=compact", topic, c.MaybeValue(), topic)
			}
		}
	}
	return nil
}

// load reads the topic to its end with a client of its own whose fetches wait for nothing: while topics are long, one
// that waits for new records would hold back partitions that have some.
func load(ctx context.Context, clients *kafka.Clients, s Spec) (map[int32]int64, error) {
	cl, err := clients.Internal("load-"+s.Topic.Name, kgo.ConsumeTopics(s.Topic.Name), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var starts, ends kadm.ListedOffsets
	err = settled(ctx, func() (err error) {
		starts, ends, err = bounds(ctx, kadm.NewClient(cl), s.Topic.Name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading topic %s: %w", s.Topic.Name, err)
	}
	applied := map[int32]int64{}
	starts.Each(func(o kadm.ListedOffset) { applied[o.Partition] = o.Offset })
	for behind(applied, starts, ends) {
		fs := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading topic %s to its end: %w", s.Topic.Name, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				s.Apply(r) // I1
			}
			applied[r.Partition] = r.Offset + 1
		})
	}
	return applied, nil
}

func (t *Table) follow(ctx context.Context) {
	defer close(t.done)
	for {
		fs := t.client.PollFetches(ctx)
		if ctx.Err() != nil || fs.IsClientClosed() {
			return
		}
		fs.EachError(func(_ string, p int32, err error) {
			if !errors.Is(err, context.Canceled) {
				t.log.Warn("reading an internal topic failed, trying again", "partition", p, "error", err)
			}
		})
		advanced := map[int32]int64{}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				t.apply(r) // I1
			}
			advanced[r.Partition] = r.Offset + 1
		})
		if len(advanced) == 0 {
			continue
		}
		t.mu.Lock()
		for p, o := range advanced {
			t.applied[p] = o
		}
		close(t.moved)
		t.moved = make(chan struct{})
		t.mu.Unlock()
	}
}

// Topic is the topic's name.
func (t *Table) Topic() string { return t.topic }

// ReadToEnd waits until all that is durable now has been applied (I2).
func (t *Table) ReadToEnd(ctx context.Context) error {
	starts, ends, err := bounds(ctx, t.admin, t.topic)
	if err != nil {
		return fmt.Errorf("reading topic %s to its end: %w", t.topic, err)
	}
	return t.await(ctx, func(applied map[int32]int64) bool { return !behind(applied, starts, ends) })
}

// await waits until ok says that enough has been applied.
func (t *Table) await(ctx context.Context, ok func(applied map[int32]int64) bool) error {
	for {
		t.mu.Lock()
		done, at := ok(t.applied), t.moved
		t.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-at:
		case <-t.done:
			return fmt.Errorf("reading topic %s to its end: the table is closed", t.topic)
		case <-ctx.Done():
			return fmt.Errorf("reading topic %s to its end: %w", t.topic, context.Cause(ctx))
		}
	}
}

func bounds(ctx context.Context, adm *kadm.Client, topic string) (starts, ends kadm.ListedOffsets, err error) {
	if ends, err = adm.ListCommittedOffsets(ctx, topic); err == nil {
		err = ends.Error()
	}
	if err == nil {
		if starts, err = adm.ListStartOffsets(ctx, topic); err == nil {
			err = starts.Error()
		}
	}
	return starts, ends, err
}

func behind(applied map[int32]int64, starts, ends kadm.ListedOffsets) bool {
	behind := false
	ends.Each(func(e kadm.ListedOffset) {
		if s, ok := starts.Lookup(e.Topic, e.Partition); ok && s.Offset >= e.Offset {
			return // nothing in it
		}
		behind = behind || applied[e.Partition] < e.Offset
	})
	return behind
}

// End gives the next offset to be applied of a partition: for the one partition of the config topic, the config offset
// of the group protocol.
func (t *Table) End(partition int32) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.applied[partition]
}

// Record is one row to write; a nil Value is a tombstone.
type Record struct{ Key, Value []byte }

// Write appends rows and waits until they are durable (I3). It does not wait until they are applied. When ctx ends it, nobody
// knows whether they are there, or will be (I4).
func (t *Table) Write(ctx context.Context, rows ...Record) error {
	_, err := t.put(ctx, rows)
	return err
}

// put gives where partitions end behind what was written.
func (t *Table) put(ctx context.Context, rows []Record) (map[int32]int64, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("writing %d records to topic %s, behind a write that does not end: %w", len(rows), t.topic, ctx.Err())
	}
	recs := t.records(rows)
	if err := t.client.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		return nil, t.failed(ctx, rows, err)
	}
	return ends(recs), nil
}

// ends gives where partitions end behind records that were written.
func ends(recs []*kgo.Record) map[int32]int64 {
	ends := map[int32]int64{}
	for _, r := range recs {
		ends[r.Partition] = max(ends[r.Partition], r.Offset+1)
	}
	return ends
}

func (t *Table) records(rows []Record) []*kgo.Record {
	recs := make([]*kgo.Record, len(rows))
	for i, r := range rows {
		recs[i] = &kgo.Record{Topic: t.topic, Key: r.Key, Value: r.Value}
	}
	return recs
}

// failed says what was tried. The client tells of a record whose context ended what it met last.
func (t *Table) failed(ctx context.Context, rows []Record, err error) error {
	if end := context.Cause(ctx); end != nil && !errors.Is(err, end) {
		err = fmt.Errorf("%w: %w", err, end)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("writing %d records to topic %s: no answer from the broker (bootstrap.servers=%s): %w",
			len(rows), t.topic, strings.Join(t.brokers, ","), err)
	}
	return fmt.Errorf("writing %d records to topic %s: %w", len(rows), t.topic, err)
}

// WriteApplied writes rows and waits until they have been applied here. It waits for the table's reader instead of reading to the
// end: what the broker has taken is no failure when the broker goes away just then.
func (t *Table) WriteApplied(ctx context.Context, rows ...Record) error {
	ends, err := t.put(ctx, rows)
	if err != nil {
		return err
	}
	return t.awaitEnds(ctx, ends)
}

// awaitEnds waits until all below these ends has been applied.
func (t *Table) awaitEnds(ctx context.Context, ends map[int32]int64) error {
	return t.await(ctx, func(applied map[int32]int64) bool {
		for p, end := range ends {
			if applied[p] < end {
				return false
			}
		}
		return true
	})
}

// Close stops the table and waits for its goroutine.
func (t *Table) Close() {
	t.cancel()
	t.client.Close()
	<-t.done
}
