package connectapi

import "encoding/binary"

// skipFast passes one value inside another and returns where it ends, or -1 for what it does not understand: Reader.Skip
// then finds out what is wrong, if something is. It is the hot path of everything that does not decode.
func skipFast(b []byte, off int, s *Schema) int {
	if s.optional {
		if off >= len(b) {
			return -1
		}
		switch b[off] {
		case 0:
			return off + 1
		case 2:
			off++
		default:
			return -1
		}
	}
	return skipFastPresent(b, off, s)
}

func skipFastPresent(b []byte, off int, s *Schema) int {
	switch s.typ {
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		for i := off; i < len(b) && i < off+binary.MaxVarintLen64-1; i++ {
			if b[i] < 0x80 {
				return i + 1
			}
		}
		return -1
	case TypeBoolean:
		off++
	case TypeFloat32:
		off += 4
	case TypeFloat64:
		off += 8
	case TypeString, TypeBytes:
		if off >= len(b) {
			return -1
		}
		n, width := uint64(b[off]), 1
		if n >= 0x80 {
			n, width = binary.Uvarint(b[off:])
		}
		if width <= 0 || n&1 != 0 || n>>1 > uint64(len(b)-off-width) {
			return -1
		}
		return off + width + int(n>>1)
	case TypeStruct:
		for i := range s.fields {
			if off = skipFast(b, off, s.fields[i].Schema); off < 0 {
				return -1
			}
		}
	default:
		r := Reader{buf: b, off: off}
		r.skipBlocks(s)
		if r.err != nil {
			return -1
		}
		return r.off
	}
	if off > len(b) {
		return -1
	}
	return off
}
