package table

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/runtime/kafka"
)

// content collects what a table holds.
type content struct {
	mu   sync.Mutex
	rows map[string]string
}

func (c *content) apply(r *kgo.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[string(r.Key)] = string(r.Value)
}

func (c *content) get() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.rows)
}

// TestWritesEndWithTheirContext, though the broker hangs or was killed: those behind them, too. When it is back writing goes on,
// what was cut off comes not behind what is written then, and the table is what its topic is.
func TestWritesEndWithTheirContext(t *testing.T) {
	broker := testenv.NewBroker(t)
	broker.Start(t)
	clients, err := kafka.New(kafka.Config{Bootstrap: []string{broker.Addr}}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	long, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	live := &content{rows: map[string]string{}}
	tb := open(t, clients, 1, live.apply)
	defer tb.Close()
	w, err := tb.Take(long, clients, "writer")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { w.Close() }()
	row := func(key, value string) Record { return Record{Key: []byte(key), Value: []byte(value)} }
	for _, tc := range []struct {
		name       string
		down, back func()
	}{
		{"hung", func() { broker.Hang(t) }, func() { broker.Continue(t) }},
		{"killed", broker.Kill, func() { broker.Start(t) }},
	} {
		if err := errors.Join(tb.WriteApplied(long, row("plain", "before")), w.WriteApplied(long, row("led", "before"))); err != nil {
			t.Fatalf("%s: before: %v", tc.name, err)
		}
		tc.down()
		began := time.Now()
		var wg sync.WaitGroup
		for range 2 { // one that is sent, one behind it
			for _, write := range []func(context.Context) error{
				func(ctx context.Context) error { return tb.Write(ctx, row("plain", "cut off")) },
				func(ctx context.Context) error { return w.Write(ctx, row("led", "cut off")) },
			} {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if err := write(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "topic tab") {
						t.Errorf("%s: a write that is not answered: %v", tc.name, err)
					}
				})
			}
		}
		wg.Wait()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: writes with a second for it ended after %v", tc.name, took)
		}
		tc.back()
		w.Close()
		if w, err = tb.Take(long, clients, "writer"); err != nil {
			t.Fatalf("%s: taking the id again: %v", tc.name, err)
		}
		if err := errors.Join(tb.WriteApplied(long, row("plain", "after")), w.WriteApplied(long, row("led", "after"))); err != nil {
			t.Fatalf("%s: after: %v", tc.name, err)
		}
		again := &content{rows: map[string]string{}}
		open(t, clients, 1, again.apply).Close()
		for _, rows := range []map[string]string{live.get(), again.get()} {
			if rows["plain"] != "after" || rows["led"] != "after" {
				t.Errorf("%s: the table holds %v", tc.name, rows)
			}
		}
	}
}
