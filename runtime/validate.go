package runtime

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/runtime/convert"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/runtime/providers"
	"github.com/penstockio/penstock/runtime/transform"
)

// ErrNoClass is a configuration without connector.class.
var ErrNoClass = errors.New("connector.class: the configuration does not say which connector it is for")

// Item is what validation says of one key.
type Item struct {
	Key   *connectapi.ConfigKey // nil: a value without a definition
	Value connectapi.ConfigValue
	Text  *string // the value as text; secrets hidden; nil: null
}

// Validation is the outcome for a whole configuration.
type Validation struct {
	Plugin *plugins.Plugin
	Items  []Item
	Groups []string
}

// Errors lists all error texts, in order.
func (v *Validation) Errors() []string {
	var out []string
	for _, it := range v.Items {
		out = append(out, it.Value.Errors...)
	}
	return out
}

// Validate checks a connector's configuration: the framework's keys, transforms, converters, and the connector's own, for
// which its plugin is started, asked (it may connect), and stopped. It answers with references where they were given, and no
// value of any.
func (r *Runtime) Validate(ctx context.Context, raw map[string]string) (*Validation, error) {
	class := raw["connector.class"]
	if class == "" {
		return nil, ErrNoClass
	}
	plugin, err := r.plugins.Find(ctx, class)
	if err != nil {
		return nil, err
	}
	res, unresolved := r.cfg.Providers.Resolve(raw)
	v, err := r.validate(ctx, plugin, res.Values, unresolved == nil)
	if err != nil {
		return nil, res.Error(err)
	}
	v.unresolved(unresolved)
	v.hide(res)
	return v, nil
}

// validate checks a resolved configuration; the plugin is asked only if it is whole.
func (r *Runtime) validate(ctx context.Context, plugin *plugins.Plugin, cfg map[string]string, whole bool) (*Validation, error) {
	v := &Validation{Plugin: plugin}
	own := plugin.Config
	var framework []connectapi.ConfigKey
	for _, k := range frameworkKeys(plugin.Sink) {
		if theirs, ok := own.Key(k.Name); !ok || theirs.Internal { // a plugin's own definition wins
			framework = append(framework, k)
		}
	}
	if err := v.add(cfg, "", framework); err != nil {
		return nil, err
	}
	v.transforms(cfg)
	if err := v.add(cfg, "", own.Keys()); err != nil {
		return nil, err
	}
	if plugin.Sink {
		for key, msgs := range sinkProblems(cfg, r.cfg.Group) {
			for _, m := range msgs {
				v.problem(key, m)
			}
		}
	}
	for key, err := range r.cfg.Overrides.refused(cfg) {
		v.problem(key, err.Error())
	}
	if whole {
		if err := r.ask(ctx, v, cfg); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"header.converter", "key.converter", "value.converter"} {
		if d, err := convert.Definition(cfg[key]); err == nil {
			if err := v.add(under(cfg, key+"."), key+".", d.Keys()); err != nil {
				return nil, err
			}
		}
	}
	if _, err := newTopics(cfg, r.cfg.TopicsEnable, r.clients, nil); !plugin.Sink && err != nil {
		v.problem("topic.creation.groups", err.Error())
	}
	return v, nil
}

// unresolved tells of references that stand for nothing.
func (v *Validation) unresolved(err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		var p *providers.Problem
		if errors.As(err, &p) {
			v.problem(p.Key, p.Error())
		}
	}
}

// hide puts references back where values would be shown.
func (v *Validation) hide(res *providers.Resolved) {
	for i := range v.Items {
		it := &v.Items[i]
		if raw, refers := res.Raw(it.Value.Name); refers && (it.Key == nil || it.Key.Type != connectapi.PasswordConfig) {
			it.Text = &raw
		}
		for _, texts := range [][]string{it.Value.Errors, it.Value.Warnings, it.Value.Recommended} {
			for j := range texts {
				texts[j] = res.Hide(texts[j])
			}
		}
	}
}

// add validates keys and appends them, named with a prefix.
func (v *Validation) add(cfg map[string]string, prefix string, keys []connectapi.ConfigKey) error {
	d, err := connectapi.NewConfigDef(keys...)
	if err != nil {
		return err
	}
	values := d.Validate(cfg)
	for i, k := range d.Keys() {
		if k.Internal {
			continue
		}
		val := values[i]
		text := textOf(&k, val, cfg)
		k.Name, val.Name = prefix+k.Name, prefix+val.Name
		v.Items = append(v.Items, Item{Key: &k, Value: val, Text: text})
		if k.Group != "" && !slices.Contains(v.Groups, k.Group) {
			v.Groups = append(v.Groups, k.Group)
		}
	}
	return nil
}

func textOf(k *connectapi.ConfigKey, val connectapi.ConfigValue, cfg map[string]string) *string {
	if k.Type == connectapi.PasswordConfig {
		if _, given := cfg[k.Name]; !given {
			return nil
		}
		return def(connectapi.Hidden)
	}
	if val.Value != nil {
		return def(connectapi.FormatConfig(val.Value))
	}
	if raw, given := cfg[k.Name]; given {
		return &raw
	}
	return nil
}

func (v *Validation) transforms(cfg map[string]string) {
	var problems []error
	if _, err := transform.New(cfg); err != nil {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			problems = joined.Unwrap()
		} else {
			problems = []error{err}
		}
	}
	for _, alias := range kafka.SplitList(cfg["transforms"]) {
		prefix := "transforms." + alias + "."
		group := "Transforms: " + alias
		keys := []connectapi.ConfigKey{
			{Name: "type", Type: connectapi.ClassConfig, Importance: connectapi.High, Group: group, Suggested: transform.Classes(), Doc: "Class of the transformation."},
			{Name: "negate", Type: connectapi.BooleanConfig, Default: def("false"), Importance: connectapi.Medium, Group: group, Doc: "Whether the predicate is negated."},
			{Name: "predicate", Type: connectapi.StringConfig, Importance: connectapi.Medium, Group: group, Doc: "Alias of the predicate that decides whether it applies."},
		}
		if d, err := transform.Definition(cfg[prefix+"type"]); err == nil {
			for _, k := range d.Keys() {
				k.Group = group
				k.Required = false // what is missing is told by the chain, once
				k.Validators = nil
				keys = append(keys, k)
			}
		}
		_ = v.add(under(cfg, prefix), prefix, keys) // definitions of this program
	}
	for _, err := range problems {
		var p *transform.Problem
		if errors.As(err, &p) {
			v.problem(p.Key, p.Error())
		} else {
			v.problem("transforms", err.Error())
		}
	}
}

// problem adds an error to a key, making an item for a key without one.
func (v *Validation) problem(key, msg string) {
	it := v.item(key)
	if !slices.Contains(it.Value.Errors, msg) {
		it.Value.Errors = append(it.Value.Errors, msg)
	}
}

func (v *Validation) item(key string) *Item {
	for i := range v.Items {
		if v.Items[i].Value.Name == key {
			return &v.Items[i]
		}
	}
	it := Item{Value: connectapi.ConfigValue{Name: key, Visible: true}}
	v.Items = slices.Insert(v.Items, 0, it) // values without a definition come first
	return &v.Items[0]
}

// ask starts the plugin and lets it look at the configuration, unless what is wrong is plain already.
func (r *Runtime) ask(ctx context.Context, v *Validation, cfg map[string]string) error {
	proc, err := r.plugins.Start(ctx, v.Plugin, r.logger(cfg["name"]).With("plugin", v.Plugin.Name))
	if err != nil {
		return err
	}
	defer func() { _ = proc.Stop(ctx) }() // it was only asked
	found, err := proc.Validate(ctx, v.Plugin.Name, cfg)
	if err != nil {
		return err
	}
	if !v.Plugin.Sink {
		for key, msgs := range exactlyOnceProblems(r.cfg.ExactlyOnce, v.Plugin, found, cfg) {
			for _, m := range msgs {
				v.problem(key, m)
			}
		}
	}
	for _, f := range found.Findings {
		key := f.Key
		if key == "" {
			key = "connector.class" // about the whole
		}
		for _, e := range f.Errors {
			v.problem(key, e)
		}
		it := v.item(key)
		if len(f.Recommended) > 0 {
			it.Value.Recommended = f.Recommended
		}
		it.Value.Warnings = append(it.Value.Warnings, f.Warnings...)
		it.Value.Visible = it.Value.Visible && !f.Hidden
	}
	return nil
}

// Definitions lists the keys of any class the node knows: a connector's with the framework's, a transform's, a converter's.
func (r *Runtime) Definitions(ctx context.Context, class string) ([]connectapi.ConfigKey, error) {
	if d, err := transform.Definition(class); err == nil {
		return d.Keys(), nil
	}
	if d, err := convert.Definition(class); err == nil {
		return d.Keys(), nil
	}
	p, err := r.plugins.Find(ctx, class)
	if err != nil {
		return nil, err
	}
	keys := slices.Clone(p.Config.Keys())
	for _, k := range frameworkKeys(p.Sink) {
		if theirs, ok := p.Config.Key(k.Name); !ok || theirs.Internal {
			keys = append(keys, k)
		}
	}
	return slices.DeleteFunc(keys, func(k connectapi.ConfigKey) bool { return k.Internal }), nil
}

// PluginClass is one line of the list of plugins.
type PluginClass struct{ Class, Type, Version string }

// Classes lists what the node knows, connectors first.
func (r *Runtime) Classes(connectorsOnly bool) []PluginClass {
	var out []PluginClass
	for _, p := range r.plugins.All() {
		out = append(out, PluginClass{p.Name, p.Type(), p.Version})
	}
	if connectorsOnly {
		return out
	}
	more := func(classes []string, kind string) {
		sort.Strings(classes)
		for _, c := range classes {
			out = append(out, PluginClass{Class: c, Type: kind})
		}
	}
	more(transform.Classes(), "transformation")
	more(transform.PredicateClasses(), "predicate")
	more(convert.Classes(), "converter")
	more(append([]string{convert.SimpleHeader}, convert.Classes()...), "header_converter")
	return out
}

// SameClass tells whether a class as sent in a path names the class of a configuration, as Kafka Connect compares them.
func SameClass(inPath, inConfig string) bool {
	trim := func(s string) string { return strings.TrimSuffix(s, "Connector") }
	return strings.HasSuffix(trim(inConfig), trim(inPath))
}
