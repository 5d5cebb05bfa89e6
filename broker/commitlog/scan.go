package commitlog

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/disk"
)

const scanWindow = 1 << 20

// scanner reads a segment front to back through one window of memory.
type scanner struct {
	fs   disk.FS
	seg  *segment
	buf  []byte
	base int64 // position of buf[0]
}

// bytes gives n bytes at pos, which lie in the segment; they are valid until the next call.
func (s *scanner) bytes(pos, n int64) ([]byte, error) {
	if pos >= s.base && pos+n <= s.base+int64(len(s.buf)) {
		return s.buf[pos-s.base:][:n], nil
	}
	want := min(max(n, scanWindow), s.seg.end()-pos)
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.base = s.buf[:want], pos
	if err := s.seg.readAt(s.fs, s.buf, pos); err != nil {
		s.buf = s.buf[:0]
		return nil, err
	}
	return s.buf[:n], nil
}

func (s *scanner) enter(seg *segment) {
	s.seg, s.buf, s.base = seg, s.buf[:0], seg.first
}

// invalid says why no frame is at a place; any other error is one of reading.
type invalid struct{ reason string }

func (e invalid) Error() string { return e.reason }

// frame reads and verifies the frame at pos. The payload is valid until the next call.
func (s *scanner) frame(pos int64) (header, []byte, error) {
	left := s.seg.end() - pos
	if left < HeaderSize {
		return header{}, nil, invalid{"a frame does not fit into the rest of the segment"}
	}
	b, err := s.bytes(pos, HeaderSize)
	if err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(b, pos)
	if err != nil {
		return h, nil, invalid{err.Error()}
	}
	rest := left - h.size()
	if rest < 0 || (rest > 0 && rest < HeaderSize) {
		return h, nil, invalid{fmt.Sprintf("its length %d does not fit into the segment", h.payload)}
	}
	if b, err = s.bytes(pos, int64(h.length)+int64(h.payload)); err != nil {
		return h, nil, err
	}
	payload := b[h.length:]
	if err := h.verify(b[:h.length], payload); err != nil {
		return h, nil, invalid{err.Error()}
	}
	return h, payload, nil
}

// trace is what lies behind the end of the valid frames.
type trace struct {
	synced  int64 // T: highest position a later frame states as synced; -1: none
	nonZero int64 // one past the last byte that is not zero; -1: only zeros
}

// search looks at every place a frame can begin, from pos to the segment's end, for frames of this or a later epoch.
func (s *scanner) search(pos int64, epoch uint32, t *trace) error {
	f, err := s.seg.file(s.fs)
	if err != nil {
		return err
	}
	for pos < s.seg.end() {
		next, err := f.NextData(s.seg.offset(pos))
		if err != nil {
			return fmt.Errorf("looking for data in %s: %w", s.seg.path, err)
		}
		if p := (next - blockSize + s.seg.first) &^ (frameAlign - 1); p > pos {
			pos = p
			continue
		}
		n := min(int64(len(zeros)), s.seg.end()-pos)
		b, err := s.bytes(pos, n)
		if err != nil {
			return err
		}
		if !bytes.Equal(b, zeros[:n]) {
			if err := s.searchBlock(pos, b, epoch, t); err != nil {
				return err
			}
		}
		pos += n
	}
	return nil
}

func (s *scanner) searchBlock(pos int64, b []byte, epoch uint32, t *trace) error {
	var candidates []int64
	for i := 0; i < len(b); i += frameAlign {
		word := b[i:min(i+frameAlign, len(b))]
		for k, v := range word {
			if v != 0 {
				t.nonZero = pos + int64(i+k) + 1
			}
		}
		if word[fhMagic] == frameMagic {
			candidates = append(candidates, pos+int64(i))
		}
	}
	for _, p := range candidates {
		h, payload, err := s.frame(p)
		if errors.As(err, new(invalid)) {
			continue
		}
		if err != nil {
			return err
		}
		if h.epoch >= epoch {
			t.synced = max(t.synced, stated(&h, payload))
		}
	}
	return nil
}
