package commitlog

import (
	"sort"
	"sync"
)

const chunkSize = 512 << 10

// chunk is a piece of the log's end in memory. Bytes below the durable mark never change again, so readers copy them
// without a lock while they hold a reference.
type chunk struct {
	base int64
	buf  []byte // filled from 0 to len
	refs int    // guarded by tail.mu
	gone bool   // evicted; goes to the free list with the last reference
}

func (c *chunk) end() int64 { return c.base + int64(len(c.buf)) }

// tail keeps the last bytes of the log: first as the write buffer, then for readers. Its memory is bounded by limit
// beside what is not durable yet.
type tail struct {
	mu     sync.Mutex
	chunks []*chunk // by base
	bytes  int64    // capacity of chunks
	limit  int64
	free   []*chunk // of chunkSize, at most a few
}

// grow gives n more bytes at position pos, contiguous in memory, not yet zeroed.
func (t *tail) grow(pos, n int64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := len(t.chunks); k > 0 {
		if c := t.chunks[k-1]; c.end() == pos && int64(cap(c.buf)-len(c.buf)) >= n {
			c.buf = c.buf[:len(c.buf)+int(n)]
			return c.buf[len(c.buf)-int(n):]
		}
	}
	c := t.fresh(n)
	c.base, c.gone = pos, false
	c.buf = c.buf[:n]
	t.chunks = append(t.chunks, c)
	t.bytes += int64(cap(c.buf))
	return c.buf
}

func (t *tail) fresh(n int64) *chunk {
	if n > chunkSize {
		return &chunk{buf: make([]byte, 0, n)}
	}
	if k := len(t.free); k > 0 {
		c := t.free[k-1]
		t.free = t.free[:k-1]
		return c
	}
	return &chunk{buf: make([]byte, 0, chunkSize)}
}

// evict drops the oldest chunks beyond the limit that end at or below the position released by everybody.
func (t *tail) evict(released int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for n < len(t.chunks)-1 && t.bytes > t.limit && t.chunks[n].end() <= released {
		c := t.chunks[n]
		t.bytes -= int64(cap(c.buf))
		c.gone = true
		t.recycle(c)
		n++
	}
	if n > 0 {
		t.chunks = append(t.chunks[:0], t.chunks[n:]...)
	}
}

func (t *tail) recycle(c *chunk) {
	if c.gone && c.refs == 0 && cap(c.buf) == chunkSize && int64(len(t.free)) < max(1, t.limit/chunkSize/4) {
		c.buf = c.buf[:0]
		t.free = append(t.free, c)
	}
}

// read copies len(b) bytes from pos if they are all in one chunk.
func (t *tail) read(b []byte, pos int64) bool {
	t.mu.Lock()
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].base > pos }) - 1
	if i < 0 || t.chunks[i].end() < pos+int64(len(b)) {
		t.mu.Unlock()
		return false
	}
	c := t.chunks[i]
	src := c.buf[pos-c.base:][:len(b)]
	c.refs++
	t.mu.Unlock()
	copy(b, src)
	t.mu.Lock()
	c.refs--
	t.recycle(c)
	t.mu.Unlock()
	return true
}
