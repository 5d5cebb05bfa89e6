package connectapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ConfigProblem is a value that is wrong. Its text is Kafka's.
type ConfigProblem struct {
	Key     string
	Value   string // as given; hidden if secret
	Missing bool
	Reason  string
}

func (p *ConfigProblem) Error() string {
	if p.Missing {
		return fmt.Sprintf("Missing required configuration %q which has no default value.", p.Key)
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", p.Value, p.Key, p.Reason)
}

func (k *ConfigKey) problem(text, reason string) error {
	if k.Type == PasswordConfig {
		text = Hidden
	}
	return &ConfigProblem{Key: k.Name, Value: text, Reason: reason}
}

var listComma = regexp.MustCompile(`\s*,\s*`)

// Parse turns a text into the Go form of the key's type and checks it.
func (k *ConfigKey) Parse(text string) (any, error) {
	v, err := k.convert(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	return v, k.check(v, text)
}

func (k *ConfigKey) convert(t string) (any, error) {
	switch k.Type {
	case BooleanConfig:
		switch strings.ToLower(t) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, k.problem(t, "Expected value to be either true or false")
	case IntConfig, ShortConfig, LongConfig:
		bits := map[ConfigType]int{IntConfig: 32, ShortConfig: 16, LongConfig: 64}[k.Type]
		n, err := strconv.ParseInt(t, 10, bits)
		if err != nil {
			return nil, k.problem(t, "Not a number of type "+k.Type.String())
		}
		switch k.Type {
		case IntConfig:
			return int32(n), nil
		case ShortConfig:
			return int16(n), nil
		}
		return n, nil
	case DoubleConfig:
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, k.problem(t, "Not a number of type "+k.Type.String())
		}
		return f, nil
	case ListConfig:
		if t == "" {
			return []string{}, nil
		}
		return listComma.Split(t, -1), nil
	case PasswordConfig:
		return Password(t), nil
	}
	return t, nil
}

// check applies what the key demands of a parsed value.
func (k *ConfigKey) check(v any, text string) error {
	if f, ok := asNumber(v); ok {
		if k.Min != nil && f < *k.Min {
			return k.problem(text, "Value must be at least "+plain(*k.Min))
		}
		if k.Max != nil && f > *k.Max {
			return k.problem(text, "Value must be no more than "+plain(*k.Max))
		}
	}
	if len(k.OneOf) > 0 {
		switch x := v.(type) {
		case string:
			if !slices.Contains(k.OneOf, x) {
				return k.problem(x, "String must be one of: "+strings.Join(k.OneOf, ", "))
			}
		case []string:
			for _, e := range x {
				if !slices.Contains(k.OneOf, e) {
					return k.problem(e, "String must be one of: "+strings.Join(k.OneOf, ", "))
				}
			}
		}
	}
	for _, check := range k.Validators {
		if err := check(v); err != nil {
			var p *ConfigProblem
			if errors.As(err, &p) {
				return err
			}
			return k.problem(text, err.Error())
		}
	}
	return nil
}

func asNumber(v any) (float64, bool) {
	if n, ok := toInt(v); ok {
		return float64(n), true
	}
	return toFloat(v)
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// value returns a key's parsed value: given, or by default; nil for null.
func (k *ConfigKey) value(values map[string]string) (any, error) {
	text, given := values[k.Name]
	if !given {
		if k.Required {
			return nil, &ConfigProblem{Key: k.Name, Missing: true}
		}
		if k.Default == nil {
			return nil, nil
		}
		text = *k.Default
	}
	return k.Parse(text)
}

// Parse returns the typed value of every defined key: nil where the default is null. Keys that are not defined are left
// out. All problems are joined into the error.
func (d *ConfigDef) Parse(values map[string]string) (map[string]any, error) {
	out := make(map[string]any, len(d.keys))
	var problems []error
	for i := range d.keys {
		v, err := d.keys[i].value(values)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out[d.keys[i].Name] = v
	}
	return out, errors.Join(problems...)
}

// FormatConfig is the text of a parsed value, as Kafka's ConfigDef.convertToString gives it; secrets are hidden.
func FormatConfig(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case []string:
		return strings.Join(x, ",")
	case float64:
		return string(appendFloat(nil, x, 64))
	}
	return fmt.Sprint(v)
}
