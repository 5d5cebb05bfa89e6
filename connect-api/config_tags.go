package connectapi

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	passwordType = reflect.TypeFor[Password]()
)

// ConfigOf makes a definition from a struct's tags, e.g.
//
//	File  string `connect:"file,required,format=path" doc:"File to read, line by line."`
//	Batch int32  `connect:"batch.size,default=2000,min=1" doc:"Most lines one read returns."`
//
// Options: required, default=, min=, max=, one_of=a|b, suggest=a|b, secret, class, internal, importance=high|medium|low,
// group=, order=, width=short|medium|long, display=, dependents=a|b, format=, example=. A default with a comma stands in a
// tag `default:"a,b"`. Fields are strings, bools, ints (int and int64: LONG, int32: INT, int16: SHORT), float64, []string,
// [Password] and time.Duration (LONG milliseconds). Embedded structs bring their fields. Fields without a tag are ignored.
func ConfigOf[C any]() (*ConfigDef, error) {
	d, _ := NewConfigDef()
	return d, eachField(reflect.TypeFor[C](), nil, func(f reflect.StructField, _ []int, tag string) error {
		k, err := keyOf(f, tag)
		if err != nil {
			return err
		}
		return d.Define(k)
	})
}

func eachField(t reflect.Type, at []int, visit func(f reflect.StructField, at []int, tag string) error) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("a configuration must be a struct, not %s", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(append([]int{}, at...), i)
		tag, ok := f.Tag.Lookup("connect")
		switch {
		case ok && !f.IsExported():
			return fmt.Errorf("field %s.%s has a connect tag but is not exported", t, f.Name)
		case ok:
			if err := visit(f, path, tag); err != nil {
				return err
			}
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			if err := eachField(f.Type, path, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func keyOf(f reflect.StructField, tag string) (ConfigKey, error) {
	parts := strings.Split(tag, ",")
	k := ConfigKey{Name: parts[0], Doc: f.Tag.Get("doc"), Importance: Medium}
	t, err := configType(f.Type)
	if err != nil {
		return k, fmt.Errorf("configuration field %s: %w", f.Name, err)
	}
	k.Type = t
	if d, ok := f.Tag.Lookup("default"); ok {
		k.Default = &d
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		if err := k.option(name, value); err != nil {
			return k, fmt.Errorf("configuration field %s: tag option %q: %w", f.Name, p, err)
		}
	}
	if k.Required && !strings.Contains(tag, "importance=") {
		k.Importance = High
	}
	return k, nil
}

func configType(t reflect.Type) (ConfigType, error) {
	switch {
	case t == durationType:
		return LongConfig, nil
	case t == passwordType:
		return PasswordConfig, nil
	}
	switch t.Kind() {
	case reflect.String:
		return StringConfig, nil
	case reflect.Bool:
		return BooleanConfig, nil
	case reflect.Int16:
		return ShortConfig, nil
	case reflect.Int32:
		return IntConfig, nil
	case reflect.Int, reflect.Int64:
		return LongConfig, nil
	case reflect.Float64:
		return DoubleConfig, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return ListConfig, nil
		}
	}
	return 0, fmt.Errorf("%s is no type of a configuration value", t)
}

// option applies one option of a tag.
func (k *ConfigKey) option(name, value string) error {
	var err error
	switch name {
	case "required":
		k.Required = true
	case "default":
		k.Default = &value
	case "min":
		k.Min, err = number(value)
	case "max":
		k.Max, err = number(value)
	case "one_of":
		k.OneOf = strings.Split(value, "|")
	case "suggest":
		k.Suggested = strings.Split(value, "|")
	case "dependents":
		k.Dependents = strings.Split(value, "|")
	case "secret":
		k.Type = PasswordConfig
	case "class":
		k.Type = ClassConfig
	case "int":
		k.Type = IntConfig
	case "internal":
		k.Internal = true
	case "importance":
		err = pick(&k.Importance, map[string]Importance{"high": High, "medium": Medium, "low": Low}, value)
	case "width":
		err = pick(&k.Width, map[string]Width{"none": NoWidth, "short": ShortWidth, "medium": MediumWidth, "long": LongWidth}, value)
	case "group":
		k.Group = value
	case "order":
		k.Order, err = strconv.Atoi(value)
	case "display":
		k.Display = value
	case "format":
		k.Format = value
	case "example":
		k.Example = value
	default:
		err = fmt.Errorf("no such option")
	}
	return err
}

func number(text string) (*float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	return &f, err
}

func pick[T any](to *T, names map[string]T, name string) error {
	v, ok := names[name]
	if !ok {
		return fmt.Errorf("none of the values there are")
	}
	*to = v
	return nil
}

// DecodeConfig fills a configuration struct from values as d, made by ConfigOf, parses them. Null leaves a field zero.
// Problems are joined.
func DecodeConfig[C any](d *ConfigDef, values map[string]string) (C, error) {
	var cfg C
	parsed, err := d.Parse(values)
	if err != nil {
		return cfg, err
	}
	to := reflect.ValueOf(&cfg).Elem()
	return cfg, eachField(to.Type(), nil, func(f reflect.StructField, at []int, tag string) error {
		name, _, _ := strings.Cut(tag, ",")
		setConfig(to.FieldByIndex(at), parsed[name])
		return nil
	})
}

func setConfig(to reflect.Value, v any) {
	switch x := v.(type) {
	case string:
		to.SetString(x)
	case Password:
		to.SetString(string(x))
	case bool:
		to.SetBool(x)
	case float64:
		to.SetFloat(x)
	case []string:
		to.Set(reflect.ValueOf(x).Convert(to.Type()))
	case nil:
	default:
		n, _ := toInt(v)
		if to.Type() == durationType {
			n *= int64(time.Millisecond)
		}
		to.SetInt(n)
	}
}

// EncodeConfig is the way back: base, with every key of the struct set. Zero values of keys that are absent from base and
// whose default is null stay absent.
func EncodeConfig[C any](d *ConfigDef, cfg C, base map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	from := reflect.ValueOf(&cfg).Elem()
	_ = eachField(from.Type(), nil, func(f reflect.StructField, at []int, tag string) error {
		name, _, _ := strings.Cut(tag, ",")
		k, _ := d.Key(name)
		v := from.FieldByIndex(at)
		if _, given := base[name]; !given && v.IsZero() && k != nil && k.Default == nil {
			return nil
		}
		out[name] = configText(v)
		return nil
	})
	return out
}

func configText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = v.Index(i).String()
		}
		return strings.Join(parts, ",")
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		if v.Type() == durationType {
			n /= int64(time.Millisecond)
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v.Interface())
}
