package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/internal/testenv"
)

// client is an idempotent producer of numbered records into one queue, with up to four batches in flight.
type client struct {
	q     queue.ID
	pid   int64
	mu    sync.Mutex
	next  int              // number of the next new record
	acked map[int]int64    // number -> offset
	wait  map[int]struct{} // sent, no answer yet
}

func (c *client) batch(t testing.TB, n int) batch.Batch {
	t.Helper()
	var b batch.Builder
	b.Producer(c.pid, 0, int32(n)).Add(batch.Record{Time: int64(n), Key: []byte("k"), Value: fmt.Appendf(nil, "%d/%d", c.pid, n)})
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// send appends record n and takes note of the answer.
func (c *client) send(t testing.TB, s *Store, n int) *Ticket {
	tk := s.Append(Durable, data(c.q, c.batch(t, n)))
	tk.OnDone(func() {
		if tk.Err() != nil || tk.Results()[0].Err != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if old, ok := c.acked[n]; ok && old != tk.Results()[0].BaseOffset {
			t.Errorf("record %d of producer %d was answered with offsets %d and %d", n, c.pid, old, tk.Results()[0].BaseOffset)
		}
		c.acked[n] = tk.Results()[0].BaseOffset
		delete(c.wait, n)
	})
	return tk
}

// run sends until the store refuses or ctx ends.
func (c *client) run(ctx context.Context, t testing.TB, s *Store) {
	var flight []*Ticket
	for ctx.Err() == nil {
		c.mu.Lock()
		n := c.next
		c.next++
		c.wait[n] = struct{}{}
		c.mu.Unlock()
		flight = append(flight, c.send(t, s, n))
		if len(flight) >= 4 {
			<-flight[0].Done()
			if flight[0].Err() != nil {
				return
			}
			flight = flight[1:]
		}
	}
}

// retry sends what had no answer again, in order, as a client does after a reconnect.
func (c *client) retry(t testing.TB, s *Store) {
	c.mu.Lock()
	var again []int
	for n := range c.wait {
		again = append(again, n)
	}
	c.mu.Unlock()
	slices.Sort(again)
	for _, n := range again {
		tk := c.send(t, s, n)
		<-tk.Done()
		if tk.Err() != nil {
			t.Fatal(tk.Err())
		}
		if err := tk.Results()[0].Err; err != nil {
			t.Fatalf("retrying record %d of producer %d: %v", n, c.pid, err)
		}
	}
}

// check: each record once, in order, where it was acknowledged.
func check(t testing.TB, s *Store, q queue.ID, clients []*client) {
	t.Helper()
	seen := map[string]int64{}
	last := map[int64]int{}
	for _, v := range values(t, s, q, 0) {
		var off, pid int64
		var n int
		if _, err := fmt.Sscanf(v, "%d=%d/%d", &off, &pid, &n); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%d/%d", pid, n)
		if old, ok := seen[key]; ok {
			t.Fatalf("record %s stands at %d and %d", key, old, off)
		}
		if int64(len(seen)) != off {
			t.Fatalf("queue %d: offset %d follows %d records", q, off, len(seen))
		}
		if prev, ok := last[pid]; ok && n != prev+1 || !ok && n != 0 {
			t.Fatalf("producer %d: record %d follows %d", pid, n, prev)
		}
		seen[key], last[pid] = off, n
	}
	for _, c := range clients {
		if c.q != q {
			continue
		}
		c.mu.Lock()
		for n, off := range c.acked {
			if got, ok := seen[fmt.Sprintf("%d/%d", c.pid, n)]; !ok || got != off {
				t.Fatalf("record %d of producer %d was acknowledged at %d, found at %d (%v)", n, c.pid, off, got, ok)
			}
		}
		c.mu.Unlock()
	}
}

// TestPowerCuts crashes the disk under load at random moments: unsynced pages are kept or dropped at random.
func TestPowerCuts(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	d, x := disk.NewMem(), vfs.NewCrashableMem()
	var clients []*client
	for i := range 4 {
		clients = append(clients, &client{q: queue.ID(1 + i/2), pid: int64(100 + i), acked: map[int]int64{}, wait: map[int]struct{}{}})
	}
	for round := range 25 {
		o := memOptions(d, x)
		o.FlushLogBytes = 200 << 10
		o.MaxProducers = 2 // windows must survive eviction, too
		s, err := Open("/data", o, quiet(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(context.Background()); err != nil {
			t.Fatalf("start %d: %v", round, err)
		}
		open(t, s, forever, 1, 2)
		for _, c := range clients {
			c.retry(t, s)
		}
		for q := range queue.ID(3) {
			if q > 0 {
				check(t, s, q, clients)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() { c.run(ctx, t, s) })
		}
		target := rng.IntN(300)
		for enough := false; !enough; {
			sum := 0
			for _, c := range clients {
				c.mu.Lock()
				sum += len(c.acked)
				c.mu.Unlock()
			}
			enough = sum >= (round+1)*100+target
			if !enough {
				if err := s.Wait(ctx, 1, Cursor{Queue: 1, Offset: heads(t, s, 1)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Answers up to here must survive; what is answered while the crash is taken is retried.
		for _, c := range clients {
			c.mu.Lock()
		}
		acked := make([]map[int]int64, len(clients))
		for i, c := range clients {
			acked[i] = map[int]int64{}
			for k, v := range c.acked {
				acked[i][k] = v
			}
		}
		x2 := x.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
		d2 := d.Crash(rng)
		for _, c := range clients {
			c.mu.Unlock()
		}
		cancel()
		wg.Wait()
		stop(t, s)
		for i, c := range clients {
			for n := range c.acked {
				if _, ok := acked[i][n]; !ok {
					c.wait[n] = struct{}{}
				}
			}
			c.acked = acked[i]
			for n := range c.next {
				if _, ok := c.acked[n]; !ok {
					c.wait[n] = struct{}{}
				}
			}
		}
		d, x = d2, x2
	}
}

func heads(t testing.TB, s *Store, q queue.ID) int64 {
	t.Helper()
	h, err := s.Head(q)
	if err != nil {
		t.Fatal(err)
	}
	return h.HighWatermark
}
