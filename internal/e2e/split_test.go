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
