package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// Converter converts keys or values of one task.
type Converter interface {
	// Encode gives the bytes of a record's key or value; nil is Kafka's null.
	Encode(topic string, v connectapi.Value) ([]byte, error)
	// Decode reads a key or value; the result may point into data.
	Decode(topic string, data []byte) (connectapi.Value, error)
}

// Kind tells a converter what it is used for.
type Kind string

// The kinds, as converter.type names them.
const (
	Key   Kind = "key"
	Other Kind = "value"
)

type factory struct {
	def  *connectapi.ConfigDef
	make func(kind Kind, cfg map[string]any) (Converter, error)
}

var factories = map[string]factory{
	"org.apache.kafka.connect.json.JsonConverter":            {jsonDef, newJSON},
	"org.apache.kafka.connect.storage.StringConverter":       {stringDef, newString},
	"org.apache.kafka.connect.converters.ByteArrayConverter": {emptyDef, newByteArray},
	"org.apache.kafka.connect.converters.ShortConverter":     {emptyDef, number(connectapi.OptionalInt16Schema)},
	"org.apache.kafka.connect.converters.IntegerConverter":   {emptyDef, number(connectapi.OptionalInt32Schema)},
	"org.apache.kafka.connect.converters.LongConverter":      {emptyDef, number(connectapi.OptionalInt64Schema)},
	"org.apache.kafka.connect.converters.FloatConverter":     {emptyDef, number(connectapi.OptionalFloat32Schema)},
	"org.apache.kafka.connect.converters.DoubleConverter":    {emptyDef, number(connectapi.OptionalFloat64Schema)},
	"org.apache.kafka.connect.converters.BooleanConverter":   {emptyDef, number(connectapi.OptionalBooleanSchema)},
}

var emptyDef = must(connectapi.NewConfigDef())

func must(d *connectapi.ConfigDef, err error) *connectapi.ConfigDef {
	if err != nil {
		panic(err) // a mistake in a table of this package
	}
	return d
}

// Classes lists the converter classes, sorted.
func Classes() []string { return slices.Sorted(maps.Keys(factories)) }

// Resolve finds a class by its full name, its simple name, or that without "Converter".
func Resolve(class string) (string, bool) {
	if _, ok := factories[class]; ok {
		return class, true
	}
	for full := range factories {
		simple := full[strings.LastIndexByte(full, '.')+1:]
		if class == simple || class == strings.TrimSuffix(simple, "Converter") {
			return full, true
		}
	}
	return "", false
}

// Definition gives a class's configuration keys.
func Definition(class string) (*connectapi.ConfigDef, error) {
	full, ok := Resolve(class)
	if !ok {
		return nil, unknown(class)
	}
	return factories[full].def, nil
}

// New makes a converter; cfg holds the keys behind "key.converter." or "value.converter.".
func New(class string, kind Kind, cfg map[string]string) (Converter, error) {
	full, ok := Resolve(class)
	if !ok {
		return nil, unknown(class)
	}
	f := factories[full]
	parsed, err := f.def.Parse(cfg)
	if err != nil {
		return nil, err
	}
	return f.make(kind, parsed)
}

func unknown(class string, besides ...string) error {
	return fmt.Errorf("converter class %q is not known; known are %s", class, strings.Join(append(besides, Classes()...), ", "))
}
