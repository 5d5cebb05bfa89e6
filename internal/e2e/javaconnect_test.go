package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestJavaConnect runs Apache Kafka's own Connect worker on the broker, a FileStream source and sink, while the broker is
// killed twice and the worker once: every line arrives, and the topic has them in order.
func TestJavaConnect(t *testing.T) {
	t.Parallel()
	b := testenv.NewBroker(t)
	b.Start(t)
	c := testenv.NewJavaConnect(t, b.Addr)
	c.Start(t)
	in, out := filepath.Join(b.Dir, "in"), filepath.Join(b.Dir, "out")
	n := 0
	more := func(lines int) {
		t.Helper()
		var text strings.Builder
		for range lines {
			fmt.Fprintf(&text, "line %d\n", n)
			n++
		}
		add(t, in, text.String())
	}
	// have counts the lines of the sink's file, each once.
	have := func() int {
		seen := map[string]bool{}
		for line := range strings.Lines(readFile(t, out)) {
			if strings.HasSuffix(line, "\n") {
				seen[line] = true
			}
		}
		return len(seen)
	}
	arrive := func(step string) {
		t.Helper()
		testenv.Eventually(t, 2*time.Minute, step+": all lines arrive", func() bool { return have() == n })
	}
	text := "org.apache.kafka.connect.storage.StringConverter"
	more(2000)
	c.Create(t, "lines-in", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": in, "topic": "lines", "value.converter": text, "batch.size": "100",
	})
	c.Create(t, "lines-out", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "file": out, "topics": "lines", "value.converter": text,
	})
	arrive("at first")
	for i := range 2 {
		more(2000)
		testenv.Eventually(t, time.Minute, "lines move", func() bool { return have() > n-2000 })
		b.Kill()
		more(500)
		b.Start(t)
		more(500)
		arrive(fmt.Sprintf("after the broker's death %d", i+1))
	}
	more(500)
	c.Kill()
	more(500)
	c.Start(t)
	more(500)
	arrive("after the worker's death")

	// In the topic a line may stand twice, as the source sends again what it had not committed; none comes before its turn.
	s := &testenv.Penstock{Broker: b.Addr}
	next := 0
	for _, r := range newTap(t, s, "lines").toEnd(t, "lines") {
		var at int
		if _, err := fmt.Sscanf(string(r.Value), "line %d", &at); err != nil || at > next {
			t.Fatalf("offset %d holds %q, want line %d at the latest", r.Offset, r.Value, next)
		}
		next = max(next, at+1)
	}
	if next != n {
		t.Errorf("the topic has %d of %d lines", next, n)
	}
}
