package convert

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// appendRoot writes a whole key or value; its bytes are in root form.
func (c *jsonConverter) appendRoot(b []byte, v connectapi.Value) ([]byte, error) {
	s := v.Schema()
	if s == nil {
		if v.IsNull() {
			return append(b, "null"...), nil
		}
		return append(b, v.Encoded()...), nil
	}
	if v.IsNull() {
		return c.appendNull(b, s)
	}
	switch s.Type() {
	case connectapi.TypeString:
		return appendQuoted(b, v.Encoded()), nil
	case connectapi.TypeBytes:
		return c.appendBytes(b, s, v.Encoded())
	}
	r := v.Reader()
	b, err := c.appendPresent(b, s, &r)
	if err == nil {
		err = r.Err()
	}
	return b, err
}

// appendNull writes what stands for a null: the schema's default, unless replace.null.with.default is off.
func (c *jsonConverter) appendNull(b []byte, s *connectapi.Schema) ([]byte, error) {
	if def := s.EncodedDefault(); def != nil && c.defaults {
		return c.appendRoot(b, connectapi.NewValue(s, def))
	}
	return append(b, "null"...), nil
}

// appendNested writes a value inside another.
func (c *jsonConverter) appendNested(b []byte, s *connectapi.Schema, r *connectapi.Reader) ([]byte, error) {
	if s.Optional() && !r.Union() {
		return c.appendNull(b, s)
	}
	return c.appendPresent(b, s, r)
}

func (c *jsonConverter) appendPresent(b []byte, s *connectapi.Schema, r *connectapi.Reader) ([]byte, error) {
	switch s.Type() {
	case connectapi.TypeInt8, connectapi.TypeInt16, connectapi.TypeInt32, connectapi.TypeInt64:
		return strconv.AppendInt(b, r.Int(), 10), nil
	case connectapi.TypeFloat32:
		return appendFloat(b, float64(r.Float32()), 32), nil
	case connectapi.TypeFloat64:
		return appendFloat(b, r.Float64(), 64), nil
	case connectapi.TypeBoolean:
		return strconv.AppendBool(b, r.Bool()), nil
	case connectapi.TypeString:
		return appendQuoted(b, r.Bytes()), nil
	case connectapi.TypeBytes:
		return c.appendBytes(b, s, r.Bytes())
	case connectapi.TypeStruct:
		return c.appendStruct(b, s, r)
	case connectapi.TypeArray:
		return c.appendArray(b, s, r)
	case connectapi.TypeMap:
		return c.appendMap(b, s, r)
	}
	return b, fmt.Errorf("no JSON form for %s", s)
}

func (c *jsonConverter) appendStruct(b []byte, s *connectapi.Schema, r *connectapi.Reader) (_ []byte, err error) {
	b = append(b, '{')
	for i, f := range s.Fields() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendName(b, f.Name)
		if b, err = c.appendNested(b, f.Schema, r); err != nil {
			return b, fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return append(b, '}'), r.Err()
}

func (c *jsonConverter) appendArray(b []byte, s *connectapi.Schema, r *connectapi.Reader) (_ []byte, err error) {
	b = append(b, '[')
	first := true
	for n := r.Block(s); n > 0; n = r.Block(s) {
		for range n {
			if !first {
				b = append(b, ',')
			}
			first = false
			if b, err = c.appendNested(b, s.Elem(), r); err != nil || r.Err() != nil {
				return b, err
			}
		}
	}
	return append(b, ']'), r.Err()
}

// appendMap writes an object when keys are strings, else an array of [key, value].
func (c *jsonConverter) appendMap(b []byte, s *connectapi.Schema, r *connectapi.Reader) (_ []byte, err error) {
	object := s.Keys().Type() == connectapi.TypeString && !s.Keys().Optional()
	open, end := byte('['), byte(']')
	if object {
		open, end = '{', '}'
	}
	b = append(b, open)
	first := true
	for n := r.Block(s); n > 0; n = r.Block(s) {
		for range n {
			if !first {
				b = append(b, ',')
			}
			first = false
			if object {
				b = append(appendQuoted(b, r.Bytes()), ':')
			} else {
				b = append(b, '[')
				if b, err = c.appendNested(b, s.Keys(), r); err != nil {
					return b, err
				}
				b = append(b, ',')
			}
			if b, err = c.appendNested(b, s.Elem(), r); err != nil || r.Err() != nil {
				return b, err
			}
			if !object {
				b = append(b, ']')
			}
		}
	}
	return append(b, end), r.Err()
}

func (c *jsonConverter) appendBytes(b []byte, s *connectapi.Schema, v []byte) ([]byte, error) {
	if c.numeric && s.Name() == connectapi.DecimalName {
		scale, err := s.Scale()
		if err != nil {
			return b, err
		}
		return append(b, connectapi.Decimal{Unscaled: connectapi.ParseUnscaled(v), Scale: scale}.String()...), nil
	}
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, v)
	return append(b, '"'), nil
}

// appendFloat writes the shortest digits that give the number back, always as a JSON number that reads as a float; NaN
// and infinities as Jackson does, quoted.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	}
	at := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, bits)
	for _, ch := range b[at:] {
		if ch == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendName(b []byte, name string) []byte {
	plain := true
	for i := range len(name) {
		if ch := name[i]; ch < 0x20 || ch == '"' || ch == '\\' || ch >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, name...)
		return append(b, '"', ':')
	}
	return append(appendQuoted(b, []byte(name)), ':')
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes a JSON string. Bytes that are not UTF-8 become U+FFFD: JSON cannot hold them.
func appendQuoted(b, s []byte) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		ch := s[i]
		if ch >= 0x20 && ch != '"' && ch != '\\' && ch < utf8.RuneSelf {
			i++
			continue
		}
		if ch < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscape(b, ch)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, ch byte) []byte {
	switch ch {
	case '"', '\\':
		return append(b, '\\', ch)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
}
