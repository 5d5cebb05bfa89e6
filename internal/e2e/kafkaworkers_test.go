package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// onKafka are the settings by which a new group's first round waits for nobody, as on the bundled broker.
const onKafka = "group.initial.rebalance.delay.ms=0"

// TestWorkersOnKafka runs the group over Apache Kafka: work is shared, handed over and fenced as on the bundled broker.
func TestWorkersOnKafka(t *testing.T) {
	addr := testenv.StartKafka(t, onKafka)
	ws := workersOn(t, addr, 3)
	t.Run("calls", func(t *testing.T) {
		for i, s := range ws {
			path := fmt.Sprintf("/connectors/c%d", i)
			want(t, s, 201, "PUT", path+"/config", sinkOf(3, filepath.Join(s.Dir, "out")))
			running(t, ws[(i+1)%3], fmt.Sprintf("c%d", i), 3)
			want(t, ws[(i+1)%3], 204, "POST", path+"/restart", "")
			want(t, ws[(i+2)%3], 204, "PUT", path+"/stop", "")
			want(t, ws[(i+1)%3], 204, "DELETE", path, "")
		}
	})
	t.Run("SIGTERM and SIGKILL", func(t *testing.T) {
		const tasks = 9
		want(t, ws[0], 201, "PUT", "/connectors/some/config", sinkOf(tasks, filepath.Join(ws[0].Dir, "out")))
		home := moved(t, ws[0], "some", tasks, ws...)
		h := follow(t, ws[0])
		for i, s := range ws[1:] {
			h.since()
			began := time.Now()
			if i == 0 {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			} else {
				s.Kill()
			}
			at := moved(t, ws[0], "some", tasks, ws[0], ws[2-i])
			t.Logf("%s: its tasks run elsewhere after %v", map[int]string{0: "SIGTERM", 1: "SIGKILL"}[i], time.Since(began).Round(time.Millisecond))
			onlyThese(t, h.since(), home, func(key string) bool { return home[key] == workerID(s) })
			s.Start(t)
			testenv.Eventually(t, 60*time.Second, "every task is at home again", func() bool {
				return fmt.Sprint(moved(t, ws[0], "some", tasks, ws...)) == fmt.Sprint(home)
			})
			onlyThese(t, h.since(), at, func(key string) bool { return home[key] == workerID(s) })
		}
		want(t, ws[1], 204, "DELETE", "/connectors/some", "")
	})
	t.Run("SIGSTOP", func(t *testing.T) { stoppedWorkerIsFenced(t, ws) })
}

// TestTakeOverFromJava stops a Java Kafka Connect worker and starts ours on its three topics and group.id, and back again:
// FileStream connectors go on from where they were.
func TestTakeOverFromJava(t *testing.T) {
	addr := testenv.StartKafka(t, onKafka)
	j := testenv.NewJavaConnect(t, addr)
	j.Start(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	n := 0
	more := func() {
		t.Helper()
		var text strings.Builder
		for range 500 {
			fmt.Fprintf(&text, "line %d\n", n)
			n++
		}
		add(t, in, text.String())
	}
	arrive := func(step string) {
		t.Helper()
		last := fmt.Sprintf("line %d\n", n-1)
		testenv.Eventually(t, 2*time.Minute, step+": all lines arrive", func() bool { return strings.HasSuffix(readFile(t, out), last) })
		time.Sleep(2 * time.Second) // offsets are committed
	}
	text := "org.apache.kafka.connect.storage.StringConverter"
	more()
	j.Create(t, "lines-in", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": in, "topic": "lines", "value.converter": text, "batch.size": "100",
	})
	j.Create(t, "lines-out", map[string]string{
		"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "file": out, "topics": "lines", "value.converter": text,
	})
	arrive("Java")
	for round := range 2 {
		j.Stop()
		more()
		w := workersOn(t, addr, 1)[0]
		for _, name := range []string{"lines-in", "lines-out"} {
			running(t, w, name, 1)
		}
		more()
		arrive(fmt.Sprintf("ours, round %d", round))
		offsets := call(t, w, "GET", "/connectors/lines-in/offsets", "").body
		if !strings.Contains(offsets, fmt.Sprintf(`"position":%d`, len(readFile(t, in)))) {
			t.Errorf("our source's position is %s, the file has %d bytes", offsets, len(readFile(t, in)))
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
		more()
		j.Start(t)
		more()
		arrive(fmt.Sprintf("Java again, round %d", round))
	}
	// Every stop was clean, so each line stands once, in order.
	if got := strings.Count(readFile(t, out), "\n"); got != n {
		t.Errorf("the sink wrote %d lines of %d", got, n)
	}
	recs := newTap(t, &testenv.Penstock{Broker: addr}, "lines").toEnd(t, "lines")
	for i, r := range recs {
		if string(r.Value) != fmt.Sprintf("line %d", i) {
			t.Fatalf("record %d of the topic is %q", i, r.Value)
		}
	}
	if len(recs) != n {
		t.Errorf("the topic has %d records of %d", len(recs), n)
	}
}
