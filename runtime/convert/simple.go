package convert

import (
	"encoding/binary"
	"fmt"
	"math"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var stringDef = must(connectapi.NewConfigDef(connectapi.ConfigKey{
	Name: "converter.encoding", Type: connectapi.StringConfig, Default: ptr("UTF-8"), Importance: connectapi.High,
	OneOf: []string{"UTF-8", "UTF8", "utf-8", "utf8"}, Doc: "Character encoding of the bytes. Only UTF-8 is supported.",
}))

func ptr[T any](v T) *T { return &v }

// stringConverter writes a value's text form and reads optional strings.
type stringConverter struct{ buf []byte }

func newString(Kind, map[string]any) (Converter, error) { return &stringConverter{}, nil }

func (c *stringConverter) Encode(_ string, v connectapi.Value) ([]byte, error) {
	if v.IsNull() {
		return nil, nil
	}
	if s := v.Schema(); s != nil && s.Type() == connectapi.TypeString {
		return v.Encoded(), nil
	}
	out, err := v.AppendText(c.buf[:0])
	c.buf = out
	return nonNil(out), err
}

func (c *stringConverter) Decode(_ string, data []byte) (connectapi.Value, error) {
	return connectapi.NewValue(connectapi.OptionalStringSchema, data), nil
}

// byteArray passes bytes through.
type byteArray struct{}

func newByteArray(Kind, map[string]any) (Converter, error) { return byteArray{}, nil }

func (byteArray) Encode(_ string, v connectapi.Value) ([]byte, error) {
	if v.IsNull() {
		return nil, nil
	}
	if s := v.Schema(); s == nil || s.Type() != connectapi.TypeBytes {
		return nil, connectapi.DataError(fmt.Errorf("ByteArrayConverter converts bytes only, not %s", schemaName(s)))
	}
	return v.Encoded(), nil
}

func (byteArray) Decode(_ string, data []byte) (connectapi.Value, error) {
	return connectapi.NewValue(connectapi.OptionalBytesSchema, data), nil
}

func schemaName(s *connectapi.Schema) string {
	if s == nil {
		return "a value without a schema"
	}
	return s.String()
}

// numeric is Kafka's big-endian form of one number or boolean.
type numeric struct {
	schema *connectapi.Schema
	buf    []byte
}

func number(s *connectapi.Schema) func(Kind, map[string]any) (Converter, error) {
	return func(Kind, map[string]any) (Converter, error) { return &numeric{schema: s}, nil }
}

func (c *numeric) Encode(_ string, v connectapi.Value) ([]byte, error) {
	if v.IsNull() {
		return nil, nil
	}
	if s := v.Schema(); s == nil || s.Type() != c.schema.Type() {
		return nil, connectapi.DataError(fmt.Errorf("a converter of %s got %s", c.schema.Type(), schemaName(s)))
	}
	r := v.Reader()
	c.buf = c.buf[:0]
	switch c.schema.Type() {
	case connectapi.TypeInt16:
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(r.Int()))
	case connectapi.TypeInt32:
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(r.Int()))
	case connectapi.TypeInt64:
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(r.Int()))
	case connectapi.TypeFloat32:
		c.buf = binary.BigEndian.AppendUint32(c.buf, math.Float32bits(r.Float32()))
	case connectapi.TypeFloat64:
		c.buf = binary.BigEndian.AppendUint64(c.buf, math.Float64bits(r.Float64()))
	default:
		c.buf = connectapi.AppendBool(c.buf, r.Bool())
	}
	return c.buf, r.Err()
}

var sizes = map[connectapi.Type]int{
	connectapi.TypeInt16: 2, connectapi.TypeInt32: 4, connectapi.TypeInt64: 8,
	connectapi.TypeFloat32: 4, connectapi.TypeFloat64: 8, connectapi.TypeBoolean: 1,
}

func (c *numeric) Decode(topic string, b []byte) (connectapi.Value, error) {
	if b == nil {
		return connectapi.NewValue(c.schema, nil), nil
	}
	if len(b) != sizes[c.schema.Type()] {
		return connectapi.Value{}, connectapi.DataError(fmt.Errorf("a %s of topic %s must be %d bytes long, not %d",
			c.schema.Type(), topic, sizes[c.schema.Type()], len(b)))
	}
	var out []byte
	switch c.schema.Type() {
	case connectapi.TypeInt16:
		out = connectapi.AppendInt(nil, int64(int16(binary.BigEndian.Uint16(b))))
	case connectapi.TypeInt32:
		out = connectapi.AppendInt(nil, int64(int32(binary.BigEndian.Uint32(b))))
	case connectapi.TypeInt64:
		out = connectapi.AppendInt(nil, int64(binary.BigEndian.Uint64(b)))
	case connectapi.TypeFloat32:
		out = connectapi.AppendFloat32(nil, math.Float32frombits(binary.BigEndian.Uint32(b)))
	case connectapi.TypeFloat64:
		out = connectapi.AppendFloat64(nil, math.Float64frombits(binary.BigEndian.Uint64(b)))
	default:
		out = connectapi.AppendBool(nil, b[0] != 0)
	}
	return connectapi.NewValue(c.schema, out), nil
}

// nonNil keeps an empty value apart from null.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
