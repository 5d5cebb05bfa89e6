package source

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	connectapi "github.com/penstockio/penstock/connect-api"
)

func mark(n int) []connectapi.Mark {
	return []connectapi.Mark{{Partition: connectapi.NewPartition("p", "x"), Offset: connectapi.NewOffset("n", n)}}
}

// TestPositionsStayBehindTheData finishes rows in random order and checks at every step that the position given free
// never passes an unfinished batch.
func TestPositionsStayBehindTheData(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := newLedger()
		var open []*entry
		finished := map[uint64]int{}
		left := map[uint64]int{}
		for id := uint64(1); id <= 40; id++ {
			rows := r.IntN(4)
			e := l.add(id, mark(int(id)), func() {})
			for range rows {
				e.expect()
				open = append(open, e)
			}
			left[id] = rows
			e.done()
		}
		r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, e := range open {
			e.done()
			finished[e.id]++
			c := l.take()
			for id := uint64(1); id <= c.batch; id++ {
				if finished[id] < left[id] {
					t.Fatalf("seed %d: batch %d is acknowledged although batch %d has %d of %d rows", seed, c.batch, id, finished[id], left[id])
				}
			}
			if len(c.positions) > 0 {
				if n, err := c.positions[0].Offset.Int64("n"); err != nil || uint64(n) != c.batch {
					t.Fatalf("position %v for batch %d", c.positions, c.batch)
				}
			}
		}
		if !l.idle() || l.last != 40 {
			t.Fatalf("seed %d: not idle at the end, last %d", seed, l.last)
		}
	}
}

func TestPutBackLosesToNewer(t *testing.T) {
	l := newLedger()
	l.add(1, mark(1), func() {}).done()
	c := l.take()
	l.add(2, mark(2), func() {}).done()
	l.putBack(c)
	if got := l.take(); len(got.positions) != 1 || got.positions[0].Offset != connectapi.NewOffset("n", 2) {
		t.Fatalf("got %v", got.positions)
	}
	l.putBack(c)
	if got := l.take(); len(got.positions) != 1 || got.positions[0].Offset != connectapi.NewOffset("n", 1) {
		t.Fatalf("got %v", got.positions)
	}
}

func TestReleaseIsCalledOnceUnderRaces(t *testing.T) {
	l := newLedger()
	var mu sync.Mutex
	released := map[string]int{}
	var wg sync.WaitGroup
	for id := uint64(1); id <= 100; id++ {
		e := l.add(id, nil, func() { mu.Lock(); released[fmt.Sprint(id)]++; mu.Unlock() })
		for range 5 {
			e.expect()
			wg.Go(e.done)
		}
		e.done()
	}
	wg.Wait()
	for id, n := range released {
		if n != 1 {
			t.Errorf("batch %s was released %d times", id, n)
		}
	}
	if len(released) != 100 || !l.idle() {
		t.Fatalf("%d released, idle %v", len(released), l.idle())
	}
}
