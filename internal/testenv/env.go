package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	mu    sync.Mutex
	stops []func()
)

// Main runs a package's tests and stops the servers they started. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	StopAll()
	os.Exit(code)
}

// StopAll stops every shared server, the latest first.
func StopAll() {
	mu.Lock()
	defer mu.Unlock()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	stops = nil
}

// OnStop adds what StopAll does.
func OnStop(f func()) {
	mu.Lock()
	stops = append(stops, f)
	mu.Unlock()
}

// NeedServers skips a test of go test -short: it asked for no servers.
func NeedServers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("go test -short leaves servers out")
	}
}

// Root is the folder of the module.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Cache is where make deps puts servers.
func Cache() string {
	if c := os.Getenv("PENSTOCK_CACHE"); c != "" {
		return c
	}
	if os.Geteuid() == 0 {
		return "/var/cache/penstock"
	}
	if c, err := os.UserCacheDir(); err == nil {
		return filepath.Join(c, "penstock")
	}
	return filepath.Join(os.TempDir(), "penstock-cache")
}

// FreePort finds a port nobody listens on.
func FreePort() int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("testenv: no free port: %v", err))
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// TempDir makes a folder that other users can search (servers that run as nobody), removed by StopAll.
func TempDir(prefix string) string {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		panic(fmt.Sprintf("testenv: %v", err))
	}
	_ = os.Chmod(dir, 0o755)
	OnStop(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Lookup finds a program, in sbin too, or says what to do.
func Lookup(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, d := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if p := filepath.Join(d, name); fileExists(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: run make deps", name)
}

func fileExists(p string) bool { _, err := os.Stat(p); return err == nil }

// process is a server's process in a group of its own, with its output in a file.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

func start(logFile string, cmd *exec.Cmd) (*process, error) {
	f, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(e string) bool { // what tests are told is no configuration of a server's
		return strings.HasPrefix(e, "PENSTOCK_")
	})
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: logFile, done: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.done) }()
	return p, nil
}

// stop ends the process group: politely, then not.
func (p *process) stop(grace time.Duration) { p.end(-p.cmd.Process.Pid, grace) }

// stopAlone asks the process alone, as an init system does, and ends the rest of its group with it.
func (p *process) stopAlone(grace time.Duration) { p.end(p.cmd.Process.Pid, grace) }

func (p *process) end(pid int, grace time.Duration) {
	_ = syscall.Kill(pid, syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	p.kill()
}

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// tail gives the last of the log.
func (p *process) tail() string {
	b, _ := os.ReadFile(p.log)
	if len(b) > 4000 {
		b = b[len(b)-4000:]
	}
	return string(b)
}

// await polls until ok, the process ends, or ctx does.
func (p *process) await(ctx context.Context, what string, ok func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended while it started:\n%s", what, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time:\n%s", what, p.tail())
		case <-tick.C:
		}
	}
	return nil
}

// Eventually polls until ok tells true, for at most d.
func Eventually(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func trim(b []byte) string { return strings.TrimSpace(string(b)) }
