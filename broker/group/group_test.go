package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config() Config {
	return Config{MinSession: 10 * time.Millisecond, MaxSession: time.Hour, MaxSize: 1000, MaxOffsetMeta: 4096, Retention: time.Hour}
}

// open starts a coordinator over a store in dir; the returned function ends both.
func open(t *testing.T, dir string, cfg Config) (*Coordinator, func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := store.Open(dir, store.Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20}, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := New(st, cfg, log, nil)
	if err := st.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.Started(func(id topic.ID) (string, bool) { return fmt.Sprintf("topic%d", id[0]), true })
	var once sync.Once
	end := func() {
		once.Do(func() {
			c.Close()
			if err := st.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return c, end
}

func request(group, member string) JoinRequest {
	return JoinRequest{
		Group: group, MemberID: member, ProtocolType: "test", Protocols: []Protocol{{"p", []byte("meta")}},
		Session: 10 * time.Second, Rebalance: 10 * time.Second, Client: Client{ID: "c", Host: "/h"},
	}
}

// stable joins one member and syncs it as leader.
func stable(t *testing.T, c *Coordinator, r JoinRequest) JoinResult {
	t.Helper()
	j := c.Join(t.Context(), r)
	if j.Err != nil || j.Leader != j.MemberID {
		t.Fatalf("%+v", j)
	}
	s := c.Sync(t.Context(), SyncRequest{Group: r.Group, Generation: j.Generation, MemberID: j.MemberID, Instance: r.Instance, Assignments: map[string][]byte{j.MemberID: []byte("all")}})
	if s.Err != nil || string(s.Assignment) != "all" {
		t.Fatalf("%+v", s)
	}
	return j
}

func TestMemberIDIsRequiredFromNewClients(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	r := request("g", "")
	r.NeedsID = true
	j := c.Join(t.Context(), r)
	if !errors.Is(j.Err, kerr.MemberIDRequired) || j.MemberID == "" {
		t.Fatalf("%+v", j)
	}
	r.MemberID = j.MemberID
	if again := stable(t, c, r); again.MemberID != j.MemberID || again.Generation != 1 {
		t.Fatalf("%+v", again)
	}
	if j := c.Join(t.Context(), request("g", "stranger")); !errors.Is(j.Err, kerr.UnknownMemberID) {
		t.Errorf("a stranger: %v", j.Err)
	}
	if j := c.Join(t.Context(), request("none", "stranger")); !errors.Is(j.Err, kerr.UnknownMemberID) {
		t.Errorf("a stranger to no group: %v", j.Err)
	}
}

func TestBadJoins(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	stable(t, c, request("g", ""))
	for name, x := range map[string]struct {
		change func(*JoinRequest)
		want   error
	}{
		"no group":         {func(r *JoinRequest) { r.Group = "" }, kerr.InvalidGroupID},
		"short session":    {func(r *JoinRequest) { r.Session = time.Millisecond }, kerr.InvalidSessionTimeout},
		"long session":     {func(r *JoinRequest) { r.Session = 2 * time.Hour }, kerr.InvalidSessionTimeout},
		"other type":       {func(r *JoinRequest) { r.ProtocolType = "other" }, kerr.InconsistentGroupProtocol},
		"other protocol":   {func(r *JoinRequest) { r.Protocols = []Protocol{{"q", nil}} }, kerr.InconsistentGroupProtocol},
		"no protocol":      {func(r *JoinRequest) { r.Protocols = nil }, kerr.InconsistentGroupProtocol},
		"unknown instance": {func(r *JoinRequest) { r.MemberID, r.Instance = "x", "i" }, kerr.UnknownMemberID},
	} {
		r := request("g", "")
		x.change(&r)
		if j := c.Join(t.Context(), r); !errors.Is(j.Err, x.want) {
			t.Errorf("%s: %v", name, j.Err)
		}
	}
}

// TestSecondMemberRebalances follows what each request answers in each state.
func TestSecondMemberRebalances(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	a := stable(t, c, request("g", ""))
	if err := c.Heartbeat("g", 1, a.MemberID, ""); err != nil {
		t.Errorf("stable: %v", err)
	}
	if err := c.Heartbeat("g", 9, a.MemberID, ""); !errors.Is(err, kerr.IllegalGeneration) {
		t.Errorf("another generation: %v", err)
	}
	joined := make(chan JoinResult, 1)
	go func() { joined <- c.Join(context.Background(), request("g", "")) }()
	until(t, func() bool { d, _ := c.Describe("g"); return d.State == Preparing })
	if err := c.Heartbeat("g", 1, a.MemberID, ""); !errors.Is(err, kerr.RebalanceInProgress) {
		t.Errorf("preparing: %v", err)
	}
	if s := c.Sync(t.Context(), SyncRequest{Group: "g", Generation: 1, MemberID: a.MemberID}); !errors.Is(s.Err, kerr.RebalanceInProgress) {
		t.Errorf("sync while preparing: %v", s.Err)
	}
	if _, err := c.Commit(CommitRequest{Group: "g", Generation: 1, MemberID: a.MemberID}); err != nil {
		t.Errorf("a commit of the current generation while preparing: %v", err)
	}
	a2 := c.Join(t.Context(), request("g", a.MemberID))
	b := <-joined
	if a2.Err != nil || b.Err != nil || a2.Generation != 2 || b.Generation != 2 || len(a2.Members) != 2 || len(b.Members) != 0 || b.Leader != a.MemberID {
		t.Fatalf("%+v, %+v", a2, b)
	}
	for _, id := range []string{a.MemberID, b.MemberID} {
		if err := c.Heartbeat("g", 2, id, ""); err != nil {
			t.Errorf("while the leader thinks, heartbeats are fine: %v", err)
		}
	}
	if _, err := c.Commit(CommitRequest{Group: "g", Generation: 2, MemberID: a.MemberID}); !errors.Is(err, kerr.RebalanceInProgress) {
		t.Errorf("a commit while completing: %v", err)
	}
	synced := make(chan SyncResult, 1)
	go func() {
		synced <- c.Sync(context.Background(), SyncRequest{Group: "g", Generation: 2, MemberID: b.MemberID})
	}()
	s := c.Sync(t.Context(), SyncRequest{Group: "g", Generation: 2, MemberID: a.MemberID, Assignments: map[string][]byte{a.MemberID: {1}, b.MemberID: {2}}})
	if s.Err != nil || string(s.Assignment) != "\x01" {
		t.Fatalf("%+v", s)
	}
	if s := <-synced; s.Err != nil || string(s.Assignment) != "\x02" {
		t.Fatalf("%+v", s)
	}
	if _, err := c.Commit(CommitRequest{Group: "g", Generation: -1}); !errors.Is(err, kerr.UnknownMemberID) {
		t.Errorf("a commit from outside a live group: %v", err)
	}
	if err := c.Delete("g"); !errors.Is(err, kerr.NonEmptyGroup) {
		t.Errorf("deleting a live group: %v", err)
	}
}

func TestStaticMemberIsReplacedAndFenced(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	r := request("g", "")
	r.Instance = "i"
	a := stable(t, c, r)
	r.CanSkip = true
	b := c.Join(t.Context(), r)
	if b.Err != nil || b.Generation != a.Generation || b.MemberID == a.MemberID || !b.Skip || b.Leader != b.MemberID {
		t.Fatalf("%+v after %+v", b, a)
	}
	if err := c.Heartbeat("g", a.Generation, a.MemberID, "i"); !errors.Is(err, kerr.FencedInstanceID) {
		t.Errorf("the old one: %v", err)
	}
	if s := c.Sync(t.Context(), SyncRequest{Group: "g", Generation: 1, MemberID: b.MemberID, Instance: "i"}); s.Err != nil || string(s.Assignment) != "all" {
		t.Errorf("its assignment: %+v", s)
	}
	errs, err := c.Leave("g", []Leaver{{Instance: "i"}, {Instance: "none"}, {MemberID: "none"}})
	if err != nil || errs[0] != nil || !errors.Is(errs[1], kerr.UnknownMemberID) || !errors.Is(errs[2], kerr.UnknownMemberID) {
		t.Errorf("%v %v", errs, err)
	}
	if d, _ := c.Describe("g"); d.State != Empty {
		t.Errorf("%+v", d)
	}
}

func TestLaterCommitStands(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	tid := topic.ID{1}
	var waits []func() error
	for i := range 5 {
		w, err := c.Commit(CommitRequest{Group: "g", Generation: -1, Offsets: []OffsetEntry{{Topic: tid, Offset: Offset{Offset: int64(i)}}}})
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, w)
	}
	rand.Shuffle(len(waits), func(i, j int) { waits[i], waits[j] = waits[j], waits[i] })
	for _, w := range waits {
		if err := w(); err != nil {
			t.Fatal(err)
		}
	}
	if o, _ := c.Fetch("g", tid, 0); o.Offset != 4 {
		t.Errorf("offset %d stands", o.Offset)
	}
	if err := c.Delete("g"); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Fetch("g", tid, 0); ok {
		t.Error("the offset of a deleted group is there")
	}
}

func TestRestartRestoresGroups(t *testing.T) {
	dir := t.TempDir()
	c, end := open(t, dir, config())
	a := stable(t, c, request("tcp", ""))
	ghost := request("ghost", "")
	ghost.Client.Memory = true
	stable(t, c, ghost)
	stable(t, c, request("deleted", ""))
	d, _ := c.Describe("deleted")
	if errs, err := c.Leave("deleted", []Leaver{{MemberID: d.Members[0].ID}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	if err := c.Delete("deleted"); err != nil {
		t.Fatal(err)
	}
	w, err := c.Commit(CommitRequest{Group: "tcp", Generation: 1, MemberID: a.MemberID, Offsets: []OffsetEntry{{Topic: topic.ID{1}, Partition: 2, Offset: Offset{Offset: 9}}}})
	if err != nil || w() != nil {
		t.Fatal(err)
	}
	end()
	for range 2 {
		c, end := open(t, dir, config())
		if err := c.Heartbeat("tcp", 1, a.MemberID, ""); err != nil {
			t.Errorf("the member over TCP: %v", err)
		}
		if s := c.Sync(t.Context(), SyncRequest{Group: "tcp", Generation: 1, MemberID: a.MemberID}); string(s.Assignment) != "all" {
			t.Errorf("its assignment: %+v", s)
		}
		if d, ok := c.Describe("ghost"); !ok || d.State != Empty {
			t.Errorf("the ghost: %+v", d)
		}
		if d, ok := c.Describe("deleted"); ok {
			t.Errorf("the deleted group: %+v", d)
		}
		if o, ok := c.Fetch("tcp", topic.ID{1}, 2); !ok || o.Offset != 9 {
			t.Errorf("the offset: %+v", o)
		}
		end()
	}
}

// until polls for a state other goroutines bring about.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		<-tick.C
	}
}

// TestHundredsJoinAtOnce: dynamic and static members join together and some die; all that live end in one generation with
// assignments of their own.
func TestHundredsJoinAtOnce(t *testing.T) {
	cfg := config()
	cfg.InitialDelay = 50 * time.Millisecond
	c, _ := open(t, t.TempDir(), cfg)
	const n = 300
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var (
		mu    sync.Mutex
		final = map[int]string{} // by worker: generation and assignment
		wg    sync.WaitGroup
	)
	dies := func(i int) bool { return i%10 == 3 }
	for i := range n {
		wg.Go(func() {
			r := request("crowd", "")
			r.Rebalance = 500 * time.Millisecond
			r.NeedsID = i%2 == 0
			if i%3 == 0 && !dies(i) {
				r.Instance = fmt.Sprintf("i%d", i)
			}
			for ctx.Err() == nil {
				j := c.Join(ctx, r)
				r.MemberID = j.MemberID
				if errors.Is(j.Err, kerr.UnknownMemberID) {
					r.MemberID = ""
				}
				if j.Err != nil {
					continue
				}
				if dies(i) {
					return // never syncs: it must be dropped
				}
				req := SyncRequest{Group: "crowd", Generation: j.Generation, MemberID: j.MemberID, Instance: r.Instance}
				if len(j.Members) > 0 {
					req.Assignments = map[string][]byte{}
					for k, m := range j.Members {
						req.Assignments[m.ID] = fmt.Appendf(nil, "%d/%d", j.Generation, k)
					}
				}
				if s := c.Sync(ctx, req); s.Err == nil {
					mu.Lock()
					final[i] = string(s.Assignment)
					mu.Unlock()
					for ctx.Err() == nil { // live on until the next rebalance or the end
						if c.Heartbeat("crowd", j.Generation, j.MemberID, r.Instance) != nil {
							break
						}
						if d, _ := c.Describe("crowd"); d.State == Stable && len(d.Members) == n-n/10 {
							return
						}
						select {
						case <-ctx.Done():
						case <-time.After(20 * time.Millisecond):
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		d, _ := c.Describe("crowd")
		t.Fatalf("the group did not settle: %s with %d members", d.State, len(d.Members))
	}
	d, _ := c.Describe("crowd")
	seen := map[string]bool{}
	for _, m := range d.Members {
		a := string(m.Assignment)
		if a == "" || seen[a] {
			t.Fatalf("assignment %q is missing or given twice", a)
		}
		seen[a] = true
	}
	for i, a := range final {
		if !seen[a] {
			t.Errorf("worker %d works on %s, which is no assignment of generation %d", i, a, d.Generation)
		}
	}
}

// TestTimers run on a fake clock: who is silent expires, who is parked does not, and who never syncs is dropped.
func TestTimers(t *testing.T) {
	dir := t.TempDir()
	c, _ := open(t, dir, config())
	st := c.st
	synctest.Test(t, func(t *testing.T) {
		c := &Coordinator{st: st, cfg: config(), log: slog.New(slog.NewTextHandler(io.Discard, nil)), groups: map[string]*group{}, live: true}
		c.metrics = newMetrics(nil, c)
		defer c.Close()
		j := c.Join(context.Background(), request("g", ""))
		if j.Err != nil {
			t.Fatal(j.Err)
		}
		// The phase of syncing lasts the rebalance timeout: who does not sync is dropped.
		time.Sleep(11 * time.Second) // fake time
		synctest.Wait()
		if d, _ := c.Describe("g"); d.State != Empty || len(d.Members) != 0 {
			t.Fatalf("a member that never synced: %+v", d)
		}
		// A parked first join outlives its session, up to five minutes.
		r := request("g2", "")
		r.NeedsID = true
		if j := c.Join(context.Background(), r); !errors.Is(j.Err, kerr.MemberIDRequired) {
			t.Fatal(j.Err)
		}
		r2 := request("g2", "")
		r2.Rebalance = time.Hour
		done := make(chan JoinResult, 1)
		go func() { done <- c.Join(context.Background(), r2) }()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		select {
		case j := <-done:
			t.Fatalf("a pending member must hold the joining back: %+v", j)
		default:
		}
		time.Sleep(2 * time.Second) // the pending id is forgotten after its session
		synctest.Wait()
		select {
		case j := <-done:
			if j.Err != nil || j.Generation != 1 {
				t.Fatalf("%+v", j)
			}
		default:
			t.Fatal("the joining should have ended when the pending id was forgotten")
		}
	})
}

// TestRetentionBeginsWhenAGroupIsEmpty: offsets of a live group stay, those of an empty one go when their time is over.
func TestRetentionBeginsWhenAGroupIsEmpty(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	j := stable(t, c, request("g", ""))
	commit := func(r CommitRequest) {
		t.Helper()
		r.Offsets = []OffsetEntry{{Topic: topic.ID{1}, Offset: Offset{Offset: 3}}}
		w, err := c.Commit(r)
		if err == nil {
			err = w()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	commit(CommitRequest{Group: "g", Generation: j.Generation, MemberID: j.MemberID})
	commit(CommitRequest{Group: "simple", Generation: -1})
	expire := func(id string, in time.Duration) bool {
		g := c.lock(id, false)
		if g == nil {
			return true
		}
		defer g.mu.Unlock()
		if g.state == Empty {
			g.expireOffsets(time.Now().Add(in).UnixMilli())
		}
		return len(g.offsets) == 0
	}
	if expire("g", 100*time.Hour) {
		t.Error("the offset of a live group went")
	}
	if expire("simple", 59*time.Minute) || !expire("simple", 61*time.Minute) {
		t.Error("a simple group keeps offsets from the commit on for the retention")
	}
	if _, err := c.Leave("g", []Leaver{{MemberID: j.MemberID}}); err != nil {
		t.Fatal(err)
	}
	if expire("g", 59*time.Minute) || !expire("g", 61*time.Minute) {
		t.Error("an emptied group keeps offsets from then on for the retention")
	}
	if _, ok := c.Describe("simple"); ok {
		t.Error("a group with nothing left is still there")
	}
}

// TestOffsetsOfUnreadTopicsExpire: a live group of consumers keeps the offsets of what it reads, and others for the retention.
func TestOffsetsOfUnreadTopicsExpire(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	r := request("g", "")
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{"topic1"} // as open names it
	r.ProtocolType, r.Protocols = "consumer", []Protocol{{"range", meta.AppendTo(nil)}}
	j := stable(t, c, r)
	w, err := c.Commit(CommitRequest{Group: "g", Generation: j.Generation, MemberID: j.MemberID, Offsets: []OffsetEntry{
		{Topic: topic.ID{1}, Offset: Offset{Offset: 3}}, {Topic: topic.ID{2}, Offset: Offset{Offset: 4}},
	}})
	if err != nil || w() != nil {
		t.Fatal(err)
	}
	expire := func(in time.Duration) {
		g := c.lock("g", false)
		defer g.mu.Unlock()
		g.expireOffsets(time.Now().Add(in).UnixMilli())
	}
	has := func(id byte) bool { _, ok := c.Fetch("g", topic.ID{id}, 0); return ok }
	if expire(59 * time.Minute); !has(1) || !has(2) {
		t.Error("an offset went before its time")
	}
	if expire(61 * time.Minute); !has(1) || has(2) {
		t.Errorf("after the retention the topic that is read has an offset: %v, the other: %v", has(1), has(2))
	}
}

// TestRefusalsLeaveNothingBehind: requests that are refused make no group, whatever names they use.
func TestRefusalsLeaveNothingBehind(t *testing.T) {
	c, _ := open(t, t.TempDir(), config())
	for i := range 100 {
		r := request(fmt.Sprintf("g%d", i), "")
		r.Protocols = nil
		if j := c.Join(t.Context(), r); j.Err == nil {
			t.Fatal("a join without protocols")
		}
		if _, err := c.Commit(CommitRequest{Group: fmt.Sprintf("c%d", i), Generation: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.all()); n != 0 {
		t.Errorf("%d groups are left", n)
	}
}

// TestDeletionCoversCommitsUnderWay: a commit that is on its way to the log when its group is deleted does not come back.
func TestDeletionCoversCommitsUnderWay(t *testing.T) {
	dir := t.TempDir()
	c, end := open(t, dir, config())
	for i := range 20 {
		id := fmt.Sprintf("g%d", i)
		first, err := c.Commit(CommitRequest{Group: id, Generation: -1, Offsets: []OffsetEntry{{Topic: topic.ID{1}, Offset: Offset{Offset: 1}}}})
		if err != nil || first() != nil {
			t.Fatal(err)
		}
		second, err := c.Commit(CommitRequest{Group: id, Generation: -1, Offsets: []OffsetEntry{{Topic: topic.ID{2}, Offset: Offset{Offset: 2}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(id); err != nil {
			t.Fatal(err)
		}
		if err := second(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if n := len(c.List(nil)); n != 0 {
			t.Errorf("%d deleted groups are there", n)
		}
		end()
		c, end = open(t, dir, config())
	}
}
