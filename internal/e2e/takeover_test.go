package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestTakeOver runs connectors on Apache Kafka's Connect, stops it, and starts our worker with the same group and topics: the
// connectors are there and go on from their offsets. Then back again. No line is lost or comes twice: each stop is a clean one.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	b := testenv.NewBroker(t)
	b.Start(t)
	java := testenv.NewJavaConnect(t, b.Addr)
	java.Start(t)
	in, out := filepath.Join(b.Dir, "in"), filepath.Join(b.Dir, "out")
	n := 0
	more := func(step string) {
		t.Helper()
		var text strings.Builder
		for range 1000 {
			fmt.Fprintf(&text, "line %d\n", n)
			n++
		}
		add(t, in, text.String())
		testenv.Eventually(t, 2*time.Minute, step+": all lines arrive", func() bool { return strings.Count(readFile(t, out), "\n") >= n })
		for i, line := range strings.Split(strings.TrimSuffix(readFile(t, out), "\n"), "\n") {
			if want := fmt.Sprintf("line %d", i); line != want {
				t.Fatalf("%s: line %d of the sink's file is %q", step, i, line)
			}
		}
	}
	text := "org.apache.kafka.connect.storage.StringConverter"
	java.Create(t, "lines-in", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": in, "topic": "lines", "value.converter": text,
	})
	java.Create(t, "lines-out", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "file": out, "topics": "lines", "value.converter": text,
	})
	more("on Java's worker")
	java.Stop()
	ours := testenv.NewWorker(t, b.Addr, []string{"file"}, "--config", javaLike(t))
	ours.Start(t)
	more("on ours")
	for _, name := range []string{"lines-in", "lines-out"} {
		ours.AwaitRunning(t, name)
	}
	if err := ours.Stop(); err != nil {
		t.Fatal(err)
	}
	java.Start(t)
	more("on Java's again")
}

// javaLike is the configuration of the Java worker of internal/testenv/parts, as far as ours needs it.
func javaLike(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "worker.properties")
	write(t, file, `group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=false
value.converter.schemas.enable=false
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
`)
	return file
}
