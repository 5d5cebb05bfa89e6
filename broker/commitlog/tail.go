package commitlog

import (
	"slices"
	"sort"
	"sync"
)

// chunkSize is the least size of a chunk. Larger ones, for large batches, are powers of two, so that they can be used again.
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
	free   []*chunk // evicted, to be used again: at most a quarter of limit
	spare  int64    // capacity of free
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
	size := int64(chunkSize)
	for size < n {
		size *= 2
	}
	for i := len(t.free) - 1; i >= 0; i-- {
		if c := t.free[i]; int64(cap(c.buf)) == size {
			t.free = slices.Delete(t.free, i, i+1)
			t.spare -= size
			return c
		}
	}
	return &chunk{buf: make([]byte, 0, size)}
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
	if !c.gone || c.refs > 0 {
		return
	}
	if size := int64(cap(c.buf)); t.spare+size <= max(chunkSize, t.limit/4) {
		c.buf = c.buf[:0]
		t.free = append(t.free, c)
		t.spare += size
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
