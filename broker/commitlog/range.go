package commitlog

import (
	"fmt"
	"net"
	"time"

	"github.com/penstockio/penstock/broker/disk"
)

// rangeFrom is the size from which a batch may be sent from its file. Below it gathering batches in memory is cheaper than a
// system call for each (measured).
const rangeFrom = 32 << 10

// checkedFor is how long a batch counts as checked. Somebody else, a backup, may read the segment and so bring pages that the
// kernel had evicted back from the disk, which is no read of ours; this bounds how long what is damaged in them is sent. It
// costs one checked read of a batch each time.
const checkedFor = 5 * time.Minute

// checked remembers of a segment which large batches, as they stand in the page cache, are known to be whole: they were
// written from memory, or read and verified, since the segment was opened. What comes from the disk is not: as soon as any
// read of the segment had to wait for the disk, nothing of it counts as checked any more; nor when the scrubber found damage,
// nor when the first of it was checked longer ago than checkedFor.
//
// Of frames that hold a batch of rangeFrom bytes only one can begin in each rangeFrom bytes of the log. So one bit for each
// tells them apart.
type checked struct {
	bits   []uint64
	misses uint64    // of the file when the first bit was set
	since  time.Time // when that was, with a monotonic reading
}

// valid tells whether the bits still hold.
func (c *checked) valid(misses uint64, now time.Time) bool {
	return c.misses == misses && now.Sub(c.since).Abs() < checkedFor
}

// add marks the frame at a place of the segment of a capacity.
func (c *checked) add(f disk.File, at, capacity int64, now time.Time) {
	if c.bits == nil {
		c.bits = make([]uint64, capacity/rangeFrom/64+1)
	}
	if m := f.Misses(); !c.valid(m, now) {
		clear(c.bits)
		c.misses, c.since = m, now
	}
	cell := at / rangeFrom
	c.bits[cell/64] |= 1 << (cell % 64)
}

func (c *checked) has(f disk.File, at int64, now time.Time) bool {
	cell := at / rangeFrom
	return c.bits != nil && c.valid(f.Misses(), now) && c.bits[cell/64]&(1<<(cell%64)) != 0
}

// check marks a batch of a segment as whole.
func (l *Log) check(s *segment, pos int64, size int) {
	if size < rangeFrom || s.store != StoreMain {
		return
	}
	now := l.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != nil {
		s.seen.add(s.f, pos-s.first, s.capacity, now)
	}
}

// uncheck makes every batch be looked at again.
func (s *segment) uncheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = checked{}
}

// hold gives the file if the frame at pos is known to be whole, and keeps it open until drop.
func (s *segment) hold(pos int64, now time.Time) disk.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.f == nil || !s.seen.has(s.f, pos-s.first, now) {
		return nil
	}
	s.refs++
	return s.f
}

func (s *segment) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs--; s.refs == 0 && s.late != nil {
		_ = s.late.Close() // all it held is durable
		s.late = nil
	}
}

// Range is a record batch as it stands in its file. It stays readable, also when its segment is removed, until Release.
type Range struct {
	seg  *segment
	file disk.File
	off  int64
	size int
}

// Size is that of the batch in bytes.
func (r *Range) Size() int { return r.size }

// SendTo writes n bytes of the batch, those behind the first from bytes, to a connection.
func (r *Range) SendTo(c *net.TCPConn, from, n int) error {
	if err := r.file.SendTo(c, r.off+int64(from), n); err != nil {
		return fmt.Errorf("sending %d bytes of %s at %d: %w", n, r.seg.path, r.off+int64(from), err)
	}
	return nil
}

// Release lets go of the file.
func (r *Range) Release() { r.seg.drop() }

// Range finds a batch as ReadBatch does, if it can be sent from where it stands: it is large, known to be whole, and in the
// page cache. Otherwise the caller reads it. A batch stands in the main log as it is served, base offset and leader epoch
// included; those of the cold log may stand there for several places.
func (l *Log) Range(pos int64, size int) (Range, bool) {
	if size < rangeFrom || l.o.Store != StoreMain {
		return Range{}, false
	}
	s, err := l.find(pos)
	if err != nil || pos+HeaderSize+int64(size) > s.end() {
		return Range{}, false
	}
	f := s.hold(pos, l.o.Now())
	if f == nil {
		return Range{}, false
	}
	off := s.offset(pos) + HeaderSize
	if !f.Cached(off, size) {
		s.drop()
		return Range{}, false
	}
	l.m.sent.Inc()
	return Range{seg: s, file: f, off: off, size: size}, true
}
