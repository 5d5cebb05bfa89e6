package serve

import (
	"context"
	"sync/atomic"
	"time"
)

// ear listens for the host. While that has been silent for too long another may have its work, so nothing is written then.
type ear struct {
	most  time.Duration // 0: for ever
	began time.Time
	last  atomic.Int64 // when the host was heard, in nanoseconds since began: by the monotonic clock
}

func (e *ear) init(most time.Duration) { e.most, e.began = most, time.Now() }

func (e *ear) hear() { e.last.Store(int64(time.Since(e.began))) }

// silent tells that the host was not heard for too long.
func (e *ear) silent() bool {
	return e.most > 0 && time.Since(e.began)-time.Duration(e.last.Load()) > e.most
}

// earPause is the wait between two looks at a host that is silent.
const earPause = 20 * time.Millisecond

// await waits while the host is silent; false if ctx ends first.
func (e *ear) await(ctx context.Context) bool {
	for e.silent() {
		if !sleep(ctx, earPause) {
			return false
		}
	}
	return true
}
