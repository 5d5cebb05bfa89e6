package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

const (
	ours      = "penstock"
	oursAgain = "penstock (A/A)"
	java      = "kafka connect"
)

// arm is one way to run workers.
type arm struct {
	name  string
	group func(dir, broker string) *group
}

// group starts workers of one kind.
type group struct {
	dir, broker  string
	worker       func(dir, broker string, port int) *exec.Cmd
	source, sink string // connector classes
	workers      []*worker
}

// worker is a running worker.
type worker struct {
	*child
	rest string // host:port, its id in states
}

// child is a process.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	out  string
}

func spawn(cmd *exec.Cmd, out string) (*child, error) {
	f, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	c := &child{cmd: cmd, done: make(chan struct{}), out: out}
	go func() { _ = cmd.Wait(); close(c.done) }()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

func (c *child) end() {
	c.signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(60 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

func binary(name string) string { return filepath.Join(testenv.Root(), "bin", name) }

func startBroker(dir string) (*child, string, error) {
	addr := "127.0.0.1:" + strconv.Itoa(testenv.FreePort())
	bin := binary("penstock")
	c, err := spawn(exec.Command(bin, "broker", "--data-dir", filepath.Join(dir, "data"), "--broker-listen", addr, "--log-level", "warn"), filepath.Join(dir, "broker.log"))
	if err != nil {
		return nil, "", err
	}
	return c, addr, reach(addr)
}

const session = 10 * time.Second // both kinds' default

func oursGroup(dir, broker string) *group {
	return &group{dir: dir, broker: broker, source: "checking-source", sink: "checking-sink", worker: func(dir, broker string, port int) *exec.Cmd {
		file := filepath.Join(dir, "worker.properties")
		_ = os.WriteFile(file, fmt.Appendf(nil, "session.timeout.ms=%d\nscheduled.rebalance.max.delay.ms=0\noffset.flush.interval.ms=1000\n", session.Milliseconds()), 0o644)
		return exec.Command(binary("penstock"), "worker", "--bootstrap-servers", broker, "--config", file, "--log-level", "warn",
			"--plugin-path", filepath.Join(testenv.Root(), "bin/checker"), "--rest-listen", "127.0.0.1:"+strconv.Itoa(port))
	}}
}

func javaGroup(plugins string) func(dir, broker string) *group {
	lib := filepath.Join(testenv.Cache(), "kafka", "lib")
	return func(dir, broker string) *group {
		return &group{dir: dir, broker: broker, source: "bench.TrivialSource", sink: "bench.TrivialSink", worker: func(dir, broker string, port int) *exec.Cmd {
			cmd := exec.Command("bash", filepath.Join(testenv.Root(), "internal/testenv/parts/kafka/start-connect.sh"), lib, dir, broker, strconv.Itoa(port), plugins)
			cmd.Env = append(os.Environ(), fmt.Sprintf("CONNECT_EXTRA=session.timeout.ms=%d\nscheduled.rebalance.max.delay.ms=0\noffset.flush.interval.ms=1000\nplugin.discovery=service_load",
				session.Milliseconds()))
			return cmd
		}}
	}
}

// compileJava makes the jar of the trivial connectors and gives its plugin folder.
func compileJava() (string, error) {
	dir := testenv.TempDir("psjava")
	lib := filepath.Join(testenv.Cache(), "kafka", "lib", "*")
	files, err := filepath.Glob(filepath.Join(testenv.Root(), "bench/connect/java/*.java"))
	if err != nil {
		return "", err
	}
	classes, plugin := filepath.Join(dir, "classes"), filepath.Join(dir, "plugins", "bench")
	for name, class := range map[string]string{"source.SourceConnector": "bench.TrivialSource", "sink.SinkConnector": "bench.TrivialSink"} {
		services := filepath.Join(classes, "META-INF/services")
		if err := os.MkdirAll(services, 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(services, "org.apache.kafka.connect."+name), []byte(class+"\n"), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		append([]string{"javac", "-nowarn", "-cp", lib, "-d", classes}, files...),
		{"jar", "--create", "--file", filepath.Join(plugin, "bench.jar"), "-C", classes, "."},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s (is it installed? make deps): %w\n%s", args[0], err, out)
		}
	}
	return filepath.Dir(plugin), nil
}

// start starts one more worker; it does not wait for it.
func (g *group) start() (*worker, error) {
	port := testenv.FreePort()
	dir := filepath.Join(g.dir, strconv.Itoa(port))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	c, err := spawn(g.worker(dir, g.broker, port), filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	w := &worker{child: c, rest: "127.0.0.1:" + strconv.Itoa(port)}
	g.workers = append(g.workers, w)
	return w, nil
}

func (g *group) stop() {
	for _, w := range g.workers {
		w.signal(syscall.SIGTERM)
	}
	for _, w := range g.workers {
		w.end()
	}
	g.workers = nil
}

// forget takes a worker out of the list.
func (g *group) forget(w *worker) {
	var left []*worker
	for _, x := range g.workers {
		if x != w {
			left = append(left, x)
		}
	}
	g.workers = left
}

// ready waits until a worker serves.
func (w *worker) ready() error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		code, _, err := w.do("GET", "/connectors", nil)
		if err == nil && code == 200 {
			return nil
		}
		select {
		case <-w.done:
			return fmt.Errorf("the worker ended: see %s", w.out)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the worker is not ready: %d %w: see %s", code, err, w.out)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var caller = &http.Client{Timeout: 90 * time.Second}

func (w *worker) do(method, path string, body any) (int, []byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(method, "http://"+w.rest+path, bytes.NewReader(b)) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := caller.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// create makes a connector, as often as a rebalance asks for it.
func (w *worker) create(name string, cfg map[string]string) error {
	for deadline := time.Now().Add(time.Minute); ; {
		code, said, err := w.do("PUT", "/connectors/"+name+"/config", cfg)
		if err == nil && code < 300 {
			return nil
		}
		if time.Now().After(deadline) || err == nil && code == 400 {
			return fmt.Errorf("creating %s: %d %s %w", name, code, said, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// running counts tasks that run, by the worker they run on; dead ones' states don't count.
func (w *worker) running() (map[string]int, error) {
	code, b, err := w.do("GET", "/connectors?expand=status", nil)
	if err != nil || code != 200 {
		return nil, fmt.Errorf("reading states: %d %s: %w", code, b, err)
	}
	var all map[string]struct {
		Status struct {
			Tasks []struct {
				State  string
				Worker string `json:"worker_id"`
				Trace  string
			}
		}
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	n := map[string]int{}
	for name, c := range all {
		for _, t := range c.Status.Tasks {
			if t.State == "FAILED" {
				return nil, fmt.Errorf("a task of %s failed: %.300s", name, t.Trace)
			}
			if t.State == "RUNNING" {
				n[t.Worker]++
			}
		}
	}
	return n, nil
}

// pids are the worker's process and its plugins'.
func (w *worker) pids() []int {
	out := []int{w.pid()}
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(w.pid()) {
			if id, err := strconv.Atoi(filepath.Base(filepath.Dir(d))); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}
