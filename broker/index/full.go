package index

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// fullPause is how long Pebble is held before it tries again to write to a full disk: it has no backoff of its own.
const fullPause = 250 * time.Millisecond

// fullness follows whether the index can be written to disk. While it cannot, it grows in memory up to the memtables'
// limit and then blocks, so who writes should be refused before.
type fullness struct {
	tell func(bool)
	full atomic.Bool
	quit chan struct{}
	once sync.Once
}

// hit is called by Pebble's file system when space is missing, with its writes held.
func (f *fullness) hit() {
	f.set(true)
	select {
	case <-time.After(fullPause):
	case <-f.quit:
	}
}

func (f *fullness) flushed(info pebble.FlushInfo) {
	if info.Err == nil {
		f.set(false)
	}
}

func (f *fullness) set(full bool) {
	if f.full.Swap(full) != full && f.tell != nil {
		f.tell(full)
	}
}

func (f *fullness) stop() { f.once.Do(func() { close(f.quit) }) }
