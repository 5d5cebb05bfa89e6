package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// jsonTypes are the envelope's names of types: float and double, not float32 and float64.
var jsonTypes = map[connectapi.Type]string{
	connectapi.TypeInt8: "int8", connectapi.TypeInt16: "int16", connectapi.TypeInt32: "int32", connectapi.TypeInt64: "int64",
	connectapi.TypeFloat32: "float", connectapi.TypeFloat64: "double", connectapi.TypeBoolean: "boolean",
	connectapi.TypeString: "string", connectapi.TypeBytes: "bytes", connectapi.TypeArray: "array",
	connectapi.TypeMap: "map", connectapi.TypeStruct: "struct",
}

var typesByJSON = func() map[string]connectapi.Type {
	m := map[string]connectapi.Type{}
	for t, n := range jsonTypes {
		m[n] = t
	}
	return m
}()

// appendSchema writes a schema's JSON, made once a schema.
func (c *jsonConverter) appendSchema(b []byte, s *connectapi.Schema) ([]byte, error) {
	if s == nil {
		return append(b, "null"...), nil
	}
	j, ok := c.written[s]
	if !ok {
		var err error
		if j, err = c.schemaJSON(nil, s, ""); err != nil {
			return b, err
		}
		if len(c.written) >= max(c.limit, 1) {
			clear(c.written)
		}
		c.written[s] = j
	}
	return append(b, j...), nil
}

func (c *jsonConverter) schemaJSON(b []byte, s *connectapi.Schema, field string) (_ []byte, err error) {
	b = append(b, `{"type":"`...)
	b = append(append(b, jsonTypes[s.Type()]...), '"')
	switch s.Type() {
	case connectapi.TypeArray:
		b = append(b, `,"items":`...)
		b, err = c.schemaJSON(b, s.Elem(), "")
	case connectapi.TypeMap:
		b = append(b, `,"keys":`...)
		if b, err = c.schemaJSON(b, s.Keys(), ""); err == nil {
			b = append(b, `,"values":`...)
			b, err = c.schemaJSON(b, s.Elem(), "")
		}
	case connectapi.TypeStruct:
		b = append(b, `,"fields":[`...)
		for i, f := range s.Fields() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = c.schemaJSON(b, f.Schema, f.Name); err != nil {
				break
			}
		}
		b = append(b, ']')
	}
	if err != nil {
		return b, err
	}
	b = append(b, `,"optional":`...)
	b = strconv.AppendBool(b, s.Optional())
	if s.Name() != "" {
		b = appendQuoted(append(b, `,"name":`...), []byte(s.Name()))
	}
	if s.Version() != 0 {
		b = strconv.AppendInt(append(b, `,"version":`...), int64(s.Version()), 10)
	}
	if s.Doc() != "" {
		b = appendQuoted(append(b, `,"doc":`...), []byte(s.Doc()))
	}
	for i, p := range s.Parameters() {
		if i == 0 {
			b = append(b, `,"parameters":{`...)
		} else {
			b = append(b, ',')
		}
		b = appendQuoted(appendName(b, p.Key), []byte(p.Value))
	}
	if len(s.Parameters()) > 0 {
		b = append(b, '}')
	}
	if d := s.EncodedDefault(); d != nil {
		b = append(b, `,"default":`...)
		if b, err = c.appendRoot(b, connectapi.NewValue(s, d)); err != nil {
			return b, err
		}
	}
	if field != "" {
		b = appendQuoted(append(b, `,"field":`...), []byte(field))
	}
	return append(b, '}'), nil
}

type schemaDoc struct {
	Type       string            `json:"type"`
	Optional   bool              `json:"optional"`
	Name       string            `json:"name"`
	Version    *int32            `json:"version"`
	Doc        string            `json:"doc"`
	Parameters map[string]string `json:"parameters"`
	Default    json.RawMessage   `json:"default"`
	Field      string            `json:"field"`
	Items      *schemaDoc        `json:"items"`
	Keys       *schemaDoc        `json:"keys"`
	Values     *schemaDoc        `json:"values"`
	Fields     []*schemaDoc      `json:"fields"`
}

// schema reads a schema's JSON, once for each text.
func (c *jsonConverter) schema(b []byte) (*connectapi.Schema, error) {
	if isNull(b) {
		return nil, nil
	}
	if s, ok := c.read[string(b)]; ok {
		return s, nil
	}
	var d schemaDoc
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("a schema must be a JSON object: %w", err)
	}
	s, err := c.build(&d, 0)
	if err != nil {
		return nil, err
	}
	if len(c.read) >= max(c.limit, 1) {
		clear(c.read)
	}
	c.read[string(b)] = s
	return s, nil
}

func (c *jsonConverter) build(d *schemaDoc, depth int) (*connectapi.Schema, error) {
	if d == nil {
		return nil, fmt.Errorf("a part of the schema is missing (items, keys, values or a field)")
	}
	if depth > connectapi.MaxSchemaDepth {
		return nil, fmt.Errorf("a schema nested deeper than %d", connectapi.MaxSchemaDepth)
	}
	t, ok := typesByJSON[d.Type]
	if !ok {
		return nil, fmt.Errorf("unknown schema type %q", d.Type)
	}
	sb, err := c.begin(t, d, depth)
	if err != nil {
		return nil, err
	}
	if d.Optional {
		sb.Optional()
	}
	if d.Name != "" {
		sb.Name(d.Name)
	}
	if d.Version != nil {
		sb.Version(*d.Version)
	}
	if d.Doc != "" {
		sb.Doc(d.Doc)
	}
	for k, v := range d.Parameters {
		sb.Parameter(k, v)
	}
	s, err := sb.Build()
	if err != nil || d.Default == nil || isNull(d.Default) {
		return s, err
	}
	def, err := c.payload(s, d.Default)
	if err != nil {
		return nil, fmt.Errorf("default of %s: %w", s, err)
	}
	return sb.BuildWithDefault(def.Encoded())
}

func (c *jsonConverter) begin(t connectapi.Type, d *schemaDoc, depth int) (*connectapi.Builder, error) {
	switch t {
	case connectapi.TypeArray:
		items, err := c.build(d.Items, depth+1)
		if err != nil {
			return nil, err
		}
		return connectapi.NewArray(items), nil
	case connectapi.TypeMap:
		keys, err := c.build(d.Keys, depth+1)
		if err != nil {
			return nil, err
		}
		values, err := c.build(d.Values, depth+1)
		if err != nil {
			return nil, err
		}
		return connectapi.NewMap(keys, values), nil
	case connectapi.TypeStruct:
		sb := connectapi.NewStruct(d.Name)
		for _, f := range d.Fields {
			fs, err := c.build(f, depth+1)
			if err != nil {
				return nil, err
			}
			sb.Field(f.Field, fs)
		}
		return sb, nil
	}
	return connectapi.NewSchema(t), nil
}
