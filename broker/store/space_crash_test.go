package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/internal/testenv"
)

// maintained runs all background work over and over, and readers beside it, until the context ends.
func maintained(ctx context.Context, t testing.TB, s *Store, queues []queue.ID, wg *sync.WaitGroup) {
	for _, f := range []func(context.Context) error{s.Retain, s.clean} {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := f(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 2 {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		wg.Go(func() {
			for ctx.Err() == nil {
				q := queues[rng.IntN(len(queues))]
				h, err := s.Head(q)
				if err != nil || h.LogStart >= h.HighWatermark {
					continue
				}
				c := Cursor{Queue: q, Offset: h.LogStart + rng.Int64N(h.HighWatermark-h.LogStart), MaxBytes: 32 << 10}
				res, err := s.Read(ctx, 32<<10, c)
				if err != nil {
					continue
				}
				p := res.Parts[0]
				var below *OffsetError
				switch {
				case errors.As(p.Err, &below): // trimmed meanwhile
				case p.Err != nil:
					t.Errorf("reading queue %d at %d: %v", q, c.Offset, p.Err)
				case len(p.Batches) == 0 && ctx.Err() != nil:
				case len(p.Batches) == 0:
					t.Errorf("nothing to read in queue %d at %d below %d", q, c.Offset, p.HighWatermark)
				default:
					if b := batch.Batch(p.Batches[:batch.Batch(p.Batches).Size()]); b.SumCRC() != b.CRC() || b.LastOffset() < c.Offset {
						t.Errorf("queue %d at %d gave a batch up to %d", q, c.Offset, b.LastOffset())
					}
				}
				res.Release()
			}
		})
	}
}

// TestPowerCutsWhileMaintained crashes the disk while batches are compacted, expired, moved and their segments removed,
// with readers beside it; sometimes the index is lost, too. What was acknowledged is compared with a model.
func TestPowerCutsWhileMaintained(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	d, x := disk.NewMem(), vfs.NewCrashableMem()
	nm := &names{}
	options := func() Options {
		o := memOptions(d, x)
		o.FlushLogBytes, o.SegmentBytes, o.MaxMessageBytes = 200<<10, 256<<10, 16<<10
		return o
	}
	m := &model{t: t, rng: rng, s: startWith(t, options(), nm), queues: map[queue.ID]*modelQueue{}, next: 1}
	var queues []queue.ID
	for _, p := range []Policy{
		{RetentionMs: -1, RetentionBytes: -1, Delete: true},
		{RetentionMs: -1, RetentionBytes: 100 << 10, Delete: true},
		{RetentionMs: -1, RetentionBytes: -1, Compact: true, TombstoneMs: 1 << 40, Dirty: 300},
		{RetentionMs: -1, RetentionBytes: -1, Compact: true, TombstoneMs: 0, Dirty: 100},
	} {
		queues = append(queues, m.open(p))
	}
	rounds := 8
	if testing.Short() {
		rounds = 4
	}
	removed, moved, rebuilt := false, false, 0
	for i := 0; i < rounds || (!removed || !moved) && i < 5*rounds; i++ { // a busy machine gets less done in a round
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		maintained(ctx, t, m.s, queues, &wg)
		for range 100 + rng.IntN(200) {
			m.produce(m.any())
		}
		x2 := x.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
		d2 := d.Crash(rng)
		cancel()
		wg.Wait()
		removed = removed || m.s.log.First() > 0
		moved = moved || m.s.cold.Durable() > 0
		stop(t, m.s)
		if t.Failed() {
			t.FailNow()
		}
		d, x = d2, x2
		if rng.IntN(3) == 0 || i >= rounds-1 && rebuilt == 0 {
			x = vfs.NewCrashableMem()
			rebuilt++
		}
		nm = &names{}
		m.s = startWith(t, options(), nm)
		m.check()
	}
	if !removed || !moved || rebuilt == 0 {
		t.Fatalf("segments removed: %v, batches moved: %v, index rebuilt %d times", removed, moved, rebuilt)
	}
}
