package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestBadConfigurations posts what people get wrong: each is refused with a text that says what, which key, and what to do;
// the server keeps running and what runs in it is not touched.
func TestBadConfigurations(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	db.Exec(t, "CREATE DATABASE bad; CREATE TABLE bad.t (id INT PRIMARY KEY); CREATE USER 'poor'@'127.0.0.1' IDENTIFIED BY 'right-password'; GRANT SELECT ON bad.* TO 'poor'@'127.0.0.1'")
	noBinlog := startMariaDB(t, "--skip-log-bin")
	statements := startMariaDB(t, "--binlog-format=STATEMENT")
	partial := startMariaDB(t, "--binlog-row-image=MINIMAL")
	s := server(t, "file", "mysql")
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "before\n")
	s.Create(t, "in", fileSource(in, "steady"))
	s.Create(t, "out", fileSink(out, "steady"))
	const secret = "s3cret-p4ssword"
	for _, c := range []struct {
		name  string
		cfg   config
		code  int
		parts []string
	}{
		{"unknown class", config{"connector.class": "com.example.NoSuchConnector"}, 500, []string{"com.example.NoSuchConnector", "mysql", "file-source"}},
		{"missing keys", config{"connector.class": "mysql"}, 400, []string{"database.hostname", "database.user", "topic.prefix"}},
		{"ill-typed", mysqlSource(db, "p", "bad", config{"database.port": "many"}), 400, []string{"database.port", "many"}},
		{"out of range", mysqlSource(db, "p", "bad", config{"database.port": "70000"}), 400, []string{"database.port", "70000"}},
		{"unreachable", mysqlSource(&testenv.MariaDB{Port: testenv.FreePort()}, "p", "bad", config{"database.password": secret}), 400, []string{"database.hostname", "cannot be reached", "127.0.0.1"}},
		{"wrong password", mysqlSource(db, "p", "bad", config{"database.user": "poor", "database.password": secret}), 400, []string{"database.password", "poor", "refused"}},
		{"too few rights", mysqlSource(db, "p", "bad", config{"database.user": "poor", "database.password": "right-password"}), 400, []string{"GRANT", "TO 'poor'@'127.0.0.1'"}},
		{"no binlog", mysqlSource(noBinlog, "p", "bad", nil), 400, []string{"log_bin=OFF", "set log-bin"}},
		{"statements", mysqlSource(statements, "p", "bad", nil), 400, []string{"binlog_format=STATEMENT", "SET GLOBAL binlog_format=ROW"}},
		{"partial rows", mysqlSource(partial, "p", "bad", nil), 400, []string{"binlog_row_image=MINIMAL"}},
		{"no table matches", mysqlSource(db, "p", "bad", config{"table.include.list": "bad.nosuch"}), 400, []string{"table.include.list", "bad.nosuch"}},
		{"the server's own id", mysqlSource(db, "p", "bad", config{"database.server.id": "1"}), 400, []string{"database.server.id"}},
		{"a file that cannot be", fileSink(filepath.Join(s.Dir, "no", "such", "dir"), "steady"), 201, nil}, // told in status, below
	} {
		t.Run(c.name, func(t *testing.T) {
			a := post(t, s, "bad", c.cfg)
			if a.code != c.code {
				t.Fatalf("answered %d %s", a.code, a.body)
			}
			for _, p := range c.parts {
				if !strings.Contains(a.body, p) {
					t.Errorf("the answer does not say %q: %s", p, a.body)
				}
			}
			if strings.Contains(a.body, secret) || strings.Contains(a.body, "right-password") {
				t.Errorf("a password is in the answer: %s", a.body)
			}
			if a.code == 201 {
				trace := awaitTask(t, s, "bad", 20*time.Second, "FAILED")
				if !strings.Contains(trace, "no such file or directory") || !strings.Contains(trace, "file") {
					t.Errorf("trace: %s", trace)
				}
				return
			}
			if strings.Contains(call(t, s, "GET", "/connectors", "").body, "bad") {
				t.Error("the connector was made")
			}
		})
	}
	if log := s.Log(); strings.Contains(log, secret) || strings.Contains(log, "right-password") {
		t.Error("a password is in the log")
	}
	add(t, in, "after\n")
	testenv.Eventually(t, 10*time.Second, "what runs goes on", func() bool { return readFile(t, out) == "before\nafter\n" })
	if !s.Healthy() {
		t.Error("the server is not healthy")
	}
}

func startMariaDB(t *testing.T, args ...string) *testenv.MariaDB {
	t.Helper()
	db, err := testenv.StartMariaDB(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Stop)
	return db
}

// TestDatabaseGoesAway kills the database under a connector: the task says so, and goes on when it is back.
func TestDatabaseGoesAway(t *testing.T) {
	db := startMariaDB(t)
	db.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
	s := server(t, "mysql")
	s.Create(t, "away", mysqlSource(db, "away", "d", nil))
	p := newTap(t, s, "away.d.t")
	p.count(t, 30*time.Second, 1)
	db.Exec(t, "INSERT INTO d.t VALUES (2)")
	p.count(t, 30*time.Second, 2)
	db.Kill()
	testenv.Eventually(t, 20*time.Second, "the loss is told", func() bool { return strings.Contains(s.Log(), "the connection to the log broke") })
	if err := db.Start(); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "INSERT INTO d.t VALUES (3)")
	recs := p.count(t, 30*time.Second, 3)
	if got := shown(t, recs[2]); got != `t c {"id":3} null {"id":3}` {
		t.Errorf("the third record is %s", got)
	}
	if n := len(p.toEnd(t, "away.d.t")); n != 3 {
		t.Errorf("%d records, not 3", n)
	}
}

// TestBadPlugins puts files into plugin.path that are no plugins: the others are found all the same, and the answer to a
// class that a file's name speaks of says what is wrong with it.
func TestBadPlugins(t *testing.T) {
	s := newServer(t, "file")
	for name, script := range map[string]string{
		"no-program":   "this is text\n",
		"prints-first": "#!/bin/sh\necho hello there\nsleep 60\n",
		"ends-at-once": "#!/bin/sh\necho it hurts >&2\nexit 3\n",
		"killed":       "#!/bin/sh\nkill -9 $$\n",
		"directory/x":  "",
	} {
		path := filepath.Join(s.PluginPath, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(s.PluginPath, "readme.txt"), "not executable, so not looked at")
	s.Start(t)
	in := filepath.Join(s.Dir, "in")
	write(t, in, "x\n")
	s.Create(t, "good", fileSource(in, "t"))
	testenv.Eventually(t, 20*time.Second, "all files were looked at", func() bool { return strings.Count(s.Log(), "no usable plugin") == 4 })
	for _, c := range []struct {
		class string
		says  []string
		not   []string
	}{
		{"maybe-in-there", []string{"maybe-in-there", "file-source", "ends-at-once, killed, no-program, 1 more"}, []string{"it hurts", "readme.txt", "directory"}},
		{"ends-at-once", []string{"exit status 3", "it hurts", "Unusable files (the log says why): killed, no-program, prints-first."}, []string{"hello there"}},
		{"prints-first", []string{"hello there"}, []string{"it hurts"}},
		{"org.example.KilledConnector", []string{"signal: killed"}, []string{"it hurts"}},
	} {
		a := post(t, s, "bad", config{"connector.class": c.class})
		if a.code != 500 {
			t.Fatalf("answered %d %s", a.code, a.body)
		}
		for _, want := range c.says {
			if !strings.Contains(a.body, want) {
				t.Errorf("the answer for %s does not say %q: %s", c.class, want, a.body)
			}
		}
		for _, not := range c.not {
			if strings.Contains(a.body, not) {
				t.Errorf("the answer for %s says %q: %s", c.class, not, a.body)
			}
		}
	}
	var classes []struct{ Class string }
	call(t, s, "GET", "/connector-plugins", "").into(t, &classes)
	if len(classes) != 2 {
		t.Errorf("plugins: %v", classes)
	}
	if n := len(children(t, s.PID())); n != 1 {
		t.Errorf("%d child processes, not the good plugin alone", n)
	}
}

// TestPluginAdded drops a plugin into the folder of a running server.
func TestPluginAdded(t *testing.T) {
	s := server(t)
	in := filepath.Join(s.Dir, "in")
	write(t, in, "x\n")
	if a := post(t, s, "a", fileSource(in, "t")); a.code != 500 || !strings.Contains(a.body, s.PluginPath) {
		t.Fatalf("without a plugin: %d %s", a.code, a.body)
	}
	bin, err := testenv.Build("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(bin, "plugins", "penstock-connector-file"), filepath.Join(s.PluginPath, "penstock-connector-file")); err != nil {
		t.Fatal(err)
	}
	s.Create(t, "a", fileSource(in, "t"))
}

// TestStartRefused starts servers that cannot work: each ends with a text that names the reason.
func TestStartRefused(t *testing.T) {
	first := server(t)
	bin, err := testenv.Build()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := func() string { return fmt.Sprintf("127.0.0.1:%d", testenv.FreePort()) }
	dir := t.TempDir()
	badYAML := filepath.Join(dir, "bad.yaml")
	write(t, badYAML, "a: [1\n")
	for _, c := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"REST port in use", []string{"--rest-listen", taken.Addr().String(), "--broker-listen", free()}, []string{taken.Addr().String(), "in use"}},
		{"broker port in use", []string{"--rest-listen", free(), "--broker-listen", taken.Addr().String()}, []string{taken.Addr().String(), "in use"}},
		{"data directory in use", []string{"--rest-listen", free(), "--broker-listen", free(), "--data-dir", filepath.Join(first.Dir, "data")}, []string{filepath.Join(first.Dir, "data"), "another process uses it"}},
		{"data directory is a file", []string{"--rest-listen", free(), "--broker-listen", free(), "--data-dir", badYAML}, []string{badYAML}},
		{"no address", []string{"--rest-listen", "nonsense", "--broker-listen", free()}, []string{"nonsense"}},
		{"log level", []string{"--log-level", "loud"}, []string{"log.level", "loud"}},
		{"log format", []string{"--log-format", "xml"}, []string{"log.format", "xml"}},
		{"configuration file", []string{"--config", badYAML}, []string{badYAML}},
		{"missing configuration file", []string{"--config", filepath.Join(dir, "none.yaml")}, []string{"none.yaml"}},
		{"unknown flag", []string{"--nonsense"}, []string{"nonsense"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			args := append([]string{"server"}, c.args...)
			if !strings.Contains(strings.Join(c.args, " "), "--data-dir") {
				args = append(args, "--data-dir", filepath.Join(t.TempDir(), "data"))
			}
			cmd := exec.CommandContext(ctx, filepath.Join(bin, "penstock"), args...)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			out, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Fatalf("it started (%v): %s", err, out)
			}
			for _, p := range c.parts {
				if !strings.Contains(string(out), p) {
					t.Errorf("the text does not say %q: %s", p, out)
				}
			}
			if strings.Contains(string(out), "goroutine ") {
				t.Errorf("a panic: %s", out)
			}
		})
	}
	if !first.Healthy() {
		t.Error("the first server suffered")
	}
}

// TestPluginKilled kills a plugin's process: its task says why within two seconds and runs again by itself; another
// connector's records flow on without a gap or a repeat.
func TestPluginKilled(t *testing.T) {
	s := server(t, "file")
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "")
	victim := filepath.Join(s.Dir, "victim")
	write(t, victim, "1\n")
	s.Create(t, "steady-in", fileSource(in, "steady"))
	s.Create(t, "steady-out", fileSink(out, "steady"))
	before := plugin(t, s, "file")
	s.Create(t, "victim", fileSource(victim, "victim"))
	p := newTap(t, s, "victim")
	p.count(t, 20*time.Second, 1)
	testenv.Eventually(t, 10*time.Second, "the position is committed", func() bool {
		return strings.Contains(call(t, s, "GET", "/connectors/victim/offsets", "").body, `"position":2`)
	})
	var pid int
	for _, c := range plugin(t, s, "file") {
		if c != before[0] && c != before[1] {
			pid = c
		}
	}
	stop, stopped := make(chan struct{}), make(chan int)
	go func() { // the other connector's input grows all the while
		n := 0
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				stopped <- n
				return
			case <-tick.C:
				add(t, in, fmt.Sprintf("%d\n", n))
				n++
			}
		}
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	trace := awaitTask(t, s, "victim", 2*time.Second, "FAILED")
	t.Logf("FAILED after %v: %s", time.Since(killed), trace)
	if !strings.Contains(trace, "signal: killed") || !strings.Contains(trace, "again") {
		t.Errorf("the trace is %s", trace)
	}
	if st := status(t, s, "victim"); st.Connector.State != "FAILED" || !strings.Contains(st.Connector.Trace, "signal: killed") {
		t.Errorf("the connector is %+v", st.Connector)
	}
	s.AwaitRunningAgain(t, "victim")
	add(t, victim, "2\n")
	recs := p.count(t, 20*time.Second, 2)
	if string(recs[1].Value) != "2" {
		t.Errorf("the second record is %q", recs[1].Value)
	}
	close(stop)
	n := <-stopped
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d\n", i)
	}
	testenv.Eventually(t, 20*time.Second, "the other connector's lines", func() bool { return len(readFile(t, out)) >= want.Len() })
	if readFile(t, out) != want.String() {
		t.Error("the other connector's lines have gaps or repeats")
	}
	if strings.Count(s.Log(), "level=ERROR") != 1 {
		t.Error("the crash was not logged exactly once")
	}
}
