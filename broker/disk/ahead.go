package disk

import (
	"errors"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A queue's batches lie scattered over the log, which the kernel's own read-ahead does not recognise. So a large read that
// finds the page cache empty tells it what comes next; one that finds its bytes there costs one system call as ever.
const (
	aheadFrom  = 16 << 10 // smaller reads look for one thing
	aheadBytes = 4 << 20
)

// noWait is false once the file system has said that it cannot tell whether a read would block.
var noWait atomic.Bool

func init() { noWait.Store(true) }

func (f osFile) ReadAt(b []byte, off int64) (int, error) {
	if !noWait.Load() {
		return f.File.ReadAt(b, off)
	}
	n, cached := f.readCached(b, off)
	if cached {
		return n, nil
	}
	m, err := f.File.ReadAt(b[n:], off+int64(n))
	return n + m, err
}

// readCached reads what is in the page cache; if that is not all of it, the kernel begins to read on from there.
func (f osFile) readCached(b []byte, off int64) (n int, all bool) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = rc.Control(func(fd uintptr) {
		n, err = unix.Preadv2(int(fd), [][]byte{b}, off, unix.RWF_NOWAIT)
		n = max(n, 0)
		if errors.Is(err, syscall.EOPNOTSUPP) {
			noWait.Store(false)
			return
		}
		if n == len(b) {
			return
		}
		f.misses.Add(1)
		if len(b) >= aheadFrom {
			_ = unix.Fadvise(int(fd), off+int64(n), aheadBytes, unix.FADV_WILLNEED) // advice only
		}
	})
	return n, n == len(b)
}

func (f osFile) Misses() uint64 { return f.misses.Load() }

// Cached asks cachestat (Linux 6.5). Without it, or without reads that count as misses, the answer is always no.
func (f osFile) Cached(off int64, n int) (all bool) {
	if !noWait.Load() || !sends.Load() {
		return false
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	page := int64(unix.Getpagesize())
	want := (off+int64(n)+page-1)/page - off/page
	_ = rc.Control(func(fd uintptr) {
		var st unix.Cachestat_t
		err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &st, 0)
		all = err == nil && st.Cache == uint64(want)
	})
	return all
}
