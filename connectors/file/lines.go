package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"unicode/utf8"

	"github.com/penstockio/penstock/connect-api"
)

const (
	chunk    = 64 << 10 // read at once
	keepRoom = 1 << 20  // a buffer that a long line made larger is dropped
)

// lines finds the lines of a file that grows, is truncated or is replaced.
type lines struct {
	path     string
	maxLine  int
	log      *slog.Logger
	f        *os.File
	position int64 // behind the last line returned (I1)

	buf      []byte // read and not returned: buf[at:]
	at       int
	searched int // of buf[at:], without a newline in it
	valid    []byte
}

func newLines(path string, position int64, maxLine int, log *slog.Logger) *lines {
	return &lines{path: path, position: position, maxLine: maxLine, log: log}
}

func (l *lines) close() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// next returns the next whole line without its end, valid until the next call; false: there is none yet.
func (l *lines) next() ([]byte, bool, error) {
	for {
		if line, ok := l.cut(); ok {
			return line, true, nil
		}
		if n := len(l.buf) - l.at; n > l.maxLine {
			return nil, false, connectapi.DataError(fmt.Errorf("file %s: the line at byte %d is longer than line.max.bytes=%d", l.path, l.position, l.maxLine))
		}
		more, err := l.read()
		if err != nil {
			return nil, false, err
		}
		if more {
			continue
		}
		line, ok, again, err := l.changed()
		if !again || err != nil {
			return line, ok, err
		}
	}
}

// cut takes a line out of the buffer.
func (l *lines) cut() ([]byte, bool) {
	rest := l.buf[l.at:]
	i := bytes.IndexByte(rest[l.searched:], '\n')
	if i < 0 {
		l.searched = len(rest)
		return nil, false
	}
	i += l.searched
	line := rest[:i]
	l.at += i + 1
	l.position += int64(i) + 1
	l.searched = 0
	return l.clean(bytes.TrimSuffix(line, []byte{'\r'})), true
}

// clean replaces bytes that are no UTF-8, one by one, as Java's decoder does.
func (l *lines) clean(line []byte) []byte {
	if utf8.Valid(line) {
		if line == nil {
			return []byte{}
		}
		return line
	}
	l.valid = l.valid[:0]
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		l.valid = utf8.AppendRune(l.valid, r)
		line = line[n:]
	}
	return l.valid
}

// read reads on; false at the end of the file, or if there is none.
func (l *lines) read() (bool, error) {
	if l.f == nil {
		if ok, err := l.open(); !ok {
			return false, err
		}
	}
	if l.at > 0 {
		n := copy(l.buf, l.buf[l.at:])
		l.buf, l.at = l.buf[:n], 0
		if n == 0 && cap(l.buf) > keepRoom {
			l.buf = nil
		}
	}
	n := len(l.buf)
	if cap(l.buf)-n < chunk {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)+chunk), l.buf...)
	}
	got, err := l.f.ReadAt(l.buf[n:min(cap(l.buf), n+max(chunk, n))], l.position+int64(n))
	l.buf = l.buf[:n+got]
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("reading file %s at byte %d: %w", l.path, l.position+int64(n), err)
	}
	return got > 0, nil
}

func (l *lines) open() (bool, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, connectapi.NotConnectedError(fmt.Errorf("opening file: %w", err))
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		_ = f.Close()
		return false, connectapi.ConfigError("file", fmt.Errorf("%s is a folder, not a file", l.path))
	}
	l.f = f
	l.truncated()
	return true, nil
}

// truncated begins anew if the file is shorter than the position.
func (l *lines) truncated() bool {
	st, err := l.f.Stat()
	if err != nil || st.Size() >= l.position+int64(len(l.buf)-l.at) {
		return false
	}
	l.log.Warn("the file is shorter than what was read of it: it was truncated or replaced, and is read from its start",
		"file", l.path, "size", st.Size(), "position", l.position)
	l.restart()
	return true
}

func (l *lines) restart() { l.position, l.buf, l.at, l.searched = 0, l.buf[:0], 0, 0 }

// changed is asked at the end of the file: was it truncated or replaced? again: look once more. The last line of a replaced
// file comes as it stands (I2).
func (l *lines) changed() (line []byte, ok, again bool, err error) {
	if l.f == nil {
		return nil, false, false, nil
	}
	if l.truncated() {
		return nil, false, true, nil
	}
	now, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, false, nil // between the two steps of a rotation, or gone
	}
	if err != nil {
		return nil, false, false, fmt.Errorf("looking at file %s: %w", l.path, err)
	}
	open, err := l.f.Stat()
	if err != nil {
		return nil, false, false, fmt.Errorf("looking at file %s: %w", l.path, err)
	}
	if os.SameFile(now, open) {
		return nil, false, false, nil
	}
	if open.Size() > l.position+int64(len(l.buf)-l.at) {
		return nil, false, true, nil // more came before it was replaced
	}
	l.log.Info("the file was replaced: the new one is read from its start", "file", l.path)
	rest := l.clean(bytes.Clone(bytes.TrimSuffix(l.buf[l.at:], []byte{'\r'})))
	if err := l.close(); err != nil {
		return nil, false, false, fmt.Errorf("closing file %s: %w", l.path, err)
	}
	l.restart()
	return rest, len(rest) > 0, len(rest) == 0, nil
}

func (l *lines) waitsFor() string {
	switch {
	case l.f == nil:
		return "the file to come into being"
	case len(l.buf) > l.at:
		return "the end of the last line"
	}
	return "more lines"
}
