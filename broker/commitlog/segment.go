package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"sync"

	"github.com/penstockio/penstock/broker/disk"
)

// A segment file is a header block of 4 KiB, of which 64 bytes are used, and then the bytes of the log: position p
// of a segment that begins at f stands at file offset 4096 + p - f.
const (
	blockSize     = 4096
	segHeaderSize = 64
	segFormat     = 1
	segSuffix     = ".log"
)

var segMagic = [8]byte{'P', 'S', 'T', 'K', 'L', 'O', 'G', 0}

// Stores a log can be: the main log, which all appends go to, and the cold log, which the store moves what it keeps into.
const (
	StoreMain = 0
	StoreCold = 1
)

// segHeader is what a segment says of itself. Cipher, flags and key id are zero in this version.
type segHeader struct {
	log      [16]byte // log uuid
	store    byte
	first    int64  // position of the first byte
	epoch    uint32 // of the writer that made it
	capacity int64  // bytes of the log it holds
}

func (h *segHeader) encode() []byte {
	b := make([]byte, segHeaderSize)
	copy(b, segMagic[:])
	binary.BigEndian.PutUint16(b[8:], segFormat)
	b[10] = h.store
	copy(b[16:], h.log[:])
	binary.BigEndian.PutUint64(b[32:], uint64(h.first))
	binary.BigEndian.PutUint32(b[40:], h.epoch)
	binary.BigEndian.PutUint64(b[44:], uint64(h.capacity))
	binary.BigEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli)) // 52..59: key id
	return b
}

var errBlank = errors.New("the header block is empty")

func decodeSegHeader(b []byte) (segHeader, error) {
	var h segHeader
	if len(b) < segHeaderSize || bytes.Equal(b[:segHeaderSize], zeros[:segHeaderSize]) {
		return h, errBlank
	}
	if !bytes.Equal(b[:8], segMagic[:]) || crc32.Checksum(b[:60], castagnoli) != binary.BigEndian.Uint32(b[60:]) {
		return h, errors.New("the header block's checksum does not hold")
	}
	copy(h.log[:], b[16:])
	h.store = b[10]
	h.first = int64(binary.BigEndian.Uint64(b[32:]))
	h.epoch = binary.BigEndian.Uint32(b[40:])
	h.capacity = int64(binary.BigEndian.Uint64(b[44:]))
	switch {
	case binary.BigEndian.Uint16(b[8:]) != segFormat:
		return h, fmt.Errorf("format %d is not known", binary.BigEndian.Uint16(b[8:]))
	case h.store > StoreCold:
		return h, fmt.Errorf("store %d (2 is the tier) is not supported by this version", h.store)
	case b[11] != 0 || binary.BigEndian.Uint32(b[12:]) != 0:
		return h, errors.New("its cipher or flags are not known")
	case h.capacity <= 0 || h.capacity%frameAlign != 0 || h.first < 0 || h.first%frameAlign != 0:
		return h, errors.New("its bounds make no sense")
	}
	return h, nil
}

// segment is one file. It is opened at the first read.
type segment struct {
	segHeader
	path string
	bad  string // why its header block cannot be believed; its frames are verified one by one all the same

	mu   sync.Mutex
	f    disk.File
	late disk.File // closed, but for the Ranges
	gone bool      // removed: who found it before must look its batch up again
	refs int       // of f: Ranges not yet released
	seen checked
}

func segPath(dir string, first int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segSuffix))
}

func (s *segment) end() int64 { return s.first + s.capacity }

func (s *segment) offset(pos int64) int64 { return blockSize + pos - s.first }

func (s *segment) file(fsys disk.FS) (disk.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, ErrGone
	}
	if s.f == nil {
		f, err := fsys.Open(s.path)
		if err != nil {
			return nil, err
		}
		s.f = f
	}
	return s.f, nil
}

func (s *segment) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f, s.seen = nil, checked{}
	if s.refs > 0 {
		s.late = f // the last Range closes it
		return nil
	}
	return f.Close()
}

// readAt fills b from a position of the log; what lies behind the file's end reads as zeros.
func (s *segment) readAt(fsys disk.FS, b []byte, pos int64) error {
	f, err := s.file(fsys)
	if err != nil {
		return err
	}
	n, err := f.ReadAt(b, s.offset(pos))
	if errors.Is(err, io.EOF) {
		clear(b[n:])
		return nil
	}
	if err != nil {
		if s.removed() {
			return ErrGone
		}
		return fmt.Errorf("reading %s at log position %d: %w", s.path, pos, err)
	}
	return nil
}

func (s *segment) removed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// create makes a segment durable, empty and with its space reserved; a failed one is removed again.
func createSegment(fsys disk.FS, dir string, h segHeader) (*segment, error) {
	s := &segment{segHeader: h, path: segPath(dir, h.first)}
	f, err := fsys.Create(s.path)
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", s.path, err)
	}
	if err = f.Allocate(blockSize + h.capacity); err != nil {
		err = fmt.Errorf("reserving %d bytes for %s: %w", blockSize+h.capacity, s.path, err)
	} else if _, err = f.WriteAt(h.encode(), 0); err != nil {
		err = fmt.Errorf("writing the header of %s: %w", s.path, err)
	} else if err = f.SyncData(); err != nil {
		err = fmt.Errorf("syncing %s: %w", s.path, err)
	} else if err = fsys.SyncDir(dir); err != nil {
		err = fmt.Errorf("syncing %s: %w", dir, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), fsys.Remove(s.path))
	}
	s.f = f
	return s, nil
}

// openSegment reads a segment's header. A blank one gives errBlank.
func openSegment(fsys disk.FS, path string) (*segment, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	defer f.Close()
	b := make([]byte, segHeaderSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the header of %s: %w", path, err)
	}
	h, err := decodeSegHeader(b[:n])
	if err != nil {
		return nil, err
	}
	return &segment{segHeader: h, path: path}, nil
}
