package store

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
)

// TestOffsetsByTime compares with a linear search, timestamps out of order, every codec, before and after trims.
func TestOffsetsByTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	var times []int64
	for i := range 120 {
		var bd batch.Builder
		bd.Codec = batch.Codec(i % 5)
		for range 1 + rng.IntN(5) {
			ms := int64(i*10) + rng.Int64N(200) - 100
			if i == 40 {
				ms = 5000 // from the future
			}
			times = append(times, ms)
			bd.Add(batch.Record{Time: ms, Value: []byte("v")})
		}
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, 1, b)
	}
	ctx := context.Background()
	for _, start := range []int64{0, 1, 57, 150, int64(len(times)) - 1, int64(len(times))} {
		if _, err := s.Trim(1, start); err != nil {
			t.Fatal(err)
		}
		for ms := int64(-200); ms < 5100; ms += 7 {
			want, wantAt := int64(-1), int64(-1)
			for o := start; o < int64(len(times)); o++ {
				if times[o] >= ms {
					want, wantAt = o, times[o]
					break
				}
			}
			if off, at, err := s.OffsetAt(ctx, 1, ms); err != nil || off != want || at != wantAt {
				t.Fatalf("log start %d, time %d: offset %d at %d, want %d at %d (%v)", start, ms, off, at, want, wantAt, err)
			}
		}
		want, wantAt := int64(-1), int64(-1)
		for o := start; o < int64(len(times)); o++ {
			if times[o] > wantAt {
				want, wantAt = o, times[o]
			}
		}
		if off, at, err := s.MaxTimestamp(ctx, 1); err != nil || off != want || at != wantAt {
			t.Fatalf("log start %d: maximum %d at %d, want %d at %d (%v)", start, off, at, want, wantAt, err)
		}
	}
}

func TestEpochEnd(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "a", "b"))
	for _, c := range []struct {
		ask, epoch int32
		end        int64
	}{{0, 0, 2}, {1, -1, -1}, {-1, -1, -1}} {
		if e, end, err := s.EpochEnd(1, c.ask); e != c.epoch || end != c.end || err != nil {
			t.Fatalf("epoch %d: %d ended at %d, %v", c.ask, e, end, err)
		}
	}
}
