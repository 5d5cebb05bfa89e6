package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// unfinished is the hidden folder of files being written: on the lake's own file system, so that publishing is one link.
const unfinished = ".unfinished"

// localStore keeps the lake in a folder. It is one task's.
type localStore struct {
	root    string
	key     string
	durable map[string]bool // folders known to be durable in the one above
}

// maxDurable bounds what is remembered of folders.
const maxDurable = 1 << 14

// check tries to write in the folder, or where it would be made.
func (s *localStore) check(context.Context) error {
	dir := s.root
	for {
		st, err := os.Stat(dir)
		if err == nil && !st.IsDir() {
			return connectapi.ConfigError(s.key, fmt.Errorf("%s is not a folder", dir))
		}
		if err == nil {
			break
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return connectapi.ConfigError(s.key, fmt.Errorf("looking for folder %s: %w", s.root, err))
		}
		dir = up
	}
	f, err := os.CreateTemp(dir, ".penstock-check-*")
	if err != nil {
		return connectapi.ConfigError(s.key, fmt.Errorf("writing in folder %s: %w", dir, err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (s *localStore) create(prefix string) (upload, error) {
	dir := filepath.Join(s.root, unfinished)
	if err := makeFolders(dir); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, prefix+"*.tmp")
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("beginning a file: %w", err)
	}
	return &localUpload{s: s, f: f}, nil
}

// open makes the name durable first: rows of the file will be taken for durable, and who linked it may have been killed
// before it synced the folder.
func (s *localStore) open(_ context.Context, path string) (published, error) {
	path = filepath.Join(s.root, filepath.FromSlash(path))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := errors.Join(s.folder(dir), syncFolder(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &localFile{f, st.Size()}, nil
}

type localFile struct {
	*os.File
	size int64
}

func (f *localFile) Size() int64 { return f.size }

func (s *localStore) sweep(prefix string) error {
	dir := filepath.Join(s.root, unfinished)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for unfinished files: %w", err)
	}
	var all []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// folder makes a folder of the lake, each durable in the one above, though one that is there may be a killed task's that
// was not synced.
func (s *localStore) folder(dir string) error {
	if _, err := os.Stat(dir); err == nil && s.durable[dir] {
		return nil
	}
	up := filepath.Dir(dir)
	if dir != s.root && up != dir {
		if err := s.folder(up); err != nil {
			return err
		}
	}
	if err := makeFolders(dir); err != nil {
		return err
	}
	if err := syncFolder(up); err != nil {
		return err
	}
	if s.durable == nil || len(s.durable) >= maxDurable {
		s.durable = map[string]bool{}
	}
	s.durable[dir] = true
	return nil
}

type localUpload struct {
	s      *localStore
	f      *os.File
	synced bool
	failed error
}

func (u *localUpload) Write(b []byte) (int, error) {
	n, err := u.f.Write(b)
	u.synced = false
	return n, err
}

func (u *localUpload) publish(_ context.Context, path string) error {
	if u.failed != nil {
		return u.failed
	}
	if !u.synced {
		if err := u.f.Sync(); err != nil { // never tried again: the kernel may have dropped the pages
			u.failed = fmt.Errorf("syncing file %s: %w", u.f.Name(), err)
			return u.failed
		}
		u.synced = true
	}
	to := filepath.Join(u.s.root, filepath.FromSlash(path))
	dir := filepath.Dir(to)
	if err := u.s.folder(dir); err != nil {
		return err
	}
	if err := place(u.f.Name(), to); err != nil {
		return err
	}
	u.failed = syncFolder(dir)
	return u.failed
}

// place gives a file its name unless another has it.
func place(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if renameErr := renameNew(from, to); renameErr != nil { // file systems without hard links
		if errors.Is(renameErr, fs.ErrExist) {
			return renameErr
		}
		return fmt.Errorf("publishing file %s: %w", to, errors.Join(err, renameErr))
	}
	return nil
}

func (u *localUpload) discard() error {
	err := u.f.Close()
	if removeErr := os.Remove(u.f.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// makeFolders makes a folder and those above it, each durable in the one above.
func makeFolders(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := makeFolders(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if st, statErr := os.Stat(dir); statErr == nil && st.IsDir() {
			return nil // another task was faster
		}
		return fmt.Errorf("making a folder: %w", err)
	}
	return syncFolder(up)
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing folder: %w", err)
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrInvalid) {
		err = nil // network file systems
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("syncing folder %s: %w", dir, err)
	}
	return nil
}
