package batch

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Raw is one record whose fields point into its batch's decompressed bytes.
type Raw struct {
	Delta      int32 // of the offset
	Time       int64 // Unix ms
	timeDelta  int64
	Key, Value []byte // nil: null
	headers    []byte // with their count, as they stand
}

// EachRaw decompresses a batch, to at most limit bytes, and calls f for each record in order. Errors of the bytes are
// *Error; f's own error is returned as it is.
func (b Batch) EachRaw(limit int64, f func(Raw) error) error {
	body := []byte(b[HeaderSize:])
	if b.Codec() != None && len(body) > 0 {
		src, done, err := decompress(b.Codec(), body)
		if err != nil {
			return refuse(CodeCorruptMessage, "decompressing %s: %v", b.Codec(), err)
		}
		body, err = io.ReadAll(io.LimitReader(src, limit+1))
		done()
		if err != nil {
			return refuse(CodeCorruptMessage, "decompressing %s: %v", b.Codec(), err)
		}
		if int64(len(body)) > limit {
			return refuse(CodeMessageTooLarge, "it decompresses to more than %d bytes", limit)
		}
	}
	for i := int32(0); i < b.Count(); i++ {
		size, n := binary.Varint(body)
		if n <= 0 || size < minRecord || size > int64(len(body)-n) {
			return &Error{CodeCorruptMessage, int(i), "its length does not fit"}
		}
		r, err := b.raw(body[n : n+int(size)])
		if err != nil {
			return &Error{CodeCorruptMessage, int(i), err.Error()}
		}
		if err := f(r); err != nil {
			return err
		}
		body = body[n+int(size):]
	}
	if len(body) > 0 {
		return refuse(CodeInvalidRecord, "bytes follow its last record")
	}
	return nil
}

func (b Batch) raw(p []byte) (Raw, error) {
	var r Raw
	d := rawDecoder{p: p[1:]} // behind the attributes, which are unused
	td, od := d.varint(), d.varint()
	r.Key, r.Value = d.bytes(), d.bytes()
	if d.bad || od < 0 || od > math.MaxInt32 || len(d.p) == 0 {
		return r, errField
	}
	r.timeDelta, r.Delta, r.headers = td, int32(od), d.p
	r.Time = b.BaseTime() + td
	if b.AppendTime() {
		r.Time = b.MaxTime()
	}
	return r, nil
}

type rawDecoder struct {
	p   []byte
	bad bool
}

func (d *rawDecoder) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *rawDecoder) bytes() []byte {
	n := d.varint()
	if d.bad || n < -1 || n > int64(len(d.p)) {
		d.bad = true
		return nil
	}
	if n == -1 {
		return nil
	}
	b := d.p[:n:n]
	d.p = d.p[n:]
	return b
}

// Rewriter makes what is left of a batch: the same offsets, producer, sequence numbers, codec and kind of timestamps, with
// some of its records.
type Rewriter struct {
	from    Batch
	base    int64
	horizon bool
	body    []byte
	n       int32
	max     int64
}

// Rewrite begins with no records. A horizon other than 0 becomes the batch's delete horizon (KIP-534); one it has stays.
func (b Batch) Rewrite(horizon int64) *Rewriter {
	w := &Rewriter{from: b, base: b.BaseTime(), horizon: b.Attributes()&HorizonBit != 0, max: math.MinInt64}
	if horizon != 0 {
		w.base, w.horizon = horizon, true
	}
	return w
}

// Horizon is a batch's delete horizon, Unix ms; false if it has none.
func (b Batch) Horizon() (int64, bool) { return b.BaseTime(), b.Attributes()&HorizonBit != 0 }

// Keep adds a record of the batch; in order.
func (w *Rewriter) Keep(r Raw) {
	td := r.timeDelta
	if !w.from.AppendTime() {
		td = r.Time - w.base
	}
	rec := make([]byte, 1, 32+len(r.Key)+len(r.Value)+len(r.headers))
	rec = binary.AppendVarint(rec, td)
	rec = binary.AppendVarint(rec, int64(r.Delta))
	rec = appendBytes(rec, r.Key)
	rec = appendBytes(rec, r.Value)
	rec = append(rec, r.headers...)
	w.body = binary.AppendVarint(w.body, int64(len(rec)))
	w.body = append(w.body, rec...)
	w.max = max(w.max, r.Time)
	w.n++
}

// Batch gives the rewritten batch; one without records is a header alone.
func (w *Rewriter) Batch() (Batch, error) {
	attrs := w.from.Attributes()
	if w.horizon {
		attrs |= HorizonBit
	}
	body := w.body
	if w.n == 0 {
		attrs &^= CodecMask
		w.max = w.from.MaxTime()
	} else if w.from.Codec() != None {
		var err error
		if body, err = compress(w.from.Codec(), body); err != nil {
			return nil, fmt.Errorf("rewriting a record batch: %w", err)
		}
	}
	if w.from.AppendTime() {
		w.max = w.from.MaxTime()
	}
	b := make(Batch, HeaderSize, HeaderSize+len(body))
	copy(b, w.from[:HeaderSize])
	binary.BigEndian.PutUint32(b[atLength:], uint32(HeaderSize-lengthFrom+len(body)))
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(attrs))
	binary.BigEndian.PutUint64(b[atBaseTime:], uint64(w.base))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(w.max))
	binary.BigEndian.PutUint32(b[atCount:], uint32(w.n))
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[atCRC:], b.SumCRC())
	return b, nil
}
