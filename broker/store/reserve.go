package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstockio/penstock/broker/disk"
)

// A disk without a free byte gives nothing back by itself: before a segment may go, the index that no longer names it has
// to be on disk, and sometimes a snapshot behind it, or what lives in it in another segment. So the file "reserve" in the
// data directory holds space for just that. It has no content. It goes when something of the above finds no space; from
// then on clients' data is refused, until there is room to make it again.
const reserveFile = "reserve"

const (
	reserveTables = 4                // times a memtable of the index: all that it may have to write at once
	reserveLeast  = 4                // this part of it must be there again before clients' data is taken
	reserveSoon   = time.Second      // between looks for room while it is missing
	reserveLater  = 30 * time.Second // and while it was never made in full, because the disk is small
)

// reserve is the space kept. It is safe for concurrent use.
type reserve struct {
	fs    disk.FS
	path  string
	size  int64 // of a whole one
	leave int64 // what the log needs to grow, which is left to it

	mu     sync.Mutex
	have   int64
	out    atomic.Bool   // given away, and not yet made again
	wanted chan struct{} // something is missing
}

// openReserve looks at what an earlier run left.
func openReserve(fsys disk.FS, dir string, size, leave int64) (*reserve, error) {
	r := &reserve{fs: fsys, path: filepath.Join(dir, reserveFile), size: size, leave: leave, wanted: make(chan struct{}, 1)}
	if size <= 0 {
		return r, nil
	}
	f, err := fsys.Open(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("opening the space kept in reserve: %w", err)
	default:
		r.have, err = f.Size()
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("opening the space kept in reserve in %s: %w", r.path, err)
		}
	}
	if r.have < r.size {
		r.wanted <- struct{}{}
	}
	return r, nil
}

// release gives the space back to the file system, and tells whether there was any.
func (r *reserve) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.have == 0 || r.fs.Remove(r.path) != nil {
		return false
	}
	r.have = 0
	r.out.Store(true)
	select {
	case r.wanted <- struct{}{}:
	default:
	}
	// Some file systems give blocks back with their next commit only. Its failure shows at who needs them.
	_ = r.fs.SyncDir(filepath.Dir(r.path))
	return true
}

// fill makes what is missing, as far as there is room. What the log needs for its next segment is left to it, unless the
// reserve would be too small to help.
func (r *reserve) fill() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free, err := r.fs.Free(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	least := r.size / reserveLeast
	to := min(r.size, max(r.have+free-r.leave, least))
	if to <= r.have || to-r.have > free {
		return nil
	}
	f, err := r.fs.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = r.fs.Create(r.path)
	}
	if err != nil {
		return err
	}
	err = f.Allocate(to)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if r.have = to; to >= least {
		r.out.Store(false)
	}
	return nil
}

// held is how much is kept now.
func (r *reserve) held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.have
}

// keepReserve makes the reserve, and makes it again after it was given away.
func (s *Store) keepReserve(ctx context.Context) {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reserve.wanted:
		}
		for s.reserve.held() < s.reserve.size {
			was := s.reserve.out.Load()
			said = s.job(ctx, "keeping space in reserve", said, func(context.Context) error { return s.reserve.fill() })
			if was && !s.reserve.out.Load() {
				s.l.Info("there is space in reserve again; clients' data is taken", "bytes", s.reserve.held())
			}
			if s.reserve.held() == s.reserve.size {
				break
			}
			pause := reserveLater
			if s.reserve.out.Load() {
				pause = reserveSoon
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			case <-s.reserve.wanted:
			}
		}
	}
}

// giveReserve is called when something that makes space, or must not fail, finds no space itself.
func (s *Store) giveReserve() bool {
	if !s.reserve.release() {
		return false
	}
	s.l.Warn("the disk is full: the space kept in reserve is given to what frees some; clients' data is refused meanwhile")
	return true
}

// withReserve tries again with the reserve given away what found no space.
func (s *Store) withReserve(f func() error) error {
	err := f()
	if disk.IsNoSpace(err) && s.giveReserve() {
		err = f()
	}
	return err
}

// short tells why clients' data is refused while the reserve is in use.
func (s *Store) short() *StorageError {
	if !s.reserve.out.Load() {
		return nil
	}
	return &StorageError{NoSpace, fmt.Errorf("the disk was full and the space kept in reserve (%s) is in use; data is taken again when there is room for it", s.reserve.path)}
}
