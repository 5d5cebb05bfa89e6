package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
)

func TestTrimSurvives(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1)
	for i := range 10 {
		put(t, s, 1, one(t, int64(100+i), string(rune('a'+i))))
	}
	full, err := s.Size(1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Trim(1, 4); err != nil || got != 4 {
		t.Fatal(got, err)
	}
	if got, err := s.Trim(1, 2); err != nil || got != 4 {
		t.Fatalf("a log start went back: %d, %v", got, err)
	}
	var oe *OffsetError
	if _, err := s.Trim(1, 11); !errors.As(err, &oe) {
		t.Fatal(err)
	}
	checkTrimmed := func(s *Store) {
		t.Helper()
		res, err := s.Read(context.Background(), 1000, Cursor{Queue: 1, Offset: 3, MaxBytes: 1000}, Cursor{Queue: 1, Offset: 11, MaxBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Release()
		for _, p := range res.Parts {
			if !errors.As(p.Err, &oe) || p.LogStart != 4 || p.HighWatermark != 10 {
				t.Fatalf("%+v", p)
			}
		}
		if got := values(t, s, 1, 4); len(got) != 6 || got[0] != "4=e" {
			t.Fatal(got)
		}
		if off, at, err := s.OffsetAt(context.Background(), 1, 0); off != 4 || at != 104 || err != nil {
			t.Fatal(off, at, err)
		}
		if n, err := s.Size(1); err != nil || n != full/10*6 {
			t.Fatal(n, full, err)
		}
	}
	checkTrimmed(s)
	stop(t, s)
	s = start(t, "/data", memOptions(d, x))
	checkTrimmed(s)
	stop(t, s)
	s = start(t, "/data", memOptions(d, vfs.NewMem()))
	checkTrimmed(s)
	if got, err := s.Trim(1, -1); err != nil || got != 10 {
		t.Fatal(got, err)
	}
	if n, err := s.Size(1); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	if off, at, err := s.MaxTimestamp(context.Background(), 1); off != -1 || at != -1 || err != nil {
		t.Fatal(off, at, err)
	}
}

func TestDropSurvives(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1, 2)
	put(t, s, 1, one(t, 1, "a"))
	put(t, s, 2, one(t, 1, "b"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	woke := make(chan error, 1)
	go func() { woke <- s.Wait(ctx, 1, Cursor{Queue: 1, Offset: 1}) }()
	if err := s.Drop(1); err != nil {
		t.Fatal(err)
	}
	if err := <-woke; err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(1); !errors.Is(err, ErrNoQueue) {
		t.Fatal(err)
	}
	tk := s.Append(Durable, data(1, one(t, 1, "x")), data(2, one(t, 2, "c")))
	if <-tk.Done(); tk.Err() != nil || !errors.Is(tk.Results()[0].Err, ErrNoQueue) || tk.Results()[1].BaseOffset != 1 {
		t.Fatalf("%v %+v", tk.Err(), tk.Results())
	}
	for _, ix := range []vfs.FS{x, vfs.NewMem()} {
		stop(t, s)
		s = start(t, "/data", memOptions(d, ix))
		if _, err := s.Head(1); !errors.Is(err, ErrNoQueue) {
			t.Fatal(err)
		}
		if got := values(t, s, 2, 0); !slices.Equal(got, []string{"0=b", "1=c"}) {
			t.Fatal(got)
		}
	}
}

func TestAppendTime(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	p := forever
	p.AppendTime = true
	open(t, s, p, 1)
	open(t, s, forever, 2)
	var bd batch.Builder
	b, err := bd.Producer(5, 0, 0).Add(batch.Record{Time: 1}).Build()
	if err != nil {
		t.Fatal(err)
	}
	tk := s.Append(Durable, data(1, b), data(2, one(t, 1, "a")))
	<-tk.Done()
	r := tk.Results()
	if r[0].AppendTime < 1_600_000_000_000 || r[1].AppendTime != -1 {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		res, err := s.Read(context.Background(), 1000, Cursor{Queue: 1, MaxBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		got := batch.Batch(res.Parts[0].Batches)
		if !got.AppendTime() || got.MaxTime() != r[0].AppendTime || got.SumCRC() != got.CRC() {
			t.Fatalf("stored %v at %d, crc %x", got.AppendTime(), got.MaxTime(), got.CRC())
		}
		res.Release()
		again := s.Append(Durable, data(1, b))
		if <-again.Done(); !again.Results()[0].Duplicate || again.Results()[0].AppendTime != r[0].AppendTime {
			t.Fatalf("the duplicate was answered %+v", again.Results())
		}
		stop(t, s)
		s = start(t, "/data", memOptions(d, x))
	}
}

func TestReadLimits(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1, 2, 3)
	b := one(t, 1, string(make([]byte, 1000)))
	for range 10 {
		put(t, s, 1, b)
		put(t, s, 2, b)
	}
	n := len(b)
	cases := []struct {
		name   string
		budget int
		at     []Cursor
		want   []int // batches
	}{
		{"first batch although too large", 10, []Cursor{{Queue: 1, MaxBytes: 10}, {Queue: 2, MaxBytes: 10}}, []int{1, 0}},
		{"by cursor", 100 * n, []Cursor{{Queue: 1, MaxBytes: 3*n + 5}, {Queue: 2, MaxBytes: 2 * n}}, []int{3, 2}},
		{"by budget", 4 * n, []Cursor{{Queue: 1, MaxBytes: 3 * n}, {Queue: 2, MaxBytes: 9 * n}}, []int{3, 1}},
		{"empty first", 10, []Cursor{{Queue: 3, MaxBytes: 100}, {Queue: 2, MaxBytes: 10}}, []int{0, 1}},
		{"at the end", 1000 * n, []Cursor{{Queue: 1, Offset: 10, MaxBytes: n}, {Queue: 2, Offset: 9, MaxBytes: n}}, []int{0, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res, err := s.Read(context.Background(), c.budget, c.at...)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Release()
			for i, p := range res.Parts {
				if p.Err != nil || len(p.Batches) != c.want[i]*n {
					t.Fatalf("part %d: %d bytes, %v", i, len(p.Batches), p.Err)
				}
			}
		})
	}
}

// TestCorruptBatch: one damaged batch in a file fails the reads of its queue and of no other.
func TestCorruptBatch(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1, 2)
	put(t, s, 1, one(t, 1, "fine"))
	put(t, s, 1, one(t, 1, "hit"))
	put(t, s, 2, one(t, 1, "other"))
	var sc scan
	if ok, err := sc.seek(s.db, 1, 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	at := sc.e.Position
	if err := sc.close(); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	f, err := d.Open("/data/log/00000000000000000000.log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 4096+at+40+65); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, "/data", memOptions(d, x)) // the checkpoint of a clean stop lies behind: no reason to refuse
	res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: 1, MaxBytes: 1 << 20}, Cursor{Queue: 1, Offset: 1, MaxBytes: 1 << 20}, Cursor{Queue: 2, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	var bad *commitlog.CorruptError
	if p := res.Parts[0]; p.Err != nil || len(p.Batches) == 0 {
		t.Fatalf("the batch before the damage: %+v", p)
	}
	if p := res.Parts[1]; !errors.As(p.Err, &bad) || bad.Position != at || len(p.Batches) != 0 {
		t.Fatalf("the damaged batch: %+v", p)
	}
	if p := res.Parts[2]; p.Err != nil || len(p.Batches) == 0 {
		t.Fatalf("the other queue: %+v", p)
	}
}
