package txn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/internal/testenv"
)

// TestTakenOverAndOver: many holders of a few transactional ids fence each other in the middle of what they do, with
// timeouts in between. Whatever was answered, each transaction is in all its queues or in none.
func TestTakenOverAndOver(t *testing.T) {
	w := mustBegin(t, disk.NewMem(), vfs.NewMem(), Config{CheckEvery: time.Millisecond, GroupBytes: 700}, stages...)
	defer w.mustEnd(t)
	var (
		mu     sync.Mutex
		acked  = map[string]bool{}
		asked  = map[string]bool{} // to commit
		fenced int
	)
	turn := func(rng *rand.Rand, name, id string) error {
		who, err := w.txns.Init(t.Context(), id, 1+rng.Int32N(50), -1, -1)
		if err != nil {
			return err
		}
		for i := range int32(1 + rng.IntN(3)) {
			value := fmt.Sprintf("%s.%d", name, i)
			if err := w.add(id, who.ProducerID, who.Epoch, []Partition{part(1), part(2), part(3)}); err != nil {
				return err
			}
			if err := w.addGroup(id, who.ProducerID, who.Epoch, "g"); err != nil {
				return err
			}
			for _, q := range stages {
				if _, err := w.put(q, who, i, true, value); err != nil {
					return err
				}
			}
			if err := w.stage(id, who, "g", 1, 5); err != nil {
				return err
			}
			if rng.IntN(4) == 0 {
				return w.finish(id, who, false)
			}
			mu.Lock()
			asked[value] = true
			mu.Unlock()
			if err := w.finish(id, who, true); err != nil {
				return err
			}
			mu.Lock()
			acked[value] = true
			mu.Unlock()
		}
		return nil
	}
	seed := testenv.Seed(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		wg.Go(func() {
			for n := range 60 {
				if err := turn(rng, fmt.Sprintf("w%d-%d", worker, n), fmt.Sprintf("id%d", rng.IntN(4))); err != nil {
					mu.Lock()
					fenced++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for i := range 4 {
		if _, err := w.txns.Init(t.Context(), fmt.Sprintf("id%d", i), 1000, -1, -1); err != nil {
			t.Fatal(err)
		}
	}
	var first []string
	for _, q := range stages {
		var got []string
		for _, v := range w.committed(t, q) {
			_, v, _ = strings.Cut(v, "=")
			got = append(got, v)
			if !asked[v] {
				t.Errorf("queue %d shows %s, which nobody asked to commit", q, v)
			}
		}
		slices.Sort(got)
		if q == 1 {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("queue 1 shows %d transactions, queue %d %d", len(first), q, len(got))
		}
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("queue %d shows a transaction twice", q)
		}
		if h := w.head(t, q); h.LastStable != h.HighWatermark {
			t.Errorf("queue %d hangs at %d of %d", q, h.LastStable, h.HighWatermark)
		}
	}
	for v := range acked {
		if _, ok := slices.BinarySearch(first, v); !ok {
			t.Errorf("%s was answered as committed and is not shown", v)
		}
	}
	if w.groups.Unstable("g", theTopic, 1) {
		t.Error("the group's offset stays unstable")
	}
	t.Logf("%d transactions shown, %d answered, %d turns ended by somebody else", len(first), len(acked), fenced)
	if len(acked) == 0 || fenced == 0 {
		t.Error("nothing was raced")
	}
}
