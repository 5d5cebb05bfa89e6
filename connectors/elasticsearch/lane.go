package elasticsearch

import (
	"context"
	"sync"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// item is one record's lines in a chunk.
type item struct {
	from, to  int
	index, id string
	op        op
	versioned bool
	tries     int32
	origin    connectapi.Origin
	batch     *batch
}

// chunk is the items of one bulk request, and their lines end to end.
type chunk struct {
	lines []byte
	items []item
	since time.Time // when the first came
}

// lane is a queue of items with one request under way at most: items of one id are always in one lane, so their order is
// kept (I2).
type lane struct {
	t      *task
	number int
	wake   chan struct{}

	mu     sync.Mutex
	chunks []*chunk // oldest first; the last may still grow
	free   *chunk
}

func newLane(t *task, number int) *lane {
	return &lane{t: t, number: number, wake: make(chan struct{}, 1)}
}

// add takes an item with its lines.
func (l *lane) add(it item, lines []byte) {
	l.mu.Lock()
	var c *chunk
	if n := len(l.chunks); n > 0 && !l.full(l.chunks[n-1], len(lines)) {
		c = l.chunks[n-1]
	} else {
		if c = l.free; c == nil {
			c = &chunk{}
		}
		l.free = nil
		c.since = time.Now()
		l.chunks = append(l.chunks, c)
	}
	it.from = len(c.lines)
	c.lines = append(c.lines, lines...)
	it.to = len(c.lines)
	c.items = append(c.items, it)
	first := len(c.items) == 1
	full := l.full(c, 1)
	l.mu.Unlock()
	if first || full {
		l.nudge()
	}
}

func (l *lane) full(c *chunk, more int) bool {
	return len(c.items) >= int(l.t.set.BatchSize) || len(c.items) > 0 && len(c.lines)+more > int(l.t.bulkBytes.Load())
}

func (l *lane) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next returns the next chunk to send, or how long to wait for one; 0: until something comes.
func (l *lane) next() (*chunk, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.chunks) == 0 {
		return nil, 0
	}
	c := l.chunks[0]
	if len(l.chunks) == 1 && !l.full(c, 1) && l.t.hurry.Load() == 0 {
		if left := l.t.set.Linger - time.Since(c.since); left > 0 {
			return nil, left
		}
	}
	l.chunks = append(l.chunks[:0], l.chunks[1:]...)
	return c, 0
}

// keep lets a chunk's memory be used again.
func (l *lane) keep(c *chunk) {
	if cap(c.lines) > 2*int(l.t.set.BulkBytes) {
		c.lines = nil // one very large document
	}
	clear(c.items) // strings and batches they point to
	c.items, c.lines = c.items[:0], c.lines[:0]
	l.mu.Lock()
	l.free = c
	l.mu.Unlock()
}

// forget gives memory back that an idle lane does not need.
func (l *lane) forget() {
	l.mu.Lock()
	l.free = nil
	l.mu.Unlock()
}

// idleAfter is how long a lane keeps memory to use again.
const idleAfter = 5 * time.Second

// run sends chunks until ctx ends or the task fails.
func (l *lane) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	idle := idleAfter
	for {
		c, left := l.next()
		if c != nil {
			records, bytes := len(c.items), len(c.lines)
			if err := l.send(ctx, c); err != nil {
				if ctx.Err() == nil {
					l.t.fail(err)
				}
				return
			}
			l.keep(c)
			l.t.budget.give(records, bytes)
			idle = idleAfter
			continue
		}
		empty := left <= 0
		if empty {
			left = idle
		}
		timer.Reset(left)
		select {
		case <-l.wake:
		case <-timer.C:
			if empty {
				l.forget()
				idle = time.Hour
			}
		case <-ctx.Done():
			return
		}
	}
}
