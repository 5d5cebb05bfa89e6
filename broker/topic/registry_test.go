package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a registry over a store in dir, until the returned function is called.
func open(t *testing.T, dir string) (*Registry, *store.Store, func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := store.Open(dir, store.Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20}, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := New(st, NewDefaults(nil), log, nil)
	if err := st.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Started()
	var once sync.Once
	end := func() {
		once.Do(func() {
			if err := st.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return r, st, end
}

func create(t *testing.T, r *Registry, name string, n int32) *Topic {
	t.Helper()
	c := r.Create(t.Context(), []Spec{{Name: name, Partitions: n}}, false)[0]
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return c.Topic
}

func TestQueueIDsAreNeverReused(t *testing.T) {
	dir := t.TempDir()
	seen := map[queue.ID]string{}
	note := func(tp *Topic) {
		for _, q := range tp.queues() {
			if old, ok := seen[q]; ok {
				t.Errorf("queue %d of %s was %s's", q, tp.Name, old)
			}
			seen[q] = tp.Name
		}
	}
	for round := range 3 {
		r, st, end := open(t, dir)
		a := create(t, r, fmt.Sprintf("a%d", round), 3)
		note(a)
		b := create(t, r, "b", 2)
		note(b)
		if err := r.Grow(t.Context(), a.Name, 5, false); err != nil {
			t.Fatal(err)
		}
		grown := r.Get(a.Name)
		note(&Topic{Record: Record{Name: "grown", Ranges: grown.Ranges[1:]}})
		if err := r.Delete(t.Context(), []ID{b.ID, grown.ID})[0]; err != nil {
			t.Fatal(err)
		}
		if _, err := st.Head(b.Ranges[0].Queue); !errors.Is(err, store.ErrNoQueue) {
			t.Errorf("the queue of a deleted topic: %v", err)
		}
		if r.Get("b") != nil || r.GetID(b.ID) != nil || r.Get(a.Name) != nil {
			t.Error("a deleted topic is still there")
		}
		end()
	}
}

func TestRestartKeepsTopics(t *testing.T) {
	dir := t.TempDir()
	r, _, end := open(t, dir)
	a := create(t, r, "a", 3)
	err := r.Alter(t.Context(), "a", false, func(own map[string]string) error { own["cleanup.policy"] = "compact"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	gone := create(t, r, "gone", 1)
	if err := r.Delete(t.Context(), []ID{gone.ID})[0]; err != nil {
		t.Fatal(err)
	}
	end()
	for range 2 {
		r, st, end := open(t, dir)
		got := r.Get("a")
		if got == nil || got.ID != a.ID || !got.Config.Compact || got.Config.Delete || got.Partitions() != 3 {
			t.Fatalf("came back as %+v", got)
		}
		if len(r.All()) != 1 {
			t.Errorf("%d topics", len(r.All()))
		}
		for p := range int32(3) {
			q, _ := got.Queue(p)
			if _, err := st.Head(q); err != nil {
				t.Error(err)
			}
		}
		end()
	}
}

// TestDecisionsAtTheSameTime: of many that make one topic, one does; all see it afterwards.
func TestDecisionsAtTheSameTime(t *testing.T) {
	r, _, _ := open(t, t.TempDir())
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[string]int{}
	for range 16 {
		wg.Go(func() {
			for i := range 4 {
				name := fmt.Sprintf("t%d", i)
				c := r.Create(t.Context(), []Spec{{Name: name, Partitions: 1}}, false)[0]
				if r.Get(name) == nil {
					t.Errorf("%s is not there after its creation: %v", name, c.Err)
				}
				switch {
				case c.Err == nil:
					mu.Lock()
					made[name]++
					mu.Unlock()
				case !errors.Is(c.Err, kerr.TopicAlreadyExists):
					t.Error(c.Err)
				}
			}
		})
	}
	wg.Wait()
	for name, n := range made {
		if n != 1 {
			t.Errorf("%s was made %d times", name, n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	<-r.decider // somebody decides
	if c := r.Create(ctx, []Spec{{Name: "late", Partitions: 1}}, false)[0]; !errors.Is(c.Err, context.Canceled) {
		t.Errorf("a caller that went away: %v", c.Err)
	}
	r.decider <- struct{}{}
}

func TestBadRequests(t *testing.T) {
	r, _, _ := open(t, t.TempDir())
	create(t, r, "a.b", 1)
	for _, c := range []struct {
		spec Spec
		want *kerr.Error
	}{
		{Spec{Name: "a.b", Partitions: 1}, kerr.TopicAlreadyExists},
		{Spec{Name: "a_b", Partitions: 1}, kerr.InvalidTopicException},
		{Spec{Name: "x", Partitions: 0}, kerr.InvalidPartitions},
		{Spec{Name: "x", Partitions: MaxPartitions + 1}, kerr.InvalidPartitions},
		{Spec{Name: "x", Partitions: 1, Settings: map[string]string{"retention.ms": "soon"}}, kerr.InvalidConfig},
	} {
		if got := r.Create(t.Context(), []Spec{c.spec}, false)[0]; !errors.Is(got.Err, c.want) {
			t.Errorf("%+v: %v", c.spec, got.Err)
		}
	}
	if err := r.Grow(t.Context(), "a.b", 1, false); !errors.Is(err, kerr.InvalidPartitions) {
		t.Error(err)
	}
	if err := r.Grow(t.Context(), "none", 1, false); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Error(err)
	}
	if c := r.Create(t.Context(), []Spec{{Name: "dry", Partitions: 1}}, true)[0]; c.Err != nil || r.Get("dry") != nil {
		t.Errorf("a dry run: %v", c.Err)
	}
	two := r.Create(t.Context(), []Spec{{Name: "good", Partitions: 1}, {Name: "no good", Partitions: 1}}, false)
	if two[0].Err != nil || two[1].Err == nil || r.Get("good") == nil {
		t.Errorf("a good one beside a bad one: %v, %v", two[0].Err, two[1].Err)
	}
}

// TestOneRequestIsOneSync creates a thousand topics of mixed policies in one request, and deletes them in another: neither
// costs a sync for each.
func TestOneRequestIsOneSync(t *testing.T) {
	reg := prometheus.NewRegistry()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := store.Open(t.TempDir(), store.Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20, FlushInterval: time.Hour}, log, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close(context.Background())
	r := New(st, NewDefaults(nil), log, nil)
	if err := st.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Started()
	syncs := func() (n uint64) {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() == "penstock_log_fdatasync_seconds" {
				n = f.GetMetric()[0].GetHistogram().GetSampleCount()
			}
		}
		return n
	}
	var specs []Spec
	for i := range 1000 {
		s := Spec{Name: fmt.Sprintf("t%d", i), Partitions: 3}
		if i%2 == 0 {
			s.Settings = map[string]string{CleanupPolicy: "compact"}
		}
		specs = append(specs, s)
	}
	create(t, r, "first", 1)
	before := syncs()
	if before == 0 {
		t.Fatal("the log's syncs are not counted")
	}
	var ids []ID
	for _, c := range r.Create(t.Context(), specs, false) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		ids = append(ids, c.Topic.ID)
		if q, _ := c.Topic.Queue(2); q == 0 {
			t.Fatal("a topic without queues")
		} else if _, err := st.Head(q); err != nil {
			t.Fatalf("a topic is there before its queue: %v", err)
		}
	}
	created := syncs() - before
	for _, err := range r.Delete(t.Context(), ids) {
		if err != nil {
			t.Fatal(err)
		}
	}
	deleted := syncs() - before - created
	if created > 4 || deleted > 4 {
		t.Errorf("creating 1000 topics took %d syncs, deleting them %d", created, deleted)
	}
	one := syncs()
	create(t, r, "last", 5)
	if n := syncs() - one; n != 1 {
		t.Errorf("creating one topic took %d syncs", n)
	}
}

// TestDeleteOnRefusingStorage: a deletion that is refused changes nothing; one topic too large for an append is dropped
// behind its own deletion.
func TestDeleteOnRefusingStorage(t *testing.T) {
	dir := t.TempDir()
	r, st, end := open(t, dir)
	few, many := create(t, r, "few", 3), create(t, r, "many", together+10)
	if errs := r.Delete(t.Context(), []ID{few.ID, many.ID, few.ID}); errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], kerr.UnknownTopicID) {
		t.Fatal(errs)
	}
	for _, tp := range []*Topic{few, many} {
		for _, q := range tp.queues() {
			if _, err := st.Head(q); !errors.Is(err, store.ErrNoQueue) {
				t.Fatalf("queue %d of %s: %v", q, tp.Name, err)
			}
		}
	}
	left := create(t, r, "left", 3)
	end()
	if errs := r.Delete(t.Context(), []ID{left.ID}); !errors.Is(errs[0], store.ErrClosed) || r.GetID(left.ID) == nil {
		t.Fatal(errs)
	}
	r, st, _ = open(t, dir)
	if r.Get("left") == nil || r.Get("few") != nil || r.Get("many") != nil {
		t.Fatal("after a restart other topics are there")
	}
	if _, err := st.Head(left.queues()[2]); err != nil {
		t.Fatal(err)
	}
}
