package transform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

type class struct {
	def  *connectapi.ConfigDef
	make func(cfg map[string]any) (Transform, error)
}

var transforms = map[string]class{
	"io.debezium.transforms.ExtractNewRecordState":           {unwrapDef, newUnwrap},
	"org.apache.kafka.connect.transforms.ExtractField$Key":   {extractDef, newExtract(true)},
	"org.apache.kafka.connect.transforms.ExtractField$Value": {extractDef, newExtract(false)},
	"org.apache.kafka.connect.transforms.RegexRouter":        {routerDef, newRouter},
}

// Classes lists the transform classes, sorted.
func Classes() []string { return slices.Sorted(maps.Keys(transforms)) }

// Resolve finds a transform by its class name, with or without package.
func Resolve(name string) (string, bool) { return resolve(transforms, name) }

func resolve[T any](table map[string]T, name string) (string, bool) {
	if _, ok := table[name]; ok {
		return name, true
	}
	for full := range table {
		if full[strings.LastIndexByte(full, '.')+1:] == name {
			return full, true
		}
	}
	return "", false
}

// Definition gives a transform's own keys.
func Definition(name string) (*connectapi.ConfigDef, error) {
	full, ok := Resolve(name)
	if !ok {
		return nil, fmt.Errorf("transform class %s is not known; known are %s", name, strings.Join(Classes(), ", "))
	}
	return transforms[full].def, nil
}

// Chain applies a connector's transforms in order.
type Chain struct {
	steps []step
}

type step struct {
	alias  string
	do     Transform
	when   Predicate // nil: always
	negate bool
}

// Empty tells that the chain changes nothing, so that records need not be looked at.
func (c *Chain) Empty() bool { return len(c.steps) == 0 }

// Apply runs a record through; keep false: a transform dropped it. An error names the transform (I2).
func (c *Chain) Apply(r *Record) (keep bool, err error) {
	for i := range c.steps {
		s := &c.steps[i]
		if s.when != nil && s.when.Test(r) == s.negate {
			continue
		}
		keep, err := s.do.Apply(r)
		if err != nil {
			return false, connectapi.DataError(fmt.Errorf("transform %s: %w", s.alias, err))
		}
		if !keep {
			return false, nil
		}
	}
	return true, nil
}

// Problem is a wrong configuration key of a chain.
type Problem struct {
	Key string
	Err error
}

func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap gives the cause.
func (p *Problem) Unwrap() error { return p.Err }

// New makes the chain of a connector configuration: the keys transforms, transforms.<alias>.*, predicates and
// predicates.<alias>.*. All problems are returned, joined, each a *Problem.
func New(cfg map[string]string) (*Chain, error) {
	c := &Chain{}
	var errs []error
	problem := func(key string, err error) { errs = append(errs, &Problem{key, err}) }
	preds := predicatesOf(cfg, problem)
	for _, alias := range aliases(cfg, "transforms", problem) {
		prefix := "transforms." + alias + "."
		s := step{alias: alias}
		name := cfg[prefix+"type"]
		full, ok := Resolve(name)
		if !ok {
			problem(prefix+"type", fmt.Errorf("Invalid value %s for configuration %stype: not a known transform; known are %s", orNull(name), prefix, strings.Join(Classes(), ", ")))
			continue
		}
		own := under(cfg, prefix)
		parsed, err := transforms[full].def.Parse(own)
		if err == nil {
			s.do, err = transforms[full].make(parsed)
		}
		if err != nil {
			ownProblems(prefix, alias, err, problem)
			continue
		}
		if !s.bind(own, prefix, preds, problem) {
			continue
		}
		c.steps = append(c.steps, s)
	}
	return c, errors.Join(errs...)
}

// ownProblems tells what is wrong with a transform's own keys, each under its key.
func ownProblems(prefix, alias string, err error, problem func(string, error)) {
	found, rest := connectapi.FindingsOf(err)
	for _, f := range found {
		for _, text := range f.Errors {
			problem(prefix+f.Key, fmt.Errorf("transform %s: %s", alias, text))
		}
	}
	if rest != nil || len(found) == 0 {
		problem(prefix+"type", fmt.Errorf("transform %s: %w", alias, err))
	}
}

// bind attaches the predicate a transform names.
func (s *step) bind(own map[string]string, prefix string, preds map[string]Predicate, problem func(string, error)) bool {
	name, negate := own["predicate"], own["negate"]
	if name == "" {
		if negate != "" {
			problem(prefix+"negate", fmt.Errorf("Invalid value %s for configuration %snegate: there is no %spredicate to negate", negate, prefix, prefix))
			return false
		}
		return true
	}
	p, ok := preds[name]
	if !ok {
		problem(prefix+"predicate", fmt.Errorf("Invalid value %s for configuration %spredicate: no predicate of this name in the key predicates", name, prefix))
		return false
	}
	s.when, s.negate = p, strings.EqualFold(negate, "true")
	return true
}

// aliases reads a list of unique names.
func aliases(cfg map[string]string, key string, problem func(string, error)) []string {
	var out []string
	for a := range strings.SplitSeq(cfg[key], ",") {
		a = strings.TrimSpace(a)
		switch {
		case a == "":
		case slices.Contains(out, a):
			problem(key, fmt.Errorf("Invalid value %s for configuration %s: %s is named twice", cfg[key], key, a))
		default:
			out = append(out, a)
		}
	}
	return out
}

func under(cfg map[string]string, prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range cfg {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func must(d *connectapi.ConfigDef, err error) *connectapi.ConfigDef {
	if err != nil {
		panic(err) // a mistake in a table of this package
	}
	return d
}

func ptr[T any](v T) *T { return &v }
