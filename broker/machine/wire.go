package machine

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is one field of a message. Value holds varints, Bytes length-delimited fields; Raw is the field with its tag, so
// that fields nobody knows can be kept. Bytes and Raw alias the message.
type Field struct {
	Number protowire.Number
	Value  uint64
	Bytes  []byte
	Raw    []byte
}

// Open checks a payload's version byte and returns the message behind it.
func Open(payload []byte, version uint8) ([]byte, error) {
	if len(payload) == 0 {
		return nil, fmt.Errorf("the payload is empty: no version byte")
	}
	if payload[0] != version {
		return nil, fmt.Errorf("the payload has version %d, this program knows %d: was the log written by a newer one?", payload[0], version)
	}
	return payload[1:], nil
}

// Walk hands f every field of a message in order, and stops at the first error.
func Walk(m []byte, f func(Field) error) error {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return fmt.Errorf("reading a field's tag: %w", protowire.ParseError(n))
		}
		var (
			fd = Field{Number: num}
			k  int
		)
		switch typ {
		case protowire.VarintType:
			fd.Value, k = protowire.ConsumeVarint(m[n:])
		case protowire.BytesType:
			fd.Bytes, k = protowire.ConsumeBytes(m[n:])
		default:
			k = protowire.ConsumeFieldValue(num, typ, m[n:])
		}
		if k < 0 {
			return fmt.Errorf("reading field %d: %w", num, protowire.ParseError(k))
		}
		fd.Raw = m[:n+k]
		if err := f(fd); err != nil {
			return err
		}
		m = m[n+k:]
	}
	return nil
}

// AppendUint writes a varint field; zero is left out, as proto3 does.
func AppendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

// AppendBool writes a varint field if v.
func AppendBool(b []byte, num protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return AppendUint(b, num, 1)
}

// AppendString writes a length-delimited field; empty is left out.
func AppendString(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// AppendBytes writes a length-delimited field even if it is empty: that is how repeated messages and present-but-empty
// values are written.
func AppendBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}
