// Package buffer keeps large byte buffers for reuse: those of requests and of answers.
//
// It exists beside sync.Pool because that is emptied by every garbage collection, and collections are frequent on the
// small heap of a broker: fresh memory of this size costs more to clear and to fault in than what is done with it.
package buffer

import (
	"math/bits"
	"sync"
)

const (
	smallest = 12 // 4 KiB, as a power of two
	largest  = 22 // 4 MiB; larger ones are left to the garbage collector
)

// Pool is a set of free lists, one for each power of two, whose bytes are bounded together. It is safe for concurrent
// use, and empty at first.
type Pool struct {
	limit int // bytes

	mu    sync.Mutex
	free  [largest - smallest + 1][][]byte
	bytes int
}

// NewPool makes a pool that keeps at most limit bytes.
func NewPool(limit int) *Pool { return &Pool{limit: limit} }

// class is that of the smallest buffers that hold size bytes.
func class(size int) int { return max(bits.Len(uint(max(size, 1)-1)), smallest) - smallest }

// Take gives an empty buffer with room for size bytes, the one given back last if there is one. Its memory is not cleared.
func (p *Pool) Take(size int) []byte {
	c := class(size)
	if c >= len(p.free) {
		return make([]byte, 0, size)
	}
	p.mu.Lock()
	if list := p.free[c]; len(list) > 0 {
		b := list[len(list)-1]
		list[len(list)-1] = nil
		p.free[c] = list[:len(list)-1]
		p.bytes -= cap(b)
		p.mu.Unlock()
		return b
	}
	p.mu.Unlock()
	return make([]byte, 0, 1<<(c+smallest))
}

// Give takes a buffer back, which nobody may use any more. One that Take did not make, or that is too many, is dropped.
func (p *Pool) Give(b []byte) {
	c := class(cap(b))
	if c >= len(p.free) || cap(b) != 1<<(c+smallest) {
		return
	}
	p.mu.Lock()
	if p.bytes+cap(b) <= p.limit {
		p.free[c] = append(p.free[c], b[:0])
		p.bytes += cap(b)
	}
	p.mu.Unlock()
}

// Grow moves b's bytes into a buffer with room for size bytes and gives b back.
func (p *Pool) Grow(b []byte, size int) []byte {
	n := append(p.Take(size), b...)
	p.Give(b)
	return n
}
