package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryLimit is the soft limit for the Go heap unless GOMEMLIMIT says otherwise: the index's cache and memtables live
// there, and the collector should work harder before the process grows.
const memoryLimit = 512 << 20

// collectAt lets the heap grow by less than half, not by as much again, before it is collected: most of it are large buffers without
// pointers, which cost a collection next to nothing.
const collectAt = 40

// spare is by how much a worker's heap may grow at least before it is collected. What a sink reads comes in buffers of a megabyte
// that live for a moment: beside the small heap of a worker, collecting by percentage alone would cost more than its work.
const spare = 48 << 20

func tuneMemory(withWorker bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
		if withWorker {
			first := &collection{percent: collectAt, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
			runtime.SetFinalizer(first, (*collection).ended)
		}
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// collection is garbage at once and comes back at the end of each collection, to set the percentage for the next.
type collection struct {
	percent int
	live    []metrics.Sample
}

func (c *collection) ended() {
	metrics.Read(c.live)
	if p := percentFor(c.live[0].Value.Uint64()); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	runtime.SetFinalizer(c, (*collection).ended)
}

// percentFor is the percentage that lets a heap grow by spare at least, and by collectAt. Steps are coarse: setting it stops the
// program for a moment.
func percentFor(live uint64) int {
	const step = 10
	p := uint64(math.MaxInt32)
	if live > 0 {
		p = 100 * spare / live
	}
	return max(collectAt, int(min(p, 1000))/step*step)
}
