package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"
)

// TestBrokerAway kills the broker under three workers whose source writes in transactions: calls are answered in bounded time and
// say what may have been done, nobody spins, a worker stops, and when the broker is back all goes on and no line is lost or twice.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	b := testenv.NewBroker(t)
	b.Start(t)
	ws := workersOn(t, b.Addr, 3, "exactly.once.source.support=enabled")
	in := filepath.Join(ws[0].Dir, "in.txt")
	write(t, in, "")
	ws[0].Create(t, "lines", fileSource(in, "lines"))
	stopLines, linesDone := make(chan struct{}), make(chan int)
	go func() { // the source has something to write when the broker dies, and while it is away
		n := 0
		defer func() { linesDone <- n }()
		for {
			add(t, in, fmt.Sprintf("line %d\n", n))
			n++
			select {
			case <-stopLines:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	testenv.Eventually(t, 60*time.Second, "lines arrive", func() bool {
		return strings.Contains(call(t, ws[0], "GET", "/connectors/lines/topics", "").body, `"topics":["lines"]`)
	})
	for _, w := range ws {
		want(t, w, 200, "PUT", "/admin/loggers/root", `{"level":"info"}`)
	}
	said := func(w *testenv.Penstock) int { return strings.Count(w.Log(), "\n") }
	before := []int{said(ws[0]), said(ws[1])}

	b.Kill()
	killed := time.Now()
	var calls sync.WaitGroup
	for i, w := range ws[:2] {
		for name, do := range map[string]func(context.Context) error{
			"pause":  func(ctx context.Context) error { return w.Client().Do(ctx, http.MethodPut, "lines", "/pause") },
			"resume": func(ctx context.Context) error { return w.Client().Do(ctx, http.MethodPut, "lines", "/resume") },
			"config": func(ctx context.Context) error {
				_, err := w.Client().PutConfig(ctx, fmt.Sprintf("late-%d", i), api.Config(fileSource(in, "late")))
				return err
			},
		} {
			calls.Go(func() {
				began := time.Now()
				err := do(t.Context())
				var refused *api.Error
				if !errors.As(err, &refused) || refused.ErrorCode != http.StatusInternalServerError ||
					!strings.Contains(refused.Message, "may still take effect") && !strings.Contains(strings.ToLower(refused.Message), "nothing was changed") {
					t.Errorf("%s through worker %d while the broker is away: %v", name, i, err)
				}
				if took := time.Since(began); took > 60*time.Second {
					t.Errorf("%s through worker %d was answered after %v", name, i, took)
				}
			})
		}
	}
	stopping := time.Now()
	if err := ws[2].Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(stopping); took > 25*time.Second { // the node gives up after 30
		t.Errorf("a worker stopped after %v", took)
	}
	calls.Wait()
	for i, n := range before {
		if lines := said(ws[i]) - n; lines > 20*int(time.Since(killed).Seconds()) {
			t.Errorf("worker %d wrote %d lines of log in %v without a broker", i, lines, time.Since(killed))
		}
	}

	b.Start(t)
	testenv.Eventually(t, 60*time.Second, "a call through a worker takes effect again", func() bool {
		return call(t, ws[0], "PUT", "/connectors/lines/resume", "").code == 202
	})
	running(t, ws[1], "lines", 1)
	close(stopLines)
	lines := <-linesDone
	testenv.Eventually(t, 60*time.Second, "all lines have arrived", func() bool { return len(committedLines(t, b.Addr)) >= lines })
	got := committedLines(t, b.Addr)
	for i := range lines {
		if !slices.Contains(got, fmt.Sprintf("line %d", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
	if len(got) != lines {
		t.Errorf("%d lines of %d: some are twice", len(got), lines)
	}
}

func committedLines(t *testing.T, broker string) (lines []string) {
	readCommitted(t, broker, []string{"lines"}, func(r *kgo.Record) { lines = append(lines, string(r.Value)) })
	return lines
}
