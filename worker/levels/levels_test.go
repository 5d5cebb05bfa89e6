package levels

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALevelHoldsForDescendants(t *testing.T) {
	l := New(slog.LevelInfo, "worker", "worker.group", "connector")
	set := func(name string, level slog.Level, touched ...string) {
		t.Helper()
		got, err := l.Set(name, level)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(touched, got); d != "" {
			t.Error(d)
		}
	}
	is := func(name string, want slog.Level) {
		t.Helper()
		if got := l.Get(name).Level; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	set("connector.orders", slog.LevelDebug, "connector.orders")
	is("connector.orders", slog.LevelDebug)
	is("connector.orders.eu", slog.LevelDebug)
	is("connector.orders-eu", slog.LevelInfo) // a name that begins alike is another connector's
	is("connector", slog.LevelInfo)
	set("worker", slog.LevelWarn, "worker", "worker.group")
	is("worker.topics", slog.LevelWarn)
	set("connector", Trace, "connector", "connector.orders")
	is("connector.orders", Trace)
	set("ROOT", slog.LevelError, "connector", "connector.orders", "root", "worker", "worker.group")
	is("worker.group", slog.LevelError)
	is("anything", slog.LevelError)
	if l.Get("root").Changed.IsZero() || !l.Get("anything").Changed.IsZero() {
		t.Error("the times of changes are wrong")
	}
	for name, known := range map[string]bool{"worker.herder": true, "Root": true, "connector.x.y": true, "org.apache.kafka": false, "workers": false} {
		if l.Known(name) != known {
			t.Errorf("%s is known: %v", name, !known)
		}
	}
}

func TestNamesAreBounded(t *testing.T) {
	l := New(slog.LevelInfo)
	for _, name := range []string{"", strings.Repeat("x", maxLength+1)} {
		if _, err := l.Set(name, Off); err == nil {
			t.Errorf("%d bytes were taken", len(name))
		}
	}
	for i := range maxNames - 1 {
		if _, err := l.Set(fmt.Sprint("x", i), Off); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Set("one more", Off); err == nil {
		t.Error("there is no limit")
	}
	if _, err := l.Set("x1", Trace); err != nil {
		t.Error("a known one can't be changed any more:", err)
	}
}

func TestNamesOfLevels(t *testing.T) {
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"} {
		if l, ok := Parse(strings.ToLower(name)); !ok || Name(l) != name {
			t.Errorf("%s: %v %v", name, l, ok)
		}
	}
	if _, ok := Parse("loud"); ok {
		t.Error("loud is a level")
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := New(slog.LevelInfo, "worker")
	log := slog.New(l.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: Trace, ReplaceAttr: func(g []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(g) == 0 {
			return slog.Attr{}
		}
		return a
	}})))
	worker := log.With("logger", "worker", "a", 1)
	group := worker.With("logger", "worker.group", "b", 2)
	connector := log.With("logger", "connector.x")
	log.Info("one")
	worker.Debug("unwanted")
	if _, err := l.Set("worker.group", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	worker.Debug("unwanted")
	group.Debug("two", "c", 3)
	group.WithGroup("g").With("logger", "no name").Debug("three")
	connector.Info("four")
	if _, err := l.Set("connector.x", Off); err != nil {
		t.Fatal(err)
	}
	connector.Error("unwanted")
	want := `level=INFO msg=one
level=DEBUG msg=two logger=worker.group a=1 b=2 c=3
level=DEBUG msg=three logger=worker.group a=1 b=2 g.logger="no name"
level=INFO msg=four logger=connector.x
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// TestAskingAllocatesNothing holds I1, while others change levels.
func TestAskingAllocatesNothing(t *testing.T) {
	l := New(slog.LevelInfo, "worker")
	h := slog.New(l.Handler(slog.DiscardHandler)).With("logger", "connector.a.b.c").Handler()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 100 {
				_, _ = l.Set(fmt.Sprint("connector.", i, ".", j%7), slog.LevelDebug)
				h.Enabled(context.Background(), slog.LevelDebug)
				l.Own()
			}
		})
	}
	wg.Wait()
	if n := testing.AllocsPerRun(100, func() { h.Enabled(context.Background(), slog.LevelDebug) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
