package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/penstockio/penstock/broker/disk"
)

// cut makes the log end at rec.End: what follows is kept under lost/, then zeroed (I5).
func (l *Log) cut(st *scanState, t trace, rec *Recovery) error {
	if st.pos > st.groupEnd {
		t.nonZero = max(t.nonZero, st.pos) // whole frames of half a group
	}
	i := l.segmentAt(rec.End)
	if i >= 0 {
		s := l.segs[i]
		last := min(t.nonZero, s.end())
		if last > rec.End {
			rec.Cut = t.nonZero - rec.End
			if err := l.keep(s, rec.End, last, rec); err != nil {
				return err
			}
		}
		if err := l.mend(s, rec.End, last); err != nil {
			return err
		}
	}
	return l.dropLater(i+1, rec)
}

// keep copies log bytes [from, to) of a segment into lost/.
func (l *Log) keep(s *segment, from, to int64, rec *Recovery) error {
	dir := filepath.Join(l.dir, lostDir)
	if err := l.fs.MkdirAll(dir); err != nil {
		return err
	}
	var f disk.File
	for n := 0; ; n++ {
		name := filepath.Join(dir, fmt.Sprintf("%020d-epoch%d-%d.bin", from, rec.Epoch, n))
		var err error
		if f, err = l.fs.Create(name); err == nil {
			rec.Lost = name
			break
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	buf := make([]byte, scanWindow)
	for pos := from; pos < to; {
		n := min(int64(len(buf)), to-pos)
		if err := s.readAt(l.fs, buf[:n], pos); err != nil {
			return errors.Join(err, f.Close())
		}
		if _, err := f.WriteAt(buf[:n], pos-from); err != nil {
			return errors.Join(err, f.Close())
		}
		pos += n
	}
	if err := errors.Join(f.SyncData(), f.Close()); err != nil {
		return err
	}
	return l.fs.SyncDir(dir)
}

// mend zeroes [from, to) of a segment and gives its file the size it should have.
func (l *Log) mend(s *segment, from, to int64) error {
	f, err := s.file(l.fs)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	if from >= to && size == blockSize+s.capacity {
		return nil
	}
	for pos := from; pos < to; {
		n := min(int64(len(zeros)), to-pos)
		if _, err := f.WriteAt(zeros[:n], s.offset(pos)); err != nil {
			return err
		}
		pos += n
	}
	if size > blockSize+s.capacity {
		err = f.Truncate(blockSize + s.capacity)
	} else if size < blockSize+s.capacity {
		err = f.Allocate(blockSize + s.capacity)
	}
	if err != nil {
		return err
	}
	return f.SyncData()
}

// dropLater removes the segments from index i on, and blank files: those with content go to lost/.
func (l *Log) dropLater(i int, rec *Recovery) error {
	later := l.segs[min(i, len(l.segs)):]
	if len(later) == 0 && len(l.blank) == 0 {
		return nil
	}
	for _, path := range l.blank {
		if err := l.fs.Remove(path); err != nil {
			return err
		}
	}
	for _, s := range later {
		t := trace{synced: -1, nonZero: -1}
		sc := &scanner{fs: l.fs}
		sc.enter(s)
		if err := sc.search(s.first, ^uint32(0), &t); err != nil {
			return err
		}
		if err := s.close(); err != nil {
			return err
		}
		if t.nonZero < 0 {
			if err := l.fs.Remove(s.path); err != nil {
				return err
			}
			continue
		}
		dir := filepath.Join(l.dir, lostDir)
		if err := l.fs.MkdirAll(dir); err != nil {
			return err
		}
		to := filepath.Join(dir, fmt.Sprintf("%s-epoch%d", filepath.Base(s.path), rec.Epoch))
		if err := l.fs.Rename(s.path, to); err != nil {
			return err
		}
		rec.Lost = to
		if err := l.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	l.segs, l.blank = l.segs[:min(i, len(l.segs))], nil
	return l.fs.SyncDir(l.dir)
}
