package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"
)

// fleetSession is the session timeout of a fleet's workers.
const fleetSession = 3 * time.Second

// fleet is a broker and workers of one group, what was done to them, and when.
type fleet struct {
	broker  *testenv.Broker
	workers []*member

	mu       sync.Mutex
	began    time.Time
	timeline []string
}

// member is a worker that tests stop, kill and start.
type member struct {
	*testenv.Penstock
	name string

	mu      sync.Mutex
	answers bool // it is up and not stopped
}

func (m *member) set(answers bool) {
	m.mu.Lock()
	m.answers = answers
	m.mu.Unlock()
}

func (m *member) up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers
}

// newFleet starts n workers of a broker. When the test fails it prints the timeline and keeps the logs.
func newFleet(t *testing.T, n int, settings string) *fleet {
	t.Helper()
	short := filepath.Join(t.TempDir(), "broker.properties")
	write(t, short, "broker.group.min.session.timeout.ms=1000\n")
	f := &fleet{broker: testenv.NewBroker(t, "--config", short), began: time.Now()}
	f.broker.Start(t)
	for i := range n {
		m := &member{Penstock: testenv.NewWorker(t, f.broker.Addr, []string{testenv.Checker}), name: "worker " + strconv.Itoa(i)}
		file := filepath.Join(m.Dir, "worker.properties")
		write(t, file, fmt.Sprintf("session.timeout.ms=%d\nheartbeat.interval.ms=500\noffset.flush.interval.ms=500\n%s", fleetSession.Milliseconds(), settings))
		m.Args = append(m.Args, "--config", file)
		m.Start(t)
		m.set(true)
		f.workers = append(f.workers, m)
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.keep(t)
		}
	})
	return f
}

// keep copies the logs where they stay, and prints what was done.
func (f *fleet) keep(t *testing.T) {
	dir, err := os.MkdirTemp("", "penstock-chaos-")
	if err != nil {
		t.Error(err)
		return
	}
	logs := map[string]string{"broker": f.broker.Dir}
	for _, m := range f.workers {
		logs[strings.ReplaceAll(m.name, " ", "-")] = m.Dir
	}
	for name, from := range logs {
		b, err := os.ReadFile(filepath.Join(from, "log"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".log"), b, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("what was done, from %s on:\n%s\nlogs: %s", f.began.Format("15:04:05.000"), strings.Join(f.timeline, "\n"), dir)
}

func (f *fleet) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timeline = append(f.timeline, fmt.Sprintf("%7.2f s  ", time.Since(f.began).Seconds())+fmt.Sprintf(format, args...))
}

// any gives a worker that answers, nil when there is none.
func (f *fleet) any(r *rand.Rand) *member {
	for _, i := range r.Perm(len(f.workers)) {
		if f.workers[i].up() {
			return f.workers[i]
		}
	}
	return nil
}

// freeze stops a worker's process for a while; its plugins run on.
func (f *fleet) freeze(m *member, d time.Duration) {
	f.note("%s: SIGSTOP for %v", m.name, d.Round(time.Millisecond))
	m.set(false)
	m.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	m.Signal(syscall.SIGCONT)
	f.note("%s: SIGCONT", m.name)
	m.set(true)
}

// kill ends a worker's process alone, waits for the end of its plugins, and starts it again after a while.
func (f *fleet) kill(t *testing.T, m *member, down time.Duration) {
	had := f.plugins(t, m)
	f.note("%s: SIGKILL, %d plugins, down for %v", m.name, len(had), down.Round(time.Millisecond))
	m.set(false)
	m.Kill()
	f.gone(t, m, had)
	time.Sleep(down)
	f.start(t, m)
}

// term ends a worker as an init system does and starts it again after a while.
func (f *fleet) term(t *testing.T, m *member, down time.Duration) {
	had := f.plugins(t, m)
	f.note("%s: SIGTERM, %d plugins, down for %v", m.name, len(had), down.Round(time.Millisecond))
	m.set(false)
	at := time.Now()
	if err := m.Stop(); err != nil {
		t.Errorf("%s after SIGTERM: %v", m.name, err)
	}
	f.note("%s: has ended, after %v", m.name, time.Since(at).Round(time.Millisecond))
	f.gone(t, m, had)
	time.Sleep(down)
	f.start(t, m)
}

func (f *fleet) start(t *testing.T, m *member) {
	if err := m.TryStart(); err != nil {
		t.Errorf("%s: %v", m.name, err)
		return
	}
	m.set(true)
	f.note("%s: up again", m.name)
}

// plugins gives the plugin processes of a worker: those that run its copies of the binaries.
func (f *fleet) plugins(t *testing.T, m *member) (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Error(err)
	}
	for _, d := range dirs {
		exe, err := os.Readlink(d + "/exe")
		if err != nil || !strings.HasPrefix(exe, m.PluginPath) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits for the end of processes of a worker that is no more.
func (f *fleet) gone(t *testing.T, m *member, pids []int) {
	deadline := time.Now().Add(15 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("plugin process %d of %s lives on without its worker", pid, m.name)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// weight is what a worker's process holds.
type weight struct{ goroutines, files int }

func (m *member) weight(t *testing.T) weight {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	text := call(t, m.Penstock, "GET", "/metrics", "", "Connection", "close").body
	number := func(name string) int {
		for l := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(l, name+" "); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					t.Fatal(err)
				}
				return int(n)
			}
		}
		t.Fatalf("%s has no metric %s:\n%s", m.name, name, text)
		return 0
	}
	return weight{number("go_goroutines"), number("process_open_fds")}
}

// do calls a worker that answers, others in turn, until one gives what it should.
func (f *fleet) do(t *testing.T, what string, call func(ctx context.Context, c *api.Client) error) {
	t.Helper()
	var err error
	for try := range 5 {
		m := f.workers[try%len(f.workers)]
		ctx, cancel := context.WithTimeout(context.Background(), 95*time.Second)
		err = call(ctx, m.Client())
		cancel()
		if err == nil {
			return
		}
		f.note("%s through %s: %v", what, m.name, err)
	}
	t.Fatalf("%s: %v", what, err)
}

// conflicted tells the answer of a worker that could not wait for its group.
func conflicted(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.ErrorCode == http.StatusConflict
}
