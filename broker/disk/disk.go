package disk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"syscall"
)

// FS is the part of a file system the broker needs. It is safe for concurrent use.
type FS interface {
	// Open opens an existing file for reading and writing; the error wraps fs.ErrNotExist when there is none.
	Open(name string) (File, error)
	// Create makes a new file and fails with fs.ErrExist if there is one.
	Create(name string) (File, error)
	Remove(name string) error
	Rename(from, to string) error
	// MkdirAll makes a directory and its parents, and makes them durable.
	MkdirAll(dir string) error
	// List names the entries of a directory, sorted.
	List(dir string) ([]string, error)
	// SyncDir makes creations, removals and renames in a directory durable.
	SyncDir(dir string) error
	// Free tells how many bytes more the file system of a directory takes from this process.
	Free(dir string) (int64, error)
	// Lock takes a file for this process until it is closed; the error wraps ErrLocked if another one holds it.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Reads and writes at positions may run concurrently.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Allocate reserves space for [0, size) and grows the file to that size; new bytes read as zero.
	Allocate(size int64) error
	// SyncData makes written bytes, and the size needed to read them, durable (fdatasync).
	SyncData() error
	// NextData gives the first position at or after off that may hold something other than zeros never written,
	// and the file's size if there is none.
	NextData(off int64) (int64, error)
	// Cached tells whether n bytes at off stand in memory, so that reading them waits for no disk; false where nobody can know.
	Cached(off int64, n int) bool
	// Misses counts the reads that found their bytes not in memory.
	Misses() uint64
	// SendTo writes n bytes at off to a connection, without taking them through the process where that is possible.
	SendTo(c *net.TCPConn, off int64, n int) error
}

// ErrLocked is wrapped by Lock's error when another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// IsNoSpace tells whether an error means that space or quota is missing.
func IsNoSpace(err error) bool { return isOne(err, syscall.ENOSPC, syscall.EDQUOT) }

// IsDenied tells whether an error means that permission is missing, or that the file system can only be read.
func IsDenied(err error) bool { return isOne(err, syscall.EACCES, syscall.EPERM, syscall.EROFS) }

// MayHeal tells whether what an error says may go away by itself, and nothing was lost: space or permission is missing.
func MayHeal(err error) bool { return IsNoSpace(err) || IsDenied(err) }

func isOne(err error, of ...syscall.Errno) bool {
	for _, e := range of {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// WriteAtomic replaces a file's content so that a crash leaves the old or the new one (I2).
func WriteAtomic(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	if err := fsys.Remove(tmp); err != nil && !isNotExist(err) {
		return fmt.Errorf("removing a stale %s: %w", tmp, err)
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return fmt.Errorf("creating %s: %w", tmp, err)
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.SyncData()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", tmp, err)
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return fmt.Errorf("renaming %s to %s: %w", tmp, name, err)
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("syncing the directory of %s: %w", name, err)
	}
	return nil
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("reading %s: %d bytes are more than the %d expected", name, size, limit)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return b, nil
}
