package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestARefusedWorkerStops: a worker that the broker will never let in ends, and says which key is wrong and what is allowed.
func TestARefusedWorkerStops(t *testing.T) {
	s := newServer(t, "file")
	write(t, filepath.Join(s.Dir, "penstock.properties"), "session.timeout.ms=5000\n")
	err := s.TryStart()
	want := "session.timeout.ms=5000 of this worker: it must be from the broker's group.min.session.timeout.ms=6000 to its group.max.session.timeout.ms=1800000"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q in it", err, want)
	}
}
