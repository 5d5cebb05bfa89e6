package connectapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ValueError is a value that does not suit its schema, or bytes that are no value. It is a data error: the record is at
// fault, not the task.
type ValueError struct {
	Path    []string // from the root to the field; empty: the root
	Problem string
}

func (e *ValueError) Error() string {
	if len(e.Path) == 0 {
		return e.Problem
	}
	return "field " + strings.Join(e.Path, ".") + ": " + e.Problem
}

// within puts a field's name before the path of an error on its way up.
func within(name string, err error) error {
	if v, ok := err.(*ValueError); ok {
		return &ValueError{Path: append([]string{name}, v.Path...), Problem: v.Problem}
	}
	return &ValueError{Path: []string{name}, Problem: err.Error()}
}

func mismatch(s *Schema, v any) error {
	return &ValueError{Problem: fmt.Sprintf("a Go %T for a value of %s", v, s)}
}

// Append appends v in root form. Integers of any Go type that fit, logical values and tagged structs are taken too. A nil
// v is an error: a null at the root has no bytes.
func Append(dst []byte, s *Schema, v any) ([]byte, error) {
	if s == nil {
		return appendJSON(dst, v)
	}
	if v == nil {
		return dst, &ValueError{Problem: "null has no bytes at the root"}
	}
	switch s.typ {
	case TypeString, TypeBytes:
		b, err := baseOf(s, v)
		if err != nil {
			return dst, &ValueError{Problem: err.Error()}
		}
		return appendRaw(dst, s, b)
	}
	return appendPresent(dst, s, v)
}

// Encode is Append into a new Value; a nil v gives the null Value, whatever the schema says.
func Encode(s *Schema, v any) (Value, error) {
	if v == nil {
		return Value{schema: s}, nil
	}
	b, err := Append([]byte{}, s, v)
	if err != nil {
		return Value{schema: s}, err
	}
	return Value{s, b}, nil
}

// AppendField appends v as it stands inside another value. A nil v takes the schema's null, else its default.
func AppendField(dst []byte, s *Schema, v any) ([]byte, error) {
	if v == nil {
		return AppendNested(dst, Value{schema: s})
	}
	if s.optional {
		dst = append(dst, 2)
	}
	return appendPresent(dst, s, v)
}

func appendPresent(dst []byte, s *Schema, v any) ([]byte, error) {
	v, err := baseOf(s, v)
	if err != nil {
		return dst, &ValueError{Problem: err.Error()}
	}
	switch s.typ {
	case TypeInt8, TypeInt16, TypeInt32, TypeInt64:
		n, ok := toInt(v)
		if !ok {
			return dst, mismatch(s, v)
		}
		if !fits(s.typ, n) {
			return dst, &ValueError{Problem: fmt.Sprintf("%d does not fit %s", n, s)}
		}
		return AppendInt(dst, n), nil
	case TypeFloat32:
		if f, ok := toFloat(v); ok {
			return AppendFloat32(dst, float32(f)), nil
		}
	case TypeFloat64:
		if f, ok := toFloat(v); ok {
			return AppendFloat64(dst, f), nil
		}
	case TypeBoolean:
		if b, ok := v.(bool); ok {
			return AppendBool(dst, b), nil
		}
	case TypeString, TypeBytes:
		switch b := v.(type) {
		case string:
			if s.typ == TypeString {
				return AppendString(dst, b), nil
			}
		case []byte:
			return AppendBytes(dst, b), nil
		}
	case TypeArray:
		return appendArray(dst, s, v)
	case TypeMap:
		return appendMap(dst, s, v)
	case TypeStruct:
		return appendStruct(dst, s, v)
	}
	return dst, mismatch(s, v)
}

// appendRaw appends bytes or a string at the root: as they are.
func appendRaw(dst []byte, s *Schema, v any) ([]byte, error) {
	switch b := v.(type) {
	case string:
		if s.typ == TypeString {
			return append(dst, b...), nil
		}
	case []byte:
		return append(dst, b...), nil
	}
	return dst, mismatch(s, v)
}

func fits(t Type, n int64) bool {
	switch t {
	case TypeInt8:
		return n == int64(int8(n))
	case TypeInt16:
		return n == int64(int16(n))
	case TypeInt32:
		return n == int64(int32(n))
	}
	return true
}

func toInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int16:
		return int64(n), true
	case int8:
		return int64(n), true
	case int:
		return int64(n), true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case uint64:
		return int64(n), n <= math.MaxInt64
	case uint:
		return int64(n), uint64(n) <= math.MaxInt64
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch f := v.(type) {
	case float64:
		return f, true
	case float32:
		return float64(f), true
	}
	return 0, false
}

func appendArray(dst []byte, s *Schema, v any) ([]byte, error) {
	a, ok := v.([]any)
	if !ok {
		return appendReflect(dst, s, v)
	}
	if len(a) > 0 {
		dst = AppendBlock(dst, len(a))
	}
	var err error
	for i, e := range a {
		if dst, err = AppendField(dst, s.elem, e); err != nil {
			return dst, within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return AppendEnd(dst), nil
}

// appendMap writes entries in the order of their encoded keys, so that equal maps have equal bytes.
func appendMap(dst []byte, s *Schema, v any) ([]byte, error) {
	type entry struct{ key, value []byte }
	var entries []entry
	add := func(k, e any) error {
		if b, ok := k.(BytesKey); ok {
			k = []byte(b)
		}
		key, err := AppendField(nil, s.keys, k)
		if err != nil {
			return within("key", err)
		}
		value, err := AppendField(nil, s.elem, e)
		if err != nil {
			return within(fmt.Sprintf("[%v]", k), err)
		}
		entries = append(entries, entry{key, value})
		return nil
	}
	switch m := v.(type) {
	case map[string]any:
		for k, e := range m {
			if err := add(k, e); err != nil {
				return dst, err
			}
		}
	case map[any]any:
		for k, e := range m {
			if err := add(k, e); err != nil {
				return dst, err
			}
		}
	default:
		return appendReflect(dst, s, v)
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	if len(entries) > 0 {
		dst = AppendBlock(dst, len(entries))
	}
	for _, e := range entries {
		dst = append(append(dst, e.key...), e.value...)
	}
	return AppendEnd(dst), nil
}

func appendStruct(dst []byte, s *Schema, v any) ([]byte, error) {
	var err error
	switch m := v.(type) {
	case *Struct:
		if m.schema != s && !m.schema.Equal(s) && len(m.schema.fields) != len(s.fields) {
			return dst, &ValueError{Problem: fmt.Sprintf("a struct of %s for %s", m.schema, s)}
		}
		for i := range s.fields {
			if dst, err = AppendField(dst, s.fields[i].Schema, m.values[i]); err != nil {
				return dst, within(s.fields[i].Name, err)
			}
		}
		return dst, nil
	case map[string]any:
		for k := range m {
			if _, ok := s.lookup(k); !ok {
				return dst, &ValueError{Path: []string{k}, Problem: "no such field in " + s.String()}
			}
		}
		for i := range s.fields {
			if dst, err = AppendField(dst, s.fields[i].Schema, m[s.fields[i].Name]); err != nil {
				return dst, within(s.fields[i].Name, err)
			}
		}
		return dst, nil
	}
	return appendReflect(dst, s, v)
}

// appendJSON writes a schemaless value.
func appendJSON(dst []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(dst)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return dst, &ValueError{Problem: "a value without a schema must be JSON: " + err.Error()}
	}
	return bytes.TrimSuffix(w.Bytes(), []byte{'\n'}), nil
}
