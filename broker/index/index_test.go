package index

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var update = flag.Bool("update", false, "rewrite golden files")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func open(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open(Options{Dir: "/index", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestGolden(t *testing.T) {
	head := Head{
		LogStart: 5, Next: 1000, LocalStart: 5, TierEnd: -1, Epoch: 2, Bytes: 123456, MaxTime: 1_700_000_000_000, MaxTimeAt: 998,
		AppendTime: true, Compact: true, Aborts: true, RetainMs: -1, RetainSize: 1 << 30,
		Cleaned: 600, MinLag: 1, MaxLag: 1 << 62, Tombstone: 86_400_000, Dirty: 500,
	}
	cp := Checkpoint{
		LogUUID: [16]byte{1, 2, 3}, History: 1, Position: 1 << 28, Epoch: 7, Time: 1_700_000_000_000, Closed: true, Format: Format, Cold: 1 << 20,
		Snapshot: 1 << 27, SnapshotEnd: 1<<27 + 4096, SnapshotBytes: 2000,
		Machines: map[Prefix]uint8{PrefixTopic: 1, PrefixGroup: 3},
	}
	e := Entry{Last: 1000, Base: 990, Position: 1 << 28, Size: 4321, MaxTime: 1_700_000_000_000, Count: 11}
	aborted := Aborted{Producer: 1234, First: 40, Last: 55, Stable: 50}
	few := e
	few.Count, few.Store = 4, StoreCold
	share := Share{First: 900, Last: 1000, Batches: 7, Bytes: 54321}
	var out strings.Builder
	line := func(name string, key, value []byte) {
		fmt.Fprintf(&out, "%-12s %s = %s\n", name, hex.EncodeToString(key), hex.EncodeToString(value))
	}
	line("batch", BatchKey(7, e.Last), AppendEntry(nil, &e))
	line("compacted", BatchKey(7, e.Last), AppendEntry(nil, &few))
	line("head", HeadKey(7), AppendHead(nil, &head))
	line("segment", SegmentKey(StoreCold, 1<<28, 7), AppendShare(nil, &share))
	line("epoch", EpochKey(7, 2), AppendEpochStart(nil, 300))
	line("producer key", ProducerKey(7, 1234), nil)
	line("aborted", AbortedKey(7, 55), AppendAborted(nil, &aborted))
	line("open", OpenKey(7, 60), AppendOpen(nil, 1234))
	line("checkpoint", CheckpointKey(), AppendCheckpoint(nil, &cp))
	path := filepath.Join("testdata", "keys-and-values.txt")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the format changed:\n%s\nwas:\n%s", out.String(), want)
	}
	for _, x := range []Entry{e, few} {
		if got, err := DecodeEntry(x.Last, AppendEntry(nil, &x)); err != nil || got != x {
			t.Errorf("%+v became %+v, %v", x, got, err)
		}
	}
	if got, err := DecodeHead(AppendHead(nil, &head)); err != nil || got != head {
		t.Errorf("%+v became %+v, %v", head, got, err)
	}
	if got, err := DecodeShare(AppendShare(nil, &share)); err != nil || got != share {
		t.Errorf("%+v became %+v, %v", share, got, err)
	}
	if got, err := DecodeCheckpoint(AppendCheckpoint(nil, &cp)); err != nil || !reflect.DeepEqual(got, cp) {
		t.Errorf("%+v became %+v, %v", cp, got, err)
	}
	if got, err := DecodeAborted(AppendAborted(nil, &aborted)); err != nil || got != aborted {
		t.Errorf("%+v became %+v, %v", aborted, got, err)
	}
	if got, err := DecodeOpen(AppendOpen(nil, 1234)); err != nil || got != 1234 {
		t.Error(got, err)
	}
	if got, err := DecodeEpochStart(AppendEpochStart(nil, 300)); err != nil || got != 300 {
		t.Error(got, err)
	}
}

func TestReservedFormsAreRefusedByName(t *testing.T) {
	e := Entry{Last: 10, Base: 10, Size: 100, Count: 1}
	for _, c := range []struct {
		at   int
		to   byte
		want string
	}{{0, 2, "extent"}, {0, 3, "link"}, {0, 9, "form 9"}, {2, 2, "tier"}, {2, 3, "store 3"}, {6, optLabel, "optional fields"}} {
		v := AppendEntry(nil, &e)
		v[c.at] = c.to
		if _, err := DecodeEntry(e.Last, v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d = %d: %v", c.at, c.to, err)
		}
	}
}

func TestKeysSortAsNumbers(t *testing.T) {
	last := BatchKey(0, 0)
	for _, k := range [][]byte{BatchKey(0, 1), BatchKey(0, 255), BatchKey(0, 256), BatchKey(0, 1<<40), BatchKey(1, 0), BatchKey(256, 0), BatchKey(1<<32-1, 5)} {
		if bytes.Compare(last, k) >= 0 {
			t.Fatalf("%x is not before %x", last, k)
		}
		last = k
	}
	from, to := QueueRange(PrefixBatch, 1<<32-1)
	if bytes.Compare(from, last) > 0 || bytes.Compare(last, to) >= 0 {
		t.Fatalf("%x is not within %x and %x", last, from, to)
	}
}

func TestCloseKeepsAbandonLoses(t *testing.T) {
	fs := vfs.NewMem()
	set := func(db *DB, k string) {
		b := db.NewBatch()
		if err := b.Set([]byte(k), []byte("v")); err != nil {
			t.Fatal(err)
		}
		if err := db.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, fs)
	set(db, "a")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, fs)
	set(db, "b")
	if err := db.Abandon(); err != nil {
		t.Fatal(err)
	}
	db = open(t, fs)
	defer db.Close()
	if v, err := db.Get([]byte("a")); err != nil || string(v) != "v" {
		t.Fatal(v, err)
	}
	if _, err := db.Get([]byte("b")); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestFatalDoesNotExit(t *testing.T) {
	db := open(t, vfs.NewMem())
	defer db.Abandon()
	db.log.Fatalf("MANIFEST %s", "gone")
	if err := db.Failed(); err == nil || err.Error() != "MANIFEST gone" {
		t.Fatal(err)
	}
	b := db.NewBatch()
	if err := db.Commit(b); err == nil {
		t.Fatal("a broken index took a batch")
	}
}

// TestFullDisk: it says so, keeps what it has in memory, does not spin, and goes on by itself.
func TestFullDisk(t *testing.T) {
	var full atomic.Bool
	var tries atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpCreate {
			tries.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	told := make(chan bool, 10)
	db, err := Open(Options{
		Dir: "/index", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: quiet(), OnFailing: func(err error) { told <- err != nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	if err := b.Set([]byte("a"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(b); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	if !<-told {
		t.Fatal("told that there is space")
	}
	if v, err := db.Get([]byte("a")); err != nil || string(v) != "v" {
		t.Fatal(v, err)
	}
	full.Store(false)
	if <-told {
		t.Fatal("told that there is no space")
	}
	if n := tries.Load(); n > 20 {
		t.Fatalf("tried %d times", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReserveIsGiven: what finds no space gets what is kept in reserve and goes on; without one it says what is the matter,
// whatever that is, and goes on by itself.
func TestReserveIsGiven(t *testing.T) {
	for _, c := range []struct {
		fault   syscall.Errno
		op      errorfs.OpKind
		reserve bool
	}{
		{syscall.ENOSPC, errorfs.OpCreate, true},
		{syscall.ENOSPC, errorfs.OpFileWrite, true},
		{syscall.ENOSPC, errorfs.OpFileWrite, false},
		{syscall.EDQUOT, errorfs.OpCreate, false},
		{syscall.EACCES, errorfs.OpCreate, false},
		{syscall.EROFS, errorfs.OpCreate, false},
		{syscall.EIO, errorfs.OpFileWrite, false},
	} {
		t.Run(fmt.Sprint(c.fault, c.op, c.reserve), func(t *testing.T) {
			var full atomic.Bool
			var tries atomic.Int64
			fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if full.Load() && op.Kind == c.op && strings.HasSuffix(op.Path, ".sst") {
					tries.Add(1)
					return c.fault
				}
				return nil
			}))
			told := make(chan error, 10)
			db, err := Open(Options{
				Dir: "/index", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: quiet(), OnFailing: func(err error) { told <- err },
				Reserve: func() bool { return c.reserve && full.Swap(false) },
			})
			if err != nil {
				t.Fatal(err)
			}
			b := db.NewBatch()
			if err := errors.Join(b.Set([]byte("a"), []byte("v")), db.Commit(b)); err != nil {
				t.Fatal(err)
			}
			full.Store(true)
			flushed := make(chan error, 1)
			go func() { flushed <- db.Flush(context.Background()) }()
			if !c.reserve {
				if err := <-told; !errors.Is(err, c.fault) {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if err := db.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("flushed: %v", err)
				}
				if n := tries.Load(); n > 20 {
					t.Fatalf("tried %d times", n)
				}
				full.Store(false)
			}
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			if !c.reserve {
				if err := <-told; err != nil {
					t.Fatal(err)
				}
			}
			if len(told) > 0 {
				t.Fatal(<-told)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestCloseOnFullDisk: it ends.
func TestCloseOnFullDisk(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFileWrite) {
			return syscall.ENOSPC
		}
		return nil
	}))
	db := open(t, fs)
	b := db.NewBatch()
	if err := errors.Join(b.Set([]byte("a"), []byte("v")), db.Commit(b)); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzValues(f *testing.F) {
	e := Entry{Last: 1000, Base: 990, Position: 1 << 28, Size: 4321, MaxTime: 1_700_000_000_000, Count: 4}
	f.Add(AppendEntry(nil, &e))
	f.Add(AppendShare(nil, &Share{First: 1, Last: 3, Batches: 2, Bytes: 100}))
	f.Add(AppendHead(nil, &Head{Next: 5, TierEnd: -1}))
	f.Add(AppendAborted(nil, &Aborted{Producer: 7, First: 3, Last: 9, Stable: 5}))
	f.Add(AppendOpen(nil, 7))
	f.Add(AppendCheckpoint(nil, &Checkpoint{Machines: map[Prefix]uint8{'m': 1}}))
	f.Fuzz(func(t *testing.T, v []byte) {
		if e, err := DecodeEntry(1000, v); err == nil {
			if got, err := DecodeEntry(1000, AppendEntry(nil, &e)); err != nil || got != e {
				t.Fatalf("%+v became %+v, %v", e, got, err)
			}
		}
		if s, err := DecodeShare(v); err == nil {
			if got, err := DecodeShare(AppendShare(nil, &s)); err != nil || got != s {
				t.Fatalf("%+v became %+v, %v", s, got, err)
			}
		}
		if h, err := DecodeHead(v); err == nil {
			if got, err := DecodeHead(AppendHead(nil, &h)); err != nil || got != h {
				t.Fatalf("%+v became %+v, %v", h, got, err)
			}
		}
		if c, err := DecodeCheckpoint(v); err == nil {
			if got, err := DecodeCheckpoint(AppendCheckpoint(nil, &c)); err != nil || !reflect.DeepEqual(got, c) {
				t.Fatalf("%+v became %+v, %v", c, got, err)
			}
		}
		if a, err := DecodeAborted(v); err == nil {
			if got, err := DecodeAborted(AppendAborted(nil, &a)); err != nil || got != a {
				t.Fatalf("%+v became %+v, %v", a, got, err)
			}
		}
		if p, err := DecodeOpen(v); err == nil {
			if got, err := DecodeOpen(AppendOpen(nil, p)); err != nil || got != p {
				t.Fatalf("%d became %d, %v", p, got, err)
			}
		}
		_, _ = DecodeEpochStart(v)
	})
}
