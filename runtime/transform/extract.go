package transform

import (
	"errors"
	"fmt"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var extractDef = must(connectapi.NewConfigDef(
	connectapi.ConfigKey{Name: "field", Type: connectapi.StringConfig, Required: true, Importance: connectapi.Medium, Doc: "Field to extract."},
	connectapi.ConfigKey{Name: "field.syntax.version", Type: connectapi.StringConfig, Default: ptr("V1"), OneOf: []string{"V1", "V2"}, Importance: connectapi.High, Doc: "V1: a name; V2: a path with dots, names with dots in backticks."},
	connectapi.ConfigKey{Name: "replace.null.with.default", Type: connectapi.BooleanConfig, Default: ptr("true"), Importance: connectapi.Medium, Doc: "Whether a null field that has a default gives the default."},
))

// extract is org.apache.kafka.connect.transforms.ExtractField.
type extract struct {
	key      bool
	path     []string
	defaults bool
}

func newExtract(key bool) func(map[string]any) (Transform, error) {
	return func(cfg map[string]any) (Transform, error) {
		field := cfg["field"].(string)
		path := []string{field}
		if cfg["field.syntax.version"] == "V2" {
			var err error
			if path, err = dotted(field); err != nil {
				return nil, err
			}
		}
		return &extract{key: key, path: path, defaults: cfg["replace.null.with.default"].(bool)}, nil
	}
}

// dotted splits a V2 path (KIP-821).
func dotted(s string) ([]string, error) {
	var path []string
	for s != "" {
		if s[0] == '`' {
			end := strings.IndexByte(s[1:], '`')
			if end < 0 {
				return nil, fmt.Errorf("Invalid value %s for configuration field: a backtick is not closed", s)
			}
			path = append(path, s[1:1+end])
			s = strings.TrimPrefix(s[end+2:], ".")
			continue
		}
		name, rest, _ := strings.Cut(s, ".")
		path = append(path, name)
		s = rest
	}
	return path, nil
}

func (t *extract) Apply(r *Record) (bool, error) {
	v := &r.Value
	if t.key {
		v = &r.Key
	}
	if v.IsNull() && v.Schema() == nil {
		return true, nil // a tombstone stays one
	}
	f, err := v.Field(t.path...)
	var unknown *connectapi.ValueError
	switch {
	case errors.As(err, &unknown) && v.Schema() == nil && strings.Contains(err.Error(), "no such member"):
		f = connectapi.Value{} // an absent member of a map is null, as in Kafka Connect
	case err != nil:
		return false, fmt.Errorf("extracting field %s: %w", strings.Join(t.path, "."), err)
	}
	if s := f.Schema(); t.defaults && f.IsNull() && s != nil && s.HasDefault() {
		f = connectapi.NewValue(s, s.EncodedDefault())
	}
	*v = f
	return true, nil
}
