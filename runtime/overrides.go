package runtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OverridePolicy says which settings of its clients a connector may override (KIP-458). The zero value allows all.
type OverridePolicy struct {
	name    string
	allowed []string // nil: all
}

// principalSettings are those of Kafka Connect's policy Principal: who a client is.
var principalSettings = []string{"security.protocol", "sasl.jaas.config", "sasl.mechanism"}

// NewOverridePolicy reads connector.client.config.override.policy, an alias or a class name of Kafka Connect's; list is what
// Allowlist allows.
func NewOverridePolicy(class string, list []string) (OverridePolicy, error) {
	name := strings.TrimSuffix(class[strings.LastIndexByte(class, '.')+1:], "ConnectorClientConfigOverridePolicy")
	switch name {
	case "All", "":
		return OverridePolicy{}, nil
	case "None":
		return OverridePolicy{name, []string{}}, nil
	case "Principal":
		return OverridePolicy{name, principalSettings}, nil
	case "Allowlist":
		return OverridePolicy{name, append([]string{}, list...)}, nil
	}
	return OverridePolicy{}, fmt.Errorf("Invalid value %s for configuration connector.client.config.override.policy: must be All, None, Principal or Allowlist", class)
}

// refused gives an error for each key of a connector's configuration that the policy does not let through.
func (p OverridePolicy) refused(cfg map[string]string) map[string]error {
	if p.allowed == nil {
		return nil
	}
	out := map[string]error{}
	for k := range cfg {
		for _, client := range []string{"producer", "consumer", "admin"} {
			if setting, ok := strings.CutPrefix(k, client+".override."); ok && !slices.Contains(p.allowed, setting) {
				out[k] = fmt.Errorf("The '%s' policy does not allow '%s' to be overridden in the connector configuration.", p.name, setting)
			}
		}
	}
	return out
}

// check is refused for a task, whose connector may have been made under another policy.
func (p OverridePolicy) check(cfg map[string]string) error {
	refused := p.refused(cfg)
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(refused)) {
		errs = append(errs, fmt.Errorf("%s: %w", k, refused[k]))
	}
	return errors.Join(errs...)
}
