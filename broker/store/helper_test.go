package store

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

var forever = Policy{RetentionMs: -1, RetentionBytes: -1}

// memOptions puts everything into memory, with small segments.
func memOptions(d *disk.Mem, x vfs.FS) Options {
	return Options{
		SegmentBytes: 1 << 20, MaxMessageBytes: 256 << 10, TailBytes: 1 << 20, MemTableBytes: 1 << 20, CacheBytes: 1 << 20,
		ZeroFillAfter: 64 << 10, ZeroFillAhead: 2 << 20, Disk: d, IndexFS: x,
		RetentionCheck: time.Hour, CleanBackoff: time.Hour, MaintenanceBytes: -1, ScrubBytes: -1, CompactFloor: 1, // tests do these themselves
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start opens and starts a store, and closes it with the test.
func start(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

func stop(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, s *Store, p Policy, qs ...queue.ID) {
	t.Helper()
	if err := s.OpenAll(p, qs...); err != nil {
		t.Fatal(err)
	}
}

// one builds a batch of records with these values, 1 ms apart from ms on.
func one(t testing.TB, ms int64, values ...string) batch.Batch {
	t.Helper()
	var b batch.Builder
	for i, v := range values {
		b.Add(batch.Record{Time: ms + int64(i), Key: []byte("k"), Value: []byte(v)})
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func data(q queue.ID, b batch.Batch) Entry {
	return Entry{Kind: commitlog.KindData, Queue: q, Batch: b}
}

// put appends one batch durably and gives its base offset.
func put(t testing.TB, s *Store, q queue.ID, b batch.Batch) int64 {
	t.Helper()
	tk := s.Append(Durable, data(q, b))
	<-tk.Done()
	if tk.Err() != nil {
		t.Fatal(tk.Err())
	}
	if r := tk.Results()[0]; r.Err != nil {
		t.Fatal(r.Err)
	} else {
		return r.BaseOffset
	}
	return -1
}

// values reads a queue from an offset to its end, as "offset=value".
func values(t testing.TB, s *Store, q queue.ID, from int64) []string {
	t.Helper()
	var out []string
	for {
		res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: q, Offset: from, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Parts[0]
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		if len(p.Batches) == 0 {
			res.Release()
			return out
		}
		for rest := p.Batches; len(rest) > 0; {
			b := batch.Batch(rest[:batch.Batch(rest).Size()])
			rest = rest[len(b):]
			recs, err := b.Records(16 << 20)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range recs {
				out = append(out, fmt.Sprintf("%d=%s", b.BaseOffset()+int64(i), r.Value))
			}
			from = b.LastOffset() + 1
		}
		res.Release()
	}
}

// ID and batchOf keep concurrent tests readable.
type ID = queue.ID

func batchOf(b []byte) batch.Batch { return b }
