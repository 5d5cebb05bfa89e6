package txn

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/queue"
)

// TestRules asks each question in each state.
func TestRules(t *testing.T) {
	type step func(w *world, who Record) error
	add := func(qs ...queue.ID) step {
		return func(w *world, who Record) error {
			var parts []Partition
			for _, q := range qs {
				parts = append(parts, part(q))
			}
			return w.add("t", who.ProducerID, who.Epoch, parts)
		}
	}
	addGroup := func(w *world, who Record) error {
		return w.addGroup("t", who.ProducerID, who.Epoch, "g")
	}
	put := func(q queue.ID, seq int32) step {
		return func(w *world, who Record) error {
			_, err := w.put(q, who, seq, true, "v")
			var se *queue.SequenceError
			if errors.As(err, &se) && se.Kind == queue.FencedEpoch { // the queue knew before the gate was asked
				return kerr.InvalidProducerEpoch
			}
			return err
		}
	}
	plain := func(q queue.ID, seq int32) step {
		return func(w *world, who Record) error { _, err := w.put(q, who, seq, false, "v"); return err }
	}
	stage := func(w *world, who Record) error { return w.stage("t", who, "g", 1, 5) }
	end := func(commit bool) step {
		return func(w *world, who Record) error { return w.finish("t", who, commit) }
	}
	takeOver := func(w *world, _ Record) error {
		_, err := w.txns.Init(t.Context(), "t", 1000, -1, -1)
		return err
	}
	raise := func(w *world, who Record) error {
		_, err := w.txns.Init(t.Context(), "t", 1000, who.ProducerID, who.Epoch)
		return err
	}
	other := func(s step, change func(*Record)) step {
		return func(w *world, who Record) error { change(&who); return s(w, who) }
	}
	stranger := func(r *Record) { r.ProducerID += 7 }
	older := func(r *Record) { r.Epoch-- }
	newer := func(r *Record) { r.Epoch++ }
	for _, c := range []struct {
		what  string
		first []step
		last  step
		want  *kerr.Error
		state State
	}{
		{"commit without a transaction", nil, end(true), kerr.InvalidTxnState, Empty},
		{"abort without a transaction", nil, end(false), nil, Empty},
		{"add by a stranger", nil, other(add(1), stranger), kerr.InvalidProducerIDMapping, Empty},
		{"add by an earlier holder", nil, other(add(1), older), kerr.ProducerFenced, Empty},
		{"add by a later holder", nil, other(add(1), newer), kerr.ProducerFenced, Empty},
		{"add", nil, add(1, 2, 1), nil, Ongoing},
		{"add the same again", []step{add(1)}, add(1), nil, Ongoing},
		{"add a group", nil, addGroup, nil, Ongoing},
		{"end by a stranger", []step{add(1)}, other(end(true), stranger), kerr.InvalidProducerIDMapping, Ongoing},
		{"end by an earlier holder", []step{add(1)}, other(end(true), older), kerr.ProducerFenced, Ongoing},
		{"commit", []step{add(1), put(1, 0)}, end(true), nil, CompleteCommit},
		{"abort", []step{add(1), put(1, 0)}, end(false), nil, CompleteAbort},
		{"commit twice", []step{add(1), end(true)}, end(true), nil, CompleteCommit},
		{"abort twice", []step{add(1), end(false)}, end(false), nil, CompleteAbort},
		{"abort after commit", []step{add(1), end(true)}, end(false), kerr.InvalidTxnState, CompleteCommit},
		{"commit after abort", []step{add(1), end(false)}, end(true), kerr.InvalidTxnState, CompleteAbort},
		{"the next transaction", []step{add(1), put(1, 0), end(true), add(1), put(1, 1)}, end(false), nil, CompleteAbort},
		{"data without a transaction", nil, put(1, 0), kerr.InvalidTxnState, Empty},
		{"data for a partition not added", []step{add(1)}, put(2, 0), kerr.InvalidTxnState, Ongoing},
		{"data after the end", []step{add(1), put(1, 0), end(true)}, put(1, 1), kerr.InvalidTxnState, CompleteCommit},
		{"data by an earlier holder", []step{add(1)}, other(put(1, 0), older), kerr.InvalidProducerEpoch, Ongoing},
		{"data by a later holder", []step{add(1)}, other(put(1, 0), newer), kerr.InvalidProducerEpoch, Ongoing},
		{"data by somebody else", []step{add(1)}, other(put(1, 0), stranger), kerr.InvalidProducerIDMapping, Ongoing},
		{"data that is not transactional", []step{add(1)}, plain(1, 0), kerr.InvalidTxnState, Ongoing},
		{"plain data without a transaction", nil, plain(1, 0), nil, Empty},
		{"plain data by an earlier holder", nil, other(plain(1, 0), older), kerr.InvalidProducerEpoch, Empty},
		{"offsets of a group not added", []step{add(1)}, stage, kerr.InvalidTxnState, Ongoing},
		{"offsets", []step{addGroup}, stage, nil, Ongoing},
		{"offsets after the end", []step{addGroup, end(true)}, stage, kerr.InvalidTxnState, CompleteCommit},
		{"offsets by an earlier holder", []step{addGroup}, other(stage, older), kerr.ProducerFenced, Ongoing},
		{"take over an open transaction", []step{add(1), put(1, 0)}, takeOver, nil, Empty},
		{"add after a take-over", []step{add(1), takeOver}, add(1), kerr.ProducerFenced, Empty},
		{"data after a take-over", []step{add(1), takeOver}, put(1, 0), kerr.InvalidProducerEpoch, Empty},
		{"plain data after a take-over", []step{takeOver}, plain(1, 0), kerr.InvalidProducerEpoch, Empty},
		{"the id back after a take-over", []step{takeOver}, raise, kerr.ProducerFenced, Empty},
		{"raise one's own epoch in a transaction", []step{add(1), put(1, 0)}, raise, nil, Empty},
		{"raise it again: the answer was lost", []step{raise}, raise, nil, Empty},
		{"raise it as a stranger", nil, other(raise, stranger), kerr.ProducerFenced, Empty},
		{"raise from an epoch of long ago", nil, other(raise, older), kerr.ProducerFenced, Empty},
	} {
		t.Run(c.what, func(t *testing.T) {
			d, x := disk.NewMem(), vfs.NewMem()
			w := mustBegin(t, d, x, Config{}, 1, 2)
			for range 2 { // so that there is an earlier epoch
				if _, err := w.txns.Init(t.Context(), "t", 1000, -1, -1); err != nil {
					t.Fatal(err)
				}
			}
			who, _ := w.txns.Lookup("t")
			for i, s := range c.first {
				if err := s(w, who); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			err := c.last(w, who)
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			now, _ := w.txns.Lookup("t")
			if now.State != c.state {
				t.Fatalf("it is %s, want %s", now.State, c.state)
			}
			w.mustEnd(t)
			w = mustBegin(t, d, vfs.NewMem(), Config{}) // from the log alone it is the same
			defer w.mustEnd(t)
			if again, _ := w.txns.Lookup("t"); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", now) {
				t.Fatalf("came back as\n%+v, was\n%+v", again, now)
			}
			if err2 := c.last(w, who); c.want != nil && !errors.Is(err2, c.want) {
				t.Fatalf("asked again after a restart: %v, before: %v", err2, err)
			}
		})
	}
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{})
	defer w.mustEnd(t)
	if err := w.add("nobody", 1, 0, nil); !errors.Is(err, kerr.InvalidProducerIDMapping) {
		t.Fatal(err)
	}
}

// TestTimeout: a transaction that is open for too long is aborted and its producer fenced, which may then go on.
func TestTimeout(t *testing.T) {
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{CheckEvery: time.Millisecond}, 1)
	defer w.mustEnd(t)
	who, err := w.txns.Init(t.Context(), "t", 20, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := firstError(
		func() error { return w.add("t", who.ProducerID, who.Epoch, []Partition{part(1)}) },
		func() error { return w.addGroup("t", who.ProducerID, who.Epoch, "g") },
		func() error { _, err := w.put(1, who, 0, true, "late"); return err },
		func() error { return w.stage("t", who, "g", 1, 5) },
	); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if r, _ := w.txns.Lookup("t"); r.State == CompleteAbort {
			break
		}
		if time.Now().After(until) {
			t.Fatal("it stays open")
		}
	}
	if h := w.head(t, 1); h.LastStable != h.HighWatermark || len(w.committed(t, 1)) != 0 || w.offset("g", 1) != -1 || w.groups.Unstable("g", theTopic, 1) {
		t.Fatalf("%+v %v", h, w.committed(t, 1))
	}
	if err := w.finish("t", who, true); !errors.Is(err, kerr.ProducerFenced) {
		t.Fatal(err)
	}
	if _, err := w.put(1, who, 1, true, "later"); err == nil {
		t.Fatal(err)
	}
	next, err := w.txns.Init(t.Context(), "t", 60_000, who.ProducerID, who.Epoch)
	if err != nil || next.Epoch != who.Epoch+1 {
		t.Fatal(next, err)
	}
	if err := firstError(
		func() error { return w.add("t", next.ProducerID, next.Epoch, []Partition{part(1)}) },
		func() error { _, err := w.put(1, next, 0, true, "on time"); return err },
		func() error { return w.finish("t", next, true) },
	); err != nil {
		t.Fatal(err)
	}
	if got := w.committed(t, 1); !slices.Equal(got, []string{"2=on time"}) {
		t.Fatal(got)
	}
	for name, want := range map[string]float64{
		"transactions_committed_total": 1, "transactions_aborted_total": 1, "transactions_timed_out_total": 1, "transactions_open": 0,
		"transactions_oldest_seconds": 0, "transactional_ids": 1,
	} {
		if got := w.metric(t, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestLastEpochTimesOut: the epoch that fences the holder of the last one is never anybody's.
func TestLastEpochTimesOut(t *testing.T) {
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{}, 1)
	defer w.mustEnd(t)
	who, err := w.txns.Init(t.Context(), "t", 1, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	x := w.txns.find("t")
	x.rec.Epoch, who.Epoch = MaxEpoch, MaxEpoch
	w.txns.gate.set(&x.rec)
	x.mu.Unlock()
	if err := firstError(
		func() error { return w.add("t", who.ProducerID, who.Epoch, []Partition{part(1)}) },
		func() error { _, err := w.put(1, who, 0, true, "late"); return err },
	); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // its timeout
	w.txns.abortLate()
	next, err := w.txns.Init(t.Context(), "t", 1000, who.ProducerID, who.Epoch)
	if err != nil || next.ProducerID == who.ProducerID || next.Epoch != 0 || next.LastProducer != who.ProducerID {
		t.Fatal(next, err)
	}
	for _, transactional := range []bool{false, true} {
		if _, err := w.put(1, who, 1, transactional, "fenced"); err == nil {
			t.Fatalf("the earlier producer id appended, transactional %t", transactional)
		}
	}
	if again, err := w.txns.Init(t.Context(), "t", 1000, who.ProducerID, who.Epoch); err != nil || again.ProducerID != next.ProducerID {
		t.Fatal(again, err)
	}
}

// TestIdleIDsAreForgotten and can be had again, by whoever comes.
func TestIdleIDsAreForgotten(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	cfg := Config{Expiration: time.Hour}
	w := mustBegin(t, d, x, cfg, 1)
	who, err := w.txns.Init(t.Context(), "idle", 1000, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := w.txns.Init(t.Context(), "busy", 1000, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.add("busy", busy.ProducerID, busy.Epoch, []Partition{part(1)}); err != nil {
		t.Fatal(err)
	}
	w.txns.forgetIdle()
	if _, ok := w.txns.Lookup("idle"); !ok {
		t.Fatal("forgotten at once")
	}
	w.txns.cfg.Expiration = time.Nanosecond
	time.Sleep(2 * time.Millisecond)
	w.txns.forgetIdle()
	for range 2 {
		if _, ok := w.txns.Lookup("idle"); ok {
			t.Fatal("it is still known")
		}
		if r, ok := w.txns.Lookup("busy"); !ok || r.State != Ongoing {
			t.Fatal("one with an open transaction was forgotten")
		}
		w.mustEnd(t)
		w = mustBegin(t, d, vfs.NewMem(), cfg)
	}
	defer w.mustEnd(t)
	if err := w.add("idle", who.ProducerID, who.Epoch, []Partition{part(1)}); !errors.Is(err, kerr.InvalidProducerIDMapping) {
		t.Fatal(err)
	}
	if again, err := w.txns.Init(t.Context(), "idle", 1000, -1, -1); err != nil || again.ProducerID == who.ProducerID {
		t.Fatal(again, err)
	}
}

// TestDeletedTopicDoesNotHoldATransaction: its queue is gone, the others get their markers.
func TestDeletedTopicDoesNotHoldATransaction(t *testing.T) {
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{}, 1, 2)
	defer w.mustEnd(t)
	p := &play{w: w}
	if err := p.init(); err != nil {
		t.Fatal(err)
	}
	if err := firstError(
		func() error {
			return w.add(actor, p.who.ProducerID, p.who.Epoch, []Partition{part(1), part(2)})
		},
		func() error { _, err := w.put(1, p.who, 0, true, "a"); return err },
		func() error { _, err := w.put(2, p.who, 0, true, "b"); return err },
		func() error { return w.st.Drop(1) },
		func() error { return w.finish(actor, p.who, true) },
	); err != nil {
		t.Fatal(err)
	}
	if got := w.committed(t, 2); !slices.Equal(got, []string{"0=b"}) {
		t.Fatal(got)
	}
}

// TestGroupsRespectStagedOffsets: who deletes groups, offsets and topics while a transaction is open.
func TestGroupsRespectStagedOffsets(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	w := mustBegin(t, d, x, Config{}, 1)
	p := &play{w: w}
	if err := p.init(); err != nil {
		t.Fatal(err)
	}
	if err := w.addGroup(actor, p.who.ProducerID, p.who.Epoch, "g"); err != nil {
		t.Fatal(err)
	}
	if err := w.stage(actor, p.who, "g", 1, 5); err != nil {
		t.Fatal(err)
	}
	if err := w.groups.Delete("g"); !errors.Is(err, kerr.NonEmptyGroup) {
		t.Fatalf("deleting the group: %v", err)
	}
	w.mustEnd(t)
	w = mustBegin(t, d, x, Config{}) // staged offsets survive
	if !w.groups.Unstable("g", theTopic, 1) || w.offset("g", 1) != -1 {
		t.Fatal("the staged offset is lost, or seen")
	}
	w.groups.ForgetTopic(theTopic)
	if w.groups.Unstable("g", theTopic, 1) {
		t.Fatal("the offset of a deleted topic is still to come")
	}
	if err := w.finish(actor, p.who, true); err != nil {
		t.Fatal(err)
	}
	w.mustEnd(t)
	w = mustBegin(t, d, vfs.NewMem(), Config{})
	defer w.mustEnd(t)
	if w.offset("g", 1) != -1 {
		t.Fatal("the offset of a deleted topic came back")
	}
	// Members are checked where they are named (KIP-447).
	who, _ := w.txns.Lookup(actor)
	if err := w.addGroup(actor, who.ProducerID, who.Epoch, "g"); err != nil {
		t.Fatal(err)
	}
	_, err := w.txns.CommitOffsets(actor, who.ProducerID, who.Epoch, group.CommitRequest{Group: "g", Generation: 3, MemberID: "m"})
	if !errors.Is(err, kerr.IllegalGeneration) {
		t.Fatal(err)
	}
}

// TestIdleProducersAreForgotten by their queues, as the coordinator sees to it; one with an open transaction is not.
func TestIdleProducersAreForgotten(t *testing.T) {
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{CheckEvery: time.Millisecond, ProducerExpiration: 20 * time.Millisecond}, 1)
	defer w.mustEnd(t)
	p := &play{w: w}
	if err := firstError(
		p.init,
		func() error { return w.add(actor, p.who.ProducerID, p.who.Epoch, []Partition{part(1)}) },
		func() error { _, err := w.put(1, p.who, 0, true, "open"); return err },
		func() error { _, err := w.put(1, Record{ProducerID: 5000}, 0, false, "idle"); return err },
	); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		ps, err := w.st.Producers(1)
		if err != nil {
			t.Fatal(err)
		}
		if len(ps) == 1 {
			if ps[0].ID != p.who.ProducerID || ps[0].Open != 0 {
				t.Fatalf("%+v is left", ps)
			}
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%+v are left", ps)
		}
	}
}
