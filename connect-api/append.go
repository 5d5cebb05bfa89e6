package connectapi

import (
	"encoding/binary"
	"math"
)

// AppendInt appends an integer of any width inside another value or at the root: a zigzag varint.
func AppendInt(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	if u < 0x80 {
		return append(dst, byte(u))
	}
	return binary.AppendUvarint(dst, u)
}

// AppendFloat32 appends 4 bytes, little-endian.
func AppendFloat32(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendFloat64 appends 8 bytes, little-endian.
func AppendFloat64(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// AppendBool appends one byte, 0 or 1.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBytes appends bytes inside another value: a length and the bytes. At the root bytes are themselves.
func AppendBytes(dst, v []byte) []byte { return append(AppendInt(dst, int64(len(v))), v...) }

// AppendString appends a string inside another value: a length and the bytes. At the root a string is itself.
func AppendString(dst []byte, v string) []byte { return append(AppendInt(dst, int64(len(v))), v...) }

// AppendNull appends the null of an optional value inside another.
func AppendNull(dst []byte) []byte { return append(dst, 0) }

// AppendNotNull appends what stands before an optional value, inside another, that is not null.
func AppendNotNull(dst []byte) []byte { return append(dst, 2) }

// AppendBlock begins a block of n elements of an array or entries of a map, n > 0. After the last block comes AppendEnd.
func AppendBlock(dst []byte, n int) []byte { return AppendInt(dst, int64(n)) }

// AppendEnd ends an array or a map.
func AppendEnd(dst []byte) []byte { return append(dst, 0) }

// AppendNested appends a value in root form as it stands inside another: with the union of an optional schema and the
// length of bytes and strings. A null of a schema that is not optional is a mistake of the caller; it appends the
// schema's default, or an error.
func AppendNested(dst []byte, v Value) ([]byte, error) {
	s := v.schema
	if s == nil {
		return dst, &ValueError{Problem: "a value without a schema cannot stand inside one that has a schema"}
	}
	if v.data == nil {
		switch {
		case s.optional:
			return append(dst, 0), nil
		case s.def != nil:
			return AppendNested(dst, Value{s, s.def})
		}
		return dst, &ValueError{Problem: "null for " + s.String() + ", which is not optional"}
	}
	if s.optional {
		dst = append(dst, 2)
	}
	if s.typ == TypeString || s.typ == TypeBytes {
		dst = AppendInt(dst, int64(len(v.data)))
	}
	return append(dst, v.data...), nil
}

// AppendBlob appends a key, a value or a name as rows hold them: 0 for null (nil), else length + 1 and the bytes.
func AppendBlob(dst, v []byte) []byte {
	if v == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(v))+1), v...)
}

func sizeUvarint(u uint64) int {
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }
