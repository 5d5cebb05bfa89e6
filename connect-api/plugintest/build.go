// Package plugintest builds plugin binaries for tests and starts them.
package plugintest

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
)

// Module is where the packages of this module are found.
const Module = "github.com/penstockio/penstock/"

var (
	mu    sync.Mutex
	built = map[string]string{}
	dir   string
)

// Build builds the main package at a path below the module, once a test binary, and returns the executable.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	return BuildIn(t, "", Module+pkg)
}

// BuildIn builds a main package as seen from a folder, which may be of another module.
func BuildIn(t testing.TB, from, pkg string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if b, ok := built[from+pkg]; ok {
		return b
	}
	if dir == "" {
		d, err := os.MkdirTemp("", "plugintest")
		if err != nil {
			t.Fatal(err)
		}
		dir = d
	}
	out := filepath.Join(dir, filepath.Base(from)+filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, text)
	}
	built[from+pkg] = out
	return out
}

// Main runs the tests and removes what was built; for TestMain.
func Main(m *testing.M, check func() int) {
	code := m.Run()
	if code == 0 && check != nil {
		code = check()
	}
	if dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// Start starts a plugin and stops it when the test ends.
func Start(t testing.TB, o host.Options) *host.Process {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(&logTo{t: t}, nil))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p, err := host.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p
}

// logTo writes a log into the test's, while it runs.
type logTo struct {
	mu   sync.Mutex
	t    testing.TB
	done bool
	once sync.Once
}

func (l *logTo) Write(b []byte) (int, error) {
	l.once.Do(func() {
		l.t.Cleanup(func() { l.mu.Lock(); l.done = true; l.mu.Unlock() })
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		l.t.Logf("plugin: %s", b)
	}
	return len(b), nil
}
