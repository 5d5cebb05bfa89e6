package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Records decodes a batch's records whole, for what the broker itself reads and for tests. limit bounds the bytes it
// may decompress to. Errors are *Error.
func (b Batch) Records(limit int64) ([]Record, error) {
	src, done, err := decompress(b.Codec(), b[HeaderSize:])
	if err != nil {
		return nil, refuse(CodeCorruptMessage, "decompressing %s: %v", b.Codec(), err)
	}
	defer done()
	body, err := io.ReadAll(io.LimitReader(src, limit+1))
	if err != nil {
		return nil, refuse(CodeCorruptMessage, "decompressing %s: %v", b.Codec(), err)
	}
	if int64(len(body)) > limit {
		return nil, refuse(CodeMessageTooLarge, "it decompresses to more than %d bytes", limit)
	}
	var recs []Record
	for i := int32(0); i < b.Count(); i++ {
		size, n := binary.Varint(body)
		if n <= 0 || size < 0 || size > int64(len(body)-n) {
			return nil, &Error{CodeCorruptMessage, int(i), "its length does not fit"}
		}
		r, err := decodeRecord(body[n : n+int(size)])
		if err != nil {
			return nil, &Error{CodeCorruptMessage, int(i), err.Error()}
		}
		r.Time += b.BaseTime()
		if b.AppendTime() {
			r.Time = b.MaxTime()
		}
		recs = append(recs, r)
		body = body[n+int(size):]
	}
	if len(body) > 0 {
		return nil, refuse(CodeInvalidRecord, "bytes follow its last record")
	}
	return recs, nil
}

var errField = errors.New("one of its fields does not fit")

// decodeRecord reads one record; its time is a delta still.
func decodeRecord(p []byte) (Record, error) {
	r := bytes.NewReader(p)
	var rec Record
	if _, err := r.ReadByte(); err != nil {
		return rec, errField
	}
	td, err1 := binary.ReadVarint(r)
	_, err2 := binary.ReadVarint(r)
	if err1 != nil || err2 != nil {
		return rec, errField
	}
	rec.Time = td
	var err error
	if rec.Key, err = readBytes(r); err != nil {
		return rec, err
	}
	if rec.Value, err = readBytes(r); err != nil {
		return rec, err
	}
	n, err := binary.ReadVarint(r)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return rec, errField
	}
	for ; n > 0; n-- {
		k, err := readBytes(r)
		if err != nil || k == nil {
			return rec, fmt.Errorf("a header's key: %w", errField)
		}
		v, err := readBytes(r)
		if err != nil {
			return rec, err
		}
		rec.Headers = append(rec.Headers, Header{Key: string(k), Value: v})
	}
	if r.Len() > 0 {
		return rec, errField
	}
	return rec, nil
}

func readBytes(r *bytes.Reader) ([]byte, error) {
	n, err := binary.ReadVarint(r)
	if err != nil || n < -1 || n > int64(r.Len()) {
		return nil, errField
	}
	if n == -1 {
		return nil, nil
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, err
}
