package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/commitlog"
)

// TestIndexAndSegmentLost: a segment that a snapshot makes dispensable but for the records in it, lost together with the
// index, is not taken for one that was removed. A repair accepts the loss; then everything else is there.
func TestIndexAndSegmentLost(t *testing.T) {
	ctx := context.Background()
	for _, offset := range []int64{0, 12, 25} { // in the first segment, and in the middle
		t.Run(fmt.Sprint(offset), func(t *testing.T) {
			d, x, o := filled(t)
			s := start(t, "/data", o)
			if err := s.Snapshot(ctx); err != nil {
				t.Fatal(err)
			}
			stop(t, s)
			pos, file, _ := place(t, o, 2, offset)
			off, err := openOffline("/data", Options{SegmentBytes: o.SegmentBytes, MaxMessageBytes: o.MaxMessageBytes, Disk: d.Clone(), IndexFS: x}, quiet())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := off.log.Verify(ctx, nil); err != nil {
				t.Fatal(err)
			}
			sg, _ := off.log.SegmentOf(pos)
			stop(t, off)
			if err := d.Remove(file); err != nil {
				t.Fatal(err)
			}
			o.IndexFS = vfs.NewMem()
			for range 2 { // nor the second time
				s, err := Open("/data", o, quiet(), nil)
				if err != nil {
					t.Fatal(err)
				}
				err = s.Start(ctx)
				var bad *commitlog.CorruptError
				if !errors.As(err, &bad) || bad.File != file || bad.Position != sg.First || !strings.Contains(err.Error(), "log repair") || !strings.Contains(err.Error(), "offsets") {
					t.Fatalf("the start says %v", err)
				}
			}
			r, err := Repair(ctx, "/data", o, quiet())
			if err != nil || r.History == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if again, err := Repair(ctx, "/data", o, quiet()); err != nil || again.History != 0 {
				t.Fatalf("%+v, %v", again, err)
			}
			for range 2 { // the second time from a lost index again
				s = start(t, "/data", o)
				for q := ID(1); q <= 2; q++ {
					got, missing := fetched(t, s, q, 0), 0
					for at := range int64(40) {
						if _, ok := got[at]; !ok {
							missing++
						}
					}
					if missing == 0 || missing > 20 {
						t.Fatalf("queue %d: %d of 40 records are missing", q, missing)
					}
				}
				put(t, s, 2, one(t, 1, "goes on"))
				stop(t, s)
				o.IndexFS = vfs.NewMem()
			}
		})
	}
}

// TestCompactedHolesAreNone: what compaction took out of the middle is not taken for lost, whatever segments are missing.
func TestCompactedHolesAreNone(t *testing.T) {
	ctx := context.Background()
	d, _, o := filled(t)
	s := start(t, "/data", o)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}, 3)
	for i := range 200 {
		put(t, s, 3, at(t, int64(i), fmt.Sprint("k", i%3), strings.Repeat("v", 5<<10)))
	}
	compactNow(t, s)
	if err := errors.Join(s.Drop(1), s.Drop(2), s.clean(ctx)); err != nil {
		t.Fatal(err)
	}
	want := fetched(t, s, 3, 0)
	if len(gaps(s.log)) == 0 || len(want) > 20 {
		t.Fatalf("no segment went, or %d records are left", len(want))
	}
	stop(t, s)
	o.Disk, o.IndexFS = d, vfs.NewMem()
	s = start(t, "/data", o)
	if got := fetched(t, s, 3, 0); len(got) != len(want) {
		t.Fatalf("%d records, before the index was lost %d", len(got), len(want))
	}
}
