package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// until waits for what another goroutine does.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// TestReserveSize: it is made as far as there is room beside the log's next segment, at least a quarter if there is room for
// that, and grows later.
func TestReserveSize(t *testing.T) {
	const size, leave = 4 << 20, 1 << 20
	for _, c := range []struct{ free, want int64 }{
		{100 << 20, size}, {size + leave, size}, {3 << 20, 2 << 20}, {leave + leave/2, size / 4}, {size / 4, size / 4}, {size/4 - 1, 0}, {0, 0},
	} {
		d := disk.NewMem()
		d.SetSize(c.free)
		if c.free == 0 {
			f, err := d.Create("/other")
			if err != nil {
				t.Fatal(err)
			}
			d.SetSize(1)
			if _, err := f.WriteAt([]byte("x"), 0); err != nil {
				t.Fatal(err)
			}
		}
		r, err := openReserve(d, "/data", size, leave)
		if err == nil {
			err = r.fill()
		}
		if err != nil || r.held() != c.want {
			t.Errorf("%d free: %d held, %v", c.free, r.held(), err)
		}
		if again, err := openReserve(d, "/data", size, leave); err != nil || again.held() != c.want {
			t.Errorf("%d free: %d held after a restart, %v", c.free, again.held(), err)
		}
		if gave := r.release(); gave != (c.want > 0) || r.release() || r.out.Load() != gave {
			t.Errorf("%d free: given %v", c.free, gave)
		}
		if names, _ := d.List("/data"); len(names) > 0 {
			t.Errorf("%d free: %v is left", c.free, names)
		}
		d.SetSize(100 << 20)
		if err := r.fill(); err != nil || r.held() != size || r.out.Load() {
			t.Errorf("%d free, then more: %d held, %v", c.free, r.held(), err)
		}
	}
}

// TestFullDiskWithManyQueues: where a snapshot, and what is left in segments, need more room than the log leaves free, they
// get it from the reserve. Meanwhile data is refused, and the disk full for good is full no longer.
func TestFullDiskWithManyQueues(t *testing.T) {
	d := disk.NewMem()
	o := memOptions(d, vfs.NewMem())
	var clock atomic.Int64
	clock.Store(time.Now().UnixMilli())
	o.Now = func() time.Time { return time.UnixMilli(clock.Add(200)) } // each try is made
	d.SetSize(20 << 20)
	s := start(t, "/data", o)
	until(t, "the reserve is made", func() bool { return s.reserve.held() == 4<<20 })
	many := make([]queue.ID, 3000)
	for i := range many {
		many[i] = queue.ID(100 + i)
	}
	for part := range slices.Chunk(many, 500) {
		open(t, s, forever, part...)
	}
	open(t, s, forever, 1, 2)
	big := strings.Repeat("x", 200<<10)
	kept := 0
	for err := error(nil); err == nil; {
		if err = appended(t, s, 1, big); err == nil && appended(t, s, 2, "kept") == nil {
			kept++
		}
	}
	for _, size := range []int{10 << 10, 1000, 1} {
		for v := strings.Repeat("x", size); appended(t, s, 1, v) == nil; {
			continue
		}
	}
	// Others take what is left.
	free, _ := d.Free("/")
	d.SetSize(20<<20 - free)
	if err := s.Drop(1); err != nil {
		t.Fatalf("on the full disk: %v", err)
	}
	var se *StorageError
	if err := s.Health(); !errors.As(err, &se) || se.Reason != NoSpace {
		t.Fatal(err)
	}
	until(t, "space is made", func() bool {
		if err := s.MakeSpace(context.Background()); err != nil && !errors.Is(err, disk.ErrNoSpace) {
			t.Fatal(err)
		}
		if err := s.Health(); err != nil && (!errors.As(err, &se) || se.Reason != NoSpace) {
			t.Fatal(err)
		}
		return s.Health() == nil
	})
	if !slices.ContainsFunc(append(s.log.Segments(), s.cold.Segments()...), func(sg commitlog.Segment) bool { return sg.End-sg.First < o.SegmentBytes/2 }) {
		t.Fatal("no log got a short segment")
	}
	last := s.snapshotted.Load()
	if last == nil || last.size < o.SegmentBytes/64 {
		t.Fatalf("the snapshot was too small to need the reserve: %+v", last)
	}
	put(t, s, 2, one(t, 1, big))
	if got := values(t, s, 2, 0); len(got) != kept+1 {
		t.Fatalf("%d records of %d", len(got), kept+1)
	}
	stop(t, s)
	s = start(t, "/data", o)
	if got := values(t, s, 2, 0); len(got) != kept+1 {
		t.Fatalf("after a restart %d records of %d", len(got), kept+1)
	}
}

func appended(t *testing.T, s *Store, q queue.ID, v string) error {
	t.Helper()
	tk := s.Append(Durable, data(q, one(t, 1, v)))
	<-tk.Done()
	return tk.Err()
}

// TestStartOnFullDisk: a broker that was killed on a full disk starts there, and takes no data while it is full.
func TestStartOnFullDisk(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	d.SetSize(8 << 20)
	s := start(t, "/data", o)
	until(t, "the reserve is made", func() bool { return s.reserve.held() == 4<<20 })
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "a"))
	free, _ := d.Free("/")
	after := d.Clone()
	after.SetSize(8<<20 - free)
	o.Disk, o.IndexFS = after, vfs.NewMem()
	s = start(t, "/data", o)
	// What the log's file was made longer by before the kill may still be written.
	want, big := 1, strings.Repeat("b", 200<<10)
	var err error
	for err = appended(t, s, 1, big); err == nil && int64(want)*int64(len(big)) < 2*o.ZeroFillAhead; err = appended(t, s, 1, big) {
		want++
	}
	var se *StorageError
	if !errors.As(err, &se) || se.Reason != NoSpace {
		t.Fatalf("appending after %d records: %v", want, err)
	}
	if got := values(t, s, 1, 0); len(got) != want || got[0] != "0=a" {
		t.Fatalf("%d records of %d", len(got), want)
	}
	after.SetSize(8 << 20)
	until(t, "there is space again", func() bool { return s.Health() == nil })
	put(t, s, 1, one(t, 2, "b"))
}
