package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// at builds a batch of one record with a timestamp.
func at(t testing.TB, ms int64, key, value string) batch.Batch {
	t.Helper()
	r := batch.Record{Time: ms, Key: []byte(key), Value: []byte(value)}
	if value == "" {
		r.Value = nil
	}
	b, err := new(batch.Builder).Add(r).Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clocked is a store whose wall clock the test sets.
func clocked(t *testing.T) (*Store, *time.Time) {
	t.Helper()
	now := time.UnixMilli(1_000_000_000)
	o := memOptions(disk.NewMem(), vfs.NewMem())
	o.Now = func() time.Time { return now }
	return start(t, "/data", o), &now
}

func TestRetention(t *testing.T) {
	const hour = 3600_000
	for _, c := range []struct {
		name  string
		p     Policy
		times []int64 // of single records of 1000 bytes, relative to now
		start int64
	}{
		{"by time", Policy{Delete: true, RetentionMs: hour, RetentionBytes: -1}, []int64{-3 * hour, -2 * hour, -hour / 2, 0}, 2},
		{"all of it", Policy{Delete: true, RetentionMs: hour, RetentionBytes: -1}, []int64{-3 * hour, -2 * hour}, 2},
		{"an old record behind a new one waits", Policy{Delete: true, RetentionMs: hour, RetentionBytes: -1}, []int64{-3 * hour, 0, -2 * hour, 0}, 1},
		{"a producer's clock ahead", Policy{Delete: true, RetentionMs: hour, RetentionBytes: -1}, []int64{-3 * hour, 1000 * hour, -2 * hour}, 1},
		{"by size", Policy{Delete: true, RetentionMs: -1, RetentionBytes: 2500}, []int64{0, 0, 0, 0, 0}, 2},
		{"size keeps at least what it says", Policy{Delete: true, RetentionMs: -1, RetentionBytes: 1}, []int64{0, 0, 0}, 2},
		{"size zero", Policy{Delete: true, RetentionMs: -1, RetentionBytes: 0}, []int64{0, 0, 0}, 3},
		{"by either", Policy{Delete: true, RetentionMs: hour, RetentionBytes: 1500}, []int64{-2 * hour, 0, 0, 0}, 2},
		{"no limit", Policy{Delete: true, RetentionMs: -1, RetentionBytes: -1}, []int64{-1000 * hour / 4, 0}, 0},
		{"not a deleted one", Policy{Compact: true, RetentionMs: 1, RetentionBytes: 1}, []int64{-hour, 0}, 0},
		{"compacted and deleted", Policy{Compact: true, Delete: true, RetentionMs: hour, RetentionBytes: -1}, []int64{-2 * hour, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, now := clocked(t)
			open(t, s, c.p, 1)
			for i, ms := range c.times {
				put(t, s, 1, at(t, max(now.UnixMilli()+ms, 0), fmt.Sprint(i), strings.Repeat("v", 930)))
			}
			for range 2 { // once more changes nothing
				if err := s.Retain(context.Background()); err != nil {
					t.Fatal(err)
				}
				if h, err := s.Head(1); err != nil || h.LogStart != c.start || h.HighWatermark != int64(len(c.times)) {
					t.Fatalf("%+v, %v, want it to begin at %d", h, err, c.start)
				}
			}
			size, err := s.Size(1)
			if left := int64(len(c.times)) - c.start; err != nil || size/1000 != left {
				t.Fatalf("%d bytes, %v, want %d records of 1000", size, err, left)
			}
		})
	}
}

// TestRetentionFollowsNoLeap: a wall clock that leaps ahead while the broker runs expires nothing.
func TestRetentionFollowsNoLeap(t *testing.T) {
	s, now := clocked(t)
	open(t, s, Policy{Delete: true, RetentionMs: 3600_000, RetentionBytes: -1}, 1)
	put(t, s, 1, at(t, now.UnixMilli(), "k", "v"))
	if err := s.Retain(context.Background()); err != nil {
		t.Fatal(err)
	}
	*now = now.AddDate(10, 0, 0)
	if err := s.Retain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if h := heads(t, s, 1); h != 1 {
		t.Fatal(h)
	}
	if got := fetched(t, s, 1, 0); len(got) != 1 {
		t.Fatal("the record is gone")
	}
}

// TestClockSetBack: a wall clock that goes back an hour takes nothing away, orders append times all the same, also over a
// restart, and does not keep anything beyond its time once it has caught up.
func TestClockSetBack(t *testing.T) {
	o := memOptions(disk.NewMem(), vfs.NewMem())
	began := time.UnixMilli(1_700_000_000_000)
	now := began
	o.Now = func() time.Time { return now }
	s := start(t, "/data", o)
	open(t, s, Policy{AppendTime: true, Delete: true, RetentionMs: 60_000, RetentionBytes: -1}, 1)
	add := func(v string) {
		t.Helper()
		tk := s.Append(Durable, data(1, one(t, 1, v)))
		if <-tk.Done(); tk.Err() != nil || tk.Results()[0].AppendTime != began.UnixMilli() {
			t.Fatal(v, tk.Err(), tk.Results())
		}
	}
	add("a")
	now = began.Add(-time.Hour)
	add("b")
	stop(t, s)
	s = start(t, "/data", o)
	add("c")
	if err := s.Retain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := values(t, s, 1, 0); !slices.Equal(got, []string{"0=a", "1=b", "2=c"}) {
		t.Fatal(got)
	}
	if off, at, err := s.OffsetAt(context.Background(), 1, began.UnixMilli()); err != nil || off != 0 || at != began.UnixMilli() {
		t.Fatal(off, at, err)
	}
	if off, at, err := s.OffsetAt(context.Background(), 1, began.UnixMilli()+1); err != nil || off >= 0 {
		t.Fatal(off, at, err)
	}
	stop(t, s)
	now = began.Add(2 * time.Minute)
	s = start(t, "/data", o)
	if err := s.Retain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Head(1); err != nil || h.LogStart != 3 {
		t.Fatal("kept beyond its time:", h, err)
	}
}

// offsets lists what is left of a queue.
func offsets(t testing.TB, s *Store, q queue.ID) []int64 {
	t.Helper()
	return slices.Sorted(maps.Keys(fetched(t, s, q, 0)))
}

func compactNow(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestCompactionPolicy(t *testing.T) {
	const hour = 3600_000
	table := Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}
	with := func(f func(*Policy)) Policy { p := table; f(&p); return p }
	for _, c := range []struct {
		name  string
		p     Policy
		floor int64
		ages  []int64 // of records of one key, in hours
		want  []int64
	}{
		{"the last batch is never touched", table, 1, []int64{0, 0, 0, 0}, []int64{2, 3}},
		{"younger than the lag", with(func(p *Policy) { p.MinLagMs = 2 * hour }), 1, []int64{5, 4, 3, 1, 0}, []int64{2, 3, 4}},
		{"all of it is new", with(func(p *Policy) { p.Dirty = 1000 }), 1, []int64{0, 0, 0}, []int64{1, 2}},
		{"below the floor", table, 1 << 20, []int64{0, 0, 0}, []int64{0, 1, 2}},
		{"below the floor, but too old", with(func(p *Policy) { p.MaxLagMs = 2 * hour }), 1 << 20, []int64{3, 0, 0}, []int64{1, 2}},
		{"a lag that never comes", with(func(p *Policy) { p.MaxLagMs = 1<<63 - 1 }), 1 << 20, []int64{3, 0, 0}, []int64{0, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, now := clocked(t)
			s.o.CompactFloor = c.floor
			open(t, s, c.p, 1)
			for i, h := range c.ages {
				put(t, s, 1, at(t, now.UnixMilli()-h*hour, "k", fmt.Sprint(i)))
			}
			compactNow(t, s)
			if got := offsets(t, s, 1); !slices.Equal(got, c.want) {
				t.Fatalf("offsets %v are left, want %v", got, c.want)
			}
		})
	}
}

// TestDirtyRatio: what was compacted is not compacted again before enough came.
func TestDirtyRatio(t *testing.T) {
	s, now := clocked(t)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40, Dirty: 500}, 1)
	for i := range 20 {
		put(t, s, 1, at(t, now.UnixMilli(), fmt.Sprint("k", i), "v"))
	}
	compactNow(t, s)
	st, _, _ := s.table.Get(1)
	if st.Cleaned != 19 {
		t.Fatalf("cleaned up to %d", st.Cleaned)
	}
	for i := range 25 {
		put(t, s, 1, at(t, now.UnixMilli(), "again", fmt.Sprint(i)))
		compactNow(t, s)
		st, _, _ := s.table.Get(1)
		if i < 15 && st.Cleaned != 19 {
			t.Fatalf("after %d records it was compacted up to %d", i+1, st.Cleaned)
		}
	}
	if st, _, _ = s.table.Get(1); st.Cleaned <= 19 {
		t.Fatal("it was never compacted again")
	}
	if got := offsets(t, s, 1); len(got) < 21 || len(got) > 42 {
		t.Fatalf("%v", got)
	}
}

// TestPassesWithFewKeys: more keys than fit into memory take more passes, and come to the same.
func TestPassesWithFewKeys(t *testing.T) {
	s, now := clocked(t)
	s.o.CompactMemory = 1 // 48 keys
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}, 1)
	for i := range 600 {
		put(t, s, 1, at(t, now.UnixMilli(), fmt.Sprint("k", i%200), fmt.Sprint(i)))
	}
	put(t, s, 1, at(t, now.UnixMilli(), "end", "end"))
	compactNow(t, s)
	if got := offsets(t, s, 1); len(got) != 201 || got[0] != 400 {
		t.Fatalf("%d records are left, from %d", len(got), got[0])
	}
	var b batch.Builder
	for i := range 100 {
		b.Add(batch.Record{Time: now.UnixMilli(), Key: fmt.Append(nil, "m", i), Value: []byte("v")})
	}
	large, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, 1, large)
	put(t, s, 1, at(t, now.UnixMilli(), "end", "end"))
	if err := s.Compact(context.Background()); err == nil || !strings.Contains(err.Error(), "log.cleaner.dedupe.buffer.size") {
		t.Fatal(err)
	}
	if got := offsets(t, s, 1); len(got) != 302 {
		t.Fatalf("%d records are left", len(got))
	}
}

// TestTombstonesGo: after their time, and markers too, though nothing is appended; before it they are there.
func TestTombstonesGo(t *testing.T) {
	now := time.Now()
	o := memOptions(disk.NewMem(), vfs.NewMem())
	o.Now = func() time.Time { return now }
	s := start(t, "/data", o)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 3600_000}, 1)
	put(t, s, 1, at(t, 1, "a", "1"))
	put(t, s, 1, at(t, 1, "a", ""))
	put(t, s, 1, tx(t, 7, 0, 0, 1))
	put(t, s, 1, marker(7, 0, false))
	put(t, s, 1, at(t, 1, "b", "1"))
	compactNow(t, s)
	if got := offsets(t, s, 1); !slices.Equal(got, []int64{1, 3, 4}) {
		t.Fatal(got)
	}
	if list, err := s.abortedIn(1, 0, 10); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	compactNow(t, s)
	if got := offsets(t, s, 1); !slices.Equal(got, []int64{1, 3, 4}) {
		t.Fatal(got)
	}
	// The clock of retention follows the monotonic clock, so time is made to have passed since the start.
	s.retainClock.since = s.retainClock.since.Add(-2 * time.Hour)
	now = now.Add(2 * time.Hour)
	compactNow(t, s)
	if got := offsets(t, s, 1); !slices.Equal(got, []int64{4}) {
		t.Fatal(got)
	}
	if list, err := s.abortedIn(1, 0, 10); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
}

// TestNewPolicyIsLookedAt: a topic that becomes compacted, or is to be compacted sooner, is, though nothing is appended.
func TestNewPolicyIsLookedAt(t *testing.T) {
	s, now := clocked(t)
	p := Policy{Delete: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}
	open(t, s, p, 1)
	for i := range 4 {
		put(t, s, 1, at(t, now.UnixMilli(), "k", fmt.Sprint(i)))
	}
	for _, c := range []struct {
		change func()
		left   int
	}{
		{func() {}, 4},
		{func() { p.Compact, p.MinLagMs = true, 3600_000 }, 4},
		{func() { p.MinLagMs = 0 }, 2},
	} {
		c.change()
		open(t, s, p, 1)
		compactNow(t, s)
		if got := offsets(t, s, 1); len(got) != c.left {
			t.Fatalf("%+v: %v", p, got)
		}
	}
}
