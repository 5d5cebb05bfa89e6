package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/plugintest"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/plugins"
)

func TestMain(m *testing.M) { plugintest.Main(m, nil) }

// memory is an offset store.
type memory struct {
	mu  sync.Mutex
	all map[connectapi.Partition]connectapi.Offset
}

func (m *memory) Committed(context.Context, string) ([]connectapi.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []connectapi.Position
	for p, o := range m.all {
		out = append(out, connectapi.Position{Partition: p, Offset: o})
	}
	return out, nil
}

// Records takes note of positions when they are about to be written.
func (m *memory) Records(_ string, ps []connectapi.Position) ([]*kgo.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*kgo.Record
	for _, p := range ps {
		m.all[p.Partition] = p.Offset
		out = append(out, &kgo.Record{Topic: "positions", Key: []byte(p.Partition), Value: []byte(p.Offset)})
	}
	return out, nil
}

// stage is a runtime over a fake cluster with the file plugin, and a log of states.
type stage struct {
	t       *testing.T
	rt      *Runtime
	cluster *kfake.Cluster
	seeds   []string
	offsets *memory
	mu      sync.Mutex
	states  []Status
	tasks   []map[string]string
	splits  int
}

func newStage(t *testing.T) *stage { return newStageWith(t, false) }

func newStageWith(t *testing.T, exactlyOnce bool) *stage {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "lines", "positions"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	log := slog.New(slog.DiscardHandler)
	clients, err := kafka.New(kafka.Config{Bootstrap: c.ListenAddrs()}, log)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Link(plugintest.Build(t, "connectors/file/plugin"), filepath.Join(dir, "file")); err != nil {
		b, rerr := os.ReadFile(plugintest.Build(t, "connectors/file/plugin")) // another file system
		if rerr != nil || os.WriteFile(filepath.Join(dir, "file"), b, 0o700) != nil {
			t.Fatal(err)
		}
	}
	reg, err := plugins.New([]string{dir}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	s := &stage{t: t, cluster: c, seeds: c.ListenAddrs(), offsets: &memory{all: map[connectapi.Partition]connectapi.Offset{}}}
	s.rt = New(Config{
		Group: "g", Interval: 50 * time.Millisecond, Session: 6 * time.Second, Drain: 5 * time.Second, TopicsEnable: true, ExactlyOnce: exactlyOnce,
		Defaults: map[string]string{
			"key.converter": "org.apache.kafka.connect.storage.StringConverter", "value.converter": "org.apache.kafka.connect.storage.StringConverter",
		},
	}, reg, clients, s.offsets, log, prometheus.NewRegistry())
	return s
}

func (s *stage) callbacks() Callbacks {
	return Callbacks{
		Status: func(st Status) { s.mu.Lock(); s.states = append(s.states, st); s.mu.Unlock() },
		TaskConfigs: func(_ string, _ map[string]string, ts []map[string]string) {
			s.mu.Lock()
			s.tasks, s.splits = ts, s.splits+1
			s.mu.Unlock()
		},
	}
}

func (s *stage) last(task int) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.states) - 1; i >= 0; i-- {
		if s.states[i].Task == task {
			return s.states[i]
		}
	}
	return Status{}
}

func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("never: %s; states were %+v", what, s.states)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *stage) untilState(task int, want State) {
	s.t.Helper()
	s.until(fmt.Sprintf("unit %d is %s", task, want), func() bool { return s.last(task).State == want })
}

// lines reads what the topic holds.
func (s *stage) lines(n int) []string {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.seeds...), kgo.ConsumeTopics("lines"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out []string
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			s.t.Fatalf("%d of %d lines came", len(out), n)
		}
		fs.EachRecord(func(r *kgo.Record) { out = append(out, string(r.Value)) })
	}
	return out
}

func fileSource(file string) map[string]string {
	return map[string]string{"name": "src", "connector.class": "FileStreamSource", "file": file, "topic": "lines"}
}

func appendLines(t *testing.T, file string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

// desired runs the connector and the tasks it made.
func (s *stage) desired(cfg map[string]string, target Target) Desired {
	d := Desired{Config: cfg, Target: target, RunConnector: true, Tasks: map[int]TaskSpec{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.tasks {
		d.Tasks[i] = TaskSpec{Connector: cfg, Task: t}
	}
	return d
}

func (s *stage) run(r *Runner, cfg map[string]string) {
	s.t.Helper()
	r.Set(s.desired(cfg, Started))
	s.until("tasks are made", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tasks != nil })
	r.Set(s.desired(cfg, Started))
	s.untilState(0, Running)
}

func TestALifeOfAConnector(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one", "two")
	cfg := fileSource(file)
	r := s.rt.Runner("src", s.callbacks())
	defer r.Close()
	s.run(r, cfg)
	if got := s.lines(2); got[0] != "one" || got[1] != "two" {
		t.Fatalf("got %q", got)
	}

	r.Set(s.desired(cfg, OnPause))
	s.untilState(0, Paused)
	s.untilState(ConnectorUnit, Paused)
	r.Set(s.desired(cfg, Started))
	s.untilState(0, Running)
	appendLines(t, file, "three")
	s.lines(3)

	pid := r.PID()
	r.Set(Desired{Config: cfg, Target: OnStop, RunConnector: true})
	s.untilState(ConnectorUnit, Stopped)
	s.until("the process is gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	committed, _ := s.offsets.Committed(context.Background(), "src")
	if len(committed) != 1 || committed[0].Offset != connectapi.NewOffset("position", len("one\ntwo\nthree\n")) {
		t.Fatalf("the position after a clean stop is %v", committed)
	}

	appendLines(t, file, "four")
	r.Set(s.desired(cfg, Started))
	s.untilState(0, Running)
	if got := s.lines(4); got[3] != "four" {
		t.Fatalf("after stop and resume: %q", got)
	}
}

// A connector whose tasks run elsewhere, or still drain, splits again when it may go on: the process it has lives on.
func TestAConnectorGoesOnInItsProcess(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one")
	cfg := fileSource(file)
	r := s.rt.Runner("src", s.callbacks())
	defer r.Close()
	alone := Desired{Config: cfg, Target: Started, RunConnector: true}
	r.Set(alone)
	s.untilState(ConnectorUnit, Running)
	splits := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.splits }

	paused := alone
	paused.Target = OnPause
	r.Set(paused)
	s.untilState(ConnectorUnit, Paused)
	r.Set(alone)
	s.untilState(ConnectorUnit, Running)

	s.run(r, cfg)
	for range 20 { // now and then the resume comes while the task drains
		before := splits()
		r.Set(Desired{Config: cfg, Target: OnStop, RunConnector: true})
		s.untilState(ConnectorUnit, Stopped)
		r.Set(alone)
		s.untilState(ConnectorUnit, Running)
		s.until("it has split again", func() bool { return splits() > before })
		r.Set(s.desired(cfg, Started))
		s.untilState(0, Running)
	}
}

func TestADeadProcessIsToldAndStartedAgain(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one")
	cfg := fileSource(file)
	r := s.rt.Runner("src", s.callbacks())
	defer r.Close()
	s.run(r, cfg)
	s.lines(1)
	pid := r.PID()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.untilState(0, Failed)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v to tell", took)
	}
	if trace := s.last(0).Trace; !strings.Contains(trace, "signal: killed") || !strings.Contains(trace, "started again in 1s") {
		t.Errorf("the reason is %q", trace)
	}
	s.untilState(0, Running)
	s.untilState(ConnectorUnit, Running)
	if again := r.PID(); again == pid || again == 0 {
		t.Errorf("the new process has pid %d", again)
	}
	appendLines(t, file, "two")
	s.lines(2)
}

func TestAFailedTaskStaysUntilItIsRestarted(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one")
	cfg := fileSource(file)
	cfg["transforms"], cfg["transforms.x.type"], cfg["transforms.x.field"] = "x", "ExtractField$Value", "nope"
	r := s.rt.Runner("src", s.callbacks())
	defer r.Close()
	r.Set(s.desired(cfg, Started))
	s.until("tasks are made", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tasks != nil })
	r.Set(s.desired(cfg, Started))
	s.untilState(0, Failed)
	if trace := s.last(0).Trace; !strings.Contains(trace, "transform x") || !strings.Contains(trace, "nope") {
		t.Fatalf("the reason is %q", trace)
	}
	if s.last(ConnectorUnit).State != Running {
		t.Fatalf("the connector is %+v", s.last(ConnectorUnit))
	}
	s.mu.Lock()
	before := len(s.states)
	s.mu.Unlock()
	if err := r.RestartTask(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	s.until("it runs and fails again", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := 0
		for _, st := range s.states[before:] {
			if st.Task == 0 && (st.State == Running || st.State == Failed) {
				n++
			}
		}
		return n >= 2 && s.states[len(s.states)-1].State == Failed
	})
	cfg = fileSource(file)
	r.Set(s.desired(cfg, Started)) // a new configuration mends it
	s.untilState(0, Running)
	s.lines(1)
}

// TestExactlyOnce: records and positions are in the same transactions, at every boundary, through deaths of the plugin; a
// pause and a stop leave nothing open.
func TestExactlyOnce(t *testing.T) {
	for _, boundary := range []string{"poll", "interval"} {
		t.Run(boundary, func(t *testing.T) {
			s := newStageWith(t, true)
			file := filepath.Join(t.TempDir(), "in.txt")
			cfg := fileSource(file)
			cfg["transaction.boundary"], cfg["transaction.boundary.interval.ms"] = boundary, "30"
			r := s.rt.Runner("src", s.callbacks())
			defer r.Close()
			var want []string
			more := func() {
				n := len(want)
				for i := range 200 {
					want = append(want, fmt.Sprint(n+i))
				}
				appendLines(t, file, want[n:]...)
			}
			more()
			s.run(r, cfg)
			for range 3 {
				more()
				if pid := r.PID(); pid > 0 {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				more()
				s.until("it runs again", func() bool { return r.PID() > 0 && s.last(0).State == Running })
			}
			if got := s.committed(len(want)); !slices.Equal(got, want) {
				t.Fatalf("%d lines, want %d, first difference at %d", len(got), len(want), firstDifference(got, want))
			}
			r.Set(s.desired(cfg, OnPause))
			s.untilState(0, Paused)
			r.Set(Desired{Config: cfg, Target: OnStop, RunConnector: true})
			s.untilState(ConnectorUnit, Stopped)
			r.Set(s.desired(cfg, Started))
			s.untilState(0, Running)
			more()
			if got := s.committed(len(want)); !slices.Equal(got, want) {
				t.Fatalf("after a stop: %d lines, want %d, first difference at %d", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// committed reads what a reader of committed data sees, and a moment longer: what comes twice comes late.
func (s *stage) committed(n int) []string {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.seeds...), kgo.ConsumeTopics("lines"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out []string
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			s.t.Fatalf("%d of %d lines came", len(out), n)
		}
		fs.EachRecord(func(r *kgo.Record) { out = append(out, string(r.Value)) })
	}
	ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { out = append(out, string(r.Value)) })
	return out
}

// A plugin closes when all it sent is acknowledged: a stop ends a transaction whose interval is not over.
func TestAStopEndsTheTransaction(t *testing.T) {
	s := newStageWith(t, true)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one", "two", "three")
	cfg := fileSource(file)
	cfg["transaction.boundary"], cfg["transaction.boundary.interval.ms"] = "interval", "600000"
	r := s.rt.Runner("src", s.callbacks())
	defer r.Close()
	s.run(r, cfg)
	s.lines(3) // written, and not committed
	r.Set(Desired{Config: cfg, Target: OnStop, RunConnector: true})
	if got := s.committed(3); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Fatalf("after the stop %q is committed", got)
	}
}

// TestAFailedTaskIsStartedAgainByItself: what is missing outside fails a task, which says when it is tried next, until it is
// there; after as many times as allowed it stays failed.
func TestAFailedTaskIsStartedAgainByItself(t *testing.T) {
	s := newStage(t)
	dir := filepath.Join(t.TempDir(), "later")
	cfg := map[string]string{
		"name": "out", "connector.class": "FileStreamSink", "file": filepath.Join(dir, "out.txt"), "topics": "lines",
		"errors.restart.delay.ms": "20", "errors.restart.delay.max.ms": "40", "errors.restart.max.attempts": "3",
	}
	s.tasks = []map[string]string{{"file": cfg["file"]}}
	failed := func(attempts int, next bool) func() bool {
		return func() bool {
			st := s.last(0)
			return st.State == Failed && st.Attempts == attempts && (st.NextTry != 0) == next
		}
	}
	r := s.rt.Runner("out", s.callbacks())
	defer r.Close()
	r.Set(s.desired(cfg, Started))
	s.until("a first automatic restart is announced", func() bool { return s.last(0).Attempts >= 1 })
	s.until("it gives up", failed(3, false))
	if trace := s.last(0).Trace; !strings.Contains(trace, dir) || !strings.Contains(trace, restartAttempts) {
		t.Errorf("the reason is %q", trace)
	}
	if err := r.RestartTask(context.Background(), 0); err != nil { // counts anew
		t.Fatal(err)
	}
	s.until("it fails again", func() bool { st := s.last(0); return st.State == Failed && st.Attempts < 3 })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.untilState(0, Running)
	if st := s.last(0); st.Attempts != 0 || st.NextTry != 0 {
		t.Errorf("a running task still says %+v", st)
	}
}

// TestWhatIsTriedAgain: each failure that ends the same way stays.
func TestWhatIsTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"the system": {errors.New("no space left"), true}, "not connected": {connectapi.NotConnectedError(errors.New("refused")), true},
		"a plugin's configuration": {connectapi.ConfigError("database.user", errors.New("lacks a grant")), true},
		"a record":                 {fmt.Errorf("writing: %w", connectapi.DataError(errors.New("too long"))), false},
		"the runtime's own":        {fmt.Errorf("starting: %w", &settledError{errors.New("unknown transform")}), false},
	} {
		if got := mayHelp(tc.err); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "in.txt")
	appendLines(t, file, "one")
	r := s.rt.Runner("src", s.callbacks())
	s.run(r, fileSource(file))
	pid := r.PID()
	r.Close()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Fatalf("process %d: %v", pid, err)
	}
	if s.last(0).State != Unassigned || s.last(ConnectorUnit).State != Unassigned {
		t.Fatalf("states after Close: %+v %+v", s.last(0), s.last(ConnectorUnit))
	}
}

func TestValidateNamesEveryProblemUnderItsKey(t *testing.T) {
	s := newStage(t)
	v, err := s.rt.Validate(context.Background(), map[string]string{
		"name": "x", "connector.class": "FileStreamSink", "tasks.max": "0", "topics": "a,dlq", "topics.regex": "b", "errors.deadletterqueue.topic.name": "dlq",
		"value.converter": "no.Such", "transforms": "t", "transforms.t.type": "RegexRouter", "errors.tolerance": "some",
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"tasks.max": "Invalid value 0", "topics": "mutually exclusive", "topics.regex": "DLQ", "file": "Missing required configuration",
		"value.converter": "no.Such", "errors.tolerance": "some",
	} {
		found := ""
		for _, it := range v.Items {
			if it.Value.Name == key {
				found = strings.Join(it.Value.Errors, "; ")
			}
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", key, found, want)
		}
	}
	if _, err := s.rt.Validate(context.Background(), map[string]string{"connector.class": "mysqll"}); err == nil || !strings.Contains(err.Error(), "file-sink") {
		t.Errorf("an unknown class: %v", err)
	}
}

func TestTopicCreationGroups(t *testing.T) {
	cfg := map[string]string{
		"topic.creation.groups": "big", "topic.creation.big.include": "big-.*", "topic.creation.big.exclude": "big-no", "topic.creation.big.partitions": "7",
		"topic.creation.big.retention.ms": "5", "topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "1",
	}
	ts, err := newTopics(cfg, true, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]int32{"big-one": 7, "big-no": 2, "other": 2} {
		for _, g := range ts.groups {
			if g.takes(topic) {
				if g.spec.Partitions != want || g.spec.Replication != 1 {
					t.Errorf("%s gets %+v", topic, g.spec)
				}
				break
			}
		}
	}
	delete(cfg, "topic.creation.default.partitions")
	if _, err := newTopics(cfg, true, nil, nil); err == nil || !strings.Contains(err.Error(), "topic.creation.default.partitions") {
		t.Errorf("a missing default: %v", err)
	}
}

func TestABinaryThatIsNoPluginHidesNothing(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	reg, err := plugins.New([]string{dir}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	if err := os.WriteFile(filepath.Join(dir, "rude"), []byte("#!/bin/sh\necho hello\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	reg.Scan(context.Background())
	_, err = reg.Find(context.Background(), "mysql")
	if err == nil || !strings.Contains(err.Error(), "rude") || !strings.Contains(err.Error(), "hello") {
		t.Fatalf("got %v", err)
	}
}
