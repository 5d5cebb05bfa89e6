package connectapi

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

var timeType = reflect.TypeFor[time.Time]()

// SchemaOf makes a schema from a Go type: structs by their `connect:"name"` tags (without one: the field's name; "-" leaves
// it out), pointers optional, slices arrays, maps maps, time.Time a Timestamp, []byte bytes. Values of the type may then be
// added to a batch under it. The optional tag option "optional" lets a zero value of a field stand for null.
func SchemaOf[T any](name string) (*Schema, error) {
	return schemaOf(reflect.TypeFor[T](), name, 0)
}

func schemaOf(t reflect.Type, name string, depth int) (*Schema, error) {
	if depth > MaxSchemaDepth {
		return nil, fmt.Errorf("type %s holds itself", t)
	}
	if t == timeType {
		return NewTimestamp().Build()
	}
	switch t.Kind() {
	case reflect.Pointer:
		s, err := schemaOf(t.Elem(), name, depth+1)
		if err != nil {
			return nil, err
		}
		return s.AsOptional(), nil
	case reflect.Int8:
		return Int8Schema, nil
	case reflect.Int16, reflect.Uint8:
		return Int16Schema, nil
	case reflect.Int32, reflect.Uint16:
		return Int32Schema, nil
	case reflect.Int64, reflect.Int, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return Int64Schema, nil
	case reflect.Float32:
		return Float32Schema, nil
	case reflect.Float64:
		return Float64Schema, nil
	case reflect.Bool:
		return BooleanSchema, nil
	case reflect.String:
		return StringSchema, nil
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return BytesSchema, nil
		}
		e, err := schemaOf(t.Elem(), "", depth+1)
		if err != nil {
			return nil, err
		}
		return NewArray(e).Build()
	case reflect.Map:
		k, err := schemaOf(t.Key(), "", depth+1)
		if err != nil {
			return nil, err
		}
		e, err := schemaOf(t.Elem(), "", depth+1)
		if err != nil {
			return nil, err
		}
		return NewMap(k, e).Build()
	case reflect.Struct:
		b := NewStruct(name)
		for _, f := range planOf(t) {
			s, err := schemaOf(t.FieldByIndex(f.at).Type, "", depth+1)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.name, err)
			}
			if f.optional {
				s = s.AsOptional()
			}
			b.Field(f.name, s)
		}
		return b.Build()
	}
	return nil, fmt.Errorf("type %s has no schema", t)
}

// structField is a field of a tagged struct.
type structField struct {
	name     string
	at       []int
	optional bool // a zero value stands for null
}

var plans sync.Map // reflect.Type to []structField

func planOf(t reflect.Type) []structField {
	if p, ok := plans.Load(t); ok {
		return p.([]structField)
	}
	var fields []structField
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("connect"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, structField{name, []int{i}, opts == "optional"})
	}
	plans.Store(t, fields)
	return fields
}

// isWhole says whether a Go value stands for a whole struct, rather than for one field of it.
func isWhole(v any) bool {
	switch v.(type) {
	case nil, *Struct, map[string]any:
		return true
	case time.Time, Decimal:
		return false
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != timeType
}

// appendReflect encodes Go values other than Connect's: tagged structs, typed slices and maps, pointers and named types.
func appendReflect(dst []byte, s *Schema, v any) ([]byte, error) {
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer {
		if x.IsNil() {
			return dst, &ValueError{Problem: "a nil pointer for " + s.String()}
		}
		x = x.Elem()
	}
	var err error
	switch {
	case s.typ == TypeArray && (x.Kind() == reflect.Slice || x.Kind() == reflect.Array):
		if x.Len() > 0 {
			dst = AppendBlock(dst, x.Len())
		}
		for i := range x.Len() {
			if dst, err = AppendField(dst, s.elem, plainValue(x.Index(i))); err != nil {
				return dst, within(fmt.Sprintf("[%d]", i), err)
			}
		}
		return AppendEnd(dst), nil
	case s.typ == TypeMap && x.Kind() == reflect.Map:
		m := make(map[any]any, x.Len())
		for it := x.MapRange(); it.Next(); {
			m[plainValue(it.Key())] = plainValue(it.Value())
		}
		return appendMap(dst, s, m)
	case s.typ == TypeStruct && x.Kind() == reflect.Struct && x.Type() != timeType:
		return appendTagged(dst, s, x)
	}
	return dst, mismatch(s, v)
}

func appendTagged(dst []byte, s *Schema, x reflect.Value) ([]byte, error) {
	plan := planOf(x.Type())
	var err error
	for i := range s.fields {
		f := &s.fields[i]
		var v any
		for j := range plan {
			if p := &plan[(i+j)%len(plan)]; p.name == f.Name {
				e := x.FieldByIndex(p.at)
				if !p.optional || !e.IsZero() {
					v = plainValue(e)
				}
				break
			}
		}
		if dst, err = AppendField(dst, f.Schema, v); err != nil {
			return dst, within(f.Name, err)
		}
	}
	return dst, nil
}

// plainValue takes named types and pointers off a Go value.
func plainValue(x reflect.Value) any {
	for x.Kind() == reflect.Pointer || x.Kind() == reflect.Interface {
		if x.IsNil() {
			return nil
		}
		if x.Type() == reflect.TypeFor[*Struct]() {
			break
		}
		x = x.Elem()
	}
	switch x.Kind() {
	case reflect.String:
		return x.String()
	case reflect.Bool:
		return x.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return x.Int()
	case reflect.Float32, reflect.Float64:
		return x.Float()
	}
	return x.Interface()
}
