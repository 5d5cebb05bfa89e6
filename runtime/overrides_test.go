package runtime

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverridePolicies(t *testing.T) {
	cfg := map[string]string{
		"producer.override.acks": "1", "consumer.override.sasl.jaas.config": "x", "admin.override.retries": "1", "consumer.override.group.id": "g", "acks": "1",
	}
	for class, refused := range map[string][]string{
		"": nil, "All": nil, "org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy": nil,
		"None":      {"admin.override.retries", "consumer.override.group.id", "consumer.override.sasl.jaas.config", "producer.override.acks"},
		"Principal": {"admin.override.retries", "consumer.override.group.id", "producer.override.acks"},
		"org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy": {"admin.override.retries", "consumer.override.group.id", "producer.override.acks"},
		"Allowlist": {"admin.override.retries", "consumer.override.sasl.jaas.config"},
	} {
		p, err := NewOverridePolicy(class, []string{"acks", "group.id"})
		if err != nil {
			t.Fatal(err)
		}
		got := p.refused(cfg)
		if d := cmp.Diff(refused, slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("%s: %s", class, d)
		}
		if err := p.check(cfg); (err != nil) != (len(refused) > 0) {
			t.Errorf("%s: a task is told %v", class, err)
		}
	}
	if _, err := NewOverridePolicy("com.example.Mine", nil); err == nil || !strings.Contains(err.Error(), "connector.client.config.override.policy") {
		t.Error(err)
	}
	p, _ := NewOverridePolicy("None", nil)
	if got := p.refused(cfg)["producer.override.acks"].Error(); got != "The 'None' policy does not allow 'acks' to be overridden in the connector configuration." {
		t.Error(got)
	}
}
