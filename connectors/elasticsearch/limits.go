package elasticsearch

import (
	"context"
	"sync"
)

// budget bounds the records and bytes a task holds (I5). One goroutine takes, many give back.
type budget struct {
	mu                     sync.Mutex
	records, bytes         int
	mostRecords, mostBytes int
	given                  chan struct{}
}

func newBudget(records, bytes int) *budget {
	return &budget{mostRecords: records, mostBytes: bytes, given: make(chan struct{}, 1)}
}

// try takes a record of n bytes, if there is room; there is for one record of any size.
func (b *budget) try(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.records > 0 && (b.records >= b.mostRecords || b.bytes+n > b.mostBytes) {
		return false
	}
	b.records++
	b.bytes += n
	return true
}

func (b *budget) give(records, bytes int) {
	b.mu.Lock()
	b.records -= records
	b.bytes -= bytes
	b.mu.Unlock()
	select {
	case b.given <- struct{}{}:
	default:
	}
}

func (b *budget) held() (records, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records, b.bytes
}

// limiter bounds the requests under way: it halves when the server is overloaded and grows back, one at a time.
type limiter struct {
	mu     sync.Mutex
	limit  int
	most   int
	busy   int
	good   int // answers since the limit changed
	change chan struct{}
}

func newLimiter(most int) *limiter {
	return &limiter{limit: most, most: most, change: make(chan struct{})}
}

// acquire waits for a turn; an error is ctx's.
func (l *limiter) acquire(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.busy < l.limit {
			l.busy++
			l.mu.Unlock()
			return nil
		}
		change := l.change
		l.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release ends a turn.
func (l *limiter) release(overloaded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	if overloaded {
		l.limit, l.good = max(1, l.limit/2), 0
	} else if l.good++; l.limit < l.most && l.good >= l.limit {
		l.limit++
		l.good = 0
	}
	close(l.change)
	l.change = make(chan struct{})
}

func (l *limiter) current() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}
