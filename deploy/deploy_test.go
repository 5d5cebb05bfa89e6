package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestTheUnitStartsWhatExists holds the unit against the binary: each flag it passes is one, and the configuration beside
// it is taken without a warning about unknown keys.
func TestTheUnitStartsWhatExists(t *testing.T) {
	unit, err := os.ReadFile("penstock.service")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := testenv.Build()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(filepath.Join(bin, "penstock"), "server", "--help").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(unit), "\n") {
		start, ok := strings.CutPrefix(line, "ExecStart=")
		if !ok {
			continue
		}
		for _, f := range strings.Fields(start) {
			if strings.HasPrefix(f, "--") && !strings.Contains(string(help), f) {
				t.Errorf("the unit passes %s, which penstock server does not know", f)
			}
		}
	}
	cmd := exec.Command(filepath.Join(bin, "penstock"), "server", "--config", "penstock.properties", "--data-dir", t.TempDir(), "--plugin-path", t.TempDir(),
		"--rest-listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--shutdown-timeout", "nonsense")
	out, _ := cmd.CombinedOutput() // it ends with that error, after it has looked at the keys
	if strings.Contains(string(out), "not a known key") || !strings.Contains(string(out), "shutdown.timeout") {
		t.Errorf("penstock.properties: %s", out)
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }
