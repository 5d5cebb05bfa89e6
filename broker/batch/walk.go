package batch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Meta is what a walk tells of a record; keys and values are skipped over.
type Meta struct {
	OffsetDelta int32
	Time        int64 // Unix ms
	HasKey      bool
}

// ErrStop ends a walk early without an error.
var ErrStop = errors.New("stop the walk")

// maxWalk bounds what one batch may decompress to in all: a walk streams, so this bounds time, not memory.
const maxWalk = 1 << 30

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// Walk calls f for each record in order, decompressing as it goes (I3). Errors of the bytes are *Error; f's own error
// is returned as it is, ErrStop as nil.
func (b Batch) Walk(f func(Meta) error) error {
	if b.Codec() == None {
		return b.walkPlain(f)
	}
	src, done, err := decompress(b.Codec(), b[HeaderSize:])
	if err != nil {
		return refuse(CodeCorruptMessage, "decompressing %s: %v", b.Codec(), err)
	}
	defer done()
	r := readers.Get().(*bufio.Reader)
	r.Reset(io.LimitReader(src, maxWalk))
	defer func() {
		r.Reset(bytes.NewReader(nil))
		readers.Put(r)
	}()
	c := counter{r: r}
	for i := int32(0); i < b.Count(); i++ {
		m, err := b.walkOne(&c)
		if err != nil {
			return &Error{CodeCorruptMessage, int(i), err.Error()}
		}
		if err := f(m); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	if _, err := r.ReadByte(); err == nil {
		return refuse(CodeInvalidRecord, "bytes follow its last record")
	}
	return nil
}

// walkPlain walks records that are not compressed, without copying.
func (b Batch) walkPlain(f func(Meta) error) error {
	rest := b[HeaderSize:]
	for i := int32(0); i < b.Count(); i++ {
		size, n := binary.Varint(rest)
		if n <= 0 || size < minRecord || size > int64(len(rest)-n) {
			return &Error{CodeCorruptMessage, int(i), "its length does not fit"}
		}
		rec := rest[n+1 : n+int(size)] // behind the attributes, which are unused
		rest = rest[n+int(size):]
		td, n1 := binary.Varint(rec)
		od, n2 := binary.Varint(rec[max(n1, 0):])
		kl, n3 := binary.Varint(rec[max(n1, 0)+max(n2, 0):])
		if n1 <= 0 || n2 <= 0 || n3 <= 0 {
			return &Error{CodeCorruptMessage, int(i), "its fields do not fit"}
		}
		m, err := b.meta(td, od, kl, int64(len(rec)-n1-n2-n3))
		if err != nil {
			return &Error{CodeCorruptMessage, int(i), err.Error()}
		}
		if err := f(m); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	if len(rest) > 0 {
		return refuse(CodeInvalidRecord, "bytes follow its last record")
	}
	return nil
}

// minRecord is the least a record has: attributes, two deltas, two lengths and a count.
const minRecord = 6

func (b Batch) meta(timeDelta, offsetDelta, keyLen, left int64) (Meta, error) {
	if offsetDelta < 0 || offsetDelta > math.MaxInt32 || keyLen > left {
		return Meta{}, fmt.Errorf("offset delta %d and key length %d do not fit", offsetDelta, keyLen)
	}
	m := Meta{OffsetDelta: int32(offsetDelta), Time: b.BaseTime() + timeDelta, HasKey: keyLen >= 0}
	if b.AppendTime() {
		m.Time = b.MaxTime()
	}
	return m, nil
}

func (b Batch) walkOne(c *counter) (Meta, error) {
	size, err := binary.ReadVarint(c.r)
	if err != nil {
		return Meta{}, fmt.Errorf("reading its length: %w", noEOF(err))
	}
	if size < minRecord || size > math.MaxInt32 {
		return Meta{}, fmt.Errorf("its length is %d", size)
	}
	c.left = size
	if _, err := c.ReadByte(); err != nil { // attributes, unused
		return Meta{}, err
	}
	td, err1 := binary.ReadVarint(c)
	od, err2 := binary.ReadVarint(c)
	kl, err3 := binary.ReadVarint(c)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Meta{}, fmt.Errorf("reading its fields: %w", err)
	}
	m, err := b.meta(td, od, kl, c.left)
	if err != nil {
		return m, err
	}
	if _, err := c.r.Discard(int(c.left)); err != nil {
		return Meta{}, fmt.Errorf("reading its %d bytes: %w", size, noEOF(err))
	}
	return m, nil
}

// counter reads the bytes of one record and no further.
type counter struct {
	r    *bufio.Reader
	left int64
}

func (c *counter) ReadByte() (byte, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	c.left--
	v, err := c.r.ReadByte()
	return v, noEOF(err)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
