package connectapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// DecodeBytes decodes a value in root form. Bytes left over are an error. Strings and bytes are copied.
func DecodeBytes(s *Schema, data []byte) (any, error) {
	if data == nil {
		return nil, nil
	}
	if s == nil {
		return decodeJSON(data)
	}
	switch s.typ {
	case TypeString:
		return string(data), nil
	case TypeBytes:
		return append([]byte{}, data...), nil
	}
	r := NewReader(data)
	v := r.present(s)
	if r.err == nil && r.Len() > 0 {
		r.fail(fmt.Sprintf("%d bytes too many", r.Len()))
	}
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

// Decode reads one value inside another as a Go value; nil for null.
func (r *Reader) Decode(s *Schema) any {
	if s.optional && !r.Union() {
		return nil
	}
	return r.present(s)
}

func (r *Reader) present(s *Schema) any {
	switch s.typ {
	case TypeInt8:
		return int8(r.ranged(math.MinInt8, math.MaxInt8))
	case TypeInt16:
		return int16(r.ranged(math.MinInt16, math.MaxInt16))
	case TypeInt32:
		return int32(r.ranged(math.MinInt32, math.MaxInt32))
	case TypeInt64:
		return r.Int()
	case TypeFloat32:
		return r.Float32()
	case TypeFloat64:
		return r.Float64()
	case TypeBoolean:
		return r.Bool()
	case TypeString:
		return r.String()
	case TypeBytes:
		return append([]byte{}, r.Bytes()...)
	case TypeArray:
		return r.array(s)
	case TypeMap:
		return r.mapValue(s)
	case TypeStruct:
		v := NewStructValue(s)
		for i := range s.fields {
			if r.err != nil {
				return nil
			}
			v.values[i] = r.Decode(s.fields[i].Schema)
		}
		return v
	}
	r.fail("a schema of no known type")
	return nil
}

func (r *Reader) ranged(least, most int64) int64 {
	n := r.Int()
	if n < least || n > most {
		r.fail(fmt.Sprintf("%d is outside %d to %d,", n, least, most))
	}
	return n
}

// sized is Block with where the block ends, if its writer said; else -1.
func (r *Reader) sized(s *Schema) (n, end int) {
	n, size := r.block(s)
	if size < 0 {
		return n, -1
	}
	return n, r.off + size
}

// atEnd refuses a block that is not as long as its writer said: those who skip it would read on elsewhere.
func (r *Reader) atEnd(end int) {
	if end >= 0 && r.err == nil && r.off != end {
		r.fail(fmt.Sprintf("a block that should end at byte %d", end))
	}
}

func (r *Reader) array(s *Schema) any {
	v := []any{}
	for n, end := r.sized(s); n > 0; n, end = r.sized(s) {
		for range n {
			e := r.Decode(s.elem)
			if r.err != nil {
				return nil
			}
			v = append(v, e)
		}
		if s.elem.minSize == 0 && len(v) > zeroSizeElements { // I2: blocks of nothing must not add up
			r.fail("an array of too many empty structs")
		}
		r.atEnd(end)
	}
	return v
}

func (r *Reader) mapValue(s *Schema) any {
	texts := s.keys.typ == TypeString && !s.keys.optional
	byText, byAny := map[string]any{}, map[any]any{}
	for n, end := r.sized(s); n > 0; n, end = r.sized(s) {
		for range n {
			if texts {
				k := r.String()
				byText[k] = r.Decode(s.elem)
			} else {
				k := mapKey(r.Decode(s.keys))
				byAny[k] = r.Decode(s.elem)
			}
			if r.err != nil {
				return nil
			}
		}
		r.atEnd(end)
	}
	if texts {
		return byText
	}
	return byAny
}

// BytesKey is a key of bytes, or of a value Go cannot compare, in a decoded map.
type BytesKey string

func mapKey(k any) any {
	switch v := k.(type) {
	case []byte:
		return BytesKey(v)
	case []any, map[string]any, map[any]any:
		return BytesKey(fmt.Sprint(v))
	}
	return k
}

// decodeJSON reads a schemaless value: integers become int64, other numbers float64.
func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &ValueError{Problem: "a value without a schema is not JSON: " + err.Error()}
	}
	if d.More() {
		return nil, &ValueError{Problem: "a value without a schema is more than one JSON value"}
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = numbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = numbers(x[k])
		}
	}
	return v
}
