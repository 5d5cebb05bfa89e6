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

// Stop ends a walk early without an error.
var Stop = errors.New("stop the walk")

// maxWalk bounds what one batch may decompress to in all: a walk streams, so this bounds time, not memory.
const maxWalk = 1 << 30

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// Walk calls f for each record in order, decompressing as it goes (I3). Errors of the bytes are *Error; f's own error
// is returned as it is, Stop as nil.
func (b Batch) Walk(f func(Meta) error) error {
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
	for i := int32(0); i < b.Count(); i++ {
		m, err := b.walkOne(r)
		if err != nil {
			return &Error{CodeCorruptMessage, int(i), err.Error()}
		}
		if err := f(m); err != nil {
			if errors.Is(err, Stop) {
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

func (b Batch) walkOne(r *bufio.Reader) (Meta, error) {
	size, err := binary.ReadVarint(r)
	if err != nil {
		return Meta{}, fmt.Errorf("reading its length: %w", noEOF(err))
	}
	if size < 6 || size > math.MaxInt32 {
		return Meta{}, fmt.Errorf("its length is %d", size)
	}
	c := counter{r: r, left: size}
	if _, err := c.ReadByte(); err != nil { // attributes, unused
		return Meta{}, err
	}
	td, err1 := binary.ReadVarint(&c)
	od, err2 := binary.ReadVarint(&c)
	kl, err3 := binary.ReadVarint(&c)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Meta{}, fmt.Errorf("reading its fields: %w", err)
	}
	if od < 0 || od > math.MaxInt32 || kl > c.left {
		return Meta{}, fmt.Errorf("offset delta %d and key length %d do not fit its %d bytes", od, kl, size)
	}
	if _, err := r.Discard(int(c.left)); err != nil {
		return Meta{}, fmt.Errorf("reading its %d bytes: %w", size, noEOF(err))
	}
	m := Meta{OffsetDelta: int32(od), Time: b.BaseTime() + td, HasKey: kl >= 0}
	if b.AppendTime() {
		m.Time = b.MaxTime()
	}
	return m, nil
}

// counter reads bytes of one record and no further.
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
