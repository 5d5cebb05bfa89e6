package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// waitFor polls until ok or the test's patience ends.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waitLong(t, time.Minute, what, ok)
}

func waitLong(t testing.TB, patience time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
		<-tick.C
	}
}

// worker is a group member that counts what it was given.
type worker struct {
	cl   *kgo.Client
	mu   sync.Mutex
	has  map[string]map[int32]bool
	seen map[string]int
}

func join(t testing.TB, b *Broker, group, topic string, opts ...kgo.Opt) *worker {
	t.Helper()
	w := &worker{has: map[string]map[int32]bool{}, seen: map[string]int{}}
	change := func(add bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for t, ps := range parts {
				if w.has[t] == nil {
					w.has[t] = map[int32]bool{}
				}
				for _, p := range ps {
					if add {
						w.has[t][p] = true
					} else {
						delete(w.has[t], p)
					}
				}
			}
		}
	}
	w.cl = client(t, b, append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.SessionTimeout(5 * time.Second),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)),
	}, opts...)...)
	go func() {
		for {
			fs := w.cl.PollFetches(context.Background())
			if fs.IsClientClosed() {
				return
			}
			w.mu.Lock()
			fs.EachRecord(func(r *kgo.Record) { w.seen[string(r.Value)]++ })
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *worker) count(topic string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.has[topic])
}

func (w *worker) records() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

func produceN(t testing.TB, b *Broker, topic string, from, to int, opts ...kgo.Opt) {
	t.Helper()
	cl := client(t, b, opts...)
	var rs []*kgo.Record
	for i := from; i < to; i++ {
		rs = append(rs, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "%d", i), Value: fmt.Appendf(nil, "v%d", i)})
	}
	if err := cl.ProduceSync(within(t, time.Minute), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestGroupSharesAndRebalances(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	if _, err := adm.CreateTopic(t.Context(), 4, 1, nil, "shared"); err != nil {
		t.Fatal(err)
	}
	produceN(t, b, "shared", 0, 200)
	w1 := join(t, b, "g", "shared")
	waitFor(t, "the first member to own all", func() bool { return w1.count("shared") == 4 && w1.records() == 200 })
	w2 := join(t, b, "g", "shared")
	waitFor(t, "two members to share", func() bool { return w1.count("shared") == 2 && w2.count("shared") == 2 })
	d, err := adm.DescribeGroups(t.Context(), "g")
	if err != nil || d["g"].State != "Stable" || len(d["g"].Members) != 2 {
		t.Fatalf("describing the group: %v %+v", err, d)
	}
	w2.cl.Close()
	waitFor(t, "the one left to own all", func() bool { return w1.count("shared") == 4 })
	w1.cl.Close()
	waitFor(t, "the group to be empty", func() bool {
		d, err := adm.DescribeGroups(t.Context(), "g")
		return err == nil && d["g"].State == "Empty"
	})
	if _, err := adm.DeleteGroup(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteGroup(t.Context(), "g"); !errors.Is(err, kerr.GroupIDNotFound) {
		t.Fatalf("deleting a group twice: %v", err)
	}
}

func TestStaticMemberComesBackWithoutRebalance(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	if _, err := adm.CreateTopic(t.Context(), 2, 1, nil, "static"); err != nil {
		t.Fatal(err)
	}
	w1 := join(t, b, "s", "static", kgo.InstanceID("a"))
	w2 := join(t, b, "s", "static", kgo.InstanceID("b"))
	waitFor(t, "both to have one", func() bool { return w1.count("static") == 1 && w2.count("static") == 1 })
	before, _ := b.groups.Describe("s")
	w2.cl.Close() // static members don't leave
	w3 := join(t, b, "s", "static", kgo.InstanceID("b"))
	waitFor(t, "the replacement to have its partition", func() bool { return w3.count("static") == 1 })
	after, _ := b.groups.Describe("s")
	if after.Generation != before.Generation || len(after.Members) != 2 {
		t.Fatalf("the generation went from %d to %d with %d members", before.Generation, after.Generation, len(after.Members))
	}
}

func TestRestartKeepsTopicsGroupsOffsetsAndProducerIDs(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir, nil)
	adm := admin(t, b)
	if _, err := adm.CreateTopic(t.Context(), 3, 1, map[string]*string{"cleanup.policy": kmsg.StringPtr("compact")}, "kept"); err != nil {
		t.Fatal(err)
	}
	produceN(t, b, "kept", 0, 30)
	first := b.topics.Get("kept").ID
	offsets := kadm.Offsets{}
	offsets.AddOffset("kept", 1, 7, 0)
	if err := adm.CommitAllOffsets(t.Context(), "simple", offsets); err != nil {
		t.Fatal(err)
	}
	pid, err := b.txns.NewProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who, err := b.txns.Init(t.Context(), "tx", 1000, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	// A member over TCP is restored; one over the connection inside the process died with it.
	tcp := join(t, b, "tcp", "kept")
	ghost := join(t, b, "ghost", "kept", inside(b))
	waitFor(t, "both groups to be stable", func() bool { return tcp.count("kept") == 3 && ghost.count("kept") == 3 })
	wasTCP, _ := b.groups.Describe("tcp")
	id := b.ClusterID()
	for range 2 { // the second start reads the index, the first may replay the log
		stop(t, b)
		b = start(t, dir, nil)
	}
	if b.ClusterID() != id {
		t.Errorf("cluster id went from %s to %s", id, b.ClusterID())
	}
	if got := b.topics.Get("kept"); got == nil || got.ID != first || got.Partitions() != 3 || !got.Config.Compact {
		t.Fatalf("the topic came back as %+v", got)
	}
	if o, ok := b.groups.Fetch("simple", first, 1); !ok || o.Offset != 7 {
		t.Errorf("the committed offset came back as %+v, %v", o, ok)
	}
	if d, ok := b.groups.Describe("tcp"); !ok || d.State != "Stable" || d.Generation != wasTCP.Generation || len(d.Members) != 1 {
		t.Errorf("the group over TCP came back as %+v", d)
	}
	if d, ok := b.groups.Describe("ghost"); !ok || d.State != "Empty" || len(d.Members) != 0 {
		t.Errorf("the ghost group came back as %+v", d)
	}
	if next, err := b.txns.NewProducerID(t.Context()); err != nil || next <= pid {
		t.Errorf("producer id %d after %d: %v", next, pid, err)
	}
	if again, err := b.txns.Init(t.Context(), "tx", 1000, -1, -1); err != nil || again.ProducerID != who.ProducerID || again.Epoch != who.Epoch+1 {
		t.Errorf("transactional id came back as %+v after %+v: %v", again, who, err)
	}
	if got := consume(t, b, "kept", 30); len(got) != 30 {
		t.Errorf("%d records came back", len(got))
	}
	if _, err := admin(t, b).CreateTopic(t.Context(), 1, 1, nil, "new"); err != nil {
		t.Fatal(err)
	}
	q, _ := b.topics.Get("new").Queue(0)
	for p := range int32(3) {
		if old, _ := b.topics.Get("kept").Queue(p); old == q {
			t.Errorf("queue %d was given twice", q)
		}
	}
}

func TestTransactionalIDFencesEarlierHolders(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	one, err := b.txns.Init(t.Context(), "t", 1000, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.txns.Init(t.Context(), "t", 1000, -1, -1)
	if err != nil || two.ProducerID != one.ProducerID || two.Epoch != one.Epoch+1 {
		t.Fatalf("%+v then %+v: %v", one, two, err)
	}
	if _, err := b.txns.Init(t.Context(), "t", 1000, one.ProducerID, one.Epoch); !errors.Is(err, kerr.ProducerFenced) {
		t.Fatalf("an earlier holder took the id back: %v", err)
	}
	three, err := b.txns.Init(t.Context(), "t", 1000, two.ProducerID, two.Epoch)
	if err != nil || three.Epoch != two.Epoch+1 {
		t.Fatalf("%+v then %+v: %v", two, three, err)
	}
	retry, err := b.txns.Init(t.Context(), "t", 1000, two.ProducerID, two.Epoch)
	if err != nil || retry.Epoch != three.Epoch {
		t.Fatalf("a repeated request gets the same answer: %+v, %v", retry, err)
	}
	if _, err := b.txns.Init(t.Context(), "t", 1000, one.ProducerID+1, 0); !errors.Is(err, kerr.ProducerFenced) {
		t.Fatalf("a stranger: %v", err)
	}
	if _, err := b.txns.Init(t.Context(), "t", 10_000_000, -1, -1); !errors.Is(err, kerr.InvalidTransactionTimeout) {
		t.Fatalf("too long a timeout: %v", err)
	}
}
