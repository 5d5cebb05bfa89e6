package commitlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/log"

var uuid = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

func clock() time.Time { return time.UnixMilli(1_700_000_000_000) }

// harness is a log in use.
type harness struct {
	*Log
	t       testing.TB
	rec     Recovery
	written func()
}

func open(t testing.TB, d disk.FS, cp Checkpoint) (*harness, error) {
	t.Helper()
	l, err := Open(Options{
		FS: d, Dir: dir, LogUUID: uuid, SegmentBytes: 128 << 10, TailBytes: 1 << 20, FillAfter: 1 << 40, Now: clock,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	rec, err := l.Recover(cp)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	h := &harness{Log: l, t: t, rec: rec, written: func() {}}
	t.Cleanup(func() { h.Close() })
	return h, nil
}

func begin(t testing.TB, d disk.FS) *harness {
	t.Helper()
	h, err := open(t, d, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *harness) start() error {
	return h.Start(h.rec, EpochRecord{Epoch: h.rec.Epoch + 1, Node: uuid, Reason: ReasonStart}, Hooks{
		Written: func(*Round) { h.written() },
		Synced: func(r *Round) {
			h.Release(r)
			if ch, ok := r.Tag.(chan error); ok {
				close(ch)
			}
		},
		Failed: func(r *Round, err error) {
			if ch, ok := r.Tag.(chan error); ok {
				ch <- err
			}
		},
	})
}

// put appends a group of machine records, and waits until it is synced. It gives the frames' positions.
func (h *harness) put(payloads ...string) ([]int64, error) {
	var size int64
	for _, p := range payloads {
		size += FrameSize(len(p))
	}
	if err := h.Begin(size, true); err != nil {
		return nil, err
	}
	var at []int64
	for i, p := range payloads {
		at = append(at, h.Put(KindTopic, 7, []byte(p), i < len(payloads)-1).Position)
	}
	done := make(chan error, 1)
	h.Current().Tag = done
	h.End()
	return at, <-done
}

func (h *harness) must(payloads ...string) []int64 {
	h.t.Helper()
	at, err := h.put(payloads...)
	if err != nil {
		h.t.Fatal(err)
	}
	return at
}

// replayed lists the machine records of the log.
func replayed(t testing.TB, l *Log) []string {
	t.Helper()
	var got []string
	if err := l.Replay(l.First(), func(f Frame, _ bool, _ int64) error {
		if f.Kind == KindTopic {
			got = append(got, string(f.Payload))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func segments(t testing.TB, d disk.FS) []string {
	t.Helper()
	names, err := d.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(n string) bool { return !segName.MatchString(n) })
}

// overwrite changes bytes of the log in place.
func overwrite(t testing.TB, d disk.FS, name string, off int64, b []byte) {
	t.Helper()
	f, err := d.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

func TestRestartContinues(t *testing.T) {
	d := disk.NewMem()
	var want []string
	for i := range 5 {
		h := begin(t, d)
		for k := range 3 {
			p := fmt.Sprintf("record %d of start %d", k, i)
			h.must(p)
			want = append(want, p)
		}
		if i%2 == 0 { // a clean stop and a killed process alternate
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			d = d.Clone()
		}
	}
	h := begin(t, d)
	if got := replayed(t, h.Log); !slices.Equal(got, want) {
		t.Fatalf("replayed %q", got)
	}
	if h.rec.Cut != 0 || h.rec.Lost != "" {
		t.Fatalf("a clean end was cut: %+v", h.rec)
	}
	if h.epoch != 6 {
		t.Fatalf("epoch %d after six starts", h.epoch)
	}
}

func TestGroupsStayInOneSegment(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	var want []string
	for i := range 200 {
		p := fmt.Sprintf("%d%s", i, strings.Repeat("x", 100*i))
		at := h.must(p, "and", "more")
		h.segMu.RLock()
		if h.segmentAt(at[0]) != h.segmentAt(at[2]) {
			t.Fatalf("group %d at %v crosses a segment", i, at)
		}
		h.segMu.RUnlock()
		want = append(want, p, "and", "more")
	}
	if n := len(segments(t, d)); n < 10 {
		t.Fatalf("%d segments", n)
	}
	h = begin(t, d.Clone())
	if got := replayed(t, h.Log); !slices.Equal(got, want) {
		t.Fatal("replayed something else than was appended")
	}
	if _, err := h.put(strings.Repeat("x", 40<<10)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a group above a quarter segment: %v", err)
	}
}

// TestTornTail damages the last frame at every byte: only that frame is lost, its bytes are kept, and writing goes on.
func TestTornTail(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	h.must("second")
	last := h.must("the last one, longer than the others")[0]
	end := h.Position()
	name := segments(t, d)[0]
	damage := map[string]func(*disk.Mem, int64){
		"garbage": func(c *disk.Mem, off int64) {
			overwrite(t, c, name, off, bytes.Repeat([]byte{0xFF}, int(blockSize+end-off)))
		},
		"zeros": func(c *disk.Mem, off int64) { overwrite(t, c, name, off, make([]byte, blockSize+end-off)) },
		"short file": func(c *disk.Mem, off int64) {
			f, err := c.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(off); err != nil {
				t.Fatal(err)
			}
		},
	}
	for what, do := range damage {
		for at := last; at < last+HeaderSize+36; at++ {
			c := d.Clone()
			do(c, blockSize+at)
			h := begin(t, c)
			if got := replayed(t, h.Log); !slices.Equal(got, []string{"first", "second"}) {
				t.Fatalf("%s at byte %d: replayed %q", what, at-last, got)
			}
			if at > last && h.rec.Lost == "" {
				t.Fatalf("%s at byte %d: nothing was kept", what, at-last)
			}
			h.must("after")
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = begin(t, c)
			if got := replayed(t, h.Log); !slices.Equal(got, []string{"first", "second", "after"}) {
				t.Fatalf("%s at byte %d, after another start: replayed %q", what, at-last, got)
			}
		}
	}
}

func TestLostBytesAreThoseCut(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	end := h.Position()
	tail := bytes.Repeat([]byte("garbage!"), 13)[:100]
	c := d.Clone()
	overwrite(t, c, segments(t, d)[0], blockSize+end, tail)
	h = begin(t, c)
	b, err := disk.ReadFile(c, h.rec.Lost, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, tail) || h.rec.Cut != 100 {
		t.Fatalf("kept %q, cut %d", b, h.rec.Cut)
	}
}

// TestHalfGroup cuts between the frames of a group: all of it goes.
func TestHalfGroup(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("whole")
	at := h.must("one", "two", "three")
	c := d.Clone()
	overwrite(t, c, segments(t, d)[0], blockSize+at[2], make([]byte, h.Position()-at[2]))
	h = begin(t, c)
	if got := replayed(t, h.Log); !slices.Equal(got, []string{"whole"}) {
		t.Fatalf("replayed %q", got)
	}
	if h.rec.Lost == "" {
		t.Fatal("the half group was not kept")
	}
}

// TestFlippedBitIsRefused: damage below what a later frame states as synced is no torn tail.
func TestFlippedBitIsRefused(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	at := h.must("the one that is hit")[0]
	h.must("third")
	name := segments(t, d)[0]
	for i := range int64(HeaderSize + 19) {
		for bit := range 8 {
			c := d.Clone()
			b := make([]byte, 1)
			f, err := c.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.ReadAt(b, blockSize+at+i); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 1 << bit
			if _, err := f.WriteAt(b, blockSize+at+i); err != nil {
				t.Fatal(err)
			}
			_, err = open(t, c, Checkpoint{})
			var bad *CorruptError
			if !errors.As(err, &bad) {
				t.Fatalf("byte %d bit %d: %v", i, bit, err)
			}
			if bad.Position != at || filepath.Base(bad.File) != name {
				t.Fatalf("byte %d bit %d: refused at %d in %s, not %d", i, bit, bad.Position, bad.File, at)
			}
		}
	}
}

func TestMissingSegmentIsRefused(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	for range 40 {
		h.must(strings.Repeat("x", 20<<10))
	}
	c := d.Clone()
	names := segments(t, d)
	if err := c.Remove(filepath.Join(dir, names[2])); err != nil {
		t.Fatal(err)
	}
	all := h.Segments()
	var bad *CorruptError
	if _, err := open(t, c, Checkpoint{Position: all[1].First + 48, Epoch: 1}); !errors.As(err, &bad) || bad.Position != all[2].First {
		t.Fatal(err)
	}
	// Space may have been made below a checkpoint, and whoever has none must say what it can do without.
	for _, cp := range []Checkpoint{{}, {Position: h.Position(), Epoch: 1}} {
		h, err := open(t, c, cp)
		if err != nil {
			t.Fatal(err)
		}
		if h.rec.Start < all[3].First || cp.Position == 0 && h.rec.Start != all[3].First {
			t.Fatalf("%+v", h.rec)
		}
	}
}

// TestForeignFrames puts intact frames behind the log's end as another version might.
func TestForeignFrames(t *testing.T) {
	long := make([]byte, 48) // a header with one extension of 8 bytes
	cases := []struct {
		name   string
		h      header
		ext    bool
		refuse string
	}{
		{name: "unknown critical kind", h: header{kind: 0x7e}, refuse: "kind 0x7e"},
		{name: "unknown skippable kind", h: header{kind: 0xfe}},
		{name: "unknown flag", h: header{kind: KindTopic, flags: 0x40}, refuse: "flags 0x40"},
		{name: "encrypted", h: header{kind: KindTopic, flags: FlagEncrypted}, refuse: "encrypted"},
		{name: "extension", h: header{kind: KindTopic}, ext: true},
		{name: "link, reserved", h: header{kind: 0x06}, refuse: "kind 0x06"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := disk.NewMem()
			h := begin(t, d)
			h.must("first")
			f := c.h
			f.epoch, f.position, f.time = h.epoch, h.Position(), 5
			head := long[:HeaderSize]
			putHeader(head, &f, nil)
			if c.ext {
				head = long
				head[fhLength] = 6
				copy(head[HeaderSize:], "tenant=1")
				sum := headerCRC(head, f.kind, nil)
				head[fhCRC], head[fhCRC+1], head[fhCRC+2], head[fhCRC+3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
			}
			m := d.Clone()
			overwrite(t, m, segments(t, d)[0], blockSize+f.position, head)
			h, err := open(t, m, Checkpoint{})
			var un *UnsupportedError
			switch {
			case c.refuse == "" && err != nil:
				t.Fatal(err)
			case c.refuse == "":
				if h.rec.End != f.position+int64(len(head)) {
					t.Fatalf("ends at %d", h.rec.End)
				}
				replayed(t, h.Log)
			case !errors.As(err, &un) || !strings.Contains(un.Error(), c.refuse) || un.Position != f.position:
				t.Fatalf("%v", err)
			}
		})
	}
}

// TestStaleEpochEndsTheLog: bytes of an earlier writer behind the end never look valid.
func TestStaleEpochEndsTheLog(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = begin(t, d)
	h.must("second")
	pos := h.Position()
	stale := make([]byte, HeaderSize)
	putHeader(stale, &header{kind: KindTopic, epoch: 1, position: pos}, nil)
	c := d.Clone()
	overwrite(t, c, segments(t, d)[0], blockSize+pos, stale)
	h = begin(t, c)
	if h.rec.End != pos || h.rec.Lost == "" {
		t.Fatalf("%+v, want end %d", h.rec, pos)
	}
}

func TestForeignLogIsRefused(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	l, err := Open(Options{FS: d.Clone(), Dir: dir, LogUUID: [16]byte{9}, SegmentBytes: 128 << 10, Log: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	var bad *CorruptError
	if _, err := l.Recover(Checkpoint{}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "belongs to log 0102") {
		t.Fatal(err)
	}
}

// TestDamagedSegmentHeader: where the scan passes it is damage; below the scan's start it does not stop a start.
func TestDamagedSegmentHeader(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	for range 40 {
		h.must(strings.Repeat("x", 20<<10))
	}
	c := d.Clone()
	name := segments(t, d)[1]
	overwrite(t, c, name, 20, []byte{0xff})
	var bad *CorruptError
	if _, err := open(t, c, Checkpoint{}); !errors.As(err, &bad) || filepath.Base(bad.File) != name {
		t.Fatal(err)
	}
	h, err := open(t, c, Checkpoint{Position: h.Position(), Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := replayed(t, h.Log); len(got) != 40 {
		t.Fatalf("%d records", len(got))
	}
}

func TestBelowCheckpoint(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	h.must("first")
	at := h.must("last")[0]
	c := d.Clone()
	overwrite(t, c, segments(t, d)[0], blockSize+at, []byte{0xff})
	h2, err := open(t, c, Checkpoint{Position: h.Position(), Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !h2.rec.BelowCut || h2.rec.End >= h.Position() {
		t.Fatalf("%+v", h2.rec)
	}
}

func TestNoSpace(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	now := clock()
	h.o.Now = func() time.Time { return now }
	var full error
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpAllocate {
			return full
		}
		return nil
	})
	full = disk.ErrNoSpace
	big := strings.Repeat("x", 20<<10)
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = h.put(big)
	}
	var space *SpaceError
	if !errors.As(err, &space) || h.Health() == nil {
		t.Fatalf("%v, health %v", err, h.Health())
	}
	h.must("a small one still fits")
	full = nil
	now = now.Add(time.Second)
	if err := h.Health(); err != nil {
		t.Fatalf("health does not see that space is back: %v", err)
	}
	h.must(big)
	if got := replayed2(t, d); got != n+1 {
		t.Fatalf("%d records, want %d", got, n+1)
	}
}

// TestNoSpaceForZeros: where space cannot be reserved, zero-filling finds out that it is missing before the writer does.
func TestNoSpaceForZeros(t *testing.T) {
	d := disk.NewMem()
	h, err := open(t, d, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	now.Store(clock().UnixMilli())
	h.o.Now = func() time.Time { return time.UnixMilli(now.Load()) }
	h.o.FillAhead = 1 << 20
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	h.must("before")
	var full atomic.Bool
	d.SetFault(func(op disk.Op, _ string) error {
		if op == disk.OpWrite && full.Load() {
			return disk.ErrNoSpace
		}
		return nil
	})
	h.written = func() { full.Store(true) } // the next write is a zero
	h.mu.Lock()
	h.o.FillAfter = 1
	h.mu.Unlock()
	h.must("last")
	deadline := time.Now().Add(10 * time.Second)
	for h.Health() == nil && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	var space *SpaceError
	if _, err := h.put("refused"); !errors.As(err, &space) {
		t.Fatal(err)
	}
	h.written = func() {}
	full.Store(false)
	for h.Health() != nil && time.Now().Before(deadline) {
		now.Add(10)
	}
	h.must("after")
	if got := replayed(t, begin(t, d.Clone()).Log); !slices.Equal(got, []string{"before", "last", "after"}) {
		t.Fatal(got)
	}
}

func replayed2(t testing.TB, d *disk.Mem) int {
	t.Helper()
	return len(replayed(t, begin(t, d.Clone()).Log))
}

// TestFailedSync: an fsync that failed is never retried, nothing is accepted any more, and a restart recovers.
func TestFailedSync(t *testing.T) {
	for _, op := range []disk.Op{disk.OpSync, disk.OpWrite} {
		t.Run(string(op), func(t *testing.T) {
			d := disk.NewMem()
			h := begin(t, d)
			h.must("first")
			synced := h.Synced()
			fail := true
			d.SetFault(func(o disk.Op, _ string) error {
				if o == op && fail {
					return disk.ErrIO
				}
				return nil
			})
			if _, err := h.put("second"); !errors.Is(err, disk.ErrIO) {
				t.Fatal(err)
			}
			fail = false
			var failed *FailedError
			if _, err := h.put("third"); !errors.As(err, &failed) || !errors.As(h.Health(), &failed) {
				t.Fatalf("appending after a failure: %v, health %v", err, h.Health())
			}
			if h.Synced() != synced {
				t.Fatal("the synced mark moved")
			}
			h.Close()
			if got := replayed(t, begin(t, d).Log); len(got) == 0 || got[0] != "first" || slices.Contains(got, "third") {
				t.Fatalf("after a restart: %q", got)
			}
		})
	}
}

func TestGolden(t *testing.T) {
	var bd batch.Builder
	b, err := bd.Add(batch.Record{Time: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	frame := func(h header, payload []byte) string {
		h.payload = len(payload)
		if h.kind != KindData {
			h.payloadCRC = zeroCRC(0)
			if len(payload) > 0 {
				h.payloadCRC = crcOf(payload)
			}
		}
		dst := make([]byte, HeaderSize)
		putHeader(dst, &h, payload)
		return hex.Dump(append(dst, payload...))
	}
	base := header{epoch: 3, position: 4096, queue: 0x01020304, time: 1_700_000_000_000}
	with := func(k Kind, flags byte) header { h := base; h.kind, h.flags = k, flags; return h }
	epoch := EpochRecord{Epoch: 3, Previous: 2, PreviousEnd: 4096, Node: uuid, Reason: ReasonStart, History: 1}
	seg := segHeader{log: uuid, first: 1 << 28, epoch: 3, capacity: 256<<20 - blockSize}
	var foot footer
	foot.reset()
	foot.note(KindData, 7, b)
	foot.note(KindData, 9, b)
	copied := Copied{Refs: []Ref{{Queue: 7, Base: 0, MaxTime: 1_700_000_000_001, Time: 1_700_000_000_002}}, Batch: b}
	golden := map[string]string{
		"frame-data.hex":     frame(with(KindData, 0), b),
		"frame-machine.hex":  frame(with(KindTopic, FlagMore), []byte("\x01payload")),
		"frame-epoch.hex":    frame(with(KindEpoch, 0), epoch.AppendTo(nil)),
		"frame-synced.hex":   frame(with(KindSynced, 0), []byte{0, 0, 0, 0, 0, 0, 16, 0}),
		"frame-closed.hex":   frame(with(KindClosed, 0), nil),
		"frame-pad.hex":      frame(with(KindPad, 0), make([]byte, 16)),
		"frame-footer.hex":   frame(with(KindFooter, 0), foot.encode()),
		"frame-copied.hex":   frame(with(KindCopied, FlagMore), AppendCopied(nil, &copied)),
		"segment-header.hex": hex.Dump(seg.encode()),
	}
	for name, got := range golden {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the format changed:\n%s\nwas:\n%s", name, got, want)
		}
	}
	back, err := decodeSegHeader(seg.encode())
	if err != nil || back != seg {
		t.Fatalf("%+v, %v", back, err)
	}
	if f, err := DecodeFooter(foot.encode()); err != nil || !reflect.DeepEqual(f, foot.entries) {
		t.Fatalf("%+v, %v", f, err)
	}
	if c, err := DecodeCopied(AppendCopied(nil, &copied)); err != nil || !reflect.DeepEqual(c, copied) {
		t.Fatalf("%+v, %v", c, err)
	}
	e, err := DecodeEpoch(epoch.AppendTo(nil))
	if err != nil || e != epoch {
		t.Fatalf("%+v, %v", e, err)
	}
}

func FuzzFrame(f *testing.F) {
	d := disk.NewMem()
	h := begin(f, d)
	h.must("seed", "group")
	if err := h.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := disk.ReadFile(d, filepath.Join(dir, segments(f, d)[0]), 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[blockSize : blockSize+512])
	f.Fuzz(func(t *testing.T, tail []byte) {
		m := d.Clone()
		if len(tail) > 64<<10 {
			return
		}
		overwrite(t, m, segments(t, d)[0], blockSize, tail)
		h, err := open(t, m, Checkpoint{})
		if err == nil {
			replayed(t, h.Log)
			h.Close()
		}
	})
}
