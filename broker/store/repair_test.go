package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/index"
)

// filled is a stopped store with two queues over several segments and two starts: queue 1 has a batch at each offset of
// 100 bytes, queue 2 one of 30 KiB.
func filled(t *testing.T) (*disk.Mem, *vfs.MemFS, Options) {
	t.Helper()
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	o.SegmentBytes, o.MaxMessageBytes = 256<<10, 64<<10
	for range 2 {
		s := start(t, "/data", o)
		open(t, s, forever, 1, 2)
		for i := range 20 {
			put(t, s, 1, one(t, int64(i), strings.Repeat("a", 100)))
			put(t, s, 2, one(t, int64(i), strings.Repeat("b", 30<<10)))
		}
		stop(t, s)
	}
	return d, x, o
}

// place finds where the batch of an offset stands.
func place(t *testing.T, o Options, q ID, offset int64) (pos int64, file string, size int64) {
	t.Helper()
	o.Disk, o.IndexFS = o.Disk.(*disk.Mem).Clone(), vfs.NewMem()
	s := start(t, "/data", o)
	defer stop(t, s)
	var sc scan
	defer sc.release()
	if ok, err := sc.seek(s.db, q, offset); !ok || err != nil {
		t.Fatal(ok, err)
	}
	sg, _ := s.log.SegmentOf(sc.e.Position)
	return sc.e.Position, fmt.Sprintf("/data/log/%020d.log", sg.First), commitlog.FrameSize(sc.e.Size)
}

func scribble(t *testing.T, d *disk.Mem, file string, off int64, b string) {
	t.Helper()
	f, err := d.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(b), off); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func firstOf(file string) (first int64) {
	_, _ = fmt.Sscanf(filepath.Base(file), "%d", &first)
	return first
}

// TestRepair: what is damaged is named, refused at a start that needs it, and taken out when that is asked for; all else
// is there afterwards.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	d, _, o := filled(t)
	pos, file, size := place(t, o, 2, 12)
	offset := 4096 + pos - firstOf(file)
	epochAt := func() (int64, string) { // the epoch frame of the second start
		s, err := openOffline("/data", Options{SegmentBytes: o.SegmentBytes, MaxMessageBytes: o.MaxMessageBytes, Disk: d.Clone(), IndexFS: vfs.NewMem()}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		defer stop(t, s)
		at, n := int64(0), 0
		if _, err := s.log.Verify(ctx, func(f commitlog.Frame) {
			if f.Kind == commitlog.KindEpoch {
				if n++; n == 2 {
					at = f.Position
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		sg, _ := s.log.SegmentOf(at)
		return at, fmt.Sprintf("/data/log/%020d.log", sg.First)
	}
	epoch, epochFile := epochAt()
	for _, c := range []struct {
		name   string
		damage func(*disk.Mem)
		lost   []Gap
		says   string
	}{
		{"a flipped byte in a batch", func(m *disk.Mem) { scribble(t, m, file, offset+1000, "X") }, []Gap{{2, 12, 13}}, fmt.Sprintf("log positions %d to %d", pos, pos+size)},
		{"a header of nonsense", func(m *disk.Mem) { scribble(t, m, file, offset, "nonsense") }, []Gap{{2, 12, 13}}, fmt.Sprint("log positions ", pos)},
		{"an epoch frame", func(m *disk.Mem) { scribble(t, m, epochFile, 4096+epoch-firstOf(epochFile)+50, "nonsense") }, nil, fmt.Sprint("log positions ", epoch)},
		{"a header block", func(m *disk.Mem) { scribble(t, m, file, 20, "nonsense") }, nil, "header block"},
		{"a missing segment", func(m *disk.Mem) {
			if err := m.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, nil, "are missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := d.Clone()
			c.damage(m)
			o := o
			o.Disk, o.IndexFS = m, vfs.NewMem()
			before, err := Verify(ctx, "/data", o, quiet())
			t.Log(before.Problems, epoch, pos)
			if err != nil || len(before.Problems) == 0 || !strings.Contains(strings.Join(before.Problems, " "), c.says) {
				t.Fatalf("%v %v, want one with %q", before.Problems, err, c.says)
			}
			s, err := Open("/data", o, quiet(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(ctx); err == nil {
				t.Fatal("a damaged log was accepted")
			}
			r, err := Repair(ctx, "/data", o, quiet())
			if err != nil || r.History != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if c.lost != nil && !reflect.DeepEqual(r.Lost, c.lost) {
				t.Fatalf("lost %v, want %v", r.Lost, c.lost)
			}
			for _, x := range append(r.Log, r.Cold...) {
				if x.From < x.To && x.Kept == "" {
					t.Fatalf("nothing was kept of %v", x)
				}
			}
			after, err := Verify(ctx, "/data", o, quiet())
			if err != nil || len(after.Problems) > 0 {
				t.Fatal(after.Problems, err)
			}
			if again, err := Repair(ctx, "/data", o, quiet()); err != nil || !reflect.DeepEqual(again, Repaired{}) {
				t.Fatalf("%+v, %v", again, err)
			}
			s = start(t, "/data", o)
			defer stop(t, s)
			if s.Meta().History != 1 {
				t.Fatal(s.Meta())
			}
			gone := map[string]bool{}
			for _, g := range r.Lost {
				for off := g.From; off < g.To; off++ {
					gone[fmt.Sprint(g.Queue, off)] = true
				}
			}
			for q := range ID(3) {
				if q == 0 {
					continue
				}
				got := fetched(t, s, q, 0)
				for off := range int64(40) {
					if _, ok := got[off]; ok == gone[fmt.Sprint(q, off)] {
						t.Errorf("offset %d of queue %d: there %v, reported lost %v", off, q, ok, gone[fmt.Sprint(q, off)])
					}
				}
			}
			put(t, s, 1, one(t, 1, "goes on"))
		})
	}
}

// TestRepairOfWhatWasReplaced: bytes of the main log whose records have been moved or compacted away are taken out like
// others, but nothing is reported lost, because nothing is.
func TestRepairOfWhatWasReplaced(t *testing.T) {
	ctx := context.Background()
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	s := start(t, "/data", o)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1}, 1)
	for i := range 6 {
		put(t, s, 1, one(t, int64(i), fmt.Sprint("v", i)))
	}
	compactNow(t, s)
	want := fetched(t, s, 1, 0)
	stop(t, s)
	if len(want) == 0 || len(want) == 6 {
		t.Fatalf("compaction left %v", want)
	}
	off, err := openOffline("/data", o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	var at []int64
	if _, err := off.log.Verify(ctx, func(f commitlog.Frame) {
		if f.Kind == commitlog.KindData && f.Queue == 1 {
			at = append(at, f.Position)
		}
	}); err != nil {
		t.Fatal(err)
	}
	stop(t, off)
	scribble(t, d, fmt.Sprintf("/data/log/%020d.log", 0), 4096+at[1]+commitlog.HeaderSize+70, "X")
	r, err := Repair(ctx, "/data", o, quiet())
	if err != nil || len(r.Log) != 1 || len(r.Lost) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	s = start(t, "/data", o)
	if got := fetched(t, s, 1, 0); !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// TestWithout takes ranges out of gaps.
func TestWithout(t *testing.T) {
	got := without([]Gap{{1, 10, 20}, {1, 30, 31}, {2, 0, 5}, {3, 0, 9}}, []span{{1, 0, 11}, {1, 14, 15}, {1, 30, 40}, {2, 3, 9}})
	if want := []Gap{{1, 12, 14}, {1, 16, 20}, {2, 0, 3}, {3, 0, 9}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// TestScrubber: damage in a sealed segment is found in the background and named in Health; it stops nothing, and only the
// batch that is damaged can't be read.
func TestScrubber(t *testing.T) {
	d, _, o := filled(t)
	pos, file, _ := place(t, o, 2, 3)
	o.IndexFS = vfs.NewMem()
	s := start(t, "/data", o)
	ctx := context.Background()
	if err := errors.Join(s.Scrub(ctx), s.Health()); err != nil {
		t.Fatal(err)
	}
	scribble(t, d, file, 4096+pos-firstOf(file)+500, "X")
	if err := s.Scrub(ctx); err != nil {
		t.Fatal(err)
	}
	var e *StorageError
	if err := s.Health(); !errors.As(err, &e) || e.Reason != Damaged || !strings.Contains(err.Error(), fmt.Sprint(pos)) {
		t.Fatal(err)
	}
	put(t, s, 1, one(t, 1, "writes go on"))
	res, err := s.Read(ctx, 1<<20, Cursor{Queue: 2, Offset: 3, MaxBytes: 1 << 20}, Cursor{Queue: 1, MaxBytes: 1 << 20}, Cursor{Queue: 2, Offset: 4, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	if !errors.As(res.Parts[0].Err, new(*commitlog.CorruptError)) || res.Parts[1].Err != nil || res.Parts[2].Err != nil {
		t.Fatal(res.Parts[0].Err, res.Parts[1].Err, res.Parts[2].Err)
	}
	stop(t, s)
	s = start(t, "/data", o) // with its index, damage below the scan does not stop a start
	if _, err := s.db.Get(index.BatchKey(2, 3)); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyRefusesWhatIsNoDataDirectory(t *testing.T) {
	o := memOptions(disk.NewMem(), vfs.NewMem())
	if _, err := Verify(context.Background(), "/nothing", o, quiet()); err == nil || !strings.Contains(err.Error(), "is no data directory") {
		t.Fatal(err)
	}
	s := start(t, "/data", o)
	if _, err := Verify(context.Background(), "/data", o, quiet()); !errors.Is(err, disk.ErrLocked) {
		t.Fatal(err)
	}
	stop(t, s)
}

// TestRepairGivesNoOffsetTwice: the end of a queue is taken out, and the index knows where it was.
func TestRepairGivesNoOffsetTwice(t *testing.T) {
	ctx := context.Background()
	d, x, o := filled(t)
	pos, file, _ := place(t, o, 2, 39)
	scribble(t, d, file, 4096+pos-firstOf(file)+1000, "X")
	o.IndexFS = x
	r, err := Repair(ctx, "/data", o, quiet())
	if err != nil || !reflect.DeepEqual(r.Lost, []Gap{{2, 39, 40}}) {
		t.Fatalf("%+v, %v", r, err)
	}
	for range 2 {
		s := start(t, "/data", o)
		if len(s.Meta().Floors) > 0 {
			t.Fatal("the floors are still there")
		}
		// A reader at the gap waits; it does not spin.
		wait, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		if h := heads(t, s, 2); h == 40 {
			if err := s.Wait(wait, 1, Cursor{Queue: 2, Offset: 39, MaxBytes: 1 << 20}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		cancel()
		if at, want := put(t, s, 2, one(t, 1, "new")), heads(t, s, 2)-1; at < 40 || at != want {
			t.Fatalf("a record got offset %d", at)
		}
		stop(t, s)
		o.IndexFS = vfs.NewMem()
	}
}

// TestMissingSegmentIsNamed: with its index the store starts without a segment below the checkpoint, and says what is lost.
func TestMissingSegmentIsNamed(t *testing.T) {
	d, x, o := filled(t)
	_, file, _ := place(t, o, 2, 3)
	if err := d.Remove(file); err != nil {
		t.Fatal(err)
	}
	o.IndexFS = x
	s := start(t, "/data", o)
	for range 2 {
		var e *StorageError
		if err := s.Health(); !errors.As(err, &e) || e.Reason != Damaged || !strings.Contains(err.Error(), file) {
			t.Fatal(err)
		}
		if err := s.Scrub(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: 2, Offset: 3, MaxBytes: 1 << 20}, Cursor{Queue: 2, Offset: 30, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	if !errors.As(res.Parts[0].Err, new(*commitlog.CorruptError)) || res.Parts[1].Err != nil {
		t.Fatal(res.Parts[0].Err, res.Parts[1].Err)
	}
}

// TestDamageStopsNoWork: a batch that can't be read is left alone; what stands beside it is compacted and moved, and other
// segments go.
func TestDamageStopsNoWork(t *testing.T) {
	ctx := context.Background()
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	o.SegmentBytes, o.MaxMessageBytes = 256<<10, 32<<10
	s := start(t, "/data", o)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}, 1)
	open(t, s, Policy{Delete: true, RetentionMs: -1, RetentionBytes: 0}, 2)
	open(t, s, forever, 3)
	for i := range 100 {
		put(t, s, 1, at(t, int64(i), fmt.Sprint("k", i%7), "v"))
		put(t, s, 2, at(t, int64(i), "k", strings.Repeat("x", 20<<10)))
		put(t, s, 3, at(t, int64(i), "k", fmt.Sprint("stays ", i)))
	}
	for q, off := range map[ID]int64{1: 5, 3: 8} {
		var sc scan
		if ok, err := sc.seek(s.db, q, off); !ok || err != nil {
			t.Fatal(ok, err)
		}
		sg, _ := s.log.SegmentOf(sc.e.Position)
		scribble(t, d, fmt.Sprintf("/data/log/%020d.log", sg.First), 4096+sc.e.Position-sg.First+60, "damage")
		if err := sc.close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := errors.Join(s.Retain(ctx), s.clean(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.log.Segments()); n != 2 { // the one with the damage, and the one that is written to
		t.Fatalf("%d segments are left", n)
	}
	var e *StorageError
	if err := s.Health(); !errors.As(err, &e) || e.Reason != Damaged {
		t.Fatal(err)
	}
	for q, want := range map[ID]int{1: 8, 3: 91} { // behind the damaged batch of queue 3, and of queue 1 what is the last of its key
		from := int64(6)
		if q == 3 {
			from = 9
		}
		if got := fetched(t, s, q, from); len(got) < want-1 || len(got) > want {
			t.Fatalf("%d records of queue %d", len(got), q)
		}
	}
}
