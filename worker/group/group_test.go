package group

import (
	"bytes"
	"context"
	"encoding/hex"
	"flag"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/assign"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestWireGolden(t *testing.T) {
	m := metadata{URL: "http://127.0.0.1:8083/", ConfigOffset: 42, Current: []assign.Unit{{Connector: "a", Task: -1}, {Connector: "a", Task: 0}, {Connector: "b", Task: 3}}}
	a := assignment{Leader: "w-1", LeaderURL: m.URL, ConfigOffset: 42, Assigned: m.Current, Revoked: []assign.Unit{{Connector: "c", Task: 1}}}
	got := hex.EncodeToString(m.encode(versionSessioned)) + "\n" + hex.EncodeToString(metadata{URL: "u"}.encode(versionCompatible)) + "\n" +
		hex.EncodeToString(a.encode(versionSessioned)) + "\n"
	a.Stable = 41
	got += hex.EncodeToString(a.encode(versionSessioned)) + "\n"
	if *update {
		if err := os.WriteFile("testdata/wire.hex", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/wire.hex")
	if err != nil || !bytes.Equal(want, []byte(got)) {
		t.Fatalf("the wire changed: %v\n%s", err, got)
	}
	if back, err := decodeMetadata(m.encode(versionSessioned)); err != nil || cmp.Diff(m, back) != "" {
		t.Fatalf("metadata: %v %s", err, cmp.Diff(m, back))
	}
	if back, err := decodeAssignment(a.encode(versionSessioned)); err != nil || cmp.Diff(a, back) != "" {
		t.Fatalf("assignment: %v %s", err, cmp.Diff(a, back))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(metadata{URL: "u", Current: []assign.Unit{{Connector: "a"}}}.encode(versionSessioned))
	f.Add(assignment{Assigned: []assign.Unit{{Connector: "a"}}}.encode(versionSessioned))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = decodeMetadata(b)
		_, _ = decodeAssignment(b)
	})
}

type view struct {
	mu   sync.Mutex
	off  int64
	cfg  map[string]assign.Work
	last map[assign.Unit]Owner
}

func (v *view) Offset() int64                      { v.mu.Lock(); defer v.mu.Unlock(); return v.off }
func (v *view) ReadToEnd(context.Context) error    { return nil }
func (v *view) Configured() map[string]assign.Work { v.mu.Lock(); defer v.mu.Unlock(); return v.cfg }

func (v *view) LastOwners(context.Context, []assign.Unit) (map[assign.Unit]Owner, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.last), nil
}
func (v *view) set(cfg map[string]assign.Work) { v.mu.Lock(); v.off++; v.cfg = cfg; v.mu.Unlock() }

// worker runs a member and records what it holds.
type worker struct {
	m      *Member
	mu     sync.Mutex
	held   map[assign.Unit]bool
	change chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

func start(t *testing.T, cl *kafka.Clients, v *view, url string) *worker {
	t.Helper()
	w := &worker{held: map[assign.Unit]bool{}, change: make(chan struct{}, 100), done: make(chan struct{})}
	m, err := New(Config{
		Group: "workers", URL: url, SessionTimeout: 6 * time.Second, Heartbeat: 50 * time.Millisecond, RebalanceTimeout: 5 * time.Second, View: v,
		BeforeJoin: func(context.Context) int64 { return v.Offset() },
		OnAssigned: func(_ context.Context, a Assigned) {
			w.mu.Lock()
			for _, u := range a.Revoke {
				delete(w.held, u)
			}
			for _, u := range a.Add {
				w.held[u] = true
			}
			w.mu.Unlock()
			w.change <- struct{}{}
		},
		OnLost: func(context.Context, error) { w.mu.Lock(); clear(w.held); w.mu.Unlock(); w.change <- struct{}{} },
	}, cl, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.m, w.cancel = m, cancel
	go func() { defer close(w.done); m.Run(ctx) }()
	t.Cleanup(w.stop)
	return w
}

func (w *worker) stop() { w.cancel(); <-w.done }

func (w *worker) count() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.held) }

func eventually(t *testing.T, what string, ok func() bool, ws ...*worker) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-ws[0].change:
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func TestOneJoinsAnotherTakesHalfAndGivesBack(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kafka.New(kafka.Config{Bootstrap: c.ListenAddrs()}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	v := &view{cfg: map[string]assign.Work{"x": {Tasks: 3}}}
	a := start(t, cl, v, "http://a/")
	eventually(t, "the first worker holds all four units", func() bool { return a.count() == 4 }, a)
	v.set(map[string]assign.Work{"x": {Tasks: 3}, "y": {}})
	a.m.Rejoin()
	eventually(t, "a new connector arrives without losing the old", func() bool { return a.count() == 5 }, a)
	b := start(t, cl, v, "http://b/")
	eventually(t, "the work is shared", func() bool { return a.count()+b.count() == 5 && b.count() >= 2 }, a, b)
	b.stop()
	eventually(t, "a worker that left gives its work back", func() bool { return a.count() == 5 }, a)
}
