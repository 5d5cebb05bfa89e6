package connectapi

import "errors"

// ConfigValue is what validation says about one key.
type ConfigValue struct {
	Name        string
	Value       any // parsed; nil: null or unparsable
	Recommended []string
	Errors      []string
	Warnings    []string
	Visible     bool
}

// Finding is what a connector says about one key beyond its definition; an empty key is about the whole configuration.
type Finding struct {
	Key         string
	Errors      []string
	Warnings    []string
	Recommended []string
	Hidden      bool
}

// Validate checks every defined key and returns what is found about each, in order.
func (d *ConfigDef) Validate(values map[string]string) []ConfigValue {
	parsed := make(map[string]any, len(d.keys))
	out := make([]ConfigValue, len(d.keys))
	for i := range d.keys {
		k := &d.keys[i]
		v, err := k.value(values)
		out[i] = ConfigValue{Name: k.Name, Value: v, Visible: true}
		parsed[k.Name] = v
		if err != nil {
			out[i].Errors = []string{err.Error()}
			out[i].Value = nil
		}
	}
	for i := range d.keys {
		k := &d.keys[i]
		switch {
		case k.Recommend != nil:
			out[i].Recommended = k.Recommend(parsed)
		case len(k.OneOf) > 0:
			out[i].Recommended = k.OneOf
		default:
			out[i].Recommended = k.Suggested
		}
		if k.Visible != nil {
			out[i].Visible = k.Visible(parsed)
		}
	}
	return out
}

// Findings returns only what is wrong, as a plugin answers it.
func (d *ConfigDef) Findings(values map[string]string) []Finding {
	var out []Finding
	for _, v := range d.Validate(values) {
		f := Finding{Key: v.Name, Errors: v.Errors, Hidden: !v.Visible}
		if k, _ := d.Key(v.Name); k.Recommend != nil {
			f.Recommended = v.Recommended
		}
		if len(f.Errors) > 0 || f.Hidden || len(f.Recommended) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// FindingsOf turns an error of a Validate function, possibly joined, into findings: each ConfigError under its key, others
// under no key. An error that is not about the configuration comes back.
func FindingsOf(err error) ([]Finding, error) {
	if err == nil {
		return nil, nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Finding
		for _, e := range j.Unwrap() {
			f, rest := FindingsOf(e)
			if rest != nil {
				return nil, rest
			}
			all = append(all, f...)
		}
		return all, nil
	}
	var p *ConfigProblem
	if errors.As(err, &p) {
		return []Finding{{Key: p.Key, Errors: []string{p.Error()}}}, nil
	}
	if e := AsError(err); e.Kind == Config {
		return []Finding{{Key: e.Key, Errors: []string{e.Error()}}}, nil
	}
	return nil, err
}
