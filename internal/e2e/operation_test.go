package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestCleanStopRepeatsNothing stops the server with SIGTERM while lines flow: all that was read is committed, so that after
// the next start no line comes twice, at either end.
func TestCleanStopRepeatsNothing(t *testing.T) {
	s := newServer(t, "file")
	s.Args = nil // the usual interval of 5 s: only draining can have committed what is new
	s.Start(t)
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "")
	s.Create(t, "in", fileSource(in, "t"))
	s.Create(t, "out", fileSink(out, "t"))
	var want strings.Builder
	p := newTap(t, s, "t")
	for round := range 3 {
		for i := range 20_000 {
			line := fmt.Sprintf("%d/%d\n", round, i)
			want.WriteString(line)
		}
		add(t, in, want.String()[len(readFile(t, in)):])
		n := len(p.recs)
		p.until(t, 20*time.Second, "lines flow", func(r []*kgo.Record) bool { return len(r) > n })
		begun := time.Now()
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d > 6*time.Second {
			t.Errorf("stopping took %v", d)
		}
		s.Start(t)
	}
	total := strings.Count(want.String(), "\n")
	p.count(t, 30*time.Second, total)
	if n := len(p.toEnd(t, "t")); n != total {
		t.Errorf("the topic has %d records, not %d", n, total)
	}
	if err := s.Stop(); err != nil { // the sink writes what it holds
		t.Fatal(err)
	}
	s.Start(t)
	testenv.Eventually(t, 30*time.Second, "all lines are in the sink", func() bool { return len(readFile(t, out)) >= want.Len() })
	if readFile(t, out) != want.String() {
		t.Error("the sink's lines are not those of the source, once each and in order")
	}
	if strings.Contains(s.Log(), "did not stop cleanly") || strings.Contains(s.Log(), "level=ERROR") {
		t.Error("the log tells of an unclean stop")
	}
}

// TestStopHasADeadline stops a server whose plugin does not end: it is killed after its time, and the server ends.
func TestStopHasADeadline(t *testing.T) {
	t.Parallel()
	s := server(t, "file")
	in := filepath.Join(s.Dir, "in")
	write(t, in, "x\n")
	s.Create(t, "in", fileSource(in, "t"))
	pids := plugin(t, s, "file")
	if len(pids) != 1 {
		t.Fatalf("plugins: %v", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGSTOP); err != nil { // hangs
		t.Fatal(err)
	}
	begun := time.Now()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d > 20*time.Second {
		t.Errorf("stopping took %v", d)
	}
	testenv.Eventually(t, 5*time.Second, "the plugin is gone", func() bool { return !alive(pids[0]) })
	if !strings.Contains(s.Log(), "cut off") && !strings.Contains(s.Log(), "did not end within") {
		t.Error("the log does not tell")
	}
}

// TestNoOrphans looks for plugin processes and socket folders after a clean stop and after SIGKILL.
func TestNoOrphans(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "in")
	write(t, in, "x\n")
	for i := range 3 {
		s.Create(t, fmt.Sprint("in", i), fileSource(in, "t"))
	}
	for _, end := range []struct {
		name string
		do   func()
	}{
		{"SIGKILL", func() { s.Kill() }},
		{"SIGTERM", func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}},
	} {
		pids := plugin(t, s, "file")
		if len(pids) != 3 {
			t.Fatalf("%s: plugins: %v", end.name, pids)
		}
		server := s.PID()
		end.do()
		for _, pid := range pids {
			testenv.Eventually(t, 5*time.Second, end.name+": no plugin is left", func() bool { return !alive(pid) })
		}
		s.Start(t) // removes what a killed server left
		if left := sockets(t, server); len(left) > 0 {
			t.Errorf("%s: folders are left: %v", end.name, left)
		}
		for i := range 3 {
			s.AwaitRunningAgain(t, fmt.Sprint("in", i))
		}
		testenv.Eventually(t, 10*time.Second, "three plugins run", func() bool { return len(plugin(t, s, "file")) == 3 })
	}
}

// sockets lists socket folders of a server's process.
func sockets(t *testing.T, pid int) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("pnstk-%d-*", pid)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestStartsAndStops starts and stops a server with two connectors sixteen times: no process, socket folder or other file is
// left, and the data directory does not grow with each start.
func TestStartsAndStops(t *testing.T) {
	s := server(t, "file")
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "x\n")
	s.Create(t, "in", fileSource(in, "t"))
	s.Create(t, "out", fileSink(out, "t"))
	tree := func() (files []string) {
		err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	var dirs []string
	var slowest time.Duration
	for i := range 16 {
		pids := append(children(t, s.PID()), s.PID())
		server := s.PID()
		if err := s.Stop(); err != nil {
			t.Fatalf("stop %d: %v", i+1, err)
		}
		for _, pid := range pids {
			testenv.Eventually(t, 5*time.Second, fmt.Sprintf("stop %d: no process is left", i+1), func() bool { return !alive(pid) })
		}
		if left := sockets(t, server); len(left) > 0 {
			t.Errorf("stop %d: %v are left", i+1, left)
		}
		if i == 1 {
			dirs = tree()
		} else if i > 1 && !slices.Equal(dirs, tree()) {
			t.Errorf("stop %d: folders came or went: %v, %v", i+1, dirs, tree())
		}
		begun := time.Now()
		s.Start(t)
		slowest = max(slowest, time.Since(begun))
		testenv.Eventually(t, 20*time.Second, "both connectors run here", func() bool { return len(children(t, s.PID())) == 2 })
	}
	t.Logf("slowest start: %v", slowest)
	if strings.Contains(s.Log(), "level=ERROR") {
		t.Error("the log has errors")
	}
	if got := readFile(t, out); got != "x\n" {
		t.Errorf("the sink has %q", got)
	}
	if n := len(newTap(t, s, "t").toEnd(t, "t")); n != 1 {
		t.Errorf("the topic has %d records", n)
	}
}

// TestLogs reads the log as JSON: every line about a connector names it, and its task; levels are kept.
func TestLogs(t *testing.T) {
	s := newServer(t, "file")
	s.Args = append(s.Args, "--log-format", "json", "--log-level", "debug")
	s.Start(t)
	in := filepath.Join(s.Dir, "in")
	write(t, in, "x\n")
	s.Create(t, "logged", fileSource(in, "logged-topic"))
	produce(t, s, value("bad-topic", "{"))
	bad := fileSink(filepath.Join(s.Dir, "out"), "bad-topic")
	bad["value.converter"] = jsonConverter
	if a := post(t, s, "failing", bad); a.code != 201 {
		t.Fatal(a.body)
	}
	awaitTask(t, s, "failing", 20*time.Second, "FAILED")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	levels := map[string]int{}
	named := 0
	sc := bufio.NewScanner(strings.NewReader(s.Log()))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var l map[string]any
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatalf("a line is no JSON: %s", sc.Text())
		}
		levels[fmt.Sprint(l["level"])]++
		if l["connector"] == "logged" || l["connector"] == "failing" {
			named++
		}
		if l["msg"] == "a task failed" && (l["connector"] != "failing" || l["task"] != 0.0) {
			t.Errorf("a failed task is told without connector and task: %s", sc.Text())
		}
		text := fmt.Sprint(l["msg"])
		if (strings.Contains(text, "task") || strings.Contains(text, "plugin process")) && l["connector"] == nil && l["component"] == nil {
			t.Errorf("a line about a task does not name its connector: %s", sc.Text())
		}
	}
	if levels["DEBUG"] == 0 || levels["INFO"] == 0 || levels["ERROR"] != 1 || named < 3 {
		t.Errorf("levels %v, %d lines about the connectors", levels, named)
	}

	quiet := newServer(t, "file")
	quiet.Args = append(quiet.Args, "--log-level", "error")
	quiet.Start(t)
	if err := quiet.Stop(); err != nil {
		t.Fatal(err)
	}
	if log := quiet.Log(); log != "" {
		t.Errorf("with --log-level error it wrote %s", log)
	}
}

// TestVersion runs the command.
func TestVersion(t *testing.T) {
	testenv.NeedServers(t)
	bin, err := testenv.Build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "penstock"), "version").CombinedOutput()
	if err != nil || !regexp.MustCompile(`^penstock \S+ \(commit \S+\)\n$`).Match(out) {
		t.Errorf("%v: %q", err, out)
	}
}

// TestMetrics reads /metrics after records went through a source and a sink.
func TestMetrics(t *testing.T) {
	s := server(t, "file")
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "1\n2\n3\n")
	s.Create(t, "m-in", fileSource(in, "t"))
	s.Create(t, "m-out", fileSink(out, "t"))
	testenv.Eventually(t, 20*time.Second, "three lines", func() bool { return readFile(t, out) == "1\n2\n3\n" })
	for _, want := range []string{
		`penstock_source_records_polled_total{connector="m-in",task="0"} 3`,
		`penstock_source_records_written_total{connector="m-in",task="0"} 3`,
		`penstock_sink_records_read_total{connector="m-out",task="0"} 3`,
		`penstock_sink_records_sent_total{connector="m-out",task="0"} 3`,
		`penstock_sink_lag_records{connector="m-out",partition="0",task="0",topic="t"} 0`,
	} {
		testenv.Eventually(t, 10*time.Second, want, func() bool { return strings.Contains(call(t, s, "GET", "/metrics", "").body, want+"\n") })
	}
	body := call(t, s, "GET", "/metrics", "").body
	for _, name := range []string{"penstock_broker_", "penstock_plugin_crashes_total", "penstock_sink_offset_commit_seconds_count", "go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(body, name) && name != "penstock_plugin_crashes_total" {
			t.Errorf("no metric %s", name)
		}
	}
	if a := call(t, s, "DELETE", "/connectors/m-out", ""); a.code != 204 {
		t.Fatal(a.body)
	}
	testenv.Eventually(t, 10*time.Second, "a deleted connector's series are gone", func() bool {
		return !strings.Contains(call(t, s, "GET", "/metrics", "").body, `connector="m-out"`)
	})
}

// TestHealth asks a worker that cannot reach its broker, and then loses one it had: health says so, with the reason, and is
// well again when the broker is back.
func TestHealth(t *testing.T) {
	t.Parallel()
	testenv.NeedServers(t)
	bin, err := testenv.Build("file")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broker, rest := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort()), fmt.Sprintf("127.0.0.1:%d", testenv.FreePort())
	monitor := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort())
	run := func(log string, args ...string) *exec.Cmd {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, log))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := exec.Command(filepath.Join(bin, "penstock"), args...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	startBroker := func() *exec.Cmd {
		return run("broker.log", "broker", "--data-dir", filepath.Join(dir, "data"), "--broker-listen", broker, "--rest-listen", monitor)
	}
	s := &testenv.Penstock{Dir: dir, REST: "http://" + rest, Broker: broker}
	w := run("worker.log", "worker", "--bootstrap-servers", broker, "--rest-listen", rest, "--plugin-path", filepath.Join(bin, "plugins"))
	testenv.Eventually(t, 10*time.Second, "the worker listens", func() bool {
		c, err := net.Dial("tcp", rest)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	health := func() (int, string) {
		a := call(t, s, "GET", "/health", "")
		var h struct{ Status, Message string }
		a.into(t, &h)
		return a.code, h.Status + ": " + h.Message
	}
	if code, text := health(); code != 503 || !strings.HasPrefix(text, "starting: ") || !strings.Contains(text, broker) {
		t.Errorf("without a broker: %d %s", code, text)
	}
	if a := call(t, s, "GET", "/connectors", ""); a.code != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("connectors of a starting worker: %d %s", a.code, a.body)
	}
	if a := call(t, s, "GET", "/health/live", ""); a.code != 200 {
		t.Errorf("live: %d %s", a.code, a.body)
	}
	b := startBroker()
	testenv.Eventually(t, 20*time.Second, "the worker is healthy", func() bool { code, _ := health(); return code == 200 })
	alone := &testenv.Penstock{REST: "http://" + monitor}
	for path, want := range map[string]string{"/health": "healthy", "/metrics": "penstock_log_"} {
		if a := call(t, alone, "GET", path, ""); a.code != 200 || !strings.Contains(a.body, want) {
			t.Errorf("the broker's own %s: %d %s", path, a.code, a.body)
		}
	}
	in := filepath.Join(dir, "in")
	write(t, in, "1\n")
	s.Create(t, "in", fileSource(in, "t"))
	_ = b.Process.Kill()
	_ = b.Wait()
	var text string
	testenv.Eventually(t, 30*time.Second, "health tells of the loss", func() bool {
		var code int
		code, text = health()
		return code == 500
	})
	if !strings.HasPrefix(text, "unhealthy: ") || !strings.Contains(text, "group") {
		t.Errorf("health says %s", text)
	}
	add(t, in, "2\n")
	startBroker()
	testenv.Eventually(t, 30*time.Second, "the worker is healthy again", func() bool { code, _ := health(); return code == 200 })
	s.AwaitRunningAgain(t, "in")
	recs := newTap(t, s, "t").count(t, 30*time.Second, 2)
	if string(recs[0].Value) != "1" || string(recs[len(recs)-1].Value) != "2" {
		t.Errorf("records %q, %q", recs[0].Value, recs[len(recs)-1].Value)
	}
	ended := make(chan error, 1)
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { ended <- w.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the worker ended with %v: %s", err, readFile(t, filepath.Join(dir, "worker.log")))
		}
	case <-ctx.Done():
		t.Error("the worker did not end")
	}
}

// TestSinkBeforeItsTopic makes a sink whose topics are not there yet, by name and by pattern: it waits, and reads them when
// they come.
func TestSinkBeforeItsTopic(t *testing.T) {
	t.Parallel()
	s := server(t, "file")
	byName, byPattern := filepath.Join(s.Dir, "name"), filepath.Join(s.Dir, "pattern")
	s.Create(t, "by-name", fileSink(byName, "later-1,later-2"))
	cfg := fileSink(byPattern, "")
	delete(cfg, "topics")
	cfg["topics.regex"] = "later-.*"
	s.Create(t, "by-pattern", cfg)
	time.Sleep(3 * time.Second) // longer than any first look at the topics
	if st := status(t, s, "by-name"); st.Tasks[0].State != "RUNNING" {
		t.Fatalf("status: %+v", st)
	}
	produce(t, s, value("later-1", "a"))
	testenv.Eventually(t, 20*time.Second, "the named topic is read", func() bool { return readFile(t, byName) == "a\n" })
	testenv.Eventually(t, 20*time.Second, "the topic that matches is read", func() bool { return readFile(t, byPattern) == "a\n" })
	produce(t, s, value("later-2", "b"))
	testenv.Eventually(t, 20*time.Second, "the second named topic is read", func() bool { return readFile(t, byName) == "a\nb\n" })
	testenv.Eventually(t, 20*time.Second, "the second topic that matches is read", func() bool { return readFile(t, byPattern) == "a\nb\n" })
}

// TestStopOfAPluginThatReceivesNothing: a frozen plugin with records backed up in front of it can be stopped, deleted and made
// again.
func TestStopOfAPluginThatReceivesNothing(t *testing.T) {
	s := server(t, "file")
	out := filepath.Join(s.Dir, "out")
	var recs []*kgo.Record
	for i := range 10 {
		recs = append(recs, value("frozen", strconv.Itoa(i)))
	}
	produce(t, s, recs...)
	s.Create(t, "frozen", fileSink(out, "frozen"))
	testenv.Eventually(t, 10*time.Second, "the first records are written", func() bool { return len(lines(readFile(t, out))) == 10 })
	pid := plugin(t, s, "file")[0]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	recs = nil
	for i := range 20_000 {
		recs = append(recs, value("frozen", strings.Repeat("x", 1000)+strconv.Itoa(i)))
	}
	produce(t, s, recs...)
	time.Sleep(2 * time.Second) // until nothing moves
	if a := call(t, s, "DELETE", "/connectors/frozen", ""); a.code != 204 {
		t.Fatalf("%d %s", a.code, a.body)
	}
	testenv.Eventually(t, 20*time.Second, "the frozen process is gone", func() bool { return !alive(pid) })
	s.Create(t, "frozen", fileSink(out, "frozen"))
	testenv.Eventually(t, 20*time.Second, "every record is written", func() bool {
		got := map[string]bool{}
		for _, l := range lines(readFile(t, out)) {
			got[l] = true
		}
		return len(got) == 20_010
	})
}
