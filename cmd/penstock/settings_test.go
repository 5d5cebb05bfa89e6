package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstockio/penstock/worker"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFlagWinsOverEnvironmentOverFile(t *testing.T) {
	file := write(t, "w.properties", "a=file\nb=file\nc=file\n")
	s, err := load(file, []string{"PENSTOCK_B=env", "PENSTOCK_C=env", "PENSTOCK_PLUGIN=connect-v1", "OTHER=x"}, map[string]string{"c": "flag"}, []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"a": "file", "b": "env", "c": "flag"}, s.values); d != "" {
		t.Fatal(d)
	}
}

func TestFormsOfFiles(t *testing.T) {
	want := map[string]string{"plugin.path": "/a,/b", "broker.log.segment.bytes": "8388608", "empty": "", "tasks": "3"}
	for name, content := range map[string]string{
		"x.properties": "# a comment\n! another\n\nplugin.path = /a,\\\n   /b\nbroker.log.segment.bytes: 8388608\nempty=\ntasks=3\n",
		"x.yaml":       "plugin:\n  path: [/a, /b]\nbroker.log.segment.bytes: 8388608\nempty:\ntasks: 3\n",
	} {
		s, err := load(write(t, name, content), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, s.values); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	for name, tc := range map[string][2]string{
		"x.toml":       {"a=1", ".properties or .yaml"},
		"x.properties": {"fine=1\nwrong=\\u12", "line 2"},
		"x.yaml":       {"a: [", "x.yaml"},
	} {
		if _, err := load(write(t, name, tc[0]), nil, nil, nil); err == nil || !strings.Contains(err.Error(), tc[1]) {
			t.Errorf("%s: %v, want %q in it", name, err, tc[1])
		}
	}
	if _, err := load("/no/such.yaml", nil, nil, nil); err == nil || !strings.Contains(err.Error(), "/no/such.yaml") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestEnvironmentNamesKeys(t *testing.T) {
	got := fromEnv([]string{"PENSTOCK_DATA_DIR=/d", "PENSTOCK_PLUGIN_PATH=/p", "PENSTOCK_PRODUCER_LINGER_MS=5"}, []string{"data-dir", "plugin.path"})
	if d := cmp.Diff(map[string]string{"data-dir": "/d", "plugin.path": "/p", "producer.linger.ms": "5"}, got); d != "" {
		t.Fatal(d)
	}
}

func TestUnknownKeysComeWithTheNearestKnown(t *testing.T) {
	s := &settings{values: map[string]string{"plugin.pth": "x", "producer.anything": "1", "group.id": "g"}, origin: map[string]string{"plugin.pth": "f.yaml"}}
	got := s.unknown(knownKeys())
	if len(got) != 1 || !strings.Contains(got[0], "plugin.path") || !strings.Contains(got[0], "f.yaml") {
		t.Fatalf("got %q", got)
	}
}

func TestLoggerNamesWhatIsWrong(t *testing.T) {
	if _, _, err := logger("loud", "text"); err == nil || !strings.Contains(err.Error(), "log.level") {
		t.Error(err)
	}
	if _, _, err := logger("info", "xml"); err == nil || !strings.Contains(err.Error(), "log.format") {
		t.Error(err)
	}
}

func TestUnknownKeys(t *testing.T) {
	for key, want := range map[string]string{
		"grup.id":     "grup.id (from a flag) is not a known key; did you mean group.id?",
		"unknown.key": "unknown.key (from a flag) is not a known key",
		"x":           "x (from a flag) is not a known key",
	} {
		s, err := load("", nil, map[string]string{key: "1"}, knownKeys())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{want}, s.unknown(knownKeys())); d != "" {
			t.Error(d)
		}
	}
}

func TestBundledBrokerIsAskedForOneReplica(t *testing.T) {
	props := map[string]string{"offset.storage.replication.factor": "3"}
	oneReplica(props)
	cfg, err := worker.FromProps(props)
	if err != nil {
		t.Fatal(err)
	}
	if c, o, s := cfg.ConfigTopic.Replication, cfg.OffsetTopic.Replication, cfg.StatusTopic.Replication; c != 1 || o != 3 || s != 1 {
		t.Errorf("replication factors are %d, %d and %d, want 1, the user's 3, and 1", c, o, s)
	}
}
