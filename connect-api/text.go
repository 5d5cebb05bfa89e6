package connectapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// AppendText appends the value as text, as Java's toString gives it in Kafka Connect: strings and numbers bare, a struct as
// Struct{a=1,b=x} without its null fields, maps as {k=v}, arrays as [a, b], null as null. Two things differ from
// toString: bytes are their bytes, and a value without a schema is its JSON (a JSON string: the string).
func (v Value) AppendText(dst []byte) ([]byte, error) {
	if v.data == nil {
		return append(dst, "null"...), nil
	}
	if v.schema == nil {
		if v.data[0] == '"' {
			s, err := v.Text()
			return append(dst, s...), err
		}
		return append(dst, v.data...), nil
	}
	if v.schema.typ == TypeString || v.schema.typ == TypeBytes && v.schema.name != DecimalName {
		return append(dst, v.data...), nil
	}
	d, err := v.Decode()
	if err != nil {
		return dst, err
	}
	return appendText(dst, v.schema, d), nil
}

func appendText(dst []byte, s *Schema, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return append(dst, x...)
	case []byte:
		if s.name == DecimalName {
			if l, err := Logical(s, x); err == nil {
				return fmt.Append(dst, l)
			}
		}
		return append(dst, x...)
	case float64:
		return appendFloat(dst, x, 64)
	case float32:
		return appendFloat(dst, float64(x), 32)
	case []any:
		dst = append(dst, '[')
		for i, e := range x {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendText(dst, s.elem, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendText(append(append(dst, k...), '='), s.elem, x[k])
		}
		return append(dst, '}')
	case map[any]any:
		parts := make([]string, 0, len(x))
		for k, e := range x {
			parts = append(parts, string(appendText(fmt.Append(nil, k, "="), s.elem, e)))
		}
		slices.Sort(parts)
		dst = append(dst, '{')
		for i, p := range parts {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(dst, p...)
		}
		return append(dst, '}')
	case *Struct:
		dst = append(dst, "Struct{"...)
		first := true
		for i, f := range x.schema.fields {
			if x.values[i] == nil {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendText(append(append(dst, f.Name...), '='), f.Schema, x.values[i])
		}
		return append(dst, '}')
	}
	return fmt.Append(dst, v)
}

// appendFloat writes a float as Java does where plain digits are enough, otherwise in Go's shortest form.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if a := max(f, -f); a == 0 || a >= 1e-3 && a < 1e7 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
		if !slices.Contains(dst[from:], '.') {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'G', -1, bits)
}
