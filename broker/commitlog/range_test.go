package commitlog

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/penstockio/penstock/broker/disk"
)

// missing is a disk whose files say that reads had to wait, as often as the test likes, and may be told to hold nothing in memory.
type missing struct {
	*disk.Mem
	misses uint64
	cold   bool
}

type missingFile struct {
	disk.File
	d *missing
}

func (d *missing) Create(name string) (disk.File, error) {
	f, err := d.Mem.Create(name)
	return missingFile{f, d}, err
}

func (f missingFile) Misses() uint64 { return f.d.misses }

func (f missingFile) Cached(off int64, n int) bool { return !f.d.cold && f.File.Cached(off, n) }

// largest is a value for data whose batch is as large as the log here takes, and just large enough to be sent from its file.
const largest = rangeFrom - 73

// TestRanges: a large batch may be sent from its file when it was written or read and verified, and not after the disk was
// read; small ones never.
func TestRanges(t *testing.T) {
	d := &missing{Mem: disk.NewMem()}
	h := begin(t, d)
	small, large := h.data(7, 0, 1000), h.data(7, 1, largest)
	has := func(pos int64) bool {
		t.Helper()
		r, ok := h.Range(pos, sizeAt(t, h, pos))
		if ok {
			r.Release()
		}
		return ok
	}
	if has(small) || !has(large) {
		t.Fatalf("small: %v, large: %v", has(small), has(large))
	}
	d.cold = true
	if has(large) {
		t.Fatal("what must come from the disk is sent unseen")
	}
	d.cold = false
	d.misses++
	if has(large) {
		t.Fatal("after a read of the disk what it may have brought is sent unseen")
	}
	h.data(7, 2, largest)
	if has(large) {
		t.Fatal("writing another batch checks the first")
	}
	for i := range int64(40) { // the tail lets go of what comes before
		h.data(7, 3+i, largest)
	}
	if _, err := h.ReadBatch(nil, 7, large, sizeAt(t, h, large)); err != nil {
		t.Fatal(err)
	}
	if !has(large) {
		t.Fatal("a batch that was read and verified is not sent")
	}
}

// TestRangesAge: another process may bring a damaged batch from the disk without a read of ours, so it is checked again when
// the first of its segment was checked five minutes ago.
func TestRangesAge(t *testing.T) {
	d := &missing{Mem: disk.NewMem()} // whose misses stay as they are
	h := begin(t, d)
	began := time.Now()
	now := began
	h.o.Now = func() time.Time { return now }
	first := h.data(7, 0, largest)
	now = began.Add(4 * time.Minute)
	second := h.data(7, 1, largest)
	for i := range int64(40) { // the tail lets go of what comes before
		h.data(7, 2+i, largest)
	}
	if a, b := h.seg(first), h.seg(second); a != b {
		t.Fatalf("the batches lie in %s and %s", a.path, b.path)
	}
	flip(t, d, h.seg(first), first+HeaderSize+rangeFrom/2)
	has := func(pos int64) bool {
		t.Helper()
		r, ok := h.Range(pos, sizeAt(t, h, pos))
		if ok {
			r.Release()
		}
		return ok
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{
		{4 * time.Minute, true},
		{5*time.Minute - 1, true}, // the hole that is left, as invariant I8 says
		{5 * time.Minute, false},
		{24 * time.Hour, false},
		{5*time.Minute + 1, false},
	} {
		now = began.Add(c.after)
		if a, b := has(first), has(second); a != c.want || b != c.want {
			t.Fatalf("after %v the first is sent: %v, the second: %v; want %v", c.after, a, b, c.want)
		}
	}
	read := func(pos int64) error {
		_, err := h.ReadBatch(nil, 7, pos, sizeAt(t, h, pos))
		return err
	}
	if err := read(second); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if err := read(first); !errors.As(err, &corrupt) || corrupt.Position != first {
		t.Fatalf("reading the damaged batch: %v", err)
	}
	if has(first) || !has(second) {
		t.Fatalf("the damaged batch is sent: %v, the one read and verified: %v", has(first), has(second))
	}
	now = now.Add(5*time.Minute - 1)
	if !has(second) {
		t.Fatal("the five minutes of a batch that was verified again did not begin then")
	}
	now = now.Add(1)
	if has(second) {
		t.Fatal("a batch that was verified again is sent for ever")
	}
}

func (h *harness) seg(pos int64) *segment {
	h.t.Helper()
	s, err := h.find(pos)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// flip changes a bit of the file at a position, behind the log's back.
func flip(t *testing.T, d disk.FS, s *segment, pos int64) {
	t.Helper()
	f, err := d.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, s.offset(pos)); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, s.offset(pos)); err != nil {
		t.Fatal(err)
	}
}

// TestRangeOutlivesItsSegment: what is being sent stays readable when its segment is removed, and nobody finds it again.
func TestRangeOutlivesItsSegment(t *testing.T) {
	d := disk.NewMem()
	h := begin(t, d)
	at := h.data(7, 0, largest)
	size := sizeAt(t, h, at)
	want, err := h.ReadBatch(nil, 7, at, size)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := h.Range(at, size)
	if !ok {
		t.Fatal("the batch can't be sent")
	}
	for i := range int64(4) {
		h.data(7, 1+i, largest)
	}
	seg, _ := h.SegmentOf(at)
	if err := h.Remove(seg.First); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.Range(at, size); ok {
		t.Fatal("a batch of a removed segment is found")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan []byte, 1)
	go func() {
		defer close(got)
		if c, err := ln.Accept(); err == nil {
			b, _ := io.ReadAll(c)
			c.Close()
			got <- b
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(r.SendTo(c.(*net.TCPConn), 0, 1000), r.SendTo(c.(*net.TCPConn), 1000, size-1000), c.Close())
	if b := <-got; err != nil || !bytes.Equal(b, want) {
		t.Fatalf("%d bytes of %d arrived: %v", len(b), size, err)
	}
	file := r.file
	r.Release()
	if _, err := file.Size(); err == nil {
		t.Fatal("the file is still open after the last range was released")
	}
}
