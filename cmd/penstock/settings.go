package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/penstockio/penstock/runtime/providers"
	"github.com/penstockio/penstock/worker"
)

// settings are a node's configuration: one namespace of keys. A flag wins over the environment, the environment over the
// file, the file over a default.
type settings struct {
	values map[string]string
	origin map[string]string // where a value came from, for errors
}

// envPrefix begins the environment's names: PENSTOCK_PLUGIN_PATH is plugin.path.
const envPrefix = "PENSTOCK_"

// load merges file, environment and flags; known names the keys that environment names are matched with.
func load(file string, environ []string, flags map[string]string, known []string) (*settings, error) {
	s := &settings{values: map[string]string{}, origin: map[string]string{}}
	if file != "" {
		m, err := readFile(file)
		if err != nil {
			return nil, err
		}
		s.merge(m, file)
	}
	s.merge(fromEnv(environ, known), "the environment")
	s.merge(flags, "a flag")
	return s, nil
}

func (s *settings) merge(m map[string]string, origin string) {
	for k, v := range m {
		s.values[k], s.origin[k] = v, origin
	}
}

func fromEnv(environ, known []string) map[string]string {
	names := map[string]string{}
	for _, k := range known {
		names[envName(k)] = k
	}
	out := map[string]string{}
	for _, e := range environ {
		name, v, _ := strings.Cut(e, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || rest == "PLUGIN" { // PENSTOCK_PLUGIN is the plugin protocol's cookie
			continue
		}
		k, ok := names[name]
		if !ok {
			k = strings.ToLower(strings.ReplaceAll(rest, "_", "."))
		}
		out[k] = v
	}
	return out
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

func readFile(file string) (map[string]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	switch ext := filepath.Ext(file); ext {
	case ".properties":
		m, err := providers.Properties(string(b))
		if err != nil {
			return nil, fmt.Errorf("reading the configuration %s, %w", file, err)
		}
		return m, nil
	case ".yaml", ".yml":
		return flatYAML(file, b)
	default:
		return nil, fmt.Errorf("reading the configuration %s: its name must end in .properties or .yaml, not %q", file, ext)
	}
}

// flatYAML reads nested maps as dotted keys, lists as comma separated values.
func flatYAML(file string, b []byte) (map[string]string, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(b, &tree); err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", file, err)
	}
	out := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, e := range x {
				walk(strings.TrimPrefix(prefix+"."+k, "."), e)
			}
		case []any:
			parts := make([]string, len(x))
			for i, e := range x {
				parts[i] = fmt.Sprint(e)
			}
			out[prefix] = strings.Join(parts, ",")
		case nil:
			out[prefix] = ""
		default:
			out[prefix] = fmt.Sprint(x)
		}
	}
	walk("", tree)
	return out, nil
}

// resolve puts values in place of references of config.providers. What it gives hides them in errors.
func (s *settings) resolve() (*providers.Resolved, error) {
	p, err := providers.New(s.values)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	res, err := p.Resolve(s.values)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	s.values = res.Values
	return res, nil
}

// openPrefixes begin keys that are not listed one by one.
var openPrefixes = []string{
	"producer.", "consumer.", "admin.", "key.converter.", "value.converter.", "header.converter.", "config.storage.", "offset.storage.",
	"status.storage.", "security.", "ssl.", "sasl.", "client.id", "metadata.max.age.ms", "request.timeout.ms", "connections.max.idle.ms", "broker.", providers.Prefix + ".",
}

// unknown lists keys that nothing reads, each with the known name it may be a misspelling of.
func (s *settings) unknown(known []string) []string {
	var out []string
	for k := range s.values {
		if contains(known, k) || hasOpenPrefix(k) || len(worker.Ignored(map[string]string{k: ""})) > 0 {
			continue // the latter are told of with their reason
		}
		problem := fmt.Sprintf("%s (from %s) is not a known key", k, s.origin[k])
		if near := nearest(k, known); distance(k, near) <= len(k)/3 { // farther ones are no typos
			problem += "; did you mean " + near + "?"
		}
		out = append(out, problem)
	}
	sort.Strings(out)
	return out
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func hasOpenPrefix(k string) bool {
	for _, p := range openPrefixes {
		if strings.HasPrefix(k, p) {
			return true
		}
	}
	return false
}

func nearest(k string, known []string) string {
	best, at := 1<<30, ""
	for _, o := range known {
		if d := distance(k, o); d < best {
			best, at = d, o
		}
	}
	return at
}

// distance is how many edits lead from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost = min(prev, row[j], row[j+1]) + 1
			}
			prev, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// under gives the keys behind a prefix.
func (s *settings) under(prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range s.values {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}

func (s *settings) or(key, otherwise string) string {
	if v, ok := s.values[key]; ok && v != "" {
		return v
	}
	return otherwise
}
