package index

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// SegmentKey is the key of what lives of a queue in a segment, which is named by its store and first position.
func SegmentKey(store uint8, first int64, q uint32) []byte {
	return AppendSegmentKey(make([]byte, 0, 14), store, first, q)
}

// AppendSegmentKey appends a segment's key to b.
func AppendSegmentKey(b []byte, store uint8, first int64, q uint32) []byte {
	b = append(b, byte(PrefixSegment), store)
	b = binary.BigEndian.AppendUint64(b, uint64(first))
	return binary.BigEndian.AppendUint32(b, q)
}

// SegmentOf takes a segment's key apart.
func SegmentOf(key []byte) (store uint8, first int64, q uint32, err error) {
	if len(key) != 14 {
		return 0, 0, 0, fmt.Errorf("decoding a segment's key: it has %d bytes", len(key))
	}
	return key[1], int64(binary.BigEndian.Uint64(key[2:])), binary.BigEndian.Uint32(key[10:]), nil
}

// SegmentRange bounds the keys of one segment.
func SegmentRange(store uint8, first int64) (from, to []byte) {
	from = SegmentKey(store, first, 0)
	return from, append(SegmentKey(store, first, ^uint32(0)), 0)
}

// Share is what lives of a queue in a segment: batches that are neither trimmed nor moved elsewhere.
type Share struct {
	First, Last int64 // offsets; bounds that may have become wider than what lives
	Batches     int64
	Bytes       int64 // of the batches
}

// AppendShare encodes a segment's value.
func AppendShare(b []byte, s *Share) []byte {
	b = append(b, formV1)
	b = binary.AppendUvarint(b, uint64(s.First))
	b = binary.AppendUvarint(b, uint64(s.Last-s.First))
	b = binary.AppendUvarint(b, uint64(s.Batches))
	return binary.AppendUvarint(b, uint64(s.Bytes))
}

// DecodeShare is the reverse.
func DecodeShare(v []byte) (Share, error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return Share{}, fmt.Errorf("decoding a segment's share: form %d is not known", f)
	}
	s := Share{First: int64(d.uvarint())}
	s.Last = s.First + int64(d.uvarint())
	s.Batches, s.Bytes = int64(d.uvarint()), int64(d.uvarint())
	if d.err == nil && (s.First < 0 || s.Last < s.First || s.Batches <= 0 || s.Bytes <= 0) {
		d.err = errors.New("its values make no sense")
	}
	return s, d.end("a segment's share")
}
