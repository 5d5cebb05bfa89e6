package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestPercentFor proves that a heap may grow by spare, or by collectAt of a hundred if that is more, and never without bound.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 1000},
		{1 << 20, 1000},
		{24 << 20, 200},
		{48 << 20, 100},
		{50 << 20, 90},
		{120 << 20, 40},
		{1 << 40, 40},
	} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%d bytes live: got %d %%, want %d", c.live, got, c.want)
		}
	}
}

// TestCollectionSetsThePercentage proves that it is set by each collection, not by the first alone.
func TestCollectionSetsThePercentage(t *testing.T) {
	before := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) })
	t.Setenv("GOGC", "")
	tuneMemory(true)
	var held []byte
	for _, size := range []int{0, 64 << 20, 0} {
		held = make([]byte, size)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			runtime.GC()
			small := size == 0
			if got := current(); small && got > 100 || !small && got <= 100 {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("with %d bytes held the percentage stays %d", size, got)
			}
		}
		runtime.KeepAlive(held)
	}
}

// current is the percentage that is set.
func current() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
