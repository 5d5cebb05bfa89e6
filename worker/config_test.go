package worker

import (
	"strings"
	"testing"
)

func TestWrongValuesAreRefusedByName(t *testing.T) {
	for key, value := range map[string]string{
		"session.timeout.ms": "0", "heartbeat.interval.ms": "x", "rebalance.timeout.ms": "-1", "scheduled.rebalance.max.delay.ms": "-1",
		"offset.storage.partitions": "many", "config.storage.replication.factor": "-2", "connect.protocol": "eager", "exactly.once.source.support": "yes",
		"topic.creation.enable": "maybe", "connector.client.config.override.policy": "Mine", "task.shutdown.graceful.timeout.ms": "-5", "offset.flush.interval.ms": "0", "errors.restart.max.attempts": "-1",
		"inter.worker.signature.algorithm": "HmacMD5", "inter.worker.key.size": "64", "inter.worker.verification.algorithms": "HmacSHA512", "inter.worker.key.ttl.ms": "0",
	} {
		if _, err := FromProps(map[string]string{key: value}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	for _, props := range []map[string]string{
		{"heartbeat.interval.ms": "10000"}, {"session.timeout.ms": "70000"}, {"group.id": ""}, {"status.storage.topic": "connect-configs"},
	} {
		if _, err := FromProps(props); err == nil {
			t.Errorf("%v was taken", props)
		}
	}
	if _, err := FromProps(map[string]string{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// TestWrongConvertersAreRefused: at the start, and not by the first connector's task.
func TestWrongConvertersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		props map[string]string
		want  []string // in the error; none: taken
	}{
		"an unknown key converter":        {map[string]string{"key.converter": "Nope"}, []string{"key.converter: ", `"Nope"`, "converters.LongConverter"}},
		"an unknown value converter":      {map[string]string{"value.converter": "org.acme.Avro"}, []string{"value.converter: ", `"org.acme.Avro"`, "json.JsonConverter"}},
		"an unknown header converter":     {map[string]string{"header.converter": "Nope"}, []string{"header.converter: ", `"Nope"`, "SimpleHeaderConverter", "StringConverter"}},
		"all at once":                     {map[string]string{"key.converter": "A", "value.converter": "B", "header.converter": "C"}, []string{`"A"`, `"B"`, `"C"`}},
		"none":                            {map[string]string{"key.converter": ""}, []string{"key.converter: ", `""`, "StringConverter"}},
		"a wrong setting of one":          {map[string]string{"value.converter.schemas.enable": "perhaps"}, []string{"value.converter: ", "schemas.enable", "perhaps"}},
		"a setting of one not named":      {map[string]string{"key.converter": "StringConverter", "key.converter.schemas.enable": "false"}, nil},
		"short names":                     {map[string]string{"key.converter": "String", "value.converter": "JsonConverter", "header.converter": "Simple"}, nil},
		"a value's converter for headers": {map[string]string{"header.converter": "org.apache.kafka.connect.storage.StringConverter"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FromProps(c.props)
			if err == nil && c.want == nil {
				return
			}
			if err == nil || c.want == nil {
				t.Fatalf("%v: %v", c.props, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
		})
	}
}

func TestIgnoredKeysAreNamed(t *testing.T) {
	got := Ignored(map[string]string{
		"plugin.discovery": "1", "rest.extension.classes": "X", "config.providers": "file",
		"session.timeout.ms": "1", "metrics.num.samples": "2", "metrical": "", "plugin.path": "x",
		"config.storage.partitions": "3", "config.storage.topic": "t",
	})
	if len(got) != 4 {
		t.Fatalf("%q", got)
	}
	for i, want := range []string{"config.storage.partitions ", "metrics.num.samples ", "plugin.discovery ", "rest.extension.classes "} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("%q, want %s", got[i], want)
		}
	}
	for _, k := range Keys() {
		if why, ok := ignoredKey(k.Name); ok {
			t.Errorf("%s is read, but said to have no effect: %s", k.Name, why)
		}
	}
}
