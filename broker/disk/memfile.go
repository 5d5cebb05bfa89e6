package disk

import (
	"io"
	"io/fs"
	"net"
)

type memFile struct {
	m      *Mem
	n      *memNode
	name   string
	closed bool
}

func (f *memFile) open(op string) error {
	if f.closed {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	return nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.open("read"); err != nil {
		return 0, err
	}
	if off >= f.n.size {
		return 0, io.EOF
	}
	want := len(b)
	if off+int64(want) > f.n.size {
		b = b[:f.n.size-off]
	}
	for done := 0; done < len(b); {
		i, at := (off+int64(done))/pageSize, (off+int64(done))%pageSize
		n := min(len(b)-done, int(pageSize-at))
		if p := f.n.pages[i]; p != nil {
			copy(b[done:done+n], p[at:])
		} else {
			clear(b[done : done+n])
		}
		done += n
	}
	if len(b) < want {
		return len(b), io.EOF
	}
	return want, nil
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.m.check(OpWrite, f.name); err != nil {
		return 0, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.open("write"); err != nil {
		return 0, err
	}
	if err := f.fits("write", off+int64(len(b))); err != nil {
		return 0, err
	}
	for done := 0; done < len(b); {
		i, at := (off+int64(done))/pageSize, (off+int64(done))%pageSize
		n := min(len(b)-done, int(pageSize-at))
		f.n.dirty(i)
		p := f.n.pages[i]
		if p == nil {
			p = new(page)
			f.n.pages[i] = p
		}
		copy(p[at:], b[done:done+n])
		done += n
	}
	f.n.size = max(f.n.size, off+int64(len(b)))
	return len(b), nil
}

// dirty keeps what the page held at the last sync.
func (n *memNode) dirty(i int64) {
	if _, ok := n.clean[i]; ok {
		return
	}
	if p := n.pages[i]; p != nil {
		q := *p
		n.clean[i] = &q
		return
	}
	n.clean[i] = nil
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.size, f.open("stat")
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.open("truncate"); err != nil {
		return err
	}
	for i, p := range f.n.pages {
		switch {
		case i*pageSize >= size:
			f.n.dirty(i)
			delete(f.n.pages, i)
		case (i+1)*pageSize > size:
			f.n.dirty(i)
			clear(p[size-i*pageSize:])
		}
	}
	f.n.size = size
	return nil
}

func (f *memFile) Allocate(size int64) error {
	if err := f.m.check(OpAllocate, f.name); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.fits("allocate", size); err != nil {
		return err
	}
	f.n.size = max(f.n.size, size)
	return f.open("allocate")
}

// fits refuses to grow the file beyond what there is room for.
func (f *memFile) fits(op string, size int64) error {
	if more := size - f.n.size; f.m.size > 0 && more > 0 && more > f.m.free() {
		return &fs.PathError{Op: op, Path: f.name, Err: ErrNoSpace}
	}
	return nil
}

func (f *memFile) SyncData() error {
	if err := f.m.check(OpSync, f.name); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.open("sync"); err != nil {
		return err
	}
	clear(f.n.clean)
	f.n.syn = f.n.size
	return nil
}

func (f *memFile) NextData(off int64) (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	next := f.n.size
	for i := range f.n.pages {
		if (i+1)*pageSize > off {
			next = min(next, max(off, i*pageSize))
		}
	}
	return next, f.open("seek")
}

func (f *memFile) Cached(off int64, n int) bool {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.open("read") == nil && off+int64(n) <= f.n.size
}

func (f *memFile) Misses() uint64 { return 0 }

func (f *memFile) SendTo(c *net.TCPConn, off int64, n int) error { return copyTo(c, f, off, n) }

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.open("close"); err != nil {
		return err
	}
	f.closed = true
	return nil
}
