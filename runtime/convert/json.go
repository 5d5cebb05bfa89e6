package convert

import (
	"bytes"
	"encoding/json"
	"fmt"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var jsonDef = must(connectapi.NewConfigDef(
	connectapi.ConfigKey{
		Name: "schemas.enable", Type: connectapi.BooleanConfig, Default: ptr("true"), Importance: connectapi.High, Group: "Schemas",
		Display: "Enable Schemas", Doc: "Include schemas within each of the serialized values and keys.",
	},
	connectapi.ConfigKey{
		Name: "schemas.cache.size", Type: connectapi.IntConfig, Default: ptr("1000"), Importance: connectapi.High, Group: "Schemas",
		Display: "Schema Cache Size", Doc: "The maximum number of schemas that can be cached in this converter instance.",
	},
	connectapi.ConfigKey{
		Name: "decimal.format", Type: connectapi.StringConfig, Default: ptr("BASE64"), Importance: connectapi.Low, Group: "Serialization",
		OneOf: []string{"BASE64", "NUMERIC", "base64", "numeric"}, Display: "Decimal Format",
		Doc: "How decimals are written: BASE64 (bytes) or NUMERIC (a JSON number with all its digits).",
	},
	connectapi.ConfigKey{
		Name: "replace.null.with.default", Type: connectapi.BooleanConfig, Default: ptr("true"), Importance: connectapi.Low,
		Group: "Schemas", Display: "Replace null with default",
		Doc: "Whether a null field that has a default is written as the default. False writes the null.",
	},
))

// jsonConverter is org.apache.kafka.connect.json.JsonConverter.
type jsonConverter struct {
	schemas  bool
	numeric  bool
	defaults bool
	limit    int

	buf     []byte
	written map[*connectapi.Schema][]byte // schema -> its JSON
	read    map[string]*connectapi.Schema // schema JSON -> schema
}

func newJSON(_ Kind, cfg map[string]any) (Converter, error) {
	format := cfg["decimal.format"].(string)
	return &jsonConverter{
		schemas: cfg["schemas.enable"].(bool), defaults: cfg["replace.null.with.default"].(bool),
		numeric: format == "NUMERIC" || format == "numeric", limit: int(cfg["schemas.cache.size"].(int32)),
		written: map[*connectapi.Schema][]byte{}, read: map[string]*connectapi.Schema{},
	}, nil
}

func (c *jsonConverter) Encode(_ string, v connectapi.Value) ([]byte, error) {
	if v.IsNull() && v.Schema() == nil {
		return nil, nil // I2
	}
	b := c.buf[:0]
	var err error
	if c.schemas {
		b = append(b, `{"schema":`...)
		if b, err = c.appendSchema(b, v.Schema()); err != nil {
			return nil, err
		}
		b = append(b, `,"payload":`...)
	}
	if b, err = c.appendRoot(b, v); err != nil {
		return nil, fmt.Errorf("writing a value as JSON: %w", err)
	}
	if c.schemas {
		b = append(b, '}')
	}
	c.buf = b
	return b, nil
}

func (c *jsonConverter) Decode(topic string, data []byte) (connectapi.Value, error) {
	if data == nil {
		return connectapi.Value{}, nil
	}
	if !c.schemas {
		return c.decodePlain(topic, data)
	}
	schemaJSON, payload, err := envelope(data)
	if err != nil {
		return connectapi.Value{}, connectapi.DataError(fmt.Errorf("reading a value of topic %s as JSON with schemas.enable=true: %w", topic, err))
	}
	s, err := c.schema(schemaJSON)
	if err != nil {
		return connectapi.Value{}, connectapi.DataError(fmt.Errorf("reading the schema of a value of topic %s: %w", topic, err))
	}
	if s == nil {
		if isNull(payload) {
			return connectapi.Value{}, nil
		}
		return connectapi.NewValue(nil, payload), nil
	}
	v, err := c.payload(s, payload)
	if err != nil {
		return connectapi.Value{}, connectapi.DataError(fmt.Errorf("reading a value of topic %s: %w", topic, err))
	}
	return v, nil
}

func (c *jsonConverter) decodePlain(topic string, data []byte) (connectapi.Value, error) {
	if !json.Valid(data) {
		return connectapi.Value{}, connectapi.DataError(fmt.Errorf("a value of topic %s is not JSON (JsonConverter): %.60q", topic, data))
	}
	if isNull(data) {
		return connectapi.Value{}, nil
	}
	return connectapi.NewValue(nil, data), nil
}

func isNull(b []byte) bool { return string(bytes.TrimSpace(b)) == "null" }

// envelope splits the two members; anything else tells the reader which key to set.
func envelope(data []byte) (schema, payload json.RawMessage, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		if isNull(data) {
			return json.RawMessage("null"), json.RawMessage("null"), nil
		}
		if json.Valid(data) {
			return nil, nil, fmt.Errorf(`it must be an object with exactly "schema" and "payload"; for plain JSON set schemas.enable=false on the converter`)
		}
		return nil, nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if m == nil {
		return json.RawMessage("null"), json.RawMessage("null"), nil
	}
	schema, ok1 := m["schema"]
	payload, ok2 := m["payload"]
	if !ok1 || !ok2 || len(m) != 2 {
		return nil, nil, fmt.Errorf(`it must be an object with exactly "schema" and "payload"; for plain JSON set schemas.enable=false on the converter`)
	}
	return schema, payload, nil
}
