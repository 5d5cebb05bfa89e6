package buffer

import (
	"bytes"
	"sync"
	"testing"
)

func TestBuffersAreReused(t *testing.T) {
	p := NewPool(1 << 20)
	for _, size := range []int{0, 1, 4096, 4097, 65536, 1 << 20} {
		b := p.Take(size)
		if len(b) != 0 || cap(b) < size {
			t.Fatalf("Take(%d) has length %d and capacity %d", size, len(b), cap(b))
		}
		b = append(b, 1)
		p.Give(b)
		if again := p.Take(max(size, 1)); &again[:1][0] != &b[0] {
			t.Errorf("a buffer of %d bytes was not used again", size)
		}
	}
}

func TestKeptBytesAreBounded(t *testing.T) {
	p := NewPool(10 << 10)
	var all [][]byte
	for range 10 {
		all = append(all, p.Take(4096))
	}
	for _, b := range all {
		p.Give(b)
	}
	if p.bytes > 10<<10 || p.bytes == 0 {
		t.Errorf("%d bytes are kept", p.bytes)
	}
	p.Give(make([]byte, 5000))      // not of a class
	p.Give(make([]byte, 0, 64<<20)) // above all classes
	if p.bytes > 10<<10 {
		t.Errorf("%d bytes are kept", p.bytes)
	}
	if b := p.Take(64 << 20); cap(b) != 64<<20 {
		t.Errorf("capacity %d", cap(b))
	}
}

func TestGrowKeepsBytes(t *testing.T) {
	p := NewPool(1 << 20)
	b := append(p.Take(10), "hello"...)
	b = p.Grow(b, 100_000)
	if string(b) != "hello" || cap(b) < 100_000 {
		t.Errorf("%q of capacity %d", b, cap(b))
	}
}

func TestNobodySharesABuffer(t *testing.T) {
	p := NewPool(1 << 20)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := bytes.Repeat([]byte{byte(i)}, 5000)
			for range 1000 {
				b := append(p.Take(5000), want...)
				if !bytes.Equal(b, want) {
					t.Error("a buffer changed under its owner")
					return
				}
				p.Give(b)
			}
		})
	}
	wg.Wait()
}
