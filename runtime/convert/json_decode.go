package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// payload reads a JSON payload under its schema into a value in root form.
func (c *jsonConverter) payload(s *connectapi.Schema, data []byte) (connectapi.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return connectapi.Value{}, err
	}
	if v == nil {
		if def := s.EncodedDefault(); def != nil && c.defaults {
			return connectapi.NewValue(s, def), nil
		}
		if !s.Optional() && s.EncodedDefault() == nil {
			return connectapi.Value{}, fmt.Errorf("null for %s, which is not optional", s)
		}
		return connectapi.NewValue(s, nil), nil
	}
	out := []byte{}
	var err error
	switch s.Type() {
	case connectapi.TypeString, connectapi.TypeBytes:
		var raw []byte
		if raw, err = scalarBytes(s, v); err == nil {
			out = append(out, raw...)
		}
	default:
		out, err = c.present(out, s, v)
	}
	if err != nil {
		return connectapi.Value{}, err
	}
	return connectapi.NewValue(s, out), nil
}

// nested appends a value inside another.
func (c *jsonConverter) nested(out []byte, s *connectapi.Schema, v any) ([]byte, error) {
	if v == nil {
		switch def := s.EncodedDefault(); {
		case def != nil && (c.defaults || !s.Optional()):
			return connectapi.AppendNested(out, connectapi.NewValue(s, def))
		case s.Optional():
			return connectapi.AppendNull(out), nil
		}
		return out, fmt.Errorf("null for %s, which is not optional", s)
	}
	if s.Optional() {
		out = connectapi.AppendNotNull(out)
	}
	return c.present(out, s, v)
}

func (c *jsonConverter) present(out []byte, s *connectapi.Schema, v any) ([]byte, error) {
	switch s.Type() {
	case connectapi.TypeInt8, connectapi.TypeInt16, connectapi.TypeInt32, connectapi.TypeInt64:
		n, err := integer(s, v)
		return connectapi.AppendInt(out, n), err
	case connectapi.TypeFloat32, connectapi.TypeFloat64:
		f, err := float(s, v)
		if s.Type() == connectapi.TypeFloat32 {
			return connectapi.AppendFloat32(out, float32(f)), err
		}
		return connectapi.AppendFloat64(out, f), err
	case connectapi.TypeBoolean:
		b, ok := v.(bool)
		if !ok {
			return out, mismatch(s, v)
		}
		return connectapi.AppendBool(out, b), nil
	case connectapi.TypeString, connectapi.TypeBytes:
		raw, err := scalarBytes(s, v)
		return connectapi.AppendBytes(out, raw), err
	case connectapi.TypeStruct:
		return c.structValue(out, s, v)
	case connectapi.TypeArray:
		return c.arrayValue(out, s, v)
	case connectapi.TypeMap:
		return c.mapValue(out, s, v)
	}
	return out, mismatch(s, v)
}

func mismatch(s *connectapi.Schema, v any) error {
	b, _ := json.Marshal(v) // came from JSON
	return fmt.Errorf("%.60s is no value of %s", b, s)
}

var intRange = map[connectapi.Type]int64{
	connectapi.TypeInt8: math.MaxInt8, connectapi.TypeInt16: math.MaxInt16, connectapi.TypeInt32: math.MaxInt32, connectapi.TypeInt64: math.MaxInt64,
}

func integer(s *connectapi.Schema, v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, mismatch(s, v)
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if limit := intRange[s.Type()]; err != nil || i > limit || i < -limit-1 {
		return 0, mismatch(s, v)
	}
	return i, nil
}

func float(s *connectapi.Schema, v any) (float64, error) {
	switch n := v.(type) {
	case json.Number:
		f, err := n.Float64()
		if err != nil {
			return 0, mismatch(s, v)
		}
		return f, nil
	case string:
		switch n {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
	}
	return 0, mismatch(s, v)
}

// scalarBytes gives a string's bytes, or bytes from base64, or a Decimal's from a number or base64.
func scalarBytes(s *connectapi.Schema, v any) ([]byte, error) {
	if n, ok := v.(json.Number); ok && s.Name() == connectapi.DecimalName {
		scale, err := s.Scale()
		if err != nil {
			return nil, err
		}
		d, err := connectapi.ParseDecimal(n.String())
		if err != nil {
			return nil, mismatch(s, v)
		}
		d, exact := d.Rescale(scale)
		if !exact {
			return nil, fmt.Errorf("%s has more than the schema's %d digits after the point", n, scale)
		}
		return connectapi.AppendUnscaled(nil, d.Unscaled), nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, mismatch(s, v)
	}
	if s.Type() == connectapi.TypeString {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("bytes must be base64: %w", err)
	}
	return b, nil
}

func (c *jsonConverter) structValue(out []byte, s *connectapi.Schema, v any) (_ []byte, err error) {
	m, ok := v.(map[string]any)
	if !ok {
		return out, mismatch(s, v)
	}
	for _, f := range s.Fields() {
		if out, err = c.nested(out, f.Schema, m[f.Name]); err != nil {
			return out, fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return out, nil
}

func (c *jsonConverter) arrayValue(out []byte, s *connectapi.Schema, v any) (_ []byte, err error) {
	a, ok := v.([]any)
	if !ok {
		return out, mismatch(s, v)
	}
	if len(a) > 0 {
		out = connectapi.AppendBlock(out, len(a))
	}
	for i, e := range a {
		if out, err = c.nested(out, s.Elem(), e); err != nil {
			return out, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return connectapi.AppendEnd(out), nil
}

// mapValue reads an object, or an array of [key, value] when keys are no strings.
func (c *jsonConverter) mapValue(out []byte, s *connectapi.Schema, v any) (_ []byte, err error) {
	type entry struct{ k, v any }
	var entries []entry
	switch m := v.(type) {
	case map[string]any:
		for k, e := range m {
			entries = append(entries, entry{k, e})
		}
		sort.Slice(entries, func(i, j int) bool { return entries[i].k.(string) < entries[j].k.(string) })
	case []any:
		for _, p := range m {
			kv, ok := p.([]any)
			if !ok || len(kv) != 2 {
				return out, mismatch(s, v)
			}
			entries = append(entries, entry{kv[0], kv[1]})
		}
	default:
		return out, mismatch(s, v)
	}
	if len(entries) > 0 {
		out = connectapi.AppendBlock(out, len(entries))
	}
	for _, e := range entries {
		if out, err = c.nested(out, s.Keys(), e.k); err != nil {
			return out, fmt.Errorf("a map key: %w", err)
		}
		if out, err = c.nested(out, s.Elem(), e.v); err != nil {
			return out, fmt.Errorf("map key %v: %w", e.k, err)
		}
	}
	return connectapi.AppendEnd(out), nil
}
