package connectpb

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// pool keeps buffers of rows by powers of two. Unlike grpc's own it neither clears them nor minds that they have grown.
type pool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

const (
	minClass = 10 // 1 KiB
	maxClass = 23 // 8 MiB; larger ones are left to the garbage collector
)

// Buffers is the pool of rows' memory, shared by all streams of the process.
var Buffers mem.BufferPool = &pool{}

func (p *pool) Get(length int) *[]byte {
	c := max(bits.Len(uint(max(length, 1)-1)), minClass)
	if c > maxClass {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p.classes[c-minClass].Get().(*[]byte); ok {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, 1<<c)
	return &b
}

func (p *pool) Put(b *[]byte) {
	c := bits.Len(uint(cap(*b))) - 1 // the largest class it can serve
	if c < minClass || c > maxClass {
		return
	}
	p.classes[c-minClass].Put(b)
}
