package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/index"
)

// TestFullDisk: produce is refused with a typed error, reads go on, sequences are not lost, and writing resumes.
func TestFullDisk(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	var clock atomic.Int64
	clock.Store(time.Now().UnixMilli())
	o.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	var full atomic.Bool
	full.Store(true)
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpAllocate && full.Load() {
			return disk.ErrNoSpace
		}
		return nil
	})
	big := strings.Repeat("x", 200<<10)
	var n int32
	var tk *Ticket
	for {
		b := sequenced(t, 9, 0, n, 1)
		tk = s.Append(Durable, data(1, b), data(1, one(t, 1, big)))
		if <-tk.Done(); tk.Err() != nil {
			break
		}
		n++
	}
	var se *StorageError
	if !errors.Is(tk.Err(), ErrStorage) || !errors.As(tk.Err(), &se) || se.Reason != NoSpace || !errors.Is(tk.Err(), disk.ErrNoSpace) {
		t.Fatal(tk.Err())
	}
	if err := s.Health(); !errors.Is(err, ErrStorage) {
		t.Fatal(err)
	}
	if got := values(t, s, 1, 0); len(got) != 2*int(n) {
		t.Fatalf("%d records readable while the disk is full, want %d", len(got), 2*n)
	}
	// The refused batch touched no sequence: the one after it is out of order, the retry is not.
	full.Store(false)
	clock.Add(1000)
	tk = s.Append(Durable, data(1, sequenced(t, 9, 0, n+1, 1)), data(1, sequenced(t, 9, 0, n, 1)))
	if <-tk.Done(); tk.Err() != nil || tk.Results()[0].Err == nil || tk.Results()[1].Err != nil {
		t.Fatal(tk.Err(), tk.Results())
	}
	if err := s.Health(); err != nil {
		t.Fatal(err)
	}
}

// TestFullOfItsOwn: a disk filled to the last byte that is free to clients by records which may go becomes usable again
// without help: what gives space back is written where data is not.
func TestFullOfItsOwn(t *testing.T) {
	for name, free := range map[string]func(*Store) error{
		"retention": func(s *Store) error { return s.Retain(context.Background()) },
		"trim":      func(s *Store) error { _, err := s.Trim(1, -1); return err },
		"drop":      func(s *Store) error { return s.Drop(1) },
	} {
		t.Run(name, func(t *testing.T) {
			d := disk.NewMem()
			o := memOptions(d, vfs.NewMem())
			var clock atomic.Int64
			clock.Store(time.Now().UnixMilli())
			o.Now = func() time.Time { return time.UnixMilli(clock.Add(200)) } // each try is made
			d.SetFault(func(op disk.Op, name string) error {
				if op != disk.OpAllocate || filepath.Ext(name) != ".log" {
					return nil
				}
				if names, err := d.List("/data/log"); err != nil || len(names) > 4 { // the new one is there already
					return disk.ErrNoSpace
				}
				return nil
			})
			s := start(t, "/data", o)
			open(t, s, Policy{Delete: true, RetentionMs: -1, RetentionBytes: 0}, 1)
			open(t, s, forever, 2)
			for _, size := range []int{200 << 10, 10 << 10, 1000, 1} { // what is left is filled with ever smaller ones
				for v := strings.Repeat("x", size); ; {
					tk := s.Append(Durable, data(1, one(t, 1, v)))
					if <-tk.Done(); tk.Err() != nil {
						break
					}
				}
			}
			if err := free(s); err != nil {
				t.Fatalf("on the full disk: %v", err)
			}
			if err := s.MakeSpace(context.Background()); err != nil {
				t.Fatalf("on the full disk: %v", err)
			}
			put(t, s, 2, one(t, 1, strings.Repeat("y", 200<<10)))
			if err := s.Health(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFullIndexDisk: without space for the index appends are refused, not blocked, and go on by themselves.
func TestFullIndexDisk(t *testing.T) {
	var full atomic.Bool
	o := memOptions(disk.NewMem(), errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})))
	o.FlushLogBytes = 1000
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	full.Store(true)
	deadline := time.Now().Add(20 * time.Second)
	n := 0
	for s.Health() == nil && time.Now().Before(deadline) {
		tk := s.Append(Durable, data(1, one(t, 1, "a")))
		if <-tk.Done(); tk.Err() == nil {
			n++
		}
	}
	tk := s.Append(Durable, data(1, one(t, 1, "b")))
	if <-tk.Done(); !errors.Is(tk.Err(), ErrStorage) {
		t.Fatal(tk.Err())
	}
	if got := values(t, s, 1, 0); len(got) != n {
		t.Fatalf("%d of %d records readable", len(got), n)
	}
	full.Store(false)
	for s.Health() != nil && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if got := put(t, s, 1, one(t, 1, "c")); got != int64(n) {
		t.Fatal(got)
	}
}

// TestFailedFsync: whoever waits gets an error, nothing is accepted, reads up to the synced end go on, and after a
// restart everything acknowledged is there.
func TestFailedFsync(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "a"))
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpSync {
			return disk.ErrIO
		}
		return nil
	})
	tk := s.Append(Durable, data(1, one(t, 1, "b")))
	if <-tk.Done(); !errors.Is(tk.Err(), ErrStorage) || !errors.Is(tk.Err(), disk.ErrIO) {
		t.Fatal(tk.Err())
	}
	d.SetFault(nil)
	tk = s.Append(Durable, data(1, one(t, 1, "c")))
	if <-tk.Done(); !errors.Is(tk.Err(), ErrStorage) {
		t.Fatal(tk.Err())
	}
	if err := s.Open(2, forever); !errors.Is(err, ErrStorage) {
		t.Fatal(err)
	}
	var se *StorageError
	if err := s.Health(); !errors.As(err, &se) || se.Reason != Failed {
		t.Fatal(err)
	}
	if got := values(t, s, 1, 0); !slices.Equal(got, []string{"0=a"}) {
		t.Fatal(got)
	}
	stop(t, s)
	s = start(t, "/data", memOptions(d, x))
	if got := values(t, s, 1, 0); got[0] != "0=a" || slices.Contains(got, "1=c") {
		t.Fatal(got)
	}
	if err := s.Health(); err != nil {
		t.Fatal(err)
	}
}

// TestWrittenBeforeSynced: acks=1 is answered while the sync still runs, and readers do not see it yet.
func TestWrittenBeforeSynced(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1)
	hold := make(chan struct{})
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpSync {
			<-hold
		}
		return nil
	})
	w := s.Append(Written, data(1, one(t, 1, "a")))
	<-w.Done()
	b := s.Append(Buffered, data(1, one(t, 1, "b")))
	<-b.Done()
	dur := s.Append(Durable, data(1, one(t, 1, "c")))
	h, err := s.Head(1)
	if err != nil || h.HighWatermark != 0 || h.End != 3 {
		t.Fatalf("%+v %v", h, err)
	}
	res, err := s.Read(context.Background(), 1000, Cursor{Queue: 1, Offset: 1, MaxBytes: 1000})
	if err != nil || res.Parts[0].Err != nil || len(res.Parts[0].Batches) != 0 {
		t.Fatalf("%+v %v", res.Parts[0], err)
	}
	res.Release()
	select {
	case <-dur.Done():
		t.Fatal("durable before the sync returned")
	default:
	}
	close(hold)
	<-dur.Done()
	if got := values(t, s, 1, 0); len(got) != 3 {
		t.Fatal(got)
	}
}

// slowMachine applies under the lock it appends under, as coordinators do.
type slowMachine struct {
	names
	mu sync.Mutex
}

func (m *slowMachine) Apply(f commitlog.Frame, b *index.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names.Apply(f, b)
}

// TestMachineAppendsUnderItsLock while memory for the log's end is full of data: it must not wait for it.
func TestMachineAppendsUnderItsLock(t *testing.T) {
	d := disk.NewMem()
	o := memOptions(d, vfs.NewMem())
	o.SegmentBytes = 16 << 20
	s, err := Open("/data", o, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &slowMachine{}
	s.Register(m, index.PrefixTopic, commitlog.KindTopic)
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, s)
	open(t, s, forever, 1)
	hold := make(chan struct{})
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpSync {
			<-hold
		}
		return nil
	})
	first := s.Append(Written, Entry{Kind: commitlog.KindTopic, Payload: []byte("first")})
	<-first.Done()                    // its round is being synced; the next ones fill the memory to the last 32 bytes
	const room = 1<<20 - 48 - 48 - 48 // synced frame and first record, next synced frame
	big := one(t, 1, strings.Repeat("x", room/10&^7-40-batch.HeaderSize-12))
	if n := commitlog.FrameSize(len(big)); room-10*n < 0 || room-10*n >= 48 {
		t.Fatalf("frames of %d bytes do not fill %d", n, room)
	}
	for range 10 {
		s.Append(Buffered, data(1, big))
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { <-s.Append(Durable, data(1, big)).Done() })
	}
	m.mu.Lock()
	second := s.Append(Durable, Entry{Kind: commitlog.KindTopic, Payload: []byte("second")})
	close(hold) // the first record is applied now, or tries to
	third := s.Append(Durable, Entry{Kind: commitlog.KindTopic, Payload: []byte("third")})
	m.mu.Unlock()
	for _, tk := range []*Ticket{first, second, third} {
		if <-tk.Done(); tk.Err() != nil {
			t.Fatal(tk.Err())
		}
	}
	wg.Wait()
	if len(m.state) != 3 {
		t.Fatal(m.state)
	}
}

func TestWatchTellsEachAdvance(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1, 2)
	var mu sync.Mutex
	next := map[int]int64{}
	s.Watch(func(spans []Span) {
		mu.Lock()
		defer mu.Unlock()
		for _, sp := range spans {
			if next[int(sp.Queue)] != sp.From || sp.To <= sp.From {
				t.Errorf("queue %d advanced from %d to %d, it was at %d", sp.Queue, sp.From, sp.To, next[int(sp.Queue)])
			}
			next[int(sp.Queue)] = sp.To
		}
	})
	for range 50 {
		put(t, s, 1, one(t, 1, "a", "b"))
		put(t, s, 2, one(t, 1, "c"))
	}
	mu.Lock()
	defer mu.Unlock()
	if next[1] != 100 || next[2] != 50 {
		t.Fatal(next)
	}
}

// TestReadersBesideWriters: concurrent appends, reads and waits; the tail in memory is smaller than what is written.
func TestReadersBesideWriters(t *testing.T) {
	s := start(t, t.TempDir(), Options{SegmentBytes: 4 << 20, MaxMessageBytes: 1 << 20, TailBytes: 1 << 20, ZeroFillAfter: 1 << 20})
	open(t, s, forever, 1, 2)
	const total = 3000
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	b := one(t, 1, strings.Repeat("v", 3000))
	for q := range 2 {
		wg.Go(func() {
			for range total {
				s.Append(Written, data(1+ID(q), b))
			}
		})
		for range 2 {
			wg.Go(func() {
				for at := int64(0); at < total; {
					if err := s.Wait(ctx, 1, Cursor{Queue: 1 + ID(q), Offset: at}); err != nil {
						t.Error(err)
						return
					}
					res, err := s.Read(ctx, 1<<20, Cursor{Queue: 1 + ID(q), Offset: at, MaxBytes: 200 << 10})
					if err != nil || res.Parts[0].Err != nil {
						t.Error(err, res.Parts[0].Err)
						return
					}
					for rest := res.Parts[0].Batches; len(rest) > 0; rest = rest[len(b):] {
						got := rest[:len(b)]
						if o := batchOf(got).BaseOffset(); o != at || batchOf(got).SumCRC() != batchOf(b).CRC() {
							t.Errorf("offset %d, want %d", o, at)
							return
						}
						at++
					}
					res.Release()
				}
			})
		}
	}
	wg.Wait()
}

func TestClosedStore(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	woke := make(chan error, 1)
	go func() { woke <- s.Wait(context.Background(), 1, Cursor{Queue: 1}) }()
	stop(t, s)
	if err := <-woke; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	tk := s.Append(Durable, data(1, one(t, 1, "a")))
	if <-tk.Done(); !errors.Is(tk.Err(), ErrClosed) {
		t.Fatal(tk.Err())
	}
}

// TestColdLogFails: when nothing can be moved, the store says so and goes on, and after a restart it moves again.
func TestColdLogFails(t *testing.T) {
	const spaceWait = 20 * time.Millisecond
	for op, fault := range map[disk.Op]error{
		disk.OpCreate: disk.ErrIO, disk.OpWrite: disk.ErrIO, disk.OpSync: disk.ErrIO, disk.OpAllocate: disk.ErrNoSpace,
	} {
		t.Run(string(op), func(t *testing.T) {
			d := disk.NewMem()
			o := memOptions(d, vfs.NewMem())
			s := start(t, "/data", o)
			open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1}, 1)
			for i := range 10 {
				put(t, s, 1, one(t, int64(i), fmt.Sprint("v", i)))
			}
			d.SetFault(func(x disk.Op, name string) error {
				if x == op && strings.Contains(name, "/cold/") {
					return fault
				}
				return nil
			})
			if err := s.Compact(context.Background()); err == nil {
				t.Fatal("compacted without a disk")
			}
			if got := values(t, s, 1, 0); len(got) != 10 {
				t.Fatal(got)
			}
			put(t, s, 1, one(t, 1, "goes on"))
			if err := s.Health(); err == nil || !strings.Contains(err.Error(), "no space is made") {
				t.Fatal(err)
			}
			d.SetFault(nil)
			if op == disk.OpAllocate { // space comes back
				for s.Health() != nil {
					time.Sleep(spaceWait)
				}
			} else {
				stop(t, s)
				s = start(t, "/data", o)
			}
			if err := errors.Join(s.Health(), s.Compact(context.Background())); err != nil {
				t.Fatal(err)
			}
			if got := values(t, s, 1, 0); len(got) != 2 {
				t.Fatal(got)
			}
			stop(t, s)
		})
	}
}
