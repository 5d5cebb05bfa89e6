package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/disk"
)

const lostDir = "lost"

// Options of a log.
type Options struct {
	FS           disk.FS
	Dir          string // the directory of segments; made if missing
	LogUUID      [16]byte
	Store        byte        // StoreMain or StoreCold
	SegmentBytes int64       // file size of new segments, header block included
	TailBytes    int64       // memory for the log's end beside what is not durable yet
	FillAfter    int64       // bytes written after which zero-filling begins
	FillAhead    int64       // how far ahead of the writer it stays
	Release      func() bool // gives space kept in reserve back to the file system, and tells whether there was some; may be nil
	Now          func() time.Time
	Log          *slog.Logger
	Registerer   prometheus.Registerer
}

// Hooks are called by the log's writer, one at a time and in log order.
type Hooks struct {
	Written func(*Round)
	Synced  func(*Round)        // the round's bytes are durable; Release must follow when its memory is no longer used
	Failed  func(*Round, error) // instead of either, for every round not yet synced
}

// Log is the one log of a store. Open reads the directory, Recover finds the end, Start begins writing.
type Log struct {
	fs    disk.FS
	dir   string
	o     Options
	log   *slog.Logger
	m     *metrics
	tail  tail
	blank []string // files without a header, found at open

	segMu sync.RWMutex
	segs  []*segment // by first position

	written, synced, durable atomic.Int64 // marks (I1)
	writer
}

// Open lists the segments. Nothing is written before Recover.
func Open(o Options) (*Log, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SegmentBytes < 64<<10 {
		return nil, fmt.Errorf("opening the log in %s: segments of %d bytes are too small", o.Dir, o.SegmentBytes)
	}
	o.SegmentBytes = align(o.SegmentBytes)
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("making the log directory %s: %w", o.Dir, err)
	}
	l := &Log{fs: o.FS, dir: o.Dir, o: o, log: o.Log, m: newMetrics(o.Registerer, o.Store)}
	l.tail.limit = o.TailBytes
	l.initWriter()
	return l, nil
}

var segName = regexp.MustCompile(`^[0-9]{20}\.log$`)

// load reads the segments' headers.
func (l *Log) load() error {
	if err := l.closeFiles(); err != nil {
		return fmt.Errorf("closing the files of the log in %s: %w", l.dir, err)
	}
	names, err := l.fs.List(l.dir)
	if err != nil {
		return fmt.Errorf("listing the log directory %s: %w", l.dir, err)
	}
	l.segs, l.blank = nil, nil
	for _, n := range names {
		if !segName.MatchString(n) {
			continue
		}
		path := filepath.Join(l.dir, n)
		first, err := strconv.ParseInt(strings.TrimSuffix(n, segSuffix), 10, 64)
		if err != nil {
			return &CorruptError{File: path, Reason: "its name is no log position"}
		}
		s, err := openSegment(l.fs, path)
		switch {
		case errors.Is(err, errBlank):
			if err := l.checkBlank(path); err != nil {
				return err
			}
			l.blank = append(l.blank, path)
			continue
		case err != nil:
			if s, err = l.guess(path, first, err); err != nil {
				return err
			}
		case s.log != l.o.LogUUID:
			return &CorruptError{File: path, Position: first, Reason: fmt.Sprintf("it belongs to log %x, not %x", s.log, l.o.LogUUID)}
		case s.store != l.o.Store:
			return &CorruptError{File: path, Position: first, Reason: fmt.Sprintf("it is a segment of store %d, not %d", s.store, l.o.Store)}
		case s.first != first:
			return &CorruptError{File: path, Position: first, Reason: fmt.Sprintf("its header says it begins at %d", s.first)}
		}
		l.segs = append(l.segs, s)
	}
	l.m.segments.Set(float64(len(l.segs)))
	return nil
}

// guess makes a segment of a file whose header is damaged: below the start of a scan that must not stop a start, and in
// it the scan ends there and finds out whether that is a torn tail or damage.
func (l *Log) guess(path string, first int64, why error) (*segment, error) {
	f, err := l.fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("reading the size of %s: %w", path, err)
	}
	capacity := max(size-blockSize, frameAlign) &^ (frameAlign - 1)
	l.log.Error("a log segment has a damaged header", "file", path, "error", why)
	return &segment{segHeader: segHeader{log: l.o.LogUUID, store: l.o.Store, first: first, capacity: capacity}, path: path, bad: why.Error()}, nil
}

// checkBlank refuses a file that lost its header but holds something.
func (l *Log) checkBlank(path string) error {
	f, err := l.fs.Open(path)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("reading the size of %s: %w", path, err)
	}
	s := &segment{segHeader: segHeader{capacity: align(max(size-blockSize, 0))}, path: path}
	t := trace{synced: -1, nonZero: -1}
	sc := &scanner{fs: l.fs}
	sc.enter(s)
	if err := errors.Join(sc.search(0, 0, &t), s.close()); err != nil {
		return err
	}
	if t.nonZero >= 0 {
		return &CorruptError{File: path, Reason: "its header block is empty, but bytes follow"}
	}
	return nil
}

// segmentAt gives the index of the segment that holds pos, or of the last one if it ends there; -1 without one.
func (l *Log) segmentAt(pos int64) int {
	i := sort.Search(len(l.segs), func(i int) bool { return l.segs[i].first > pos }) - 1
	if i < 0 || pos > l.segs[i].end() {
		return -1
	}
	return i
}

// First is the position of the first byte kept.
func (l *Log) First() int64 {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	if len(l.segs) == 0 {
		return 0
	}
	return l.segs[0].first
}

// Written is the end of what was handed to the operating system.
func (l *Log) Written() int64 { return l.written.Load() }

// Synced is the end of what fdatasync covered.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Durable is the end of what is safe by the configured measure; on one node the same as Synced.
func (l *Log) Durable() int64 { return l.durable.Load() }

// find gives the segment that holds pos; ErrGone if none does, as when it was removed.
func (l *Log) find(pos int64) (*segment, error) {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	i := l.segmentAt(pos)
	if i < 0 || pos == l.segs[i].end() {
		return nil, fmt.Errorf("log position %d: %w", pos, ErrGone)
	}
	return l.segs[i], nil
}

// ReadBatch appends the record batch of a data frame, size bytes long, whose frame begins at pos. Bytes from memory
// are as they were written; bytes from disk are verified, header and batch. The error of bytes that are not what was
// written is a *CorruptError; that of a segment which was removed is ErrGone.
func (l *Log) ReadBatch(dst []byte, queue uint32, pos int64, size int) ([]byte, error) {
	kind, prefix := KindData, 0
	if l.o.Store == StoreCold {
		kind, prefix = KindCopied, copiedHeader+copiedRef
	}
	n := len(dst)
	dst = grow(dst, HeaderSize+prefix+size)
	if prefix == 0 && l.tail.read(dst[n:n+size], pos+HeaderSize) {
		l.m.tailReads.Inc()
		return dst[:n+size], nil
	}
	l.m.diskReads.Inc()
	s, err := l.find(pos)
	if err != nil {
		return dst[:n], err
	}
	if pos+int64(HeaderSize+prefix+size) > s.end() {
		return dst[:n], &CorruptError{File: s.path, Position: pos, Reason: "the batch looked for does not fit into the segment"}
	}
	// The header is read to where the bytes before it stand, which are put back: so the batch need not be moved.
	lead := min(n, HeaderSize+prefix)
	var before [HeaderSize + copiedHeader + copiedRef]byte
	copy(before[:], dst[n-lead:n])
	b := dst[n-lead:][:HeaderSize+prefix+size]
	if err := s.readAt(l.fs, b, pos); err != nil {
		copy(dst[n-lead:n], before[:])
		return dst[:n], err
	}
	h, err := parseHeader(b, pos)
	if err == nil && (h.kind != kind || h.queue != queue || h.payload != prefix+size || h.length != HeaderSize) {
		err = fmt.Errorf("it is not the batch of %d bytes of queue %d looked for", size, queue)
	}
	if err == nil {
		err = h.verify(b[:HeaderSize], b[HeaderSize:])
	}
	copy(dst[n-lead:n], before[:])
	if err != nil {
		l.m.corrupt.Inc()
		return dst[:n], &CorruptError{File: s.path, Position: pos, Reason: err.Error()}
	}
	l.check(s, pos, size)
	if lead < HeaderSize+prefix {
		copy(dst[n:], b[HeaderSize+prefix:])
	}
	return dst[:n+size], nil
}

// AppendTime is when the batch at pos was appended: its frame's time, and in the cold log that of the frame it was copied
// from.
func (l *Log) AppendTime(pos int64) (int64, error) {
	s, err := l.find(pos)
	if err != nil {
		return 0, err
	}
	var b [HeaderSize + copiedHeader + copiedRef]byte
	n := min(int64(len(b)), s.end()-pos)
	if err := s.readAt(l.fs, b[:n], pos); err != nil {
		return 0, err
	}
	h, err := parseHeader(b[:], pos)
	if err != nil {
		return 0, &CorruptError{File: s.path, Position: pos, Reason: err.Error()}
	}
	if h.kind == KindCopied {
		return int64(binary.BigEndian.Uint64(b[HeaderSize+copiedHeader+copiedRef-8:])), nil
	}
	return h.time, nil
}

// grow lengthens dst by n bytes of any content.
func grow(dst []byte, n int) []byte {
	if need := len(dst) + n; need > cap(dst) {
		bigger := make([]byte, need, max(need, 2*cap(dst)))
		copy(bigger, dst)
		return bigger
	}
	return dst[:len(dst)+n]
}

func (l *Log) closeFiles() error {
	l.segMu.Lock()
	defer l.segMu.Unlock()
	var errs []error
	for _, s := range l.segs {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
