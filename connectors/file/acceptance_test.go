package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api/acceptance"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, nil) }

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSourceAcceptance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.txt")
	want := func(i int) string { return fmt.Sprintf("line %d é %s", i, strings.Repeat("x", i%100)) }
	acceptance.Run(t, acceptance.Source{
		Binary: plugintest.Build(t, "connectors/file/plugin"), Connector: "file-source",
		Config: map[string]string{"file": path, "topic": "lines", "batch.size": "7"},
		Wrong:  map[string]string{"file": path, "topic": "lines", "batch.size": "0"}, WrongKey: "batch.size",
		Produce: func(t *testing.T, from, n int) {
			var text strings.Builder
			for i := range n {
				text.WriteString(want(from+i) + "\n")
			}
			appendTo(t, path, text.String())
		},
		Want: want,
	})
}

func TestSinkAcceptance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.txt")
	acceptance.Run(t, acceptance.Sink{
		Binary: plugintest.Build(t, "connectors/file/plugin"), Connector: "file-sink",
		Config: map[string]string{"file": path},
		Wrong:  map[string]string{"file": ""}, WrongKey: "file",
		Check: func(t *testing.T, n int) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			have := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				have[strings.TrimSuffix(line, "\n")] = true
			}
			for i := range n {
				if !have[acceptance.Text(i)] {
					t.Fatalf("record %d of %d is not in the file", i, n)
				}
			}
		},
	})
}
