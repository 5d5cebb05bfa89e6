package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstockio/penstock/rest/api"
)

func bytesReader(b []byte) io.Reader { return bytes.NewReader(b) }

var built struct {
	sync.Mutex
	dir string
	err error
	has map[string]bool
}

// Checker is the name of the plugin of tests: checking-source and checking-sink.
const Checker = "checker"

// Build builds penstock and the named plugins (file, mysql, …) once a process and gives the folder: penstock in it,
// plugins in plugins/. Binaries are static, as they are shipped.
func Build(plugins ...string) (string, error) {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		built.dir, built.has = TempDir("psbin"), map[string]bool{}
		built.err = goBuild(filepath.Join(built.dir, "penstock"), "./cmd/penstock")
	}
	if built.err != nil {
		return "", built.err
	}
	for _, p := range plugins {
		if built.has[p] {
			continue
		}
		pkg := "./connectors/" + p + "/plugin"
		if p == Checker {
			pkg = "./internal/e2e/checker"
		}
		if err := goBuild(filepath.Join(built.dir, "plugins", "penstock-connector-"+p), pkg); err != nil {
			return "", err
		}
		built.has[p] = true
	}
	return built.dir, nil
}

func goBuild(out, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, pkg)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, b)
	}
	return nil
}

// Penstock is a `penstock server` in a process of its own.
type Penstock struct {
	Dir        string // its folder: data/, log, plugins/
	REST       string // http://host:port
	Broker     string // host:port
	PluginPath string
	Args       []string
	node       []string // which node it is, and what such a one alone is told
	p          *process
}

// NewPenstock makes a server with the named plugins that is not started yet; extra arguments go to its command line.
// It is stopped when the test ends.
func NewPenstock(t testing.TB, plugins []string, args ...string) *Penstock {
	t.Helper()
	NeedServers(t)
	bin, err := Build(plugins...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Penstock{
		Dir: dir, REST: "http://127.0.0.1:" + strconv.Itoa(FreePort()), Broker: "127.0.0.1:" + strconv.Itoa(FreePort()),
		PluginPath: filepath.Join(dir, "plugins"), Args: args,
	}
	s.node = []string{"server", "--data-dir", filepath.Join(dir, "data"), "--broker-listen", s.Broker}
	if err := os.Mkdir(s.PluginPath, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins { // a folder of its own, so that a test may add to it
		name := "penstock-connector-" + p
		if err := os.Link(filepath.Join(bin, "plugins", name), filepath.Join(s.PluginPath, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if s.p != nil {
			s.p.stopAlone(30 * time.Second)
			if t.Failed() {
				t.Logf("the server's log ends with:\n%s", s.p.tail())
			}
		}
	})
	return s
}

// Start starts the server and waits until it is ready.
func (s *Penstock) Start(t testing.TB) {
	t.Helper()
	if err := s.TryStart(); err != nil {
		t.Fatal(err)
	}
}

// TryStart is Start that gives the error.
func (s *Penstock) TryStart() error {
	bin, err := Build()
	if err != nil {
		return err
	}
	args := slices.Concat(s.node, []string{"--plugin-path", s.PluginPath, "--rest-listen", strings.TrimPrefix(s.REST, "http://")}, s.Args)
	cmd := exec.Command(filepath.Join(bin, "penstock"), args...)
	cmd.Dir = s.Dir
	if s.p, err = start(filepath.Join(s.Dir, "log"), cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return s.p.await(ctx, "penstock "+s.node[0], func() bool { return s.Healthy() })
}

// Healthy asks once.
func (s *Penstock) Healthy() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	h, err := s.Client().Health(ctx)
	return err == nil && h.Status == "healthy"
}

// Client calls its REST interface.
func (s *Penstock) Client() *api.Client {
	return &api.Client{Base: s.REST, HTTP: &http.Client{Timeout: 95 * time.Second}}
}

// PID is the server's process id.
func (s *Penstock) PID() int { return s.p.cmd.Process.Pid }

// Kill ends it with SIGKILL.
func (s *Penstock) Kill() { s.p.kill() }

// Signal sends it a signal.
func (s *Penstock) Signal(sig syscall.Signal) { _ = syscall.Kill(s.p.cmd.Process.Pid, sig) }

// Stop ends it with SIGTERM and tells how it ended.
func (s *Penstock) Stop() error {
	s.p.stopAlone(40 * time.Second)
	if !s.p.cmd.ProcessState.Success() {
		return fmt.Errorf("penstock %s: %s\n%s", s.node[0], s.p.cmd.ProcessState, s.p.tail())
	}
	return nil
}

// Log is what it wrote.
func (s *Penstock) Log() string { b, _ := os.ReadFile(filepath.Join(s.Dir, "log")); return string(b) }

// Create posts a connector and waits until it and its tasks run.
func (s *Penstock) Create(t testing.TB, name string, cfg map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	if _, err := s.Client().Create(ctx, api.CreateRequest{Name: name, Config: cfg}); err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
	s.AwaitRunning(t, name)
}

// AwaitRunning waits until a connector and at least one task run.
func (s *Penstock) AwaitRunning(t testing.TB, name string) {
	t.Helper()
	Eventually(t, 60*time.Second, "connector "+name+" and its tasks run", func() bool {
		st, err := s.Client().Status(context.Background(), name)
		if err != nil {
			return false
		}
		for _, task := range st.Tasks {
			if task.State == api.Failed {
				t.Fatalf("task %d of %s failed: %s", task.ID, name, task.Trace)
			}
			if task.State != api.Running {
				return false
			}
		}
		return st.Connector.State == api.Running && len(st.Tasks) > 0
	})
}

// AwaitRunningAgain waits until a connector and its tasks run, whatever they were before.
func (s *Penstock) AwaitRunningAgain(t testing.TB, name string) {
	t.Helper()
	Eventually(t, 60*time.Second, "connector "+name+" and its tasks run again", func() bool {
		st, err := s.Client().Status(context.Background(), name)
		if err != nil || st.Connector.State != api.Running || len(st.Tasks) == 0 {
			return false
		}
		for _, task := range st.Tasks {
			if task.State != api.Running {
				return false
			}
		}
		return true
	})
}
