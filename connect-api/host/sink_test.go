package host_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

var tp = connectapi.TopicPartition{Topic: "t", Partition: 3}

func openSink(t *testing.T, ctx context.Context, p *host.Process, config map[string]string) *host.Sink {
	t.Helper()
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "files", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func event[E host.SinkEvent](t *testing.T, ctx context.Context, s *host.Sink) E {
	t.Helper()
	e, err := s.Recv(ctx)
	if err != nil {
		t.Fatalf("waiting for %T: %v", *new(E), err)
	}
	x, ok := e.(E)
	if !ok {
		t.Fatalf("got %T, want %T", e, *new(E))
	}
	return x
}

func route(topic string, from string) *connectapi.Route {
	return &connectapi.Route{Topic: topic, Partition: tp.Partition, Value: connectapi.StringSchema, ReadFrom: from}
}

func TestSinkDurableFailedFlush(t *testing.T) {
	ctx := within(t, 30*time.Second)
	dir := t.TempDir()
	s := openSink(t, ctx, start(t), map[string]string{"dir": dir})
	if err := s.Assign(connectapi.Offsets{tp: 10}); err != nil {
		t.Fatal(err)
	}
	if a := event[*host.Assigned](t, ctx, s); a.From[tp] != 10 {
		t.Fatalf("assigned: %v", a.From)
	}
	b := s.NewBatch()
	for i, v := range []string{"a", "bad", "c"} {
		if err := b.Append(route("renamed", "t"), 5, int64(10+i), nil, []byte(v),
			connectapi.Header{Name: "h", Value: connectapi.NewValue(connectapi.StringSchema, []byte("x"))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(ctx, b, connectapi.Offsets{tp: 13}); err != nil {
		t.Fatal(err)
	}
	f := event[*host.Failed](t, ctx, s)
	if f.Record != tp || f.Offset != 11 || f.Err.Error() != "a bad record" || connectapi.KindOf(f.Err) != connectapi.Data {
		t.Fatalf("failed: %+v", f)
	}
	if d := event[*host.Durable](t, ctx, s); d.Offsets[tp] != 13 {
		t.Fatalf("durable: %v", d.Offsets)
	}
	for _, name := range []string{"t-3-10", "t-3-12"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(ctx, b, connectapi.Offsets{tp: 20}); err != nil { // no rows: filtered ones move the offset
		t.Fatal(err)
	}
	if d := event[*host.Durable](t, ctx, s); d.Offsets[tp] != 20 {
		t.Fatalf("durable: %v", d.Offsets)
	}
	if err := s.Flush(false); err != nil {
		t.Fatal(err)
	}
	if d := event[*host.Durable](t, ctx, s); d.Offsets[tp] != 20 {
		t.Fatalf("durable: %v", d.Offsets)
	}
	event[*host.Flushed](t, ctx, s)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx); err != io.EOF {
		t.Fatalf("after stop: %v", err)
	}
}

func TestSinkHoldsRecordsUntilCommit(t *testing.T) {
	ctx := within(t, 30*time.Second)
	s := openSink(t, ctx, start(t), map[string]string{"dir": t.TempDir(), "holds": "true"})
	if err := s.Assign(connectapi.Offsets{tp: 0}); err != nil {
		t.Fatal(err)
	}
	if a := event[*host.Assigned](t, ctx, s); a.From[tp] != 7 { // an Assigner knows better
		t.Fatalf("assigned: %v", a.From)
	}
	b := s.NewBatch()
	for i := range 3 {
		for _, v := range []string{"x", "bad"} {
			off := int64(i * 2)
			if v == "bad" {
				off++
			}
			if err := b.Append(route("t", ""), 5, 7+off, nil, []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Send(ctx, b, connectapi.Offsets{tp: int64(7 + i*2 + 2)}); err != nil {
			t.Fatal(err)
		}
		event[*host.CommitRequested](t, ctx, s)
	}
	if err := s.Flush(true); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if f := event[*host.Failed](t, ctx, s); f.Offset != int64(7+i*2+1) {
			t.Fatalf("failed %d: %+v", i, f)
		}
	}
	if d := event[*host.Durable](t, ctx, s); d.Offsets[tp] != 13 {
		t.Fatalf("durable: %v", d.Offsets)
	}
	event[*host.Flushed](t, ctx, s)
	if err := s.Revoke([]connectapi.TopicPartition{tp}); err != nil {
		t.Fatal(err)
	}
	if r := event[*host.Revoked](t, ctx, s); len(r.Partitions) != 1 || r.Partitions[0] != tp {
		t.Fatalf("revoked: %v", r.Partitions)
	}
}

func TestSinkCreditHoldsTheHostBack(t *testing.T) {
	ctx := within(t, 30*time.Second)
	s := openSink(t, ctx, start(t), map[string]string{"dir": t.TempDir(), "slow.ms": "60000"})
	b := s.NewBatch()
	value := make([]byte, 1<<20)
	sent := 0
	for ; sent < 50; sent++ {
		if err := b.Append(route("t", ""), 0, int64(sent), nil, value); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		err := s.Send(short, b, connectapi.Offsets{tp: int64(sent + 1)})
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if sent < 3 || sent > 6 {
		t.Fatalf("%d MiB were sent to a sink that takes nothing", sent)
	}
}

// C082: records of 1 KiB, 5 MiB, 1 KiB pass in both directions; one above the limit is an error that names size and limit.
func TestLargeRecordsPass(t *testing.T) {
	ctx := within(t, 60*time.Second)
	p := start(t)
	dir := t.TempDir()
	sizes := []int{1 << 10, 5 << 20, 1 << 10}
	src, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{
		"count": "3", "sizes": fmt.Sprintf("%d,%d,%d", sizes[0], sizes[1], sizes[2]),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst := openSink(t, ctx, p, map[string]string{"dir": dir})
	for off := int64(0); off < 3; {
		b, err := src.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows := b.Rows()
		var row connectapi.RawRow
		out := dst.NewBatch()
		for rows.Next(&row) {
			data, err := row.Value.Field("data")
			if err != nil {
				t.Fatal(err)
			}
			r := route("t", "")
			r.Value = connectapi.BytesSchema
			if err := out.Append(r, row.Millis, off, nil, data.Encoded()); err != nil {
				t.Fatal(err)
			}
			off++
		}
		b.Release()
		if err := dst.Send(ctx, out, connectapi.Offsets{tp: off}); err != nil {
			t.Fatal(err)
		}
	}
	for durable := int64(0); durable < 3; {
		durable = event[*host.Durable](t, ctx, dst).Offsets[tp]
	}
	for i, n := range sizes {
		sum, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("t-3-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("x", n)))); string(sum) != want {
			t.Fatalf("record %d arrived with SHA-256 %s, want %s", i, sum, want)
		}
	}

	var large *host.TooLargeError
	if err := dst.NewBatch().Append(route("t", ""), 0, 0, nil, make([]byte, 65<<20)); !errors.As(err, &large) ||
		!strings.Contains(err.Error(), "68157440") || !strings.Contains(err.Error(), "67108864") {
		t.Fatalf("a record above the limit: %v", err)
	}
	over, err := p.OpenSource(ctx, host.SourceOptions{Connector: "numbers", Config: map[string]string{"sizes": "10,70000000", "batch": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	for {
		b, err := over.Recv(ctx)
		if err == nil {
			b.Release()
			continue
		}
		if !strings.Contains(err.Error(), "70000") || !strings.Contains(err.Error(), "67108864") {
			t.Fatalf("a record above the limit: %v", err)
		}
		break
	}
}

func TestBatchesAboveTheLimitAreSplit(t *testing.T) {
	ctx := within(t, 60*time.Second)
	p := start(t)
	s, err := p.OpenSource(ctx, host.SourceOptions{
		Connector: "numbers", Config: map[string]string{"count": "90", "sizes": "1000000", "batch": "90"}, Credit: 100 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	var last connectapi.Mark
	for n < 90 {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range b.Positions {
			if want := connectapi.NewOffset("n", n+m.Rows); m.Offset != want || m.Rows < 1 || m.Rows > b.Count {
				t.Fatalf("position %d of batch %d behind %d rows: %+v", i, b.ID, n, m)
			}
			last = m
		}
		n += b.Count
		b.Release()
	}
	if last.Offset != connectapi.NewOffset("n", 90) {
		t.Fatalf("last position %v", last)
	}
}
