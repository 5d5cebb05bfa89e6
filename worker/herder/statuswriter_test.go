package herder

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/topics"
)

// statuses opens a status topic on a cluster of its own.
func statuses(ctx context.Context, t *testing.T) (*kfake.Cluster, *topics.Statuses) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	clients, err := kafka.New(kafka.Config{Bootstrap: cluster.ListenAddrs()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	store, err := topics.OpenStatuses(ctx, clients, kafka.TopicSpec{Name: "statuses", Partitions: 1, Replication: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return cluster, store
}

// TestStatesDoNotHoldAStopBack: while the broker is away a node that stops gives up the states that it cannot write, and says so
// once.
func TestStatesDoNotHoldAStopBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, store := statuses(ctx, t)
	var said bytes.Buffer // read when the writer has ended
	w := newStatusWriter(store, "here", func() error { return nil }, slog.New(slog.NewTextHandler(&said, nil)))
	w.joined(1)
	done := make(chan struct{})
	go func() { defer close(done); w.run() }()
	put := func(tasks int) {
		for i := range tasks {
			w.put(runtime.Status{Connector: "c", Task: i, State: runtime.Running})
		}
	}
	put(3)
	idle := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.writing == "" && len(w.queue) == 0
	}
	for ; !idle() || len(store.Tasks("c")) < 3; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("%d of 3 states were written", len(store.Tasks("c")))
		}
	}
	cluster.Close()
	const tasks = 20 // each would wait for its own end
	put(tasks)
	began := time.Now()
	w.close()
	<-done
	if took := time.Since(began); took > tasks*lastWordTime/2 {
		t.Errorf("the writer ended %v after its close", took)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "states=20") || !strings.Contains(lines[0], "topic statuses") {
		t.Errorf("it said:\n%s", said.String())
	}
}

// TestAStateIsWrittenWhenTheBrokerIsBack: one that could not be written in its time is not forgotten, unless a newer one came.
func TestAStateIsWrittenWhenTheBrokerIsBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, store := statuses(ctx, t)
	var away atomic.Bool
	away.Store(true)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nil, errors.New("away"), away.Load()
	})
	failed := make(chan struct{}, 100)
	w := newStatusWriter(store, "here", func() error { return nil }, slog.New(slog.NewTextHandler(writes(func(b []byte) {
		if bytes.Contains(b, []byte("trying again")) {
			failed <- struct{}{}
		}
	}), nil)))
	w.writeTime = 100 * time.Millisecond
	w.joined(1)
	done := make(chan struct{})
	go func() { defer close(done); w.run() }()
	w.put(runtime.Status{Connector: "c", Task: 0, State: runtime.Running})
	w.put(runtime.Status{Connector: "c", Task: 1, State: runtime.Failed, Trace: "kept"})
	for range 2 {
		select {
		case <-failed:
		case <-ctx.Done():
			t.Fatal("no write failed")
		}
	}
	w.put(runtime.Status{Connector: "c", Task: 0, State: runtime.Failed, Trace: "newer"})
	away.Store(false)
	for ; ; time.Sleep(time.Millisecond) {
		got := store.Tasks("c")
		if len(got) == 2 && got[0].State == "FAILED" && *got[0].Trace == "newer" && got[1].State == "FAILED" && *got[1].Trace == "kept" {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("states are %+v", got)
		}
	}
	w.close()
	<-done
}

type writes func([]byte)

func (f writes) Write(b []byte) (int, error) { f(b); return len(b), nil }
