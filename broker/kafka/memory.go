package kafka

import (
	"math/bits"
	"sync"
)

// Requests' memory is kept for the next ones in classes of powers of two, the newest first. Unlike sync.Pool it outlives
// garbage collections, which are frequent on a small heap: fresh memory of this size costs more to clear and to fault in
// than the request in it.
const (
	smallestFrame = 12 // 4 KiB, as a power of two
	largestFrame  = 22 // 4 MiB: larger ones are left to the garbage collector
	keptFrames    = 16 << 20
)

// memory is a set of free lists whose bytes are bounded together. It is safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	free  [largestFrame - smallestFrame + 1][][]byte
	bytes int
}

var frames memory

// frameClass is the class whose buffers hold size bytes.
func frameClass(size int) int {
	return max(bits.Len(uint(max(size, 1)-1)), smallestFrame) - smallestFrame
}

// take gives an empty buffer with room for size bytes.
func (m *memory) take(size int) []byte {
	c := frameClass(size)
	if c >= len(m.free) {
		return make([]byte, 0, size)
	}
	m.mu.Lock()
	if list := m.free[c]; len(list) > 0 {
		b := list[len(list)-1]
		list[len(list)-1] = nil
		m.free[c] = list[:len(list)-1]
		m.bytes -= cap(b)
		m.mu.Unlock()
		return b
	}
	m.mu.Unlock()
	return make([]byte, 0, 1<<(c+smallestFrame))
}

// give takes a buffer back; the caller must not use it any more.
func (m *memory) give(b []byte) {
	c := frameClass(cap(b))
	if c >= len(m.free) || cap(b) != 1<<(c+smallestFrame) {
		return
	}
	m.mu.Lock()
	if m.bytes+cap(b) <= keptFrames {
		m.free[c] = append(m.free[c], b[:0])
		m.bytes += cap(b)
	}
	m.mu.Unlock()
}
