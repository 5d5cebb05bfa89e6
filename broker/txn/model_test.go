package txn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/internal/testenv"
)

// model is transactions done the simplest way: every record with the transaction it belongs to, and what became of that.
type model struct {
	queues map[queue.ID][]modelRecord
	ends   map[int]bool // transaction -> it committed
	groups map[place]int64
}

type modelRecord struct {
	offset int64
	value  string
	txn    int // 0: none
}

type place struct {
	group string
	q     queue.ID
}

// holder is one transactional id as its newest holder sees it.
type holder struct {
	id     string
	who    Record
	was    []Record // earlier holders
	seqs   map[queue.ID]int32
	txn    int // number of the open transaction, 0: none
	added  map[queue.ID]bool
	groups map[string]bool
	staged map[place]int64
}

func (m *model) committed(q queue.ID) []string {
	out := []string{}
	for _, r := range m.queues[q] {
		if ok, ended := m.ends[r.txn]; r.txn != 0 && !ended {
			return out // the last stable offset
		} else if r.txn == 0 || ok {
			out = append(out, fmt.Sprintf("%d=%s", r.offset, r.value))
		}
	}
	return out
}

func (m *model) stable(q queue.ID, high int64) int64 {
	for _, r := range m.queues[q] {
		if _, ended := m.ends[r.txn]; r.txn != 0 && !ended {
			return r.offset
		}
	}
	return high
}

func (h *holder) ended(m *model, commit bool) {
	if h.txn != 0 {
		m.ends[h.txn] = commit
		if commit {
			for k, v := range h.staged {
				m.groups[k] = v
			}
		}
	}
	h.txn, h.added, h.groups, h.staged = 0, map[queue.ID]bool{}, map[string]bool{}, map[place]int64{}
}

// TestTransactionsAgainstModel: random transactions of several ids across queues and groups, taken over, timed out, with
// restarts and rebuilt indexes in between.
func TestTransactionsAgainstModel(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	d, x := disk.NewMem(), vfs.FS(vfs.NewMem())
	all := []queue.ID{1, 2, 3, 4}
	cfg := Config{}
	w := mustBegin(t, d, x, cfg, all...)
	m := &model{queues: map[queue.ID][]modelRecord{}, ends: map[int]bool{}, groups: map[place]int64{}}
	var holders []*holder
	for i := range 4 {
		h := &holder{id: fmt.Sprintf("id%d", i), seqs: map[queue.ID]int32{}}
		h.ended(m, false)
		holders = append(holders, h)
	}
	numbers := 0
	counts := map[string]int{}
	must := func(what string, err error) {
		t.Helper()
		counts[what]++
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for step := range 1500 {
		h := holders[rng.IntN(len(holders))]
		q := all[rng.IntN(len(all))]
		g := fmt.Sprintf("g%d", rng.IntN(2))
		value := fmt.Sprintf("s%d", step)
		held := h.who.TransactionalID != ""
		switch k := rng.IntN(100); {
		case !held || k < 3:
			who, err := w.txns.Init(t.Context(), h.id, 60_000, -1, -1)
			must("take over", err)
			if held {
				h.was = append(h.was, h.who)
			}
			h.who, h.seqs = who, map[queue.ID]int32{}
			h.ended(m, false)
		case k < 20:
			must("add", w.add(h.id, h.who.ProducerID, h.who.Epoch, []Partition{part(q)}))
			h.added[q] = true
			if h.txn == 0 {
				numbers++
				h.txn = numbers
			}
		case k < 55:
			off, err := w.put(q, h.who, h.seqs[q], true, value)
			if !h.added[q] {
				if !errors.Is(err, ErrNotAdded) {
					t.Fatalf("data for a partition not added: %v", err)
				}
				continue
			}
			must("put", err)
			h.seqs[q]++
			m.queues[q] = append(m.queues[q], modelRecord{off, value, h.txn})
		case k < 60:
			off, err := w.put(q, Record{ProducerID: -1}, 0, false, value)
			must("plain put", err)
			m.queues[q] = append(m.queues[q], modelRecord{off, value, 0})
		case k < 70:
			must("add group", w.addGroup(h.id, h.who.ProducerID, h.who.Epoch, g))
			if h.txn == 0 {
				numbers++
				h.txn = numbers
			}
			h.groups[g] = true
			must("stage", w.stage(h.id, h.who, g, q, int64(step)))
			h.staged[place{g, q}] = int64(step)
		case k < 88:
			commit := rng.IntN(3) > 0
			if h.txn == 0 {
				continue
			}
			must("end", w.finish(h.id, h.who, commit))
			h.ended(m, commit)
			must("end again", w.finish(h.id, h.who, commit))
		case k < 90 && h.txn != 0: // its time is over
			tx := w.txns.find(h.id)
			tx.began = tx.began.Add(-time.Hour)
			tx.mu.Unlock()
			w.txns.abortLate()
			h.ended(m, false)
			who, err := w.txns.Init(t.Context(), h.id, 60_000, h.who.ProducerID, h.who.Epoch)
			must("go on after a timeout", err)
			h.was = append(h.was, h.who)
			h.who, h.seqs = who, map[queue.ID]int32{}
		case k < 94 && len(h.was) > 0: // a zombie
			z := h.was[rng.IntN(len(h.was))]
			end := w.head(t, q).End // a duplicate of what it appended in its time is no error, and nothing new
			if _, err := w.put(q, z, int32(rng.IntN(5)), rng.IntN(2) == 0, "zombie"); err == nil && w.head(t, q).End != end {
				t.Fatalf("%+v appended, the holder is %+v", z, h.who)
			}
			if err := w.finish(h.id, z, true); err == nil {
				t.Fatalf("%+v committed, the holder is %+v", z, h.who)
			}
			counts["zombie"]++
		case k == 94:
			w.mustEnd(t)
			if rng.IntN(2) == 0 {
				x = vfs.NewMem()
			}
			cfg.GroupBytes = rng.IntN(2) // one byte: everything is split
			w = mustBegin(t, d, x, cfg)
			counts["restart"]++
		}
		if step%5 == 0 {
			m.compare(t, w, all, holders)
		}
	}
	w.mustEnd(t)
	w = mustBegin(t, d, vfs.NewMem(), cfg)
	m.compare(t, w, all, holders)
	w.mustEnd(t)
	t.Log(counts)
}

func (m *model) compare(t *testing.T, w *world, all []queue.ID, holders []*holder) {
	t.Helper()
	for _, q := range all {
		if got, want := w.committed(t, q), m.committed(q); !slices.Equal(got, want) {
			t.Fatalf("queue %d shows\n%v, want\n%v", q, got, want)
		}
		if h := w.head(t, q); h.LastStable != m.stable(q, h.HighWatermark) {
			t.Fatalf("queue %d is stable to %d, want %d", q, h.LastStable, m.stable(q, h.HighWatermark))
		}
		for _, g := range []string{"g0", "g1"} {
			want, ok := m.groups[place{g, q}]
			if !ok {
				want = -1
			}
			if got := w.offset(g, q); got != want {
				t.Fatalf("group %s in queue %d stands at %d, want %d", g, q, got, want)
			}
			unstable := slices.ContainsFunc(holders, func(h *holder) bool { _, ok := h.staged[place{g, q}]; return ok })
			if got := w.groups.Unstable(g, theTopic, int32(q)); got != unstable {
				t.Fatalf("group %s in queue %d: unstable %t, want %t", g, q, got, unstable)
			}
		}
	}
}
