package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

func TestMain(m *testing.M) {
	plugintest.Main(m, func() int {
		// The launcher's goroutine lives as long as the worker: Pdeathsig is its thread's.
		if err := goleak.Find(goleak.IgnoreTopFunction("github.com/penstockio/penstock/connect-api/host.runLauncher")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

func start(t *testing.T, env ...string) *host.Process {
	t.Helper()
	return plugintest.Start(t, host.Options{Path: plugintest.Build(t, "connect-api/internal/testplugin"), Env: env})
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestDescribeValidateTasks(t *testing.T) {
	ctx := within(t, time.Minute)
	p := start(t)
	d, err := p.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Of) != 2 || d.Of[0].Name != "numbers" || d.Of[0].Sink || !d.Of[1].Sink || d.Of[0].Aliases[0] != "com.example.NumbersSource" {
		t.Fatalf("descriptions: %+v", d.Of)
	}
	if k, ok := d.Of[0].Config.Key("batch"); !ok || *k.Default != "100" || *k.Min != 1 || k.Type != connectapi.LongConfig {
		t.Fatalf("key batch: %+v", k)
	}
	if d.Of[0].Metrics[0].Name != "emitted" || !d.Of[0].Metrics[0].Counter {
		t.Fatalf("metrics: %+v", d.Of[0].Metrics)
	}
	v, err := p.Validate(ctx, "numbers", map[string]string{"bad": "true", "batch": "0"})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Findings) != 1 || v.Findings[0].Errors[0] != "Invalid value 0 for configuration batch: Value must be at least 1" {
		t.Fatalf("findings of the definition come first: %+v", v.Findings)
	}
	if v, err = p.Validate(ctx, "numbers", map[string]string{"bad": "true"}); err != nil {
		t.Fatal(err)
	}
	if len(v.Findings) != 2 || v.Findings[0].Key != "bad" || v.Findings[1].Key != "count" {
		t.Fatalf("findings: %+v", v.Findings)
	}
	tasks, err := p.Tasks(ctx, "numbers", map[string]string{"count": "5", "unknown": "kept"}, 3, nil)
	if err != nil || len(tasks) != 2 || tasks[1]["count"] != "5" || tasks[1]["unknown"] != "kept" || tasks[0]["batch"] != "100" {
		t.Fatalf("tasks: %v, %v", tasks, err)
	}
	if _, err := p.Tasks(ctx, "numbers", map[string]string{"count": "x"}, 3, nil); err == nil ||
		!strings.Contains(err.Error(), "Not a number of type LONG") {
		t.Fatalf("tasks of a wrong configuration: %v", err)
	}
	if _, err := p.Tasks(ctx, "nothing", nil, 1, nil); err == nil || !strings.Contains(err.Error(), `no connector "nothing"`) {
		t.Fatalf("tasks of no connector: %v", err)
	}
	to := []connectapi.Position{{Partition: connectapi.NewPartition("source", "numbers"), Offset: connectapi.NewOffset("n", -1)}}
	if _, err := p.Alter(ctx, "numbers", nil, to, true); err == nil || !strings.Contains(err.Error(), "from 0") {
		t.Fatalf("alter: %v", err)
	}
	to[0].Offset = connectapi.NewOffset("n", 3)
	if external, err := p.Alter(ctx, "numbers", nil, to, false); err != nil || !external {
		t.Fatalf("alter: %v %v", external, err)
	}
	if err := p.Deleted(ctx, "numbers", nil); err != nil {
		t.Fatal(err)
	}
	watch, cancel := context.WithCancel(ctx)
	n := 0
	err = p.Watch(watch, "numbers", nil, func() { n++; cancel() })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Fatalf("watch: %d changes, %v", n, err)
	}
	if err := p.Watch(ctx, "files", map[string]string{"dir": "/"}, func() {}); err != nil {
		t.Fatalf("nothing to watch: %v", err)
	}
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(p.PID(), 0) == nil {
		t.Fatal("the process is still there after Stop")
	}
	if _, err := p.Describe(ctx); err == nil {
		t.Fatal("a call of a stopped process succeeded")
	}
}

// collect reads rows until n came, acknowledging every batch.
func collect(t *testing.T, ctx context.Context, s *host.Source, n int) (values []int64, last connectapi.Mark) {
	t.Helper()
	for len(values) < n {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatalf("after %d of %d rows: %v", len(values), n, err)
		}
		values, last = rowsOf(t, b, values, last)
		if err := s.Ack(b.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	return values, last
}

func rowsOf(t *testing.T, b *host.SourceBatch, values []int64, last connectapi.Mark) ([]int64, connectapi.Mark) {
	t.Helper()
	rows := b.Rows()
	var row connectapi.RawRow
	count := 0
	for rows.Next(&row) {
		count++
		v, err := row.Value.Field("n")
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.Int64()
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := row.Headers.Get("n"); !ok {
			t.Fatal("no header")
		} else if hn, err := h.Int64(); err != nil || hn != x {
			t.Fatalf("header: %d, %v", hn, err)
		}
		if row.Millis != 1_700_000_000_000+x || row.Route.Topic != "numbers" || row.Route.Partition != connectapi.NoPartition {
			t.Fatalf("row: %+v", row)
		}
		values = append(values, x)
	}
	if err := rows.Err(); err != nil || count != b.Count {
		t.Fatalf("%d rows of %d: %v", count, b.Count, err)
	}
	if len(b.Positions) > 0 {
		last = b.Positions[len(b.Positions)-1]
	}
	b.Release()
	return values, last
}

func drain(t *testing.T, ctx context.Context, s *host.Source, ack bool) (rows int) {
	t.Helper()
	for {
		b, err := s.Recv(ctx)
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += b.Count
		b.Release()
		if ack {
			if err := s.Ack(b.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSourceReadsAcksStopsAndResumes(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	acks := filepath.Join(t.TempDir(), "acks")
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{
		"count": "25000", "batch": "64", "acks": acks, "retry.at": "100",
	}, RetryTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	values, last := collect(t, ctx, s, 25000)
	for i, v := range values {
		if int64(i) != v {
			t.Fatalf("value %d is %d", i, v)
		}
	}
	if last.Offset != connectapi.NewOffset("n", 25000) {
		t.Fatalf("last position: %+v", last)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := drain(t, ctx, s, true); n != 0 {
		t.Fatalf("%d rows after the last", n)
	}
	text, err := os.ReadFile(acks)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), `{"n":25000}`) {
		t.Fatalf("acks end with %q, %v", text[max(0, len(text)-40):], err)
	}
	if r := s.Report(); r.WaitingFor != "nothing left" || r.Metrics["emitted"] != 25000 {
		t.Fatalf("report: %+v", r)
	}

	again, err := p.OpenSource(ctx, host.SourceOptions{
		Connector: "numbers", Config: map[string]string{"count": "25010"},
		Committed: []connectapi.Position{{Partition: last.Partition, Offset: last.Offset}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if values, _ := collect(t, ctx, again, 10); values[0] != 25000 || values[9] != 25009 {
		t.Fatalf("resumed with %v", values)
	}
}

func TestSourceStopWaitsForTheLastAck(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"count": "10", "batch": "10"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := b.ID
	b.Release()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := s.Recv(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("closed before its last ack: %v", err)
	}
	if err := s.Ack(id, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx); err != io.EOF {
		t.Fatalf("after the last ack: %v", err)
	}
}

func TestSourceWithoutCreditStopsSending(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{
		Connector: "numbers", Config: map[string]string{"sizes": "1000"}, MaxBatchBytes: 20_000, Credit: 60_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var held []*host.SourceBatch
	bytes := 0
	for {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		b, err := s.Recv(short)
		cancel()
		if err != nil {
			break
		}
		held = append(held, b)
		bytes += b.Size()
	}
	if bytes < 60_000 || bytes > 200_000 {
		t.Fatalf("%d bytes came with a credit of 60000", bytes)
	}
	for _, b := range held {
		b.Release()
	}
	if b, err := s.Recv(ctx); err != nil {
		t.Fatalf("after the credit came back: %v", err)
	} else {
		b.Release()
	}
}

func TestSourceEndOfInput(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"count": "3", "eof": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	collect(t, ctx, s, 3)
	if _, err := s.Recv(ctx); connectapi.KindOf(err) != connectapi.EndOfInput || !errors.Is(err, io.EOF) || err == io.EOF {
		t.Fatalf("end of input: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx); err != io.EOF {
		t.Fatalf("after stop: %v", err)
	}
}

func TestSourceReadsTopic(t *testing.T) {
	ctx := within(t, 30*time.Second)
	p := start(t)
	read := func(_ context.Context, topic string, follow bool, w *host.TopicWriter) error {
		if topic != "history" || follow {
			return fmt.Errorf("asked for %s, follow %v", topic, follow)
		}
		for i := range 5000 {
			if err := w.Append(0, int64(i), 1000, nil, fmt.Appendf(nil, "%01000d", i)); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := p.OpenSource(ctx, host.SourceOptions{
		Connector: "numbers", Config: map[string]string{"count": "1", "history": "history"}, ReadTopic: read,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for n < 5000 {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows := b.Rows()
		var row connectapi.RawRow
		for rows.Next(&row) && row.Route.Topic == "history-copy" {
			if want := fmt.Sprintf("%01000d", n); string(row.Value.Encoded()) != want {
				t.Fatalf("record %d is %.20q", n, row.Value.Encoded())
			}
			n++
		}
		b.Release()
	}

	_, err = p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"history": "other"}, ReadTopic: read})
	if err == nil || !strings.Contains(err.Error(), "asked for other") {
		t.Fatalf("a topic that cannot be read: %v", err)
	}
}
