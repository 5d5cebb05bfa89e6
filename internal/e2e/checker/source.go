package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// sourceConfig configures checking-source.
type sourceConfig struct {
	Topic      string   `connect:"topic,required" doc:"Topic the numbers go to."`
	Partitions int32    `connect:"partitions,default=1,min=1" doc:"Partitions of the source, each a row of numbers of its own."`
	Rate       int32    `connect:"rate,default=0,min=0" doc:"Numbers a second and partition; 0: as many as the worker takes."`
	Size       int32    `connect:"size,default=0,min=0" doc:"Bytes of a value; a shorter one is filled up."`
	Keys       bool     `connect:"keys,default=true" doc:"Whether records have their partition as a key."`
	Marks      int32    `connect:"marks,default=0,min=0" doc:"Numbers a transaction, of those that are marked; 0: none is marked."`
	Idle       bool     `connect:"idle,default=false" doc:"Whether no number is ever due, to measure tasks that do nothing."`
	Mine       []string `connect:"mine,internal" default:"" doc:"Partitions of this task."`
}

var source = connectapi.Source[sourceConfig]{
	Info:        connectapi.Info{Name: "checking-source", Version: version, Doc: "Emits numbers, in order, from each of its partitions."},
	ExactlyOnce: func(sourceConfig) bool { return true }, // the next number alone says what comes
	Boundaries:  true,
	Tasks:       split,
	Open:        openSource,
}

// split deals the partitions out.
func split(_ context.Context, cfg sourceConfig, most int) ([]sourceConfig, error) {
	tasks := make([]sourceConfig, min(most, int(cfg.Partitions)))
	for i := range tasks {
		tasks[i] = cfg
	}
	for p := range int(cfg.Partitions) {
		t := &tasks[p%len(tasks)]
		t.Mine = append(t.Mine, strconv.Itoa(p))
	}
	return tasks, nil
}

func partitionOf(name string) connectapi.Partition { return connectapi.NewPartition("checked", name) }

// row is one partition's row of numbers.
type row struct {
	name      string
	partition connectapi.Partition
	next      int64
	first     int64 // of this run: what is due counts from it
}

type sourceTask struct {
	cfg   sourceConfig
	route *connectapi.Route
	rows  []row
	began time.Time
	buf   []byte
}

func openSource(_ context.Context, cfg sourceConfig, t connectapi.SourceContext) (connectapi.SourceTask, error) {
	s := &sourceTask{cfg: cfg, route: connectapi.NewRoute(cfg.Topic, connectapi.OptionalStringSchema, connectapi.StringSchema), began: time.Now()}
	for _, name := range cfg.Mine {
		r := row{name: name, partition: partitionOf(name)}
		if at := t.Committed()[r.partition]; at != "" {
			n, err := at.Int64("next")
			if err != nil {
				return nil, fmt.Errorf("resuming partition %s: %w", name, err)
			}
			r.next, r.first = n, n
		}
		s.rows = append(s.rows, r)
	}
	return s, nil
}

// pace is how often what is due is looked at.
const pace = 20 * time.Millisecond

// atOnce is how many numbers of a partition a Read adds at most.
const atOnce = 1000

// Read adds the numbers that are due.
func (s *sourceTask) Read(ctx context.Context, b *connectapi.Batch) error {
	if s.cfg.Idle {
		<-ctx.Done()
		return nil
	}
	if s.cfg.Rate > 0 || len(s.rows) == 0 {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return nil
		}
	}
	elapsed := time.Since(s.began)
	for i := range s.rows {
		r := &s.rows[i]
		due := int64(atOnce)
		if s.cfg.Rate > 0 {
			due = min(due, r.first+int64(elapsed.Seconds()*float64(s.cfg.Rate))-r.next)
		}
		s.add(b, r, due)
	}
	return nil
}

// add adds n numbers of a partition, in transactions if they are to be marked: then each ends with a position.
func (s *sourceTask) add(b *connectapi.Batch, r *row, n int64) {
	var key []byte
	if s.cfg.Keys {
		key = []byte(r.name)
	}
	marks := int64(s.cfg.Marks)
	for i := range n {
		if marks > 0 && i%marks == 0 {
			b.BeginTransaction()
		}
		s.buf = append(append(s.buf[:0], r.name...), ' ')
		s.buf = append(strconv.AppendInt(s.buf, r.next, 10), ' ')
		for len(s.buf) < int(s.cfg.Size) {
			s.buf = append(s.buf, '.')
		}
		b.AppendEncoded(s.route, connectapi.NoTime, key, s.buf, connectapi.Headers{})
		r.next++
		if last := i == n-1; last || marks > 0 && (i+1)%marks == 0 {
			b.Position(r.partition, connectapi.NewOffset("next", r.next))
			if marks > 0 {
				b.CommitTransaction()
			}
		}
		if marks == 0 && b.Full() && i < n-1 {
			b.Position(r.partition, connectapi.NewOffset("next", r.next))
			return
		}
	}
}

// Close has nothing to let go of.
func (*sourceTask) Close(context.Context) error { return nil }
