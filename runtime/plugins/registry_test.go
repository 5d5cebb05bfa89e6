package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, nil) }

// TestAHangingFileDelaysNoOther: a plugin that is put beside one that hangs in its handshake is there within a second or two,
// and what is asked ends with the registry.
func TestAHangingFileDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	plugin := plugintest.Build(t, "connectors/file/plugin")
	if err := os.WriteFile(filepath.Join(dir, "a-hangs"), []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := New([]string{dir}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	time.Sleep(100 * time.Millisecond) // it is being asked
	b, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "z-file.new"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "z-file.new"), filepath.Join(dir, "z-file")); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := os.Chmod(filepath.Join(dir, "z-file"), 0o700); err != nil {
		t.Fatal(err)
	}
	for r.Known("file-source") == nil {
		if time.Since(begun) > 5*time.Second {
			t.Fatal("the plugin beside a hanging file is not found")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, err := r.Find(ctx, "FileStreamSink"); err != nil || p.Name != "file-sink" {
		t.Fatalf("found %v, %v", p, err)
	}
	cancel()
	<-done
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("closing waited for the hanging file: %v", took)
	}
}

func TestUnknownClassSaysLittle(t *testing.T) {
	why := errors.New("it said " + strings.Repeat("much ", 100))
	problem := func(names ...string) (out []Problem) {
		for _, n := range names {
			out = append(out, Problem{Path: "/plugins/" + n, Err: why})
		}
		return out
	}
	for _, c := range []struct {
		class    string
		problems []Problem
		ends     string
	}{
		{"mysql", nil, "Available connectors are: file-sink."},
		{"mysql", problem("rude"), fmt.Sprintf("Unusable: /plugins/rude: %v.", why)},
		{"mysql", problem("a", "b"), "Unusable files (the log says why): a, b."},
		{"mysql", problem("a", "b", "c", "d", "e"), "Unusable files (the log says why): a, b, c, 2 more."},
		{"mysql", problem("a", "penstock-connector-mysql"), fmt.Sprintf("Unusable: /plugins/penstock-connector-mysql: %v. Unusable files (the log says why): a.", why)},
		{"io.debezium.connector.mysql.MySqlConnector", problem("b", "mysql"), fmt.Sprintf("Unusable: /plugins/mysql: %v. Unusable files (the log says why): b.", why)},
	} {
		e := UnknownClassError{Class: c.class, Known: []string{"file-sink"}, Problems: c.problems}
		if got := e.Error(); !strings.HasSuffix(got, c.ends) {
			t.Errorf("%s with %d problems: %s", c.class, len(c.problems), got)
		}
	}
}
