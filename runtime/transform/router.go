package transform

import (
	"fmt"
	"regexp"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var routerDef = must(connectapi.NewConfigDef(
	connectapi.ConfigKey{Name: "regex", Type: connectapi.StringConfig, Required: true, Importance: connectapi.High, Doc: "Regular expression that the whole topic name must match."},
	connectapi.ConfigKey{Name: "replacement", Type: connectapi.StringConfig, Required: true, Importance: connectapi.High, Doc: "New topic name; $1 stands for the first group."},
))

// router is org.apache.kafka.connect.transforms.RegexRouter.
type router struct {
	re   *regexp.Regexp
	tmpl string
	seen map[string]string
}

const maxSeen = 10_000 // topics remembered

func newRouter(cfg map[string]any) (Transform, error) {
	re, err := wholeName(cfg["regex"].(string))
	if err != nil {
		return nil, connectapi.ConfigError("regex", fmt.Errorf("Invalid value %s for configuration regex: %w", cfg["regex"], err)) //nolint:staticcheck // Kafka's words
	}
	return &router{re: re, tmpl: template(cfg["replacement"].(string)), seen: map[string]string{}}, nil
}

// template turns a Java replacement ($1, ${name}, \$) into Go's.
func template(java string) string {
	var b strings.Builder
	for i := 0; i < len(java); i++ {
		switch ch := java[i]; {
		case ch == '\\' && i+1 < len(java):
			i++
			if java[i] == '$' {
				b.WriteString("$$")
			} else {
				b.WriteByte(java[i])
			}
		case ch == '$' && i+1 < len(java) && java[i+1] >= '0' && java[i+1] <= '9':
			j := i + 1
			for j < len(java) && java[j] >= '0' && java[j] <= '9' {
				j++
			}
			b.WriteString("${" + java[i+1:j] + "}")
			i = j - 1
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

func (t *router) Apply(r *Record) (bool, error) {
	to, ok := t.seen[r.Topic]
	if !ok {
		to = r.Topic
		if t.re.MatchString(r.Topic) {
			to = t.re.ReplaceAllString(r.Topic, t.tmpl)
		}
		if len(t.seen) >= maxSeen {
			clear(t.seen)
		}
		t.seen[strings.Clone(r.Topic)] = to
	}
	if to == "" {
		return false, fmt.Errorf("the new name of topic %s is empty", r.Topic)
	}
	r.Topic = to
	return true, nil
}
