// Command testplugin is the plugin that tests of both ends of the wire run: a source of numbered records, a sink that keeps
// them in files, and misbehaviour on demand.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/serve"
)

func main() {
	fmt.Println("printed in main, before serving: must not reach the handshake")
	switch os.Getenv("TESTPLUGIN_START") {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot find libfoo.so")
		os.Exit(3)
	case "hang":
		<-time.After(time.Hour) // no bare select: the runtime would call it a deadlock
	}
	serve.Main(numbers, files)
}

type numbersConfig struct {
	Count    int64               `connect:"count,default=0,min=0" doc:"Records to emit; 0: without end."`
	Batch    int64               `connect:"batch,default=100,min=1" doc:"Records a read returns."`
	Sizes    []string            `connect:"sizes" default:"10" doc:"Sizes of the values in bytes, in turn."`
	Every    time.Duration       `connect:"every.ms,default=0" doc:"Wait so long before each read."`
	PanicAt  int64               `connect:"panic.at,default=-1" doc:"Panic before this record."`
	DieAt    int64               `connect:"die.at,default=-1" doc:"Panic outside of the task's methods before this record."`
	HangAt   int64               `connect:"hang.at,default=-1" doc:"Hang, deaf, before this record."`
	RetryAt  int64               `connect:"retry.at,default=-1" doc:"A transient error, once, before this record."`
	Acks     string              `connect:"acks" doc:"File the acknowledged positions are appended to."`
	History  string              `connect:"history" doc:"Topic read at open; its records come first."`
	Password connectapi.Password `connect:"password" doc:"Nothing."`
	Bad      bool                `connect:"bad,default=false" doc:"Validation fails."`
	EOF      bool                `connect:"eof,default=false" doc:"End of input after the last record."`
}

var numbers = connectapi.Source[numbersConfig]{
	Info: connectapi.Info{
		Name: "numbers", Version: "1.2.3", Doc: "Emits numbered records.", Aliases: []string{"com.example.NumbersSource"},
		Metrics: []connectapi.Metric{{Name: "emitted", Unit: "records", Help: "Records emitted.", Counter: true}},
	},
	Validate: func(_ context.Context, cfg numbersConfig) error {
		if cfg.Bad {
			return errors.Join(connectapi.ConfigError("bad", errors.New("bad must not be true")),
				connectapi.ConfigError("count", errors.New("count is too bad")))
		}
		return nil
	},
	Tasks: func(_ context.Context, cfg numbersConfig, most int) ([]numbersConfig, error) {
		return []numbersConfig{cfg, cfg}[:min(most, 2)], nil
	},
	Watch: func(ctx context.Context, _ numbersConfig, changed func()) error {
		changed()
		<-ctx.Done()
		return nil
	},
	Alter: func(_ context.Context, _ numbersConfig, to []connectapi.Position, dryRun bool) (bool, error) {
		for _, p := range to {
			if n, err := p.Offset.Int64("n"); p.Offset != "" && (err != nil || n < 0) {
				return false, errors.New("offset n must be a number from 0")
			}
		}
		return !dryRun, nil
	},
	Open: openNumbers,
}

type numbersTask struct {
	cfg   numbersConfig
	ctx   connectapi.SourceContext
	route *connectapi.Route
	n     int64
	buf   []byte
	again bool
	lead  [][]byte
}

var partition = connectapi.NewPartition("source", "numbers")

func openNumbers(ctx context.Context, cfg numbersConfig, t connectapi.SourceContext) (connectapi.SourceTask, error) {
	fmt.Println("printed in open")
	s := &numbersTask{cfg: cfg, ctx: t}
	s.route = connectapi.NewRoute("numbers", connectapi.Int64Schema,
		connectapi.NewStruct("number").Field("n", connectapi.Int64Schema).Field("data", connectapi.BytesSchema).
			Field("note", connectapi.OptionalStringSchema).MustBuild())
	if o, ok := t.Committed()[partition]; ok {
		n, err := o.Int64("n")
		if err != nil {
			return nil, err
		}
		s.n = n
	}
	if cfg.History != "" {
		for rec, err := range t.ReadTopic(ctx, cfg.History, false) {
			if err != nil {
				return nil, err
			}
			s.lead = append(s.lead, bytes.Clone(rec.Value.Encoded()))
		}
	}
	return s, nil
}

func (s *numbersTask) Read(ctx context.Context, b *connectapi.Batch) error {
	for _, v := range s.lead {
		b.Append("history-copy", nil, v)
	}
	s.lead = nil
	if s.cfg.Every > 0 {
		select {
		case <-time.After(s.cfg.Every):
		case <-ctx.Done():
			return nil
		}
	}
	for range s.cfg.Batch {
		if s.cfg.Count > 0 && s.n >= s.cfg.Count {
			if b.Len() > 0 {
				return nil
			}
			if s.cfg.EOF {
				return io.EOF
			}
			s.ctx.Report("nothing left", map[string]float64{"emitted": float64(s.n)})
			<-ctx.Done()
			return nil
		}
		switch s.n {
		case s.cfg.PanicAt:
			panic("as it was told")
		case s.cfg.DieAt:
			go func() { panic("died as it was told") }()
			select {}
		case s.cfg.HangAt:
			select {}
		case s.cfg.RetryAt:
			if !s.again {
				s.again = true
				return connectapi.Retry(errors.New("not yet"), time.Millisecond)
			}
		}
		if err := s.emit(b); err != nil {
			return err
		}
	}
	return nil
}

func (s *numbersTask) emit(b *connectapi.Batch) error {
	size, err := strconv.Atoi(s.cfg.Sizes[int(s.n)%len(s.cfg.Sizes)])
	if err != nil {
		return connectapi.ConfigError("sizes", err)
	}
	if cap(s.buf) < size {
		s.buf = bytes.Repeat([]byte{'x'}, size)
	}
	row := b.Begin(s.route, time.UnixMilli(1_700_000_000_000+s.n))
	row.Key.Int64(s.n)
	row.Value.Int64(s.n)
	row.Value.Bytes(s.buf[:size])
	if s.n%2 == 0 {
		row.Value.Text("even")
	} else {
		row.Value.Null()
	}
	row.Header("n", connectapi.Int64Schema, s.n)
	if err := row.End(); err != nil {
		return err
	}
	s.n++
	b.Position(partition, connectapi.NewOffset("n", s.n))
	return nil
}

func (s *numbersTask) Ack(_ context.Context, durable []connectapi.Position) error {
	if s.cfg.Acks == "" {
		return nil
	}
	f, err := os.OpenFile(s.cfg.Acks, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for _, p := range durable {
		fmt.Fprintln(f, p.Offset)
	}
	return f.Close()
}

func (s *numbersTask) Close(context.Context) error {
	s.ctx.Log().Info("numbers closed")
	return nil
}

type filesConfig struct {
	Dir   string        `connect:"dir,required,format=path" doc:"Folder the values go to."`
	Holds bool          `connect:"holds,default=false" doc:"Hold records until they are committed."`
	Late  bool          `connect:"late,default=false" doc:"Say that they are held when they were read."`
	Slow  time.Duration `connect:"slow.ms,default=0" doc:"Wait so long in each write."`
}

var files = connectapi.Sink[filesConfig]{
	Info: connectapi.Info{Name: "files", Version: "1", Doc: "Writes the hash of each value into a file."},
	Open: func(_ context.Context, cfg filesConfig, t connectapi.SinkContext) (connectapi.SinkTask, error) {
		s := &filesTask{cfg: cfg, ctx: t, next: connectapi.Offsets{}}
		if cfg.Holds {
			return &holdingTask{filesTask: s}, nil
		}
		return s, nil
	},
}

type filesTask struct {
	cfg  filesConfig
	ctx  connectapi.SinkContext
	next connectapi.Offsets
}

func (s *filesTask) Write(ctx context.Context, rs *connectapi.Records) error {
	if s.cfg.Slow > 0 {
		select {
		case <-time.After(s.cfg.Slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for r := range rs.All() {
		if err := s.write(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *filesTask) write(r *connectapi.Record) error {
	v, err := r.Value.AppendText(nil)
	if err != nil {
		return err
	}
	if bytes.Equal(v, []byte("bad")) {
		r.Fail(errors.New("a bad record"))
		return nil
	}
	if bytes.Equal(v, []byte("panic")) {
		panic("a record told it to")
	}
	name := fmt.Sprintf("%s-%d-%d", r.Original.Topic, r.Original.Partition, r.Original.Offset)
	return os.WriteFile(filepath.Join(s.cfg.Dir, name), fmt.Appendf(nil, "%x", sha256.Sum256(v)), 0o600)
}

func (s *filesTask) Close(context.Context) error { return nil }

// holdingTask keeps records until Commit.
type holdingTask struct {
	*filesTask
	held []*connectapi.Record
}

func (s *holdingTask) Write(_ context.Context, rs *connectapi.Records) error {
	if !s.cfg.Late {
		rs.Retain()
	}
	for r := range rs.All() {
		c := *r
		s.held = append(s.held, &c)
	}
	rs.Retain()
	s.ctx.RequestCommit()
	return nil
}

func (s *holdingTask) Commit(context.Context, bool) (connectapi.Offsets, error) {
	for _, r := range s.held {
		if err := s.write(r); err != nil {
			return nil, err
		}
		s.next[connectapi.TopicPartition{Topic: r.Original.Topic, Partition: r.Original.Partition}] = r.Offset + 1
	}
	s.held = nil
	return s.next, nil
}

func (s *holdingTask) Assigned(_ context.Context, at connectapi.Offsets) (connectapi.Offsets, error) {
	from := connectapi.Offsets{}
	for tp := range at {
		from[tp] = 7
	}
	return from, nil
}

func (s *holdingTask) Revoked(_ context.Context, gone []connectapi.TopicPartition, _ bool) error {
	for _, tp := range gone {
		delete(s.next, tp)
	}
	return nil
}
