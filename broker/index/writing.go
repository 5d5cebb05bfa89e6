package index

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// failedPause is how long Pebble is held before it tries again to write what could not be written: it has no backoff of
// its own.
const failedPause = 250 * time.Millisecond

// writing follows whether the index can be written to disk. While it cannot, it grows in memory up to the memtables'
// limit and then blocks, so who writes should be refused before.
type writing struct {
	tell    func(error)
	reserve func() bool
	failing atomic.Bool
	mu      sync.Mutex // orders what is told
	quit    chan struct{}
	once    sync.Once
}

// noSpace is called by Pebble's file system when space is missing, with its writes held. What could not be written is
// tried again once when it returns.
func (w *writing) noSpace() {
	if w.reserve != nil && w.reserve() {
		return
	}
	w.set(syscall.ENOSPC)
	w.pause()
}

// flushed is called at the end of each flush; the one that failed is begun again at once. Pebble also calls it an error
// when there was nothing to be written.
func (w *writing) flushed(info pebble.FlushInfo) {
	if info.Err == nil || errors.As(info.Err, new(syscall.Errno)) {
		w.set(info.Err)
	}
}

func (w *writing) set(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing.Swap(err != nil) != (err != nil) && w.tell != nil {
		w.tell(err)
	}
}

func (w *writing) pause() {
	select {
	case <-time.After(failedPause):
	case <-w.quit:
	}
}

func (w *writing) stop() { w.once.Do(func() { close(w.quit) }) }

// patientFS holds the making of files while the last flush failed.
type patientFS struct {
	vfs.FS
	w *writing
}

// Create implements vfs.FS.
func (f patientFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if f.w.failing.Load() {
		f.w.pause()
	}
	return f.FS.Create(name, category)
}

// Unwrap implements vfs.FS.
func (f patientFS) Unwrap() vfs.FS { return f.FS }
