package providers

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// provider reads one value. Its errors don't hold any.
type provider interface {
	get(path, key string) (string, error)
}

// Prefix begins the worker's keys that configure providers.
const Prefix = "config.providers"

const javaPackage = "org.apache.kafka.common.config.provider."

// classes make providers out of their parameters; params are those they have.
var classes = map[string]struct {
	params []string
	make   func(params map[string]string) (provider, error)
}{
	"FileConfigProvider":      {[]string{"allowed.paths"}, func(p map[string]string) (provider, error) { a, err := allowed(p); return file{a}, err }},
	"DirectoryConfigProvider": {[]string{"allowed.paths"}, func(p map[string]string) (provider, error) { a, err := allowed(p); return folder{a}, err }},
	"EnvVarConfigProvider":    {[]string{"allowlist.pattern"}, newEnv},
}

// Providers are a worker's. A nil one resolves nothing.
type Providers struct{ byName map[string]provider }

// New reads config.providers and what belongs to it of a worker's configuration.
func New(props map[string]string) (*Providers, error) {
	p := &Providers{byName: map[string]provider{}}
	for name := range strings.SplitSeq(props[Prefix], ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		at := Prefix + "." + name + "."
		class, ok := classes[strings.TrimPrefix(props[at+"class"], javaPackage)]
		if !ok {
			return nil, fmt.Errorf("%sclass is %q: the providers known here are %s (package %s)", at, props[at+"class"],
				strings.Join(slices.Sorted(maps.Keys(classes)), ", "), strings.TrimSuffix(javaPackage, "."))
		}
		params := map[string]string{}
		for k, v := range props {
			if param, ok := strings.CutPrefix(k, at+"param."); ok {
				if !slices.Contains(class.params, param) {
					return nil, fmt.Errorf("%s: %s has no such parameter, only %s", k, props[at+"class"], strings.Join(class.params, ", "))
				}
				params[param] = v
			}
		}
		made, err := class.make(params)
		if err != nil {
			return nil, fmt.Errorf("%sparam.%w", at, err)
		}
		p.byName[name] = made
	}
	return p, nil
}

// reference is Kafka's pattern: provider, path if there are two colons, key.
var reference = regexp.MustCompile(`\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}`)

// Problem is a reference that stands for nothing (I1).
type Problem struct {
	Key       string // of the configuration
	Reference string
	Err       error
}

func (p *Problem) Error() string {
	return fmt.Sprintf("configuration %s: the reference %s can't be resolved: %v", p.Key, p.Reference, p.Err)
}

func (p *Problem) Unwrap() error { return p.Err }

// Resolve gives a configuration with values in place of references. The error joins a *Problem for each reference that stands
// for nothing, which stays in its place then.
func (p *Providers) Resolve(cfg map[string]string) (*Resolved, error) {
	r := &Resolved{raw: cfg, Values: maps.Clone(cfg)}
	if p == nil || len(p.byName) == 0 {
		return r, nil
	}
	var problems []error
	for _, k := range slices.Sorted(maps.Keys(cfg)) {
		if !strings.Contains(cfg[k], "${") || strings.HasPrefix(k, Prefix+".") {
			continue
		}
		r.Values[k] = reference.ReplaceAllStringFunc(cfg[k], func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			from, ok := p.byName[m[1]]
			if !ok {
				return ref
			}
			v, err := from.get(m[2], m[3])
			if err != nil {
				problems = append(problems, &Problem{Key: k, Reference: ref, Err: err})
				return ref
			}
			r.note(k, ref, v)
			return v
		})
	}
	return r, errors.Join(problems...)
}
