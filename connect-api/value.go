package connectapi

import (
	"encoding/json"
	"fmt"
	"math"
)

// Value is an encoded value and its schema: nothing is decoded until asked for. The bytes are in root form, wherever the
// value came from. The zero Value is null without a schema. Values point into their batch (I5): Clone what must stay.
type Value struct {
	schema *Schema
	data   []byte // nil: null
}

// NewValue wraps bytes in root form; nil is null. They are not checked: methods that look inside return errors.
func NewValue(s *Schema, encoded []byte) Value { return Value{s, encoded} }

// Schema returns the schema; nil: none, the bytes are JSON.
func (v Value) Schema() *Schema { return v.schema }

// IsNull says whether the value is null.
func (v Value) IsNull() bool { return v.data == nil }

// Encoded returns the bytes in root form; nil for null. Callers must not change them.
func (v Value) Encoded() []byte { return v.data }

// Clone returns the value with bytes of its own.
func (v Value) Clone() Value {
	if v.data != nil {
		v.data = append([]byte{}, v.data...)
	}
	return v
}

// Decode returns the Go form of the value.
func (v Value) Decode() (any, error) { return DecodeBytes(v.schema, v.data) }

// Reader returns a cursor over the bytes, for all types but bytes and strings.
func (v Value) Reader() Reader { return NewReader(v.data) }

// Field goes down a path of struct fields (of members of JSON objects, without a schema) and returns what it finds. It
// decodes nothing but the way there. Null on the way gives the null of the field asked for. A name that no field has is a
// [ValueError].
func (v Value) Field(path ...string) (Value, error) {
	if v.schema == nil {
		return v.jsonField(path)
	}
	for at, name := range path {
		s := v.schema
		i, ok := -1, false
		if s.typ == TypeStruct {
			i, ok = s.lookup(name)
		}
		if !ok {
			return Value{}, &ValueError{Path: path[:at+1], Problem: "no such field in " + s.String()}
		}
		if v.data == nil {
			v = Value{schema: s.fields[i].Schema}
			continue
		}
		f, err := v.FieldAt(i)
		if err != nil {
			return Value{}, within(name, err)
		}
		v = f
	}
	return v, nil
}

// FieldAt returns the field of a struct at place i.
func (v Value) FieldAt(i int) (Value, error) {
	s := v.schema
	if s == nil || s.typ != TypeStruct || i < 0 || i >= len(s.fields) {
		return Value{}, &ValueError{Problem: fmt.Sprintf("no field %d in %s", i, s)}
	}
	if v.data == nil {
		return Value{schema: s.fields[i].Schema}, nil
	}
	off := 0
	for j := range s.fields[:i] {
		if off = skipFast(v.data, off, s.fields[j].Schema); off < 0 {
			break
		}
	}
	r := Reader{buf: v.data, off: max(off, 0)}
	if off < 0 { // once more, to say what is wrong, or to read what is unusual
		for j := range s.fields[:i] {
			r.Skip(s.fields[j].Schema)
		}
	}
	f := r.Value(s.fields[i].Schema)
	return f, r.err
}

func (v Value) jsonField(path []string) (Value, error) {
	for at, name := range path {
		if v.data == nil || string(v.data) == "null" {
			return Value{}, nil
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v.data, &m); err != nil {
			return Value{}, &ValueError{Path: path[:at], Problem: "not a JSON object"}
		}
		f, ok := m[name]
		if !ok {
			return Value{}, &ValueError{Path: path[:at+1], Problem: "no such member"}
		}
		v.data = f
	}
	if string(v.data) == "null" {
		v.data = nil
	}
	return v, nil
}

// Span is where a field lies in its struct's bytes: [From, To), with the union of an optional field and the length of
// bytes and strings, so that spans can be copied between structs whose fields have equal schemas.
type Span struct{ From, To int }

// Spans appends where each field of a struct lies.
func (v Value) Spans(dst []Span) ([]Span, error) {
	if v.schema == nil || v.schema.typ != TypeStruct || v.data == nil {
		return dst, &ValueError{Problem: "not a struct: " + v.schema.String()}
	}
	r := NewReader(v.data)
	for i := range v.schema.fields {
		from := r.off
		r.Skip(v.schema.fields[i].Schema)
		dst = append(dst, Span{from, r.off})
	}
	if r.err == nil && r.Len() > 0 {
		r.fail(fmt.Sprintf("%d bytes too many", r.Len()))
	}
	return dst, r.err
}

// Check walks the whole value and returns what is wrong with its bytes.
func (v Value) Check() error {
	if v.data == nil {
		return nil
	}
	if v.schema == nil {
		if !json.Valid(v.data) {
			return &ValueError{Problem: "a value without a schema is not JSON"}
		}
		return nil
	}
	if v.schema.typ == TypeString || v.schema.typ == TypeBytes {
		return nil
	}
	r := NewReader(v.data)
	r.skipPresent(v.schema)
	if r.err == nil && r.Len() > 0 {
		r.fail(fmt.Sprintf("%d bytes too many", r.Len()))
	}
	return r.err
}

func (v Value) wrong(want string) error {
	if v.data == nil {
		return &ValueError{Problem: "null where " + want + " is wanted"}
	}
	return &ValueError{Problem: fmt.Sprintf("%s where %s is wanted", v.schema, want)}
}

// Int64 returns an integer of any width. Without a schema the JSON must be an integer.
func (v Value) Int64() (int64, error) {
	if v.data != nil {
		if v.schema == nil {
			d, err := decodeJSON(v.data)
			if n, ok := d.(int64); ok {
				return n, err
			}
		} else if v.schema.typ <= TypeInt64 {
			r := NewReader(v.data)
			n := r.Int()
			return n, r.err
		}
	}
	return 0, v.wrong("an integer")
}

// Float64 returns a float of any width, or an integer as one.
func (v Value) Float64() (float64, error) {
	if v.data != nil {
		if v.schema == nil {
			switch d, err := decodeJSON(v.data); n := d.(type) {
			case int64:
				return float64(n), err
			case float64:
				return n, err
			}
			return 0, v.wrong("a number")
		}
		r := NewReader(v.data)
		switch v.schema.typ {
		case TypeFloat32:
			return float64(r.Float32()), r.err
		case TypeFloat64:
			return r.Float64(), r.err
		case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
			return float64(r.Int()), r.err
		}
	}
	return math.NaN(), v.wrong("a number")
}

// Bool returns a boolean.
func (v Value) Bool() (bool, error) {
	if v.data != nil {
		if v.schema == nil {
			if d, err := decodeJSON(v.data); err == nil {
				if b, ok := d.(bool); ok {
					return b, nil
				}
			}
		} else if v.schema.typ == TypeBoolean {
			r := NewReader(v.data)
			return r.Bool(), r.err
		}
	}
	return false, v.wrong("a boolean")
}

// Text returns a string in memory of its own. For any value in its text form see [Value.AppendText].
func (v Value) Text() (string, error) {
	if v.data != nil {
		if v.schema == nil {
			var s string
			if json.Unmarshal(v.data, &s) == nil && v.data[0] == '"' {
				return s, nil
			}
		} else if v.schema.typ == TypeString {
			return string(v.data), nil
		}
	}
	return "", v.wrong("a string")
}

// Bytes returns bytes or a string's bytes; they point into the batch.
func (v Value) Bytes() ([]byte, error) {
	if v.data != nil && v.schema != nil && (v.schema.typ == TypeBytes || v.schema.typ == TypeString) {
		return v.data, nil
	}
	return nil, v.wrong("bytes")
}
