package connectapi

import (
	"fmt"
	"reflect"
)

// Struct is a value of a struct schema. It is not safe for use by several goroutines while one changes it.
type Struct struct {
	schema *Schema
	values []any
}

// NewStructValue returns a struct whose fields are all null.
func NewStructValue(s *Schema) *Struct {
	return &Struct{schema: s, values: make([]any, len(s.fields))}
}

// Schema returns the struct's schema.
func (v *Struct) Schema() *Schema { return v.schema }

// Len returns the number of fields.
func (v *Struct) Len() int { return len(v.values) }

// At returns the field at place i.
func (v *Struct) At(i int) any { return v.values[i] }

// SetAt sets the field at place i. Whether the value suits its schema is seen when it is encoded.
func (v *Struct) SetAt(i int, value any) { v.values[i] = value }

// Get returns a field by name; nil also if there is none of the name, or its schema's default if the field is null.
func (v *Struct) Get(name string) any {
	i, ok := v.schema.lookup(name)
	if !ok {
		return nil
	}
	if v.values[i] == nil {
		return v.schema.fields[i].Schema.Default()
	}
	return v.values[i]
}

// Put sets a field by name.
func (v *Struct) Put(name string, value any) error {
	i, ok := v.schema.lookup(name)
	if !ok {
		return fmt.Errorf("%s has no field %q", v.schema, name)
	}
	v.values[i] = value
	return nil
}

// Equal says whether schemas and all fields are equal.
func (v *Struct) Equal(o *Struct) bool {
	if v == nil || o == nil {
		return v == o
	}
	if !v.schema.Equal(o.schema) {
		return false
	}
	for i := range v.values {
		if !EqualValues(v.values[i], o.values[i]) {
			return false
		}
	}
	return true
}

// EqualValues compares two Connect values deeply. Numbers of different types differ.
func EqualValues(a, b any) bool {
	if x, ok := a.(*Struct); ok {
		y, ok := b.(*Struct)
		return ok && x.Equal(y)
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !EqualValues(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalMaps(x, y)
	case map[any]any:
		y, ok := b.(map[any]any)
		return ok && equalMaps(x, y)
	case Decimal:
		y, ok := b.(Decimal)
		return ok && x.Scale == y.Scale && x.Unscaled.Cmp(y.Unscaled) == 0
	}
	return reflect.DeepEqual(a, b)
}

func equalMaps[K comparable](x, y map[K]any) bool {
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		w, ok := y[k]
		if !ok || !EqualValues(v, w) {
			return false
		}
	}
	return true
}
