package kafka

import "testing"

func TestMemoryIsSharedOut(t *testing.T) {
	m := memory{size: 8 << 20, floor: 64 << 10}
	if n := m.reserve(100 << 20); n != 1<<20 {
		t.Errorf("the first of an empty memory got %d", n)
	}
	if n := m.reserve(1000); n != 1000 {
		t.Errorf("who wants little got %d", n)
	}
	m.settle(1<<20, 10)
	m.settle(1000, 0)
	if m.inUse() != 10 {
		t.Errorf("%d bytes are in use", m.inUse())
	}
	for range 200 { // who never gives anything back
		if n := m.reserve(100 << 20); n < m.floor {
			t.Fatalf("somebody got %d, less than the floor", n)
		}
	}
	if most := m.size + 200*m.floor; m.inUse() > most {
		t.Errorf("%d bytes are in use, more than %d", m.inUse(), most)
	}
	m = memory{size: 1 << 20, floor: 64 << 10}
	n := m.reserve(64 << 10)
	m.settle(n, 16<<20) // one batch that is larger than all of it
	if n := m.reserve(1 << 20); n != m.floor {
		t.Errorf("beside it somebody got %d", n)
	}
}
