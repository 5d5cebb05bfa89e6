package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestLoggers changes levels on one worker and on all, by a call and by the record a Java worker writes, and looks at what is
// logged and what must never be.
func TestLoggers(t *testing.T) {
	const secret = "hunter2-of-the-sink"
	ws := workers(t, 2, "log.level=info", "config.storage.topic=configs", "inter.worker.key.ttl.ms=1000")
	a, b := ws[0], ws[1]
	level := func(s *testenv.Penstock, logger, is string) {
		t.Helper()
		testenv.Eventually(t, 20*time.Second, logger+" is "+is+" at "+workerID(s), func() bool {
			got := call(t, s, "GET", "/admin/loggers/"+logger, "")
			return got.code == 200 && strings.Contains(got.body, `"level":"`+is+`"`)
		})
	}
	got := want(t, a, 200, "GET", "/admin/loggers/", "")
	if got.body != `{"root":{"level":"INFO","last_modified":null}}` {
		t.Error(got.body)
	}
	got = want(t, a, 200, "PUT", "/admin/loggers/worker", `{"level":"debug"}`)
	if got.body != `["worker","worker.group","worker.herder","worker.topics"]` {
		t.Error(got.body)
	}
	level(a, "worker.group", "DEBUG")
	level(b, "worker.group", "INFO")
	want(t, a, 404, "GET", "/admin/loggers/org.apache.kafka.connect", "")
	want(t, a, 404, "PUT", "/admin/loggers/root?scope=cluster", `{"level":"loud"}`)

	want(t, b, 204, "PUT", "/admin/loggers/connector?scope=cluster", `{"level":"trace"}`)
	level(a, "connector.out", "TRACE")
	level(b, "connector.out", "TRACE")
	cl := client(t, a)
	for key, value := range map[string]string{
		"logger-cluster-root": `{"level":"TRACE"}`, "logger-cluster-org.apache.kafka.connect": `{"level":"TRACE"}`, "logger-cluster-worker": `{"level":"?"}`,
	} {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "configs", Key: []byte(key), Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range ws {
		level(s, "kafka", "TRACE")
		want(t, s, 404, "GET", "/admin/loggers/org.apache.kafka.connect", "")
	}

	// Beside it, the key that signs calls is renewed although nothing changes in the group.
	newTap(t, a, "configs").until(t, 30*time.Second, "the session key is renewed", func(recs []*kgo.Record) bool {
		keys := map[string]bool{}
		for _, r := range recs {
			if string(r.Key) == "session-key" {
				keys[string(r.Value)] = true
			}
		}
		return len(keys) > 2
	})

	// With everything logged, a secret is not.
	out := filepath.Join(t.TempDir(), "out")
	cfg := `{"name":"out","connector.class":"file-sink","file":"` + out + `","topics":"numbers","tasks.max":"2","consumer.override.sasl.jaas.config":"` + secret + `","password":"` + secret + `"}`
	want(t, a, 201, "PUT", "/connectors/out/config", cfg)
	running(t, b, "out", 2)
	want(t, b, 204, "PUT", "/connectors/out/stop", "")
	want(t, a, 204, "DELETE", "/connectors/out", "")
	for _, s := range ws {
		log := readFile(t, filepath.Join(s.Dir, "log"))
		if strings.Contains(log, secret) {
			t.Errorf("%s logged the secret", workerID(s))
		}
		if !strings.Contains(log, "logger=connector.out") || !strings.Contains(log, "level=TRACE") {
			t.Errorf("%s did not log everything", workerID(s))
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "org.apache.kafka") && !strings.Contains(line, "level=DEBUG") && !strings.Contains(line, "level=TRACE") {
				t.Errorf("noise: %s", line)
			}
		}
	}

	// A worker that starts anew has its configured levels.
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	a.Start(t)
	level(a, "root", "INFO")
	level(b, "root", "TRACE")
}
