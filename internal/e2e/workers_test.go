package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// session is the workers' session timeout in these tests: the least brokers allow by default.
const session = 6 * time.Second

// workers starts a broker and workers of one group on it.
func workers(t *testing.T, n int, props ...string) []*testenv.Penstock {
	t.Helper()
	b := testenv.NewBroker(t)
	b.Start(t)
	return workersOn(t, b.Addr, n, props...)
}

func workersOn(t *testing.T, bootstrap string, n int, props ...string) []*testenv.Penstock {
	t.Helper()
	out := make([]*testenv.Penstock, n)
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range out {
		out[i] = testenv.NewWorker(t, bootstrap, []string{"file"})
		file := filepath.Join(out[i].Dir, "worker.properties")
		lines := append([]string{
			"config.storage.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
			"offset.flush.interval.ms=200", "session.timeout.ms=6000", "heartbeat.interval.ms=300", "log.level=debug",
		}, props...)
		write(t, file, strings.Join(lines, "\n"))
		out[i].Args = append(out[i].Args, "--config", file)
		wg.Go(func() { errs[i] = out[i].TryStart() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func workerID(s *testenv.Penstock) string { return strings.TrimPrefix(s.REST, "http://") }

// want sends a call and fails unless it is answered so.
func want(t testing.TB, s *testenv.Penstock, code int, method, path, body string) answer {
	t.Helper()
	a := call(t, s, method, path, body)
	if a.code != code {
		t.Fatalf("%s %s through %s: %d %s, want %d", method, path, workerID(s), a.code, a.body, code)
	}
	return a
}

// running waits until a connector and so many tasks run, as seen through s.
func running(t testing.TB, s *testenv.Penstock, name string, tasks int) state {
	t.Helper()
	var st state
	testenv.Eventually(t, 60*time.Second, fmt.Sprintf("%s and its %d tasks run", name, tasks), func() bool {
		st = status(t, s, url.PathEscape(name))
		n := 0
		for _, task := range st.Tasks {
			if task.State == "RUNNING" {
				n++
			}
		}
		return st.Connector.State == "RUNNING" && n == tasks && len(st.Tasks) == tasks
	})
	return st
}

func sinkOf(tasks int, file string) string {
	b, err := json.Marshal(config{
		"connector.class": "file-sink", "file": file, "topics": "numbers", "tasks.max": fmt.Sprint(tasks), "value.converter": stringConverter,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestEveryWorkerAnswers sends every call to every worker, whoever leads and whoever runs the connector.
func TestEveryWorkerAnswers(t *testing.T) {
	ws := workers(t, 3, "inter.worker.key.generation.algorithm=HmacSHA512", "inter.worker.signature.algorithm=HmacSHA384",
		"inter.worker.verification.algorithms=HmacSHA256,HmacSHA384")
	for i, s := range ws {
		name := fmt.Sprintf("a/b %d%%-1", i)
		path := "/connectors/" + url.PathEscape(name)
		body := fmt.Sprintf(`{"name":%q,"config":%s}`, name, sinkOf(3, filepath.Join(s.Dir, "out")))
		a := want(t, s, 201, "POST", "/connectors", body)
		if loc := a.header.Get("Location"); !strings.HasSuffix(loc, path) || !strings.HasPrefix(loc, s.REST) {
			t.Errorf("Location is %q, want %s%s", loc, s.REST, path)
		}
		want(t, s, 200, "GET", path, "") // what was just written is read where it was written
		other, third := ws[(i+1)%3], ws[(i+2)%3]
		want(t, other, 409, "POST", "/connectors", body)
		for _, w := range ws {
			st := running(t, w, name, 3)
			on := map[string]bool{}
			for _, task := range st.Tasks {
				on[task.Worker_ID] = true
			}
			if len(on) != 3 {
				t.Errorf("3 tasks of %s run on %v", name, on)
			}
		}
		for _, w := range ws {
			want(t, w, 200, "PUT", path+"/config", sinkOf(3, filepath.Join(s.Dir, "out2")))
			want(t, w, 200, "PATCH", path+"/config", `{"errors.tolerance":"all"}`)
			if a := want(t, w, 200, "GET", path+"/config", ""); !strings.Contains(a.body, `"errors.tolerance":"all"`) {
				t.Errorf("what was patched is not read: %s", a.body)
			}
			running(t, w, name, 3)
			want(t, w, 204, "POST", path+"/restart", "")
			want(t, w, 202, "POST", path+"/restart?includeTasks=true", "")
			for task := range 3 {
				want(t, w, 204, "POST", fmt.Sprintf("%s/tasks/%d/restart", path, task), "")
			}
			want(t, w, 404, "POST", path+"/tasks/3/restart", "")
			want(t, w, 404, "POST", "/connectors/none/restart", "")
			running(t, other, name, 3)
			want(t, w, 202, "PUT", path+"/pause", "")
			testenv.Eventually(t, 30*time.Second, "paused", func() bool {
				st := status(t, third, url.PathEscape(name))
				return st.Connector.State == "PAUSED" && len(st.Tasks) == 3 && st.Tasks[0].State == "PAUSED" && st.Tasks[2].State == "PAUSED"
			})
			want(t, w, 202, "PUT", path+"/resume", "")
			running(t, w, name, 3)
			want(t, w, 200, "GET", path+"/offsets", "")
			want(t, w, 204, "PUT", path+"/stop", "")
			testenv.Eventually(t, 30*time.Second, "stopped", func() bool {
				st := status(t, other, url.PathEscape(name))
				return st.Connector.State == "STOPPED" && len(st.Tasks) == 0
			})
			want(t, other, 202, "PUT", path+"/resume", "")
			running(t, w, name, 3)
		}
		want(t, third, 204, "DELETE", path, "")
		for _, w := range ws {
			testenv.Eventually(t, 10*time.Second, "deleted", func() bool { return call(t, w, "GET", path, "").code == 404 })
		}
		want(t, s, 404, "DELETE", path, "")
	}
}

// TestCallsWhileWorkersComeAndGo keeps calling while the group changes: no call may fail because of that.
func TestCallsWhileWorkersComeAndGo(t *testing.T) {
	ws := workers(t, 3)
	stay := ws[0]
	var n int
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for ; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			name := fmt.Sprintf("c%d", n)
			path := "/connectors/" + name
			for _, c := range []struct {
				code         int
				method, path string
				body         string
			}{
				{201, "PUT", path + "/config", sinkOf(2, filepath.Join(stay.Dir, "out"))},
				{200, "GET", path, ""},
				{200, "PATCH", path + "/config", `{"errors.tolerance":"all"}`},
				{200, "GET", path + "/config", ""},
				{202, "PUT", path + "/pause", ""},
				{202, "PUT", path + "/resume", ""},
				{204, "POST", path + "/restart", ""},
				{204, "PUT", path + "/stop", ""},
				{204, "DELETE", path, ""},
				{200, "GET", "/connectors?expand=status&expand=info", ""},
			} {
				if a := call(t, stay, c.method, c.path, c.body); a.code != c.code {
					t.Errorf("%s %s: %d %s, want %d", c.method, c.path, a.code, a.body, c.code)
					return
				}
			}
		}
	})
	for range 2 {
		for i, s := range ws[1:] {
			if i == 0 {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			} else {
				s.Kill()
			}
			s.Start(t)
		}
	}
	close(done)
	wg.Wait()
	t.Logf("%d connectors made, changed and deleted meanwhile", n)
}

// stateLog follows the status topic.
type stateLog struct {
	t   testing.TB
	tap *tap
	at  int
}

func follow(t *testing.T, s *testenv.Penstock) *stateLog {
	return &stateLog{t: t, tap: newTap(t, s, "connect-status")}
}

type stateRecord struct {
	key, State, Worker_ID string //nolint:revive,staticcheck // as it is written
	Generation            int
}

// since gives what was written since it was asked last.
func (h *stateLog) since() []stateRecord {
	h.t.Helper()
	recs := h.tap.toEnd(h.t, "connect-status")
	var out []stateRecord
	for _, r := range recs[h.at:] {
		out = append(out, asStateRecord(h.t, r))
	}
	h.at = len(recs)
	return out
}

func asStateRecord(t testing.TB, r *kgo.Record) stateRecord {
	t.Helper()
	c := stateRecord{key: string(r.Key)}
	if r.Value != nil {
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// places gives the worker of each running task.
func places(st state) map[string]string {
	out := map[string]string{}
	for _, task := range st.Tasks {
		out[fmt.Sprintf("status-task-%s-%d", st.Name, task.ID)] = task.Worker_ID
	}
	return out
}

// moved waits until every task runs on one of the workers, and gives the places.
func moved(t testing.TB, s *testenv.Penstock, name string, tasks int, on ...*testenv.Penstock) map[string]string {
	t.Helper()
	ok := map[string]bool{}
	for _, w := range on {
		ok[workerID(w)] = true
	}
	var p map[string]string
	testenv.Eventually(t, 60*time.Second, "all tasks run on the workers that are left", func() bool {
		st := running(t, s, name, tasks)
		p = places(st)
		used := map[string]bool{}
		for _, w := range p {
			if !ok[w] {
				return false
			}
			used[w] = true
		}
		return len(used) == len(ok)
	})
	return p
}

// TestRollingRestart restarts three workers with 30 tasks one after the other. A task moves away with its worker and back to
// it, no other task as much as pauses.
func TestRollingRestart(t *testing.T) {
	const tasks = 30
	ws := workers(t, 3)
	want(t, ws[0], 201, "POST", "/connectors", fmt.Sprintf(`{"name":"many","config":%s}`, sinkOf(tasks, filepath.Join(ws[0].Dir, "out"))))
	at := moved(t, ws[0], "many", tasks, ws...)
	home := at
	h := follow(t, ws[0])
	h.since()
	for i, s := range ws {
		other := ws[(i+1)%3]
		began := time.Now()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		stopped := time.Since(began)
		now := moved(t, other, "many", tasks, other, ws[(i+2)%3])
		t.Logf("SIGTERM of %s: stopped after %v, all its tasks run elsewhere after %v", workerID(s), stopped.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		onlyThese(t, h.since(), at, func(key string) bool { return at[key] == workerID(s) })
		at = now
		began = time.Now()
		s.Start(t)
		testenv.Eventually(t, 60*time.Second, "every task is at home again", func() bool {
			return fmt.Sprint(moved(t, other, "many", tasks, ws...)) == fmt.Sprint(home)
		})
		t.Logf("start of %s: its own tasks run on it after %v", workerID(s), time.Since(began).Round(time.Millisecond))
		before := at
		onlyThese(t, h.since(), before, func(key string) bool { return home[key] == workerID(s) })
		at = home
	}
}

// onlyThese checks that tasks' states changed only where they may: the others run through.
func onlyThese(t *testing.T, changes []stateRecord, at map[string]string, may func(key string) bool) {
	t.Helper()
	for _, c := range changes {
		if strings.HasPrefix(c.key, "status-task-") && !may(c.key) {
			t.Errorf("%s on %s did not have to move, but became %s on %s", c.key, at[c.key], c.State, c.Worker_ID)
		}
	}
}

// TestWorkerKilled kills a worker: its tasks run elsewhere when its session is over, the others run through; then it takes its
// own back.
func TestWorkerKilled(t *testing.T) {
	const tasks = 9
	ws := workers(t, 3)
	want(t, ws[0], 201, "POST", "/connectors", fmt.Sprintf(`{"name":"some","config":%s}`, sinkOf(tasks, filepath.Join(ws[0].Dir, "out"))))
	home := moved(t, ws[0], "some", tasks, ws...)
	h := follow(t, ws[0])
	for i, s := range ws { // the leader is one of them
		h.since()
		began := time.Now()
		s.Kill()
		a, b := ws[(i+1)%3], ws[(i+2)%3]
		at := moved(t, a, "some", tasks, a, b)
		took := time.Since(began)
		t.Logf("SIGKILL of %s: its tasks run elsewhere after %v, the session timeout is %v", workerID(s), took.Round(time.Millisecond), session)
		onlyThese(t, h.since(), home, func(key string) bool { return home[key] == workerID(s) })
		s.Start(t)
		testenv.Eventually(t, 60*time.Second, "every task is at home again", func() bool {
			return fmt.Sprint(moved(t, a, "some", tasks, ws...)) == fmt.Sprint(home)
		})
		onlyThese(t, h.since(), at, func(key string) bool { return home[key] == workerID(s) })
	}
}

// TestCrashWithDelay keeps the work of a worker that crashed for it.
func TestCrashWithDelay(t *testing.T) {
	const tasks = 6
	ws := workers(t, 3, "scheduled.rebalance.max.delay.ms=60000")
	want(t, ws[0], 201, "POST", "/connectors", fmt.Sprintf(`{"name":"some","config":%s}`, sinkOf(tasks, filepath.Join(ws[0].Dir, "out"))))
	home := moved(t, ws[0], "some", tasks, ws...)
	h := follow(t, ws[0])
	h.since()
	ws[1].Kill()
	testenv.Eventually(t, 30*time.Second, "its work is kept for it", func() bool {
		return strings.Contains(ws[0].Log()+ws[2].Log(), "its work is kept for it")
	})
	ws[1].Start(t)
	testenv.Eventually(t, 30*time.Second, "its tasks run on it again", func() bool {
		n := 0
		for _, c := range asked(h) {
			if home[c.key] == workerID(ws[1]) && c.State == "RUNNING" && c.Worker_ID == workerID(ws[1]) {
				n++
			}
		}
		return n >= tasks/3
	})
	onlyThese(t, h.all(), home, func(key string) bool { return home[key] == workerID(ws[1]) })
	if err := ws[2].Stop(); err != nil { // a planned end is no crash
		t.Error(err)
	}
	moved(t, ws[0], "some", tasks, ws[0], ws[1])
}

func asked(h *stateLog) []stateRecord { h.at = min(h.at, len(h.tap.recs)); return h.all() }

// all gives everything from the last mark on, and leaves the mark.
func (h *stateLog) all() []stateRecord {
	at := h.at
	out := h.since()
	h.at = at
	return out
}
