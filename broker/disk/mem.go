package disk

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
)

// Op is an operation a Mem can be told to fail.
type Op string

// The operations of a Mem that a fault can hit.
const (
	OpCreate   Op = "create"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpAllocate Op = "allocate"
	OpSyncDir  Op = "syncdir"
)

const pageSize = 4096

// Mem is a file system in memory that knows which bytes were synced, so that a test can crash it, and that fails on
// demand. It serves tests only, of this package's users too.
type Mem struct {
	mu      sync.Mutex
	files   map[string]*memNode // as a running process sees them
	durable map[string]*memNode // names that survive a crash
	locks   map[string]bool
	fault   func(op Op, name string) error
	size    int64 // what files may take together, 0 without a bound
}

type page = [pageSize]byte

type memNode struct {
	pages     map[int64]*page // missing: zeros
	clean     map[int64]*page // what a dirty page held when it was last synced; nil: zeros
	size, syn int64           // size now and as synced
}

// NewMem makes an empty file system.
func NewMem() *Mem {
	return &Mem{files: map[string]*memNode{}, durable: map[string]*memNode{}, locks: map[string]bool{}}
}

var _ FS = (*Mem)(nil)

// SetFault makes f decide before each operation whether it fails; nil heals the disk.
func (m *Mem) SetFault(f func(op Op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func (m *Mem) check(op Op, name string) error {
	m.mu.Lock()
	f := m.fault
	m.mu.Unlock()
	if f == nil {
		return nil
	}
	if err := f(op, name); err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return nil
}

// Crash gives the file system as a new process finds it after a power cut: of each page written since the last sync
// the old or the new content, at random; names that were not synced likewise. The old Mem must not be used any more.
func (m *Mem) Crash(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMem()
	names := map[string]bool{}
	for n := range m.files {
		names[n] = true
	}
	for n := range m.durable {
		names[n] = true
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	for _, n := range sorted {
		node := m.files[n]
		if d := m.durable[n]; d != node && rng.IntN(2) == 0 {
			node = d
		}
		if node == nil {
			continue
		}
		c := node.crashed(rng)
		after.files[n], after.durable[n] = c, c
	}
	return after
}

func (n *memNode) crashed(rng *rand.Rand) *memNode {
	c := &memNode{pages: map[int64]*page{}, clean: map[int64]*page{}, size: n.size}
	if n.syn != n.size && rng.IntN(2) == 0 {
		c.size = n.syn
	}
	idx := make([]int64, 0, len(n.pages))
	for i := range n.pages {
		idx = append(idx, i)
	}
	sort.Slice(idx, func(a, b int) bool { return idx[a] < idx[b] })
	for _, i := range idx {
		p := n.pages[i]
		if old, dirty := n.clean[i]; dirty && rng.IntN(2) == 0 {
			p = old
		}
		if p != nil && i*pageSize < c.size {
			q := *p
			c.pages[i] = &q
		}
	}
	c.syn = c.size
	return c
}

// Clone copies the file system as it is seen now, as after the kill of a process on a healthy machine.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMem()
	for name, n := range m.files {
		c := &memNode{pages: map[int64]*page{}, clean: map[int64]*page{}, size: n.size, syn: n.size}
		for i, p := range n.pages {
			q := *p
			c.pages[i] = &q
		}
		after.files[name], after.durable[name] = c, c
	}
	return after
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.files[name]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memFile{m: m, n: n, name: name}, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	if err := m.check(OpCreate, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &memNode{pages: map[int64]*page{}, clean: map[int64]*page{}}
	m.files[name] = n
	return &memFile{m: m, n: n, name: name}, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(m.files, name)
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.files[from]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(m.files, from)
	m.files[to] = n
	return nil
}

// MkdirAll implements FS; directories need no making here.
func (m *Mem) MkdirAll(string) error { return nil }

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	seen := map[string]bool{}
	for n := range m.files {
		rest, ok := strings.CutPrefix(n, dir+"/")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(rest, "/")
		if !seen[first] {
			seen[first] = true
			names = append(names, first)
		}
	}
	sort.Strings(names)
	return names, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	if err := m.check(OpSyncDir, dir); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.durable {
		if filepath.Dir(n) == dir && m.files[n] == nil {
			delete(m.durable, n)
		}
	}
	for n, node := range m.files {
		if filepath.Dir(n) == dir {
			m.durable[n] = node
		}
	}
	return nil
}

// SetSize bounds what files take together, by their sizes; 0 takes the bound away.
func (m *Mem) SetSize(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.size = n
}

// Free implements FS.
func (m *Mem) Free(string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free(), nil
}

func (m *Mem) free() int64 {
	if m.size == 0 {
		return 1 << 50
	}
	n := m.size
	for _, f := range m.files {
		n -= f.size
	}
	return n
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[name] {
		return nil, fmt.Errorf("locking %s: %w", name, ErrLocked)
	}
	m.locks[name] = true
	return memLock{m, name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}

// Errors for faults, as a kernel gives them.
var (
	ErrNoSpace error = syscall.ENOSPC
	ErrIO      error = syscall.EIO
)
