package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// readmeBlocks gives the indented command blocks of the README, each as one shell script.
func readmeBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var block []string
	for line := range strings.SplitSeq(string(text)+"\n", "\n") {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			block = append(block, code)
		} else if len(block) > 0 {
			blocks = append(blocks, strings.Join(block, "\n"))
			block = nil
		}
	}
	return blocks
}

// TestREADME runs what the README tells a newcomer to type, with other ports, another plugin folder and another file.
func TestREADME(t *testing.T) {
	blocks := readmeBlocks(t)
	for _, b := range []string{"make demo", "make test"} { // .ci/run runs them
		i := slices.Index(blocks, b)
		if i < 0 {
			t.Fatalf("the README does not say %q any more", b)
		}
		blocks = slices.Delete(blocks, i, i+1)
	}
	// make run is `bin/penstock server` with everything at its default.
	if i := slices.Index(blocks, "make run"); i < 0 {
		t.Fatal(`the README does not say "make run" any more`)
	} else {
		blocks = slices.Delete(blocks, i, i+1)
	}
	s := server(t, "file")
	file := filepath.Join(s.Dir, "lines.txt")
	write(t, file, "one\ntwo\n")
	var out string
	for _, b := range blocks {
		script := strings.NewReplacer(
			"127.0.0.1:8083", strings.TrimPrefix(s.REST, "http://"), "127.0.0.1:9092", s.Broker,
			"/tmp/lines.txt", file, "../../bin/plugins", s.PluginPath, "kcat ", "kcat -e ",
		).Replace(b)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, "bash", "-euc", script)
		cmd.Dir = testenv.Root()
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		got, err := cmd.Output()
		cancel()
		if err != nil || strings.Contains(string(got), "error_code") {
			t.Errorf("%v running\n%s\n%s%s", err, script, got, stderr.Bytes())
		}
		out += string(got)
		if strings.Contains(b, "/connectors -d") {
			s.AwaitRunning(t, "lines")
			newTap(t, s, "lines").count(t, 20*time.Second, 3)
		}
	}
	if !strings.Contains(out, `"lines"`) {
		t.Errorf("no connector of the README came to run; its commands printed:\n%s", out)
	}
	got := string(testenv.Kcat(t, nil, "-b", s.Broker, "-t", "lines", "-C", "-e", "-q"))
	if !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("kcat reads %q", got)
	}
	testenv.Eventually(t, 5*time.Second, "the plugin that was built is listed", func() bool {
		return strings.Contains(call(t, s, "GET", "/connector-plugins", "").body, "ticker")
	})
}
