package connectapi

import (
	"bytes"
	"slices"
	"strconv"
)

// Type is the type of a schema, Kafka Connect's.
type Type uint8

// The types of Kafka Connect, in the order of its enumeration and of the wire.
const (
	TypeInt8 Type = iota
	TypeInt16
	TypeInt32
	TypeInt64
	TypeFloat32
	TypeFloat64
	TypeBoolean
	TypeString
	TypeBytes
	TypeArray
	TypeMap
	TypeStruct
)

var typeNames = [...]string{
	"int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes", "array", "map", "struct",
}

// String returns Kafka Connect's name of the type, in lower case.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type " + strconv.Itoa(int(t))
}

// Primitive says whether values of the type hold no other values.
func (t Type) Primitive() bool { return t <= TypeBytes }

// ParseType finds a type by the name String gives.
func ParseType(name string) (Type, bool) {
	i := slices.Index(typeNames[:], name)
	return Type(max(i, 0)), i >= 0
}

// MaxSchemaDepth bounds how deep schemas nest, so that walking a value needs a bounded stack.
const MaxSchemaDepth = 100

// Schema describes a value. It is immutable (I1) and safe for use by many goroutines; make one with a [Builder] or take a
// ready one ([Int32Schema], [OptionalStringSchema]). A nil *Schema means "no schema": the value is JSON.
type Schema struct {
	typ      Type
	optional bool
	name     string
	version  int32
	doc      string
	params   []Parameter // sorted by key
	def      []byte      // root form; nil: none
	fields   []Field
	index    map[string]int
	keys     *Schema
	elem     *Schema

	fingerprint uint64
	minSize     int // least bytes inside another value
	depth       int
}

// Parameter is a key and value that give a schema more meaning, such as a Decimal's scale.
type Parameter struct{ Key, Value string }

// Field is a named part of a struct.
type Field struct {
	Name   string
	Index  int // its place in the struct, from 0
	Schema *Schema
}

// Type returns the type of values.
func (s *Schema) Type() Type { return s.typ }

// Optional says whether null is a value.
func (s *Schema) Optional() bool { return s.optional }

// Name returns the schema's name, a logical type's or a struct's; empty: none.
func (s *Schema) Name() string { return s.name }

// Version returns the version; 0: none.
func (s *Schema) Version() int32 { return s.version }

// Doc returns the documentation; empty: none.
func (s *Schema) Doc() string { return s.doc }

// Parameters returns the parameters sorted by key. Callers must not change the slice.
func (s *Schema) Parameters() []Parameter { return s.params }

// Parameter returns the value of one parameter.
func (s *Schema) Parameter(key string) (string, bool) {
	for _, p := range s.params {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// HasDefault says whether a default other than null is set.
func (s *Schema) HasDefault() bool { return s.def != nil }

// EncodedDefault returns the default in root form; nil: none. Callers must not change it.
func (s *Schema) EncodedDefault() []byte { return s.def }

// Default returns the default as a Go value; nil: none.
func (s *Schema) Default() any {
	if s.def == nil {
		return nil
	}
	v, err := DecodeBytes(s, s.def)
	if err != nil {
		return nil // cannot be: Build decoded it
	}
	return v
}

// Fields returns a struct's fields in order. Callers must not change the slice.
func (s *Schema) Fields() []Field { return s.fields }

// Field finds a struct's field by name.
func (s *Schema) Field(name string) (Field, bool) {
	i, ok := s.lookup(name)
	if !ok {
		return Field{}, false
	}
	return s.fields[i], true
}

// FieldIndex returns the place of a struct's field, or -1.
func (s *Schema) FieldIndex(name string) int {
	i, ok := s.lookup(name)
	if !ok {
		return -1
	}
	return i
}

func (s *Schema) lookup(name string) (int, bool) {
	if s.index != nil {
		i, ok := s.index[name]
		return i, ok
	}
	for i := range s.fields {
		if s.fields[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// Keys returns the schema of a map's keys, otherwise nil.
func (s *Schema) Keys() *Schema { return s.keys }

// Elem returns the schema of a map's values or an array's elements, otherwise nil.
func (s *Schema) Elem() *Schema { return s.elem }

// Fingerprint returns a number equal for equal schemas and, but for a chance in 2^64, different for others: a cheap key for
// caches. A nil schema's is 0. It is stable within a version of Penstock, no promise between versions.
func (s *Schema) Fingerprint() uint64 {
	if s == nil {
		return 0
	}
	return s.fingerprint
}

// Equal says whether both describe the same values in the same words, as Kafka Connect's ConnectSchema.equals does
// (documentation, defaults and parameters count).
func (s *Schema) Equal(o *Schema) bool {
	switch {
	case s == o:
		return true
	case s == nil || o == nil || s.fingerprint != o.fingerprint:
		return false
	}
	if s.typ != o.typ || s.optional != o.optional || s.name != o.name || s.version != o.version || s.doc != o.doc ||
		!bytes.Equal(s.def, o.def) || (s.def == nil) != (o.def == nil) || !slices.Equal(s.params, o.params) ||
		len(s.fields) != len(o.fields) || !s.keys.Equal(o.keys) || !s.elem.Equal(o.elem) {
		return false
	}
	for i := range s.fields {
		if s.fields[i].Name != o.fields[i].Name || !s.fields[i].Schema.Equal(o.fields[i].Schema) {
			return false
		}
	}
	return true
}

// String returns the schema in Kafka Connect's short form, e.g. Schema{com.example.Value:STRUCT}.
func (s *Schema) String() string {
	if s == nil {
		return "no schema"
	}
	t := s.typ.String()
	if s.name != "" {
		t = s.name + ":" + t
	}
	return "Schema{" + t + "}"
}
