package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrintedConfiguration: what is printed says where each value comes from, hides secrets, and is a file that gives the
// same configuration again.
func TestPrintedConfiguration(t *testing.T) {
	file := write(t, "w.properties", "group.id=mine\nsasl.jaas.config=hush\nproducer.ssl.key.password=hush\nnonsense=1\nplugin.path=C:\\\\x\n")
	s, err := load(file, []string{"PENSTOCK_SESSION_TIMEOUT_MS=20000"}, map[string]string{"listeners": "127.0.0.1:1"}, knownKeys())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.printConfig(&out, false, true); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"# from " + file + "\ngroup.id=mine\n", "# from the environment\nsession.timeout.ms=20000\n", "# from a flag\nlisteners=127.0.0.1:1\n",
		"# from a default\nheartbeat.interval.ms=500\n", "# from " + file + ", and nothing reads it\nnonsense=1\n",
		"sasl.jaas.config=[hidden]", "producer.ssl.key.password=[hidden]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hush") || strings.Contains(text, "broker.") {
		t.Errorf("a secret, or another node's keys:\n%s", text)
	}
	again, err := load(write(t, "again.properties", text), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.values["plugin.path"] != `C:\x` || again.values["group.id"] != "mine" {
		t.Errorf("read back: %v", again.values)
	}
}

// TestPrintConfigEnds: the flag prints and starts nothing.
func TestPrintConfigEnds(t *testing.T) {
	for _, cmd := range []string{"server", "broker"} {
		c := root()
		var out bytes.Buffer
		c.SetOut(&out)
		c.SetArgs([]string{cmd, "--print-config", "--data-dir", filepath.Join(t.TempDir(), "d")})
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "\nbroker.num.partitions=1\n") {
			t.Errorf("%s printed\n%s", cmd, out.String())
		}
	}
}
