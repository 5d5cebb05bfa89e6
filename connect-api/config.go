package connectapi

import (
	"fmt"
	"slices"
	"strings"
)

// ConfigType is the type of a configuration value, Kafka Connect's.
type ConfigType uint8

// The types of Kafka's ConfigDef, in the order of the wire.
const (
	StringConfig   ConfigType = iota // string
	BooleanConfig                    // bool
	IntConfig                        // int32
	ShortConfig                      // int16
	LongConfig                       // int64
	DoubleConfig                     // float64
	ListConfig                       // []string
	ClassConfig                      // string
	PasswordConfig                   // Password
)

var configTypeNames = [...]string{"STRING", "BOOLEAN", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}

// String returns Kafka's name of the type.
func (t ConfigType) String() string {
	if int(t) < len(configTypeNames) {
		return configTypeNames[t]
	}
	return "UNKNOWN"
}

// Importance is how much a key matters.
type Importance uint8

// Kafka's importances.
const (
	High Importance = iota
	Medium
	Low
)

// String returns Kafka's name of the importance.
func (i Importance) String() string { return [...]string{"HIGH", "MEDIUM", "LOW", "LOW"}[min(i, 3)] }

// Width is how wide a form shows a value.
type Width uint8

// Kafka's widths.
const (
	NoWidth Width = iota
	ShortWidth
	MediumWidth
	LongWidth
)

// String returns Kafka's name of the width.
func (w Width) String() string {
	return [...]string{"NONE", "SHORT", "MEDIUM", "LONG", "LONG"}[min(w, 4)]
}

// Password is a secret: it prints as [hidden] (I6).
type Password string

// Hidden is what stands for a secret.
const Hidden = "[hidden]"

// String returns [hidden].
func (Password) String() string { return Hidden }

// GoString returns [hidden].
func (Password) GoString() string { return Hidden }

// MarshalText returns [hidden].
func (Password) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// ConfigKey defines one key.
type ConfigKey struct {
	Name       string
	Type       ConfigType
	Required   bool    // there is no default
	Default    *string // nil and not Required: the default is null
	Importance Importance
	Doc        string
	Group      string
	Order      int // within the group; 0: by place, -1 without a group
	Width      Width
	Display    string // empty: the name
	Dependents []string
	OneOf      []string // the only values; of a list, its elements'
	Suggested  []string // values a form may offer; others are allowed
	Min, Max   *float64
	Internal   bool   // set by Tasks, not by users
	Format     string // e.g. path, url, regex, duration
	Example    string

	// Validators check a parsed value (see the types for its Go form); nil values reach them too. Their errors are reasons:
	// the text around them is added.
	Validators []func(value any) error
	// Recommend, if set, gives the values a form offers, and Visible whether the key is shown, given the parsed others.
	Recommend func(parsed map[string]any) []string
	Visible   func(parsed map[string]any) bool
}

// ConfigDef defines the keys of a configuration, in order. Define all, then use it: from then on it is safe for use by
// many goroutines.
type ConfigDef struct {
	keys   []ConfigKey
	index  map[string]int
	groups []string
}

// NewConfigDef returns a definition of the keys.
func NewConfigDef(keys ...ConfigKey) (*ConfigDef, error) {
	d := &ConfigDef{index: map[string]int{}}
	for _, k := range keys {
		if err := d.Define(k); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Define adds a key. A second key of the name, or a default that is no valid value, is an error.
func (d *ConfigDef) Define(k ConfigKey) error {
	if d.index == nil {
		d.index = map[string]int{}
	}
	if k.Name == "" {
		return fmt.Errorf("defining a configuration key: it has no name")
	}
	if _, dup := d.index[k.Name]; dup {
		return fmt.Errorf("Configuration %s is defined twice.", k.Name)
	}
	if k.Required && k.Default != nil {
		return fmt.Errorf("defining %s: a required key has no default", k.Name)
	}
	if k.Display == "" {
		k.Display = k.Name
	}
	if k.Group != "" && !slices.Contains(d.groups, k.Group) {
		d.groups = append(d.groups, k.Group)
	}
	if k.Order == 0 {
		k.Order = -1
		if k.Group != "" {
			k.Order = 1
			for i := range d.keys {
				if d.keys[i].Group == k.Group {
					k.Order = max(k.Order, d.keys[i].Order+1)
				}
			}
		}
	}
	if k.Default != nil {
		if _, err := k.Parse(*k.Default); err != nil {
			return fmt.Errorf("defining %s: its default: %w", k.Name, err)
		}
	}
	d.index[k.Name] = len(d.keys)
	d.keys = append(d.keys, k)
	return nil
}

// Keys returns the keys in order. Callers must not change them.
func (d *ConfigDef) Keys() []ConfigKey { return d.keys }

// Groups returns the groups in the order of their first key.
func (d *ConfigDef) Groups() []string { return d.groups }

// Key finds a key by name.
func (d *ConfigDef) Key(name string) (*ConfigKey, bool) {
	i, ok := d.index[name]
	if !ok {
		return nil, false
	}
	return &d.keys[i], true
}

// Redact returns the values with those of PASSWORD keys, and of keys that are not defined but sound like secrets, hidden.
func (d *ConfigDef) Redact(values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, v := range values {
		k, ok := d.Key(name)
		if ok && k.Type == PasswordConfig || !ok && soundsSecret(name) {
			v = Hidden
		}
		out[name] = v
	}
	return out
}

func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, w := range []string{"password", "secret", "token", "credential", "jaas", "private", "keystore.key"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
