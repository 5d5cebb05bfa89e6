package lake_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
	"github.com/penstockio/penstock/internal/testenv"
)

var killPartition = connectapi.TopicPartition{Topic: "t"}

// killRun sends records to one plugin process after another, each from where the last said all is durable.
type killRun struct {
	t       *testing.T
	binary  string
	config  map[string]string
	durable int64
}

func (r *killRun) open() (*host.Process, *host.Sink) {
	r.t.Helper()
	p := plugintest.Start(r.t, host.Options{Path: r.binary})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "lake", Config: r.config, RetryTimeout: 10 * time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.Close)
	if err := s.Assign(connectapi.Offsets{killPartition: r.durable}); err != nil {
		r.t.Fatal(err)
	}
	return p, s
}

func (r *killRun) send(s *host.Sink, from, to int64) {
	r.t.Helper()
	b := s.NewBatch()
	route := &connectapi.Route{Topic: "t", Value: connectapi.StringSchema}
	for i := from; i < to; i++ {
		if err := b.Append(route, 1_700_000_000_000, i, nil, fmt.Appendf(nil, "v%d", i)); err != nil {
			r.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Send(ctx, b, connectapi.Offsets{killPartition: to}); err != nil {
		r.t.Fatal(err)
	}
}

// events takes what the plugin says until stop says so, or the process is gone.
func (r *killRun) events(s *host.Sink, stop func(host.SinkEvent) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		e, err := s.Recv(ctx)
		if ctx.Err() != nil {
			r.t.Fatal("the plugin says nothing")
		}
		if err != nil {
			return
		}
		if d, ok := e.(*host.Durable); ok {
			r.durable = max(r.durable, d.Offsets[killPartition])
		}
		if stop(e) {
			return
		}
	}
}

// Killed at a different place each time, while files are written, published and reported: all files are whole, all
// records are there, and what was said to be durable is.
func TestKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	r := &killRun{t: t, binary: plugintest.Build(t, "connectors/lake/plugin"), config: map[string]string{
		"location": dir, "flush.size": "97", "partitioner.class": "DefaultPartitioner",
	}}
	for life := range 12 {
		p, s := r.open()
		sent := r.durable
		for range 5 + life {
			r.send(s, sent, sent+41)
			sent += 41
		}
		if err := s.Flush(false); err != nil {
			t.Fatal(err)
		}
		if life%3 > 0 { // let it come to its first reports, or to all of them
			r.events(s, func(e host.SinkEvent) bool {
				_, flushed := e.(*host.Flushed)
				_, durable := e.(*host.Durable)
				return flushed || durable && life%3 == 1
			})
		}
		proc, err := os.FindProcess(p.PID())
		if err != nil {
			t.Fatal(err)
		}
		if err := proc.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		r.events(s, func(host.SinkEvent) bool { return false }) // what it said before
		r.check(dir, r.durable)
	}
	if r.durable == 0 {
		t.Fatal("nothing was ever durable: the test proves nothing")
	}
	_, s := r.open()
	r.send(s, r.durable, 6000)
	if err := s.Flush(true); err != nil {
		t.Fatal(err)
	}
	r.events(s, func(e host.SinkEvent) bool { _, ok := e.(*host.Flushed); return ok })
	if r.durable != 6000 {
		t.Fatalf("durable: %d", r.durable)
	}
	r.check(dir, 6000)
	entries, err := os.ReadDir(dir + "/.unfinished")
	if err != nil || len(entries) > 0 {
		t.Fatalf("unfinished files are left: %v %v", entries, err)
	}
	all, err := testenv.ReadLakeAll(dir)
	if err != nil || len(all) != 6000 {
		t.Fatalf("%d rows in files, %v: rotation by count alone writes no record twice", len(all), err)
	}
}

// check reads every file: a torn one is an error.
func (r *killRun) check(dir string, n int64) {
	r.t.Helper()
	rows, err := testenv.ReadLake(dir)
	if err != nil && !strings.Contains(err.Error(), "no such file") {
		r.t.Fatal(err)
	}
	if int64(len(rows)) < n {
		r.t.Fatalf("%d records are there, %d are said to be durable", len(rows), n)
	}
	for i, row := range rows {
		if row.Offset != int64(i) || row.Columns["value"] != fmt.Sprint("v", i) {
			r.t.Fatalf("record %d: %+v", i, row)
		}
	}
}
