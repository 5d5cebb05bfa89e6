package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestBrokerKilled kills the broker under a worker of its own: the tasks wait for it, none fails, and lines go on.
func TestBrokerKilled(t *testing.T) {
	s := testenv.NewSplit(t, []string{"file"})
	s.StartBroker(t)
	s.Start(t)
	in, out := filepath.Join(s.Dir, "in.txt"), filepath.Join(s.Dir, "out.txt")
	arrives := func(line string) {
		t.Helper()
		add(t, in, line+"\n")
		testenv.Eventually(t, 30*time.Second, line, func() bool {
			for _, name := range []string{"in", "out"} {
				for _, task := range status(t, s.Penstock, name).Tasks {
					if task.State == "FAILED" {
						t.Fatalf("task %d of %s failed: %s", task.ID, name, task.Trace)
					}
				}
			}
			return strings.Contains(readFile(t, out), line+"\n")
		})
	}
	produce(t, s.Penstock, value("lines", "the topic is there"))
	write(t, in, "")
	s.Create(t, "in", fileSource(in, "lines"))
	s.Create(t, "out", fileSink(out, "lines"))
	arrives("before any kill")
	for k := range 2 {
		s.KillBroker()
		time.Sleep(3 * time.Second) // as long as a restart takes: the sink's consumer loses its group and cannot join it
		s.StartBroker(t)
		arrives(fmt.Sprintf("after kill %d", k+1))
	}
}

// TestBrokerRestartsUnderWorkers restarts the broker of three workers: within the session no task as much as pauses, after a
// longer time each runs again where it was.
func TestBrokerRestartsUnderWorkers(t *testing.T) {
	const tasks = 9
	b := testenv.NewBroker(t)
	b.Start(t)
	ws := workersOn(t, b.Addr, 3)
	want(t, ws[0], 201, "PUT", "/connectors/some/config", sinkOf(tasks, filepath.Join(ws[0].Dir, "out")))
	home := moved(t, ws[0], "some", tasks, ws...)
	follow(t, ws[0]).since() // the topic is there
	for _, away := range []time.Duration{0, session + 4*time.Second} {
		h := follow(t, ws[0])
		h.since()
		b.Kill()
		time.Sleep(away)
		b.Start(t)
		for _, w := range ws {
			testenv.Eventually(t, 60*time.Second, "the worker is in its group", w.Healthy)
			want(t, w, 201, "PUT", fmt.Sprintf("/connectors/after-%s-%v/config", workerID(w), away), sinkOf(1, filepath.Join(w.Dir, "out")))
		}
		if away > session {
			for _, w := range ws {
				testenv.Eventually(t, 60*time.Second, "each task runs where it was", func() bool {
					return fmt.Sprint(moved(t, w, "some", tasks, ws...)) == fmt.Sprint(home)
				})
			}
			continue
		}
		time.Sleep(session)
		onlyThese(t, h.since(), home, func(key string) bool { return !strings.HasPrefix(key, "status-task-some-") })
	}
}
