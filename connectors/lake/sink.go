package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// Sink is the connector lake.
var Sink = connectapi.Sink[Config]{
	Info: connectapi.Info{
		Name: "lake", Version: Version,
		Doc: "Writes records into Parquet files in a local folder or an S3-compatible store, one folder a table.",
		Aliases: []string{
			"io.confluent.connect.s3.S3SinkConnector", "S3SinkConnector",
		},
		Metrics: []connectapi.Metric{
			{Name: "files", Help: "Files published.", Counter: true},
			{Name: "rows", Help: "Rows in published files.", Counter: true},
			{Name: "bytes", Unit: "bytes", Help: "Bytes of published files.", Counter: true},
			{Name: "open_files", Help: "Files being written."},
			{Name: "buffered", Unit: "bytes", Help: "Memory of files being written."},
		},
	},
	Validate: validate,
	Open: func(_ context.Context, cfg Config, t connectapi.SinkContext) (connectapi.SinkTask, error) {
		return open(cfg, t, time.Now)
	},
}

// task writes the files of its partitions.
type task struct {
	cfg      Config
	host     connectapi.SinkContext
	store    store
	parts    *partitioner
	layouts  layouts
	now      func() time.Time
	of       map[connectapi.TopicPartition]*partition
	last     *partition
	open     int
	dirty    []*file // with staged rows
	broken   error   // a file whose rows may be lost: the task must not go on
	timer    *time.Timer
	deadline time.Time // when the clock ends files; zero: never

	files, rows, bytes float64
}

var (
	_ connectapi.Committer = (*task)(nil)
	_ connectapi.Assigner  = (*task)(nil)
)

func open(cfg Config, host connectapi.SinkContext, now func() time.Time) (*task, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	parts, err := newPartitioner(&cfg, now)
	if err != nil {
		return nil, err
	}
	s, err := openStore(&cfg)
	if err != nil {
		return nil, err
	}
	t := &task{
		cfg: cfg, host: host, store: s, parts: parts, layouts: layouts{micros: cfg.TimeType == "micros"}, now: now,
		of: map[connectapi.TopicPartition]*partition{},
	}
	t.timer = time.AfterFunc(time.Hour, host.RequestCommit)
	t.timer.Stop()
	return t, nil
}

// Assigned begins partitions and removes what a run before left unfinished of them.
func (t *task) Assigned(_ context.Context, at connectapi.Offsets) (connectapi.Offsets, error) {
	for tp, offset := range at {
		if err := t.drop(tp); err != nil {
			return nil, err
		}
		if err := t.store.sweep(tempPrefix(tp)); err != nil {
			return nil, err
		}
		t.of[tp] = newPartition(tp, offset)
	}
	t.last = nil
	return nil, nil
}

// Revoked forgets partitions; what is open of them was not reported and comes again elsewhere.
func (t *task) Revoked(_ context.Context, gone []connectapi.TopicPartition, _ bool) error {
	var all []error
	for _, tp := range gone {
		all = append(all, t.drop(tp))
	}
	return errors.Join(all...)
}

func (t *task) drop(tp connectapi.TopicPartition) error {
	p, ok := t.of[tp]
	if !ok {
		return nil
	}
	delete(t.of, tp)
	t.last = nil
	t.open -= p.files()
	return p.discard()
}

// settle leaves nothing of the batch in staged rows (I6) and keeps the budget.
func (t *task) settle(ctx context.Context) error {
	for _, f := range t.dirty {
		if f.finished {
			continue
		}
		if err := f.drain(); err != nil {
			t.broken = err
			return err
		}
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	if err := t.relieve(ctx); err != nil {
		return err
	}
	t.arm()
	return nil
}

// Commit ends files that are due, or all, and says what is durable (I3).
func (t *task) Commit(ctx context.Context, all bool) (connectapi.Offsets, error) {
	if t.broken != nil {
		return nil, t.broken
	}
	t.deadline = time.Time{} // its timer may have fired, a moment early
	if err := t.endDue(ctx, all); err != nil {
		return nil, err
	}
	t.arm()
	out := make(connectapi.Offsets, len(t.of))
	for tp, p := range t.of {
		if p.files() == 0 {
			p.durable = p.next
		}
		if p.durable >= 0 {
			out[tp] = p.durable
		}
	}
	t.host.Report("", map[string]float64{
		"files": t.files, "rows": t.rows, "bytes": t.bytes, "open_files": float64(t.open), "buffered": float64(t.buffered()),
	})
	return out, nil
}

// end publishes all files of a partition. It may be called again after an error.
func (t *task) end(ctx context.Context, p *partition) error {
	p.ending = true
	for _, s := range p.sorted() {
		f := s.file
		if err := f.finish(); err != nil {
			t.broken = err
			return err
		}
		if err := f.publish(ctx, t.store, t.cfg.OffsetPad); err != nil {
			return err
		}
		t.files++
		t.rows += float64(f.n)
		t.bytes += float64(f.out.n)
		t.open--
		s.file = nil
		if err := f.up.discard(); err != nil {
			t.host.Log().Warn("letting go of a published file's unfinished name", "error", err)
		}
	}
	published := p.count > 0
	p.reset()
	if published {
		t.host.RequestCommit()
	}
	return nil
}

// Close discards what is open: it was not reported.
func (t *task) Close(context.Context) error {
	t.timer.Stop()
	var all []error
	for _, p := range t.of {
		all = append(all, p.discard())
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("discarding unfinished files: %w", err)
	}
	return nil
}

// inOrder returns the partitions by name.
func (t *task) inOrder() []*partition {
	out := make([]*partition, 0, len(t.of))
	for _, p := range t.of {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *partition) int {
		return cmp.Or(cmp.Compare(a.tp.Topic, b.tp.Topic), cmp.Compare(a.tp.Partition, b.tp.Partition))
	})
	return out
}
