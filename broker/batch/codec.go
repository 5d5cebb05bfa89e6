package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Bounds of what one step of decompression may hold in memory.
const (
	maxSnappyBlock = 64 << 20
	maxZstdWindow  = 32 << 20
)

var (
	gzipPool = sync.Pool{New: func() any { return new(gzip.Reader) }}
	lz4Pool  = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
	zstdPool = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderMaxMemory(maxWalk))
		if err != nil {
			panic(err) // only wrong options
		}
		return d
	}}
)

// decompress streams src; done gives decoders back.
func decompress(c Codec, src []byte) (r io.Reader, done func(), err error) {
	in := bytes.NewReader(src)
	switch c {
	case None:
		return in, func() {}, nil
	case Gzip:
		z := gzipPool.Get().(*gzip.Reader)
		if err := z.Reset(in); err != nil {
			return nil, nil, err
		}
		return z, func() { gzipPool.Put(z) }, nil
	case Snappy:
		return newSnappy(src)
	case LZ4:
		z := lz4Pool.Get().(*lz4.Reader)
		z.Reset(in)
		return z, func() { lz4Pool.Put(z) }, nil
	case Zstd:
		z := zstdPool.Get().(*zstd.Decoder)
		if err := z.Reset(in); err != nil {
			return nil, nil, err
		}
		return z, func() {
			if z.Reset(nil) == nil {
				zstdPool.Put(z)
			}
		}, nil
	default:
		return nil, nil, fmt.Errorf("compression type %d is unknown", c)
	}
}

// xerialMagic opens the framing of the Java client's snappy; other clients write one raw block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

func newSnappy(src []byte) (io.Reader, func(), error) {
	if len(src) >= xerialHeader && bytes.HasPrefix(src, xerialMagic) {
		return &xerial{src: src[xerialHeader:]}, func() {}, nil
	}
	block, err := snappyBlock(nil, src)
	if err != nil {
		return nil, nil, err
	}
	return bytes.NewReader(block), func() {}, nil
}

func snappyBlock(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	// A snappy copy of two or three bytes gives at most 64: more than 32 times the input is a lie (I3).
	if n > maxSnappyBlock || n > 32*len(src)+64 {
		return nil, fmt.Errorf("a snappy block of %d bytes claims to hold %d", len(src), n)
	}
	return snappy.Decode(dst[:cap(dst)], src)
}

// xerial streams blocks, each behind its 4-byte length.
type xerial struct {
	src, block, buf []byte
}

func (x *xerial) Read(p []byte) (int, error) {
	for len(x.block) == 0 {
		if len(x.src) == 0 {
			return 0, io.EOF
		}
		if len(x.src) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := binary.BigEndian.Uint32(x.src)
		x.src = x.src[4:]
		if uint64(n) > uint64(len(x.src)) {
			return 0, errors.New("a snappy block is longer than the batch")
		}
		var err error
		if x.buf, err = snappyBlock(x.buf, x.src[:n]); err != nil {
			return 0, err
		}
		x.block, x.src = x.buf, x.src[n:]
	}
	n := copy(p, x.block)
	x.block = x.block[n:]
	return n, nil
}

// compress is the other way, for the builder.
func compress(c Codec, src []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case None:
		return src, nil
	case Gzip:
		w = gzip.NewWriter(&out)
	case Snappy:
		return snappy.Encode(nil, src), nil
	case LZ4:
		w = lz4.NewWriter(&out)
	case Zstd:
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			return nil, err
		}
		w = z
	default:
		return nil, fmt.Errorf("compression type %d is unknown", c)
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
