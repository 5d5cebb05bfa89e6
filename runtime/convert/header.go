package convert

import (
	"encoding/base64"
	"unicode/utf8"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// HeaderConverter converts header values.
type HeaderConverter interface {
	EncodeHeader(v connectapi.Value) ([]byte, error)
	DecodeHeader(b []byte) connectapi.Value
}

// SimpleHeader is the class name of the default header converter.
const SimpleHeader = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

// simpleHeader writes a header's text form, bytes as base64, and reads text as a string. Unlike Java's it does not guess
// numbers from text when reading: "007" stays "007", so a value passes through unchanged.
type simpleHeader struct{ json jsonConverter }

// converterHeader uses an ordinary converter for headers.
type converterHeader struct{ Converter }

func (h converterHeader) EncodeHeader(v connectapi.Value) ([]byte, error) { return h.Encode("", v) }

func (h converterHeader) DecodeHeader(b []byte) connectapi.Value {
	v, err := h.Decode("", b)
	if err != nil {
		return connectapi.NewValue(connectapi.OptionalBytesSchema, b) // a header must not stop a record: its bytes go on
	}
	return v
}

// NewHeader makes a header converter; an empty class is SimpleHeaderConverter.
func NewHeader(class string, cfg map[string]string) (HeaderConverter, error) {
	if class == "" || class == SimpleHeader || class == "SimpleHeaderConverter" || class == "Simple" {
		return &simpleHeader{json: jsonConverter{written: map[*connectapi.Schema][]byte{}}}, nil
	}
	if _, ok := Resolve(class); !ok {
		return nil, unknown(class, SimpleHeader)
	}
	c, err := New(class, "header", cfg)
	if err != nil {
		return nil, err
	}
	return converterHeader{c}, nil
}

func (h *simpleHeader) EncodeHeader(v connectapi.Value) ([]byte, error) {
	s := v.Schema()
	switch {
	case v.IsNull():
		return nil, nil
	case s == nil, s.Type() == connectapi.TypeString:
		return v.Encoded(), nil
	case s.Type() == connectapi.TypeBytes && s.Name() == "":
		return base64.StdEncoding.AppendEncode([]byte{}, v.Encoded()), nil
	case s.Type() == connectapi.TypeStruct, s.Type() == connectapi.TypeArray, s.Type() == connectapi.TypeMap:
		return h.json.appendRoot([]byte{}, v)
	}
	return v.AppendText([]byte{})
}

func (h *simpleHeader) DecodeHeader(b []byte) connectapi.Value {
	if !utf8.Valid(b) {
		return connectapi.NewValue(connectapi.OptionalBytesSchema, b)
	}
	return connectapi.NewValue(connectapi.OptionalStringSchema, b)
}
