package transform

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var predicates = map[string]func(cfg map[string]string) (Predicate, error){
	"org.apache.kafka.connect.transforms.predicates.HasHeaderKey":      newHasHeader,
	"org.apache.kafka.connect.transforms.predicates.RecordIsTombstone": func(map[string]string) (Predicate, error) { return tombstone{}, nil },
	"org.apache.kafka.connect.transforms.predicates.TopicNameMatches":  newTopicMatches,
}

// PredicateClasses lists the predicate classes, sorted.
func PredicateClasses() []string { return slices.Sorted(maps.Keys(predicates)) }

func predicatesOf(cfg map[string]string, problem func(string, error)) map[string]Predicate {
	out := map[string]Predicate{}
	for _, alias := range aliases(cfg, "predicates", problem) {
		key := "predicates." + alias + ".type"
		full, ok := resolve(predicates, cfg[key])
		if !ok {
			problem(key, fmt.Errorf("Invalid value %s for configuration %s: not a known predicate; known are %s", orNull(cfg[key]), key, strings.Join(PredicateClasses(), ", ")))
			continue
		}
		p, err := predicates[full](under(cfg, "predicates."+alias+"."))
		if err != nil {
			problem(key, fmt.Errorf("predicate %s: %w", alias, err))
			continue
		}
		out[alias] = p
	}
	return out
}

type tombstone struct{}

func (tombstone) Test(r *Record) bool { return r.Value.IsNull() }

type hasHeader string

func newHasHeader(cfg map[string]string) (Predicate, error) {
	if cfg["name"] == "" {
		return nil, fmt.Errorf(`Missing required configuration "name" which has no default value.`)
	}
	return hasHeader(cfg["name"]), nil
}

func (h hasHeader) Test(r *Record) bool { _, ok := r.Header(string(h)); return ok }

type topicMatches struct{ re *regexp.Regexp }

func newTopicMatches(cfg map[string]string) (Predicate, error) {
	re, err := wholeName(cfg["pattern"])
	if err != nil {
		return nil, fmt.Errorf("Invalid value %s for configuration pattern: %w", orNull(cfg["pattern"]), err)
	}
	return topicMatches{re}, nil
}

func (m topicMatches) Test(r *Record) bool { return m.re.MatchString(r.Topic) }

// wholeName compiles a Java pattern that must match a whole name.
func wholeName(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, fmt.Errorf("a regular expression is needed")
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("not a regular expression Go's RE2 syntax knows (no look-around, no back references): %w", err)
	}
	return re, nil
}
