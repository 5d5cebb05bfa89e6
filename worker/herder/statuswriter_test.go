package herder

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/topics"
)

// TestStatesDoNotHoldAStopBack: while the broker is away a node that stops gives up the states that it cannot write, and says so
// once.
func TestStatesDoNotHoldAStopBack(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	clients, err := kafka.New(kafka.Config{Bootstrap: cluster.ListenAddrs()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store, err := topics.OpenStatuses(ctx, clients, kafka.TopicSpec{Name: "statuses", Partitions: 1, Replication: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
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
