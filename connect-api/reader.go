package connectapi

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Reader is a cursor over the bytes of a value. After the first error every method returns zero values and the cursor
// stays; Err says what was wrong. It allocates nothing but by Decode. Copying a Reader makes a second cursor.
type Reader struct {
	buf []byte
	off int
	err error
}

// NewReader begins at the first byte of a value that is not bytes or a string at the root, or at a field.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Offset returns how many bytes are behind the cursor.
func (r *Reader) Offset() int { return r.off }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.buf) - r.off }

// Rest returns the bytes that are left.
func (r *Reader) Rest() []byte { return r.buf[r.off:] }

func (r *Reader) fail(what string) {
	if r.err == nil {
		r.err = &ValueError{Problem: fmt.Sprintf("%s at byte %d of %d", what, r.off, len(r.buf))}
	}
}

// Uvarint reads an unsigned varint.
func (r *Reader) Uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	if r.off < len(r.buf) && r.buf[r.off] < 0x80 {
		r.off++
		return uint64(r.buf[r.off-1])
	}
	u, n := binary.Uvarint(r.buf[r.off:])
	if n <= 0 {
		r.fail("cut or overlong number")
		return 0
	}
	r.off += n
	return u
}

// Int reads an integer of any width.
func (r *Reader) Int() int64 {
	u := r.Uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// take returns the next n bytes.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.buf)-r.off {
		r.fail(fmt.Sprintf("%d bytes wanted, %d left", n, len(r.buf)-r.off))
		return nil
	}
	r.off += n
	return r.buf[r.off-n : r.off : r.off]
}

// Float32 reads 4 bytes.
func (r *Reader) Float32() float32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// Float64 reads 8 bytes.
func (r *Reader) Float64() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// Bool reads one byte.
func (r *Reader) Bool() bool {
	b := r.take(1)
	if b == nil {
		return false
	}
	if b[0] > 1 {
		r.fail("a boolean that is neither 0 nor 1 before")
	}
	return b[0] == 1
}

// Bytes reads bytes or a string inside another value; the slice points into the value (I5).
func (r *Reader) Bytes() []byte {
	n := r.Int()
	if n < 0 || n > int64(r.Len()) {
		r.fail(fmt.Sprintf("a length of %d with %d bytes left", n, r.Len()))
		return nil
	}
	return r.take(int(n))
}

// String reads a string inside another value into memory of its own.
func (r *Reader) String() string { return string(r.Bytes()) }

// Blob reads a key, a value or a name as rows hold them; nil is null.
func (r *Reader) Blob() []byte {
	n := r.Uvarint()
	if n == 0 || r.err != nil {
		return nil
	}
	if n-1 > uint64(r.Len()) {
		r.fail(fmt.Sprintf("a length of %d with %d bytes left", n-1, r.Len()))
		return nil
	}
	return r.take(int(n - 1))
}

// SkipRow passes one row of a batch: its length and so many bytes.
func (r *Reader) SkipRow() {
	n := r.Uvarint()
	if r.err == nil && n > uint64(r.Len()) {
		r.fail(fmt.Sprintf("a row of %d bytes with %d left", n, r.Len()))
	}
	r.take(int(n))
}

// Union reads what stands before an optional value inside another: false for null.
func (r *Reader) Union() bool {
	switch n := r.Int(); n {
	case 0:
		return false
	case 1:
		return r.err == nil
	default:
		r.fail(fmt.Sprintf("union index %d, only 0 and 1 exist,", n))
		return false
	}
}

// zeroSizeElements bounds arrays whose elements take no bytes (structs without fields).
const zeroSizeElements = 1 << 16

// Block reads the head of the next block of an array (elem nil: s.Elem) or map schema: the number of its elements or
// entries, 0 at the end. It refuses counts that the bytes left cannot hold (I2).
func (r *Reader) Block(s *Schema) int {
	n, _ := r.block(s)
	return n
}

// block also returns the size in bytes, if the writer gave it (a negative count), else -1.
func (r *Reader) block(s *Schema) (n, size int) {
	c, size64 := r.Int(), int64(-1)
	if c < 0 {
		if c == math.MinInt64 {
			r.fail("an impossible block count")
			return 0, 0
		}
		c, size64 = -c, r.Int()
		if size64 < 0 || size64 > int64(r.Len()) {
			r.fail(fmt.Sprintf("a block of %d bytes with %d left", size64, r.Len()))
			return 0, 0
		}
	}
	least := s.elem.minSize
	if s.keys != nil {
		least += s.keys.minSize
	}
	limit := int64(zeroSizeElements)
	if least > 0 {
		limit = int64(r.Len() / least)
	}
	if r.err == nil && c > limit {
		r.fail(fmt.Sprintf("a block of %d elements with %d bytes left", c, r.Len()))
	}
	if r.err != nil {
		return 0, 0
	}
	return int(c), int(size64)
}

// Skip passes one value inside another: with the union of an optional schema, with the length of bytes and strings.
func (r *Reader) Skip(s *Schema) {
	if r.err != nil {
		return
	}
	if to := skipFast(r.buf, r.off, s); to >= 0 {
		r.off = to
		return
	}
	if s.optional && !r.Union() {
		return
	}
	switch s.typ {
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		r.Uvarint()
	case TypeFloat32:
		r.take(4)
	case TypeFloat64:
		r.take(8)
	case TypeBoolean:
		r.take(1)
	case TypeString, TypeBytes:
		r.Bytes()
	case TypeStruct:
		for i := range s.fields {
			r.Skip(s.fields[i].Schema)
			if r.err != nil {
				return
			}
		}
	case TypeArray, TypeMap:
		r.skipBlocks(s)
	}
}

func (r *Reader) skipBlocks(s *Schema) {
	for {
		n, size := r.block(s)
		if n == 0 {
			return
		}
		if size >= 0 {
			r.take(size) // a wrong size shows when the value is decoded
			continue
		}
		for range n {
			if s.keys != nil {
				r.Skip(s.keys)
			}
			r.Skip(s.elem)
			if r.err != nil {
				return
			}
		}
	}
}

// Value reads one value inside another without decoding it: what comes back is in root form and points into the bytes
// (I5); null for a null.
func (r *Reader) Value(s *Schema) Value {
	if s.optional && !r.Union() {
		return Value{schema: s}
	}
	if s.typ == TypeString || s.typ == TypeBytes {
		b := r.Bytes()
		if r.err != nil {
			return Value{schema: s}
		}
		return Value{s, b}
	}
	from := r.off
	r.skipPresent(s)
	if r.err != nil {
		return Value{schema: s}
	}
	return Value{s, r.buf[from:r.off:r.off]}
}

// skipPresent is Skip behind the union.
func (r *Reader) skipPresent(s *Schema) {
	if r.err != nil {
		return
	}
	if to := skipFastPresent(r.buf, r.off, s); to >= 0 {
		r.off = to
		return
	}
	if !s.optional {
		r.Skip(s)
		return
	}
	switch s.typ {
	case TypeStruct:
		for i := range s.fields {
			r.Skip(s.fields[i].Schema)
		}
	case TypeArray, TypeMap:
		r.skipBlocks(s)
	case TypeFloat32:
		r.take(4)
	case TypeFloat64:
		r.take(8)
	case TypeBoolean:
		r.take(1)
	default:
		r.Uvarint()
	}
}
