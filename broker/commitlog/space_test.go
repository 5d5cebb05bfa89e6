package commitlog

import (
	"errors"
	"testing"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
)

// data appends one batch of a queue and waits until it is synced.
func (h *harness) data(queue uint32, base int64, n int) int64 {
	h.t.Helper()
	var bd batch.Builder
	b, err := bd.Add(batch.Record{Time: 1000 + base, Key: []byte("k"), Value: make([]byte, n)}).Build()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.Begin(FrameSize(len(b)), true); err != nil {
		h.t.Fatal(err)
	}
	at := h.PutBatch(queue, b, Patch{BaseOffset: base}, false).Position
	done := make(chan error, 1)
	h.Current().Tag = done
	h.End()
	if err := <-done; err != nil {
		h.t.Fatal(err)
	}
	return at
}

// footers reads the footers of all segments, by first position.
func footers(t testing.TB, l *Log) map[int64][]FooterEntry {
	t.Helper()
	got := map[int64][]FooterEntry{}
	if err := l.Replay(l.First(), func(f Frame, _ bool, end int64) error {
		if f.Kind != KindFooter {
			return nil
		}
		s, _ := l.SegmentOf(f.Position)
		e, err := DecodeFooter(f.Payload)
		got[s.First] = e
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFooters: each sealed segment sums up what was written to it, with thousands of queues that take room for it, and
// over restarts.
func TestFooters(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	next := map[uint32]int64{}
	want := map[int64]map[uint32]FooterEntry{}
	for i := range 4000 {
		q := uint32(i*i) % 1500
		at := h.data(q, next[q], i%300)
		s, _ := h.SegmentOf(at)
		if want[s.First] == nil {
			want[s.First] = map[uint32]FooterEntry{}
		}
		e, ok := want[s.First][q]
		if !ok {
			e = FooterEntry{Queue: q, First: next[q]}
		}
		b, err := h.ReadBatch(nil, q, at, sizeAt(t, h, at))
		if err != nil {
			t.Fatal(err)
		}
		e.Batches, e.Bytes, e.Last, e.MaxTime = e.Batches+1, e.Bytes+int64(len(b)), next[q], 1000+next[q]
		want[s.First][q] = e
		next[q]++
		if i%1000 == 500 {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = begin(t, d)
		}
	}
	segs, got := h.Segments(), footers(t, h.Log)
	if len(segs) < 5 || len(got) != len(segs)-1 {
		t.Fatalf("%d footers in %d segments", len(got), len(segs))
	}
	for _, s := range segs[:len(segs)-1] {
		if len(got[s.First]) != len(want[s.First]) {
			t.Fatalf("the footer at %d names %d queues, want %d", s.First, len(got[s.First]), len(want[s.First]))
		}
		for _, e := range got[s.First] {
			if e != want[s.First][e.Queue] {
				t.Fatalf("the footer at %d says %+v, want %+v", s.First, e, want[s.First][e.Queue])
			}
		}
	}
}

// sizeAt reads a data frame's batch size from its header.
func sizeAt(t testing.TB, h *harness, at int64) int {
	t.Helper()
	s, err := h.find(at)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, HeaderSize)
	if err := s.readAt(h.fs, b, at); err != nil {
		t.Fatal(err)
	}
	hd, err := parseHeader(b, at)
	if err != nil {
		t.Fatal(err)
	}
	return hd.payload
}

func TestRemove(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	at := h.data(1, 0, 30<<10)
	size := sizeAt(t, h, at)
	for i := range 100 {
		h.data(1, int64(i+1), 30<<10)
	}
	segs := h.Segments()
	if err := h.Remove(segs[len(segs)-1].First); err == nil {
		t.Fatal("the segment being written was removed")
	}
	if _, err := h.ReadBatch(nil, 1, at, size); err != nil {
		t.Fatal(err)
	}
	s, _ := h.find(at)
	if err := h.Remove(segs[0].First); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ReadBatch(nil, 1, at, size); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if err := s.readAt(h.fs, make([]byte, 8), at); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if h.First() != segs[1].First || len(segments(t, d)) != len(segs)-1 {
		t.Fatal("the file is still there")
	}
}

// TestColdStore: a log of the cold store keeps copies, and is not mistaken for the main log.
func TestColdStore(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	var bd batch.Builder
	b, err := bd.Add(batch.Record{Time: 1, Key: []byte("k"), Value: []byte("v")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	cold, err := Open(Options{FS: d, Dir: "/cold", Store: StoreCold, LogUUID: uuid, SegmentBytes: 128 << 10, TailBytes: 1 << 20, Now: clock, Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := cold.Recover(Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	c := &harness{Log: cold, t: t, rec: rec, written: func() {}}
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	payload := AppendCopied(nil, &Copied{Refs: []Ref{{Queue: 7, Base: 5}}, Batch: b})
	if err := c.Begin(FrameSize(len(payload)), true); err != nil {
		t.Fatal(err)
	}
	at := c.Put(KindCopied, 7, payload, false).Position
	done := make(chan error, 1)
	c.Current().Tag = done
	c.End()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadBatch(nil, 7, at, len(b))
	if err != nil || string(got) != string(b) {
		t.Fatal(got, err)
	}
	if _, err := c.ReadBatch(nil, 8, at, len(b)); !errors.As(err, new(*CorruptError)) {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Rename("/cold/00000000000000000000.log", dir+"/00000000000000000000.log"); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, d, Checkpoint{}); !errors.As(err, new(*CorruptError)) {
		t.Fatal(err)
	}
}

func FuzzPayloads(f *testing.F) {
	f.Add((&footer{entries: []FooterEntry{{Queue: 1, Batches: 2, Bytes: 3, First: 4, Last: 5, MaxTime: 6}}}).encode())
	b, err := new(batch.Builder).Add(batch.Record{Time: 1, Value: []byte("v")}).Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(AppendCopied(nil, &Copied{Refs: []Ref{{Queue: 1}, {Queue: 2}}, Batch: b}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if e, err := DecodeFooter(p); err == nil && len(e)*footerEntry > len(p) {
			t.Fatalf("%d entries from %d bytes", len(e), len(p))
		}
		if c, err := DecodeCopied(p); err == nil && string(AppendCopied(nil, &c)) != string(p) {
			t.Fatalf("%x became %+v", p, c)
		}
	})
}
