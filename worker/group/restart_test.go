package group

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/assign"
)

// TestMembersOutliveTheirBroker: workers that lost their places because the broker was away for longer than a session come back
// under the ids it still knows, and wait for nobody; what they held was given up meanwhile.
func TestMembersOutliveTheirBroker(t *testing.T) {
	broker := testenv.NewBroker(t)
	broker.Start(t)
	clients, err := kafka.New(kafka.Config{Bootstrap: []string{broker.Addr}}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	const workers = 3
	v := &view{cfg: map[string]assign.Work{"x": {Tasks: 5}}}
	var mu sync.Mutex
	ids, held, lost := map[string]string{}, map[string]int{}, 0
	for _, url := range []string{"http://a/", "http://b/", "http://c/"} {
		m, err := New(Config{
			Group: "workers", URL: url, SessionTimeout: 6 * time.Second, Heartbeat: 50 * time.Millisecond, RebalanceTimeout: 30 * time.Second, View: v,
			BeforeJoin: func(context.Context) int64 { return v.Offset() },
			OnAssigned: func(_ context.Context, a Assigned) {
				mu.Lock()
				defer mu.Unlock()
				ids[url] = a.MemberID
				held[url] += len(a.Add) - len(a.Revoke)
			},
			OnLost: func(context.Context, error) {
				mu.Lock()
				defer mu.Unlock()
				held[url] = 0
				lost++
			},
		}, clients, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }() // no refusal: seen by what it holds
		t.Cleanup(func() { stop(); <-done })
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			mu.Lock()
			yes := ok()
			mu.Unlock()
			if yes {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("never: %s; held %v", what, held)
			}
		}
	}
	shared := func() bool {
		units, least := 0, 6
		for _, n := range held {
			units, least = units+n, min(least, n)
		}
		return len(held) == workers && units == 6 && least > 0
	}
	await("the work is shared", shared)
	mu.Lock()
	before := maps.Clone(ids)
	mu.Unlock()
	broker.Kill()
	await("all lose their places", func() bool { return lost == workers })
	broker.Start(t)
	back := time.Now()
	await("the work is shared again", shared)
	mu.Lock()
	defer mu.Unlock()
	if !maps.Equal(before, ids) {
		t.Errorf("the members are %v, they were %v", ids, before)
	}
	t.Logf("shared again %v after the broker listened", time.Since(back).Round(time.Millisecond))
}
