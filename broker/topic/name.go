package topic

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// MaxName is the longest topic name, as in Kafka.
const MaxName = 249

// CheckName tells why a name can't be a topic's: the error wraps kerr.InvalidTopicException.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a topic name must not be empty: %w", kerr.InvalidTopicException)
	case name == "." || name == "..":
		return fmt.Errorf("a topic can't be named %q: %w", name, kerr.InvalidTopicException)
	case len(name) > MaxName:
		return fmt.Errorf("the topic name has %d characters, the limit is %d: %w", len(name), MaxName, kerr.InvalidTopicException)
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			continue
		}
		return fmt.Errorf("topic name %q holds %q; allowed are a-z, A-Z, 0-9, '.', '_' and '-': %w", name, c, kerr.InvalidTopicException)
	}
	return nil
}

// collisionKey is equal for names that Kafka's metrics could not tell apart.
func collisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }
