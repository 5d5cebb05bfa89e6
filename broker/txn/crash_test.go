package txn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/internal/testenv"
)

// play is a script of transactions: each puts a record named after it into each of three queues and commits an offset.
type play struct {
	w      *world
	pad    int // bytes behind each name, so that pages end anywhere
	who    Record
	seq    int32
	acked  []string // transactions whose commit was answered
	unsure string   // the transaction whose commit was asked for and not answered
	denied []string // transactions that were never asked to commit, or were aborted
}

const actor = "actor"

var stages = []queue.ID{1, 2, 3}

// init becomes the actor; a transaction that is open goes.
func (p *play) init() (err error) {
	p.seq = 0
	p.who, err = p.w.txns.Init(context.Background(), actor, 60_000, -1, -1)
	return err
}

// fill opens a transaction and puts everything into it.
func (p *play) fill(name string, offset int64) error {
	p.denied = append(p.denied, name)
	var parts []Partition
	for _, q := range stages {
		parts = append(parts, part(q))
	}
	if err := p.w.add(actor, p.who.ProducerID, p.who.Epoch, parts); err != nil {
		return err
	}
	for _, q := range stages {
		if _, err := p.w.put(q, p.who, p.seq, true, name+"|"+strings.Repeat(".", p.pad)); err != nil {
			return err
		}
	}
	p.seq++
	if err := p.w.addGroup(actor, p.who.ProducerID, p.who.Epoch, "group"); err != nil {
		return err
	}
	return p.w.stage(actor, p.who, "group", 1, offset)
}

func (p *play) commit(name string) error {
	p.denied = slices.DeleteFunc(p.denied, func(n string) bool { return n == name })
	p.unsure = name
	if err := p.w.finish(actor, p.who, true); err != nil {
		return err
	}
	p.unsure = ""
	p.acked = append(p.acked, name)
	return nil
}

// run plays until something fails.
func (p *play) run() error {
	return firstError(
		p.init,
		func() error { return p.fill("t1", 101) },
		func() error { return p.commit("t1") },
		func() error { return p.fill("t2", 102) },
		func() error { return p.w.finish(actor, p.who, false) },
		func() error { return p.fill("t3", 103) },
		func() error { return p.commit("t3") },
		func() error { return p.fill("t4", 104) },
		p.init, // another one takes over
		func() error { return p.fill("t5", 105) },
		func() error { return p.commit("t5") },
	)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// names lists the transactions a queue shows.
func (p *play) names(t *testing.T, q queue.ID) (names []string) {
	t.Helper()
	for _, v := range p.w.committed(t, q) {
		_, v, _ = strings.Cut(v, "=")
		name, _, _ := strings.Cut(v, "|")
		names = append(names, name)
	}
	return names
}

// check looks at what a reader of committed data sees: all of a transaction or nothing of it, in every queue and in the
// group; and nothing hangs once the actor is back.
func (p *play) check(t *testing.T) {
	t.Helper()
	if err := p.init(); err != nil {
		t.Fatal(err)
	}
	names := p.names(t, 1)
	for _, q := range stages {
		got := p.names(t, q)
		if !slices.Equal(got, names) {
			t.Fatalf("queue 1 shows %v, queue %d %v", names, q, got)
		}
		if h := p.w.head(t, q); h.LastStable != h.HighWatermark {
			t.Fatalf("queue %d hangs at %d of %d", q, h.LastStable, h.HighWatermark)
		}
	}
	want := slices.Clone(p.acked)
	if p.unsure != "" && slices.Contains(names, p.unsure) {
		want = append(want, p.unsure)
	}
	if !slices.Equal(names, want) {
		t.Fatalf("committed and answered %v, not answered %q, never committed %v: shown are %v", p.acked, p.unsure, p.denied, names)
	}
	offset := int64(-1)
	if n := len(names); n > 0 {
		if _, err := fmt.Sscanf(names[n-1], "t%d", &offset); err != nil {
			t.Fatal(err)
		}
		offset += 100
	}
	if got := p.w.offset("group", 1); got != offset {
		t.Fatalf("shown are %v, the group stands at %d", names, got)
	}
	if p.w.groups.Unstable("group", theTopic, 1) {
		t.Fatal("the group's offset stays unstable")
	}
}

// TestCrashAtEveryStep fails the disk at its first, second, third … write or sync, cuts the power there, and looks at what
// is left: with and without the index, with transactions in one append group and split into many.
func TestCrashAtEveryStep(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	for _, groupBytes := range []int{0, 1} {
		outcomes := map[int]int{}
		for step := 0; ; step++ {
			d, x := disk.NewMem(), vfs.NewCrashableMem()
			p := &play{w: mustBegin(t, d, x, Config{GroupBytes: groupBytes}, stages...), pad: rng.IntN(3000)}
			var left atomic.Int64
			left.Store(int64(step))
			d.SetFault(func(op disk.Op, _ string) error {
				if (op == disk.OpWrite || op == disk.OpSync) && left.Add(-1) < 0 {
					return syscall.EIO
				}
				return nil
			})
			err := p.run()
			d.SetFault(func(disk.Op, string) error { return syscall.EIO }) // nothing after the power cut counts
			x2 := vfs.FS(x.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng}))
			d2 := d.Crash(rng)
			_ = p.w.end() // of what the crash left behind
			if step%2 == 0 {
				x2 = vfs.NewMem()
			}
			for _, again := range []bool{false, true} { // recovered from twice, it is the same
				if p.w, err = begin(d2, x2, Config{GroupBytes: groupBytes}); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				p.check(t)
				if again {
					outcomes[len(p.w.committed(t, 1))]++
				}
				p.w.mustEnd(t)
			}
			if left.Load() >= 0 { // the play came to its end
				if len(p.acked) != 3 {
					t.Fatalf("%v acknowledged: %v", p.acked, err)
				}
				break
			}
		}
		t.Logf("group bytes %d: transactions shown after the crash, and how often: %v", groupBytes, outcomes)
		for n := range 4 {
			if outcomes[n] == 0 {
				t.Errorf("no crash left %d transactions", n)
			}
		}
	}
}

// TestDecidedIsFinished: what was decided when space ran out is finished when there is some again, also by a restart.
func TestDecidedIsFinished(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, commit := range []bool{false, true} {
			t.Run(fmt.Sprintf("restart=%t,commit=%t", restart, commit), func(t *testing.T) {
				d, x := disk.NewMem(), vfs.NewMem()
				cfg := Config{GroupBytes: 1}
				p := &play{w: mustBegin(t, d, x, cfg, stages...)}
				if err := firstError(p.init, func() error { return p.fill("t1", 101) }); err != nil {
					t.Fatal(err)
				}
				// As if the decision was the last thing there was room for.
				tx := p.w.txns.find(actor)
				decided := tx.rec
				decided.State, _ = ended(commit)
				if _, err := p.w.txns.append(0, recordEntry(&decided)); err != nil {
					t.Fatal(err)
				}
				tx.rec = decided
				tx.mu.Unlock()
				for _, c := range []bool{commit, !commit} {
					want := kerr.InvalidTxnState
					if c == commit {
						want = kerr.ConcurrentTransactions
					}
					if err := p.w.finish(actor, p.who, c); !errors.Is(err, want) {
						t.Fatalf("ending it with commit=%t: %v", c, err)
					}
				}
				if _, err := p.w.txns.Init(t.Context(), actor, 1000, -1, -1); !errors.Is(err, kerr.ConcurrentTransactions) {
					t.Fatalf("taking over: %v", err)
				}
				if restart {
					p.w.mustEnd(t)
					p.w = mustBegin(t, d, x, cfg)
				} else {
					p.w.txns.finishDecided()
				}
				if commit {
					p.acked, p.denied = []string{"t1"}, nil
				}
				if err := p.w.finish(actor, p.who, commit); err != nil {
					t.Fatalf("the same decision again: %v", err)
				}
				p.check(t)
				p.w.mustEnd(t)
			})
		}
	}
}

// TestFullDisk: while there is no space nothing of a transaction changes, and clients are told to try again; then they go on.
func TestFullDisk(t *testing.T) {
	for _, groupBytes := range []int{0, 1} {
		d := disk.NewMem()
		p := &play{w: mustBegin(t, d, vfs.NewMem(), Config{GroupBytes: groupBytes}, stages...)}
		if err := firstError(p.init, func() error { return p.fill("t1", 101) }); err != nil {
			t.Fatal(err)
		}
		d.SetFault(func(op disk.Op, _ string) error {
			if op == disk.OpCreate || op == disk.OpAllocate {
				return syscall.ENOSPC
			}
			return nil
		})
		big := strings.Repeat("x", 50_000)
		for err := error(nil); !errors.Is(err, store.ErrStorage); _, err = p.w.put(4, Record{ProducerID: -1}, 0, false, big) {
			if err != nil && !errors.Is(err, store.ErrNoQueue) {
				t.Fatal(err)
			}
			if err := p.w.st.Open(4, store.Policy{RetentionMs: -1, RetentionBytes: -1}); err != nil && !errors.Is(err, store.ErrStorage) {
				t.Fatal(err)
			}
		}
		for n, err := 0, error(nil); err == nil; n++ { // the last crumbs go to what is smallest
			_, err = p.w.txns.Init(t.Context(), fmt.Sprintf("%03d", n), 1, -1, -1)
		}
		for what, err := range map[string]error{
			"commit":    p.w.finish(actor, p.who, true),
			"add":       p.w.add(actor, p.who.ProducerID, p.who.Epoch, []Partition{part(4)}),
			"add group": p.w.addGroup(actor, p.who.ProducerID, p.who.Epoch, "another"),
			"stage":     p.w.stage(actor, p.who, "group", 1, 101),
			"take over": func() error { _, err := p.w.txns.Init(t.Context(), actor, 1000, -1, -1); return err }(),
			"new id":    func() error { _, err := p.w.txns.Init(t.Context(), "new one", 1000, -1, -1); return err }(),
		} {
			if !errors.Is(err, kerr.CoordinatorNotAvailable) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if r, _ := p.w.txns.Lookup(actor); r.State != Ongoing || r.Epoch != p.who.Epoch || len(r.Partitions) != 3 {
			t.Errorf("it became %+v", r)
		}
		d.SetFault(nil)
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, err := p.w.put(1, p.who, p.seq, true, "t1") // the transaction goes on
			if err == nil {
				break
			}
			if time.Now().After(until) {
				t.Fatal(err)
			}
		}
		if err := p.w.finish(actor, p.who, true); err != nil {
			t.Fatal(err)
		}
		if got := p.w.offset("group", 1); got != 101 || len(p.w.committed(t, 2)) != 1 {
			t.Errorf("the group stands at %d, queue 2 shows %v", got, p.w.committed(t, 2))
		}
		p.w.mustEnd(t)
	}
}
