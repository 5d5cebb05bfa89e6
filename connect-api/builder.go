package connectapi

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// Builder makes a [Schema]. Its methods return it, so that calls chain; a mistake shows at Build.
type Builder struct {
	s      Schema
	params map[string]string
	def    any
	err    error
}

// NewSchema begins a schema of a primitive type.
func NewSchema(t Type) *Builder {
	b := &Builder{s: Schema{typ: t}}
	if t > TypeStruct {
		b.fail("no such type: %d", t)
	}
	return b
}

// NewStruct begins a struct; name may be empty.
func NewStruct(name string) *Builder { return &Builder{s: Schema{typ: TypeStruct, name: name}} }

// NewArray begins an array of elements of one schema.
func NewArray(elem *Schema) *Builder { return &Builder{s: Schema{typ: TypeArray, elem: elem}} }

// NewMap begins a map.
func NewMap(keys, values *Schema) *Builder {
	return &Builder{s: Schema{typ: TypeMap, keys: keys, elem: values}}
}

// Builder begins a schema that differs from s in what is set afterwards.
func (s *Schema) Builder() *Builder {
	b := &Builder{s: Schema{
		typ: s.typ, optional: s.optional, name: s.name, version: s.version, doc: s.doc,
		fields: slices.Clone(s.fields), keys: s.keys, elem: s.elem,
	}, def: s.Default()}
	for _, p := range s.params {
		b.Parameter(p.Key, p.Value)
	}
	return b
}

// AsOptional returns s if null is one of its values, else an equal schema of which it is.
func (s *Schema) AsOptional() *Schema {
	if s.optional {
		return s
	}
	return s.Builder().Optional().MustBuild()
}

// AsRequired returns s if null is none of its values, else an equal schema of which it is not.
func (s *Schema) AsRequired() *Schema {
	if !s.optional {
		return s
	}
	return s.Builder().Required().MustBuild()
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("building schema %q: "+format, append([]any{b.s.name}, args...)...)
	}
}

// Optional lets null be a value.
func (b *Builder) Optional() *Builder { b.s.optional = true; return b }

// Required, the default, takes null away.
func (b *Builder) Required() *Builder { b.s.optional = false; return b }

// Name names the schema.
func (b *Builder) Name(name string) *Builder { b.s.name = name; return b }

// Version sets the version; 0: none.
func (b *Builder) Version(v int32) *Builder { b.s.version = v; return b }

// Doc sets the documentation.
func (b *Builder) Doc(doc string) *Builder { b.s.doc = doc; return b }

// Parameter sets one parameter.
func (b *Builder) Parameter(key, value string) *Builder {
	if b.params == nil {
		b.params = map[string]string{}
	}
	b.params[key] = value
	return b
}

// Default sets the value a reader takes where none was written; nil: none.
func (b *Builder) Default(v any) *Builder { b.def = v; return b }

// Field adds a field to a struct.
func (b *Builder) Field(name string, s *Schema) *Builder {
	switch {
	case b.s.typ != TypeStruct:
		b.fail("field %q added to %s", name, b.s.typ)
	case s == nil:
		b.fail("field %q has no schema", name)
	case name == "":
		b.fail("a field without a name")
	}
	b.s.fields = append(b.s.fields, Field{Name: name, Index: len(b.s.fields), Schema: s})
	return b
}

// indexFrom is the number of fields from which a struct keeps a map of names: below, comparing strings is as quick.
const indexFrom = 9

// Build returns the schema, or the first mistake made on the way.
func (b *Builder) Build() (*Schema, error) {
	s := b.s // a copy: the builder may go on
	s.fields = slices.Clone(s.fields)
	for _, k := range slices.Sorted(maps.Keys(b.params)) {
		s.params = append(s.params, Parameter{k, b.params[k]})
	}
	if err := b.shape(&s); err != nil {
		return nil, err
	}
	if b.def != nil {
		if err := s.setDefault(b.def); err != nil {
			return nil, fmt.Errorf("building schema %q: default: %w", s.name, err)
		}
	}
	s.fingerprint = s.hash()
	return &s, nil
}

// shape checks what the type demands and computes sizes.
func (b *Builder) shape(s *Schema) error {
	switch s.typ {
	case TypeArray, TypeMap:
		if s.elem == nil || s.typ == TypeMap && s.keys == nil {
			b.fail("%s without a schema for what it holds", s.typ)
			break
		}
		s.depth = s.elem.depth + 1
		if s.keys != nil {
			s.depth = max(s.depth, s.keys.depth+1)
		}
	case TypeStruct:
		seen := make(map[string]int, len(s.fields))
		for i, f := range s.fields {
			if _, dup := seen[f.Name]; dup {
				b.fail("two fields named %q", f.Name)
			}
			seen[f.Name] = i
			if f.Schema != nil {
				s.minSize = min(s.minSize+f.Schema.minSize, 1<<30)
				s.depth = max(s.depth, f.Schema.depth+1)
			}
		}
		if len(s.fields) >= indexFrom {
			s.index = seen
		}
	}
	if s.depth > MaxSchemaDepth {
		b.fail("nested deeper than %d", MaxSchemaDepth)
	}
	switch s.typ {
	case TypeFloat32:
		s.minSize = 4
	case TypeFloat64:
		s.minSize = 8
	case TypeStruct:
	default:
		s.minSize = 1
	}
	if s.optional {
		s.minSize = 1
	}
	return b.err
}

func (s *Schema) setDefault(v any) error {
	def, err := Append([]byte{}, s, v)
	if err != nil {
		return err
	}
	s.def = def
	return nil
}

// setEncodedDefault takes a default in root form, as it comes over the wire.
func (s *Schema) setEncodedDefault(def []byte) error {
	if _, err := DecodeBytes(s, def); err != nil {
		return err
	}
	s.def = append([]byte{}, def...)
	return nil
}

// BuildWithDefault is Build with a default in root form; nil: none.
func (b *Builder) BuildWithDefault(def []byte) (*Schema, error) {
	b.def = nil
	s, err := b.Build()
	if err != nil || def == nil {
		return s, err
	}
	if err := s.setEncodedDefault(def); err != nil {
		return nil, fmt.Errorf("building schema %q: default: %w", s.name, err)
	}
	s.fingerprint = s.hash()
	return s, nil
}

// MustBuild is Build for schemas written in the source: a mistake panics.
func (b *Builder) MustBuild() *Schema {
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	return s
}

// hash folds everything Equal looks at; parts stand for themselves by their own hashes (I1).
func (s *Schema) hash() uint64 {
	h := fnv.New64a()
	var n [8]byte
	num := func(v uint64) { binary.LittleEndian.PutUint64(n[:], v); h.Write(n[:]) }
	str := func(v string) { num(uint64(len(v))); h.Write([]byte(v)) }
	num(uint64(s.typ))
	if s.optional {
		num(1)
	}
	str(s.name)
	num(uint64(uint32(s.version)))
	str(s.doc)
	for _, p := range s.params {
		str(p.Key)
		str(p.Value)
	}
	num(uint64(len(s.params)))
	if s.def != nil {
		str(string(s.def))
	}
	for _, f := range s.fields {
		str(f.Name)
		num(f.Schema.fingerprint)
	}
	num(s.keys.Fingerprint())
	num(s.elem.Fingerprint())
	return cmp.Or(h.Sum64(), 1) // 0 is no schema
}

// Schemas of the primitive types.
var (
	Int8Schema    = NewSchema(TypeInt8).MustBuild()
	Int16Schema   = NewSchema(TypeInt16).MustBuild()
	Int32Schema   = NewSchema(TypeInt32).MustBuild()
	Int64Schema   = NewSchema(TypeInt64).MustBuild()
	Float32Schema = NewSchema(TypeFloat32).MustBuild()
	Float64Schema = NewSchema(TypeFloat64).MustBuild()
	BooleanSchema = NewSchema(TypeBoolean).MustBuild()
	StringSchema  = NewSchema(TypeString).MustBuild()
	BytesSchema   = NewSchema(TypeBytes).MustBuild()

	OptionalInt8Schema    = Int8Schema.AsOptional()
	OptionalInt16Schema   = Int16Schema.AsOptional()
	OptionalInt32Schema   = Int32Schema.AsOptional()
	OptionalInt64Schema   = Int64Schema.AsOptional()
	OptionalFloat32Schema = Float32Schema.AsOptional()
	OptionalFloat64Schema = Float64Schema.AsOptional()
	OptionalBooleanSchema = BooleanSchema.AsOptional()
	OptionalStringSchema  = StringSchema.AsOptional()
	OptionalBytesSchema   = BytesSchema.AsOptional()
)
