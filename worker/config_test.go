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
