package elasticsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

// TestFaultsAreSurvived: whatever the server does for a while, all is written in the end, no record fails, and nothing is
// said to be durable before it is.
func TestFaultsAreSurvived(t *testing.T) {
	for name, ft := range map[string]fault{
		"429":                 {status: 429, body: errorBody("es_rejected_execution_exception")},
		"429 without a body":  {status: 429},
		"502":                 {status: 502, body: "<html>Bad Gateway</html>"},
		"503":                 {status: 503, body: errorBody("unavailable_shards_exception")},
		"504":                 {status: 504},
		"500":                 {status: 500, body: errorBody("null_pointer_exception")},
		"block of a request":  {status: 403, body: errorBody("cluster_block_exception")},
		"hang after applying": {hang: true},
		"cut answer":          {cut: true},
		"garbage":             {garbage: "<html>welcome</html>"},
		"empty object":        {garbage: "{}"},
		"empty items":         {garbage: `{"errors":false,"items":[]}`},
		"items of nothing":    {garbage: `{"errors":false,"items":[{},{},{}]}`},
		"one item missing":    {short: true},
		"other order":         {reorder: true},
		"items 429":           {item: refuse(429, "es_rejected_execution_exception", nil)},
		"items 503":           {item: refuse(503, "unavailable_shards_exception", nil)},
		"items blocked 403":   {item: refuse(403, "cluster_block_exception", nil)},
		"items blocked 429":   {item: refuse(429, "cluster_block_exception", nil)},
		"items 500":           {item: refuse(500, "whatever_new_exception", nil)},
		"every other item":    {item: refuse(429, "x", func(_, _ string, n int) bool { return n%2 == 0 })},
		"updates conflict":    {item: refuse(409, "version_conflict_engine_exception", func(op, _ string, _ int) bool { return op == "update" })},
		"first of an id":      {item: refuse(429, "x", func(_, id string, n int) bool { return n == 0 && id == "hot" })},
	} {
		for _, method := range []string{"INSERT", "UPSERT"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, until(4, ft))
				r := newRun(t, "x", f.URL, map[string]string{
					"write.method": method, "behavior.on.null.values": "DELETE", "read.timeout.ms": "50", "max.in.flight.requests": "1", "linger.ms": "20",
				})
				r.write(t, rec{key: text("hot"), value: jsonValue(`{"n":1,"a":1}`)}, rec{key: text("b"), value: jsonValue(`{"n":2}`)},
					rec{key: text("hot"), value: jsonValue(`{"n":3}`)}, rec{key: text("gone"), value: jsonValue(`{}`)}, rec{key: text("gone")})
				o, _ := r.Commit(t.Context(), false)
				if o[r.tp()] > 0 && f.requests() < 2 {
					t.Fatalf("durable below %d after %d requests", o[r.tp()], f.requests())
				}
				r.flush(t)
				want := map[string]string{"INSERT": `{"n":3}`, "UPSERT": `{"a":1,"n":3}`}[method]
				if f.document("hot") != want || f.document("b") != `{"n":2}` || f.document("gone") != "null" {
					t.Fatalf("hot %s, b %s, gone %s", f.document("hot"), f.document("b"), f.document("gone"))
				}
				if n := r.host.failures(); len(n) > 0 {
					t.Fatalf("failed: %v", n)
				}
				testenv.Eventually(t, 5*time.Second, "the task waits for nothing", func() bool { return r.host.waits() == "" })
				if f.requests() < 4 && (name != "updates conflict" || method == "UPSERT") {
					t.Fatalf("%d requests: the fault was not met", f.requests())
				}
			})
		}
	}
}

// TestEachItemMeetsItsEnd: all kinds of answers in one reply.
func TestEachItemMeetsItsEnd(t *testing.T) {
	met := map[string]int{}
	answers := map[string]struct {
		status int
		kind   string
	}{
		"ok": {0, ""}, "busy": {429, "es_rejected_execution_exception"}, "old": {409, "version_conflict_engine_exception"},
		"bad": {400, "document_parsing_exception"}, "new-name": {400, "some_future_exception"}, "shard": {503, "unavailable_shards_exception"},
		"broken": {500, "boom"},
	}
	f := newFake(t, func(int) fault {
		return fault{item: func(_, id string, _ int) (int, string) {
			met[id]++
			if a := answers[id]; met[id] == 1 || id == "broken" || a.status == 400 {
				return a.status, a.kind
			}
			return 0, ""
		}}
	})
	r := newRun(t, "x", f.URL, map[string]string{"max.in.flight.requests": "1", "max.retries": "2", "linger.ms": "50"})
	ids := []string{"ok", "busy", "old", "bad", "new-name", "shard", "broken"}
	var recs []rec
	for _, id := range ids {
		recs = append(recs, rec{key: text(id), value: jsonValue(`{"id":%q}`, id)})
	}
	r.write(t, recs...)
	r.flush(t)
	failed := r.host.failures()
	if len(failed) != 3 || failed[3] == nil || failed[4] == nil || failed[6] == nil {
		t.Fatalf("failed: %v", failed)
	}
	contains(t, failed[3].Error(), "document_parsing_exception", "because", `"bad"`, "index x")
	contains(t, failed[6].Error(), "max.retries", "boom")
	for _, id := range []string{"ok", "busy", "shard"} {
		if f.document(id) == "null" {
			t.Errorf("%s is not there", id)
		}
	}
	testenv.Eventually(t, 5*time.Second, "the host is asked for a commit, so that it learns of failed records soon", func() bool {
		r.host.mu.Lock()
		defer r.host.mu.Unlock()
		return r.host.asked > 0
	})
	if met["ok"] != 1 || met["bad"] != 1 || met["old"] != 1 || met["busy"] != 2 || met["broken"] != 3 {
		t.Fatalf("sent: %v", met)
	}
	if r.host.value("version_conflicts") != 1 || r.host.value("malformed") != 2 {
		t.Fatalf("metrics: %v", r.host.values)
	}
}

func TestMalformedDocumentsFollowTheirKey(t *testing.T) {
	for mode, want := range map[string]int{"FAIL": 1, "WARN": 0, "IGNORE": 0} {
		f := newFake(t, func(int) fault {
			return fault{item: refuse(400, "document_parsing_exception", func(_, id string, _ int) bool { return id == "bad" })}
		})
		r := newRun(t, "x", f.URL, map[string]string{"behavior.on.malformed.documents": strings.ToLower(mode)})
		r.write(t, rec{key: text("bad"), value: jsonValue(`{}`)}, rec{key: text("good"), value: jsonValue(`{}`)})
		r.flush(t)
		if n := len(r.host.failures()); n != want || f.document("good") != "{}" {
			t.Errorf("%s: %d failed, good: %s", mode, n, f.document("good"))
		}
		if logged := strings.Contains(r.host.text.String(), "document_parsing_exception"); logged != (mode == "WARN") {
			t.Errorf("%s: log %s", mode, r.host.text.String())
		}
	}
}

func TestFatalAnswersFailTheTask(t *testing.T) {
	for name, c := range map[string]struct {
		ft   fault
		key  string
		says []string
	}{
		"401":          {fault{status: 401, body: errorBody("security_exception")}, "connection.password", []string{"connection.password", "security_exception"}},
		"403":          {fault{status: 403, body: errorBody("security_exception")}, "connection.username", []string{"privilege", "create_index"}},
		"404":          {fault{status: 404, body: "nothing here"}, "", []string{"404"}},
		"item 403":     {fault{item: refuse(403, "security_exception", nil)}, "connection.username", []string{"privilege"}},
		"no index":     {fault{item: refuse(404, "index_not_found_exception", nil)}, "", []string{"index x", "action.auto_create_index", "x-0@0"}},
		"500 always":   {fault{status: 500, body: errorBody("boom")}, "", []string{"boom", "max.retries"}},
		"garbage":      {fault{garbage: "welcome"}, "", []string{"makes no sense", "max.retries"}},
		"item unheard": {fault{item: refuse(418, "teapot", nil)}, "", []string{"teapot", "x-0@0"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(int) fault { return c.ft })
			r := newRun(t, "x", f.URL, map[string]string{"max.retries": "2", "connection.username": "u", "connection.password": "s3cret-s3cret"})
			r.write(t, rec{key: text("a"), value: jsonValue(`{}`)})
			err := r.flushErr(t)
			contains(t, err.Error(), c.says...)
			if e := connectapi.AsError(err); e.Key != c.key {
				t.Errorf("key %q, want %q: %v", e.Key, c.key, err)
			}
			if strings.Contains(err.Error()+r.host.text.String(), "s3cret") {
				t.Errorf("the password shows: %v %s", err, r.host.text.String())
			}
			if err2 := r.Write(t.Context(), r.records(t, rec{key: text("a"), value: jsonValue(`{}`)})); !errors.Is(err2, err) {
				t.Errorf("written after the failure: %v", err2)
			}
			testenv.Eventually(t, 5*time.Second, "the host is asked for a commit, so that it learns soon", func() bool {
				r.host.mu.Lock()
				defer r.host.mu.Unlock()
				return r.host.asked > 0
			})
		})
	}
}

func TestRequestsThatAreTooLargeAreSplit(t *testing.T) {
	f := newFake(t, nil)
	limit := 2000
	f.Config.Handler = limited(f, limit)
	r := newRun(t, "x", f.URL, map[string]string{"max.in.flight.requests": "1", "linger.ms": "100"})
	var recs []rec
	for i := range 50 {
		size := 50
		if i == 20 {
			size = 5000
		}
		recs = append(recs, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{"v":%q}`, strings.Repeat("x", size))})
	}
	r.write(t, recs...)
	r.flush(t)
	failed := r.host.failures()
	if len(failed) != 1 || failed[20] == nil {
		t.Fatalf("failed: %v", failed)
	}
	contains(t, failed[20].Error(), "http.max_content_length", "bytes")
	for i := range 50 {
		if (f.document(fmt.Sprint(i)) == "null") != (i == 20) {
			t.Errorf("document %d: %.20s", i, f.document(fmt.Sprint(i)))
		}
	}
	before := r.counters.splits.Load()
	r.write(t, recs[:20]...)
	r.flush(t)
	if r.counters.splits.Load() != before {
		t.Error("the size that fits was forgotten")
	}
}

func TestRequestRefusedAsAWholeIsSplit(t *testing.T) {
	f := newFake(t, nil)
	f.Config.Handler = picky(f, `"poison"`)
	r := newRun(t, "x", f.URL, map[string]string{"max.in.flight.requests": "1", "linger.ms": "100"})
	var recs []rec
	for i := range 20 {
		v := "fine"
		if i == 7 {
			v = "poison"
		}
		recs = append(recs, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{"v":%q}`, v)})
	}
	r.write(t, recs...)
	r.flush(t)
	if failed := r.host.failures(); len(failed) != 1 || failed[7] == nil || len(f.docs) != 19 {
		t.Fatalf("failed: %v; %d documents", failed, len(f.docs))
	}
}

// TestOrderOfAHotKey: versions or not, the last value wins, whatever is refused and delayed on the way.
func TestOrderOfAHotKey(t *testing.T) {
	for _, method := range []string{"INSERT", "UPSERT"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			f := newFake(t, func(int) fault { // called under the fake's lock
				ft := fault{delay: time.Duration(rng.IntN(3)) * time.Millisecond}
				switch rng.IntN(8) {
				case 0:
					ft.status = 429
				case 1:
					ft.cut = true
				case 2, 3, 4:
					ft.item = func(string, string, int) (int, string) {
						if rng.IntN(5) == 0 {
							return 429, "x"
						}
						return 0, ""
					}
				}
				return ft
			})
			r := newRun(t, "x", f.URL, map[string]string{
				"write.method": method, "behavior.on.null.values": "DELETE", "batch.size": "20", "retry.backoff.ms": "1",
				"max.retries": "1000", "max.buffered.records": "200",
			})
			oracle := map[string]map[string]any{}
			for i := range 3000 {
				id := "hot"
				if rng2 := i * 7919 % 3; rng2 > 0 {
					id = fmt.Sprint("k", i*31%17)
				}
				x := rec{key: text(id)}
				if i%11 == 5 {
					delete(oracle, id)
				} else {
					field := fmt.Sprint("f", i%3)
					x.value = jsonValue(`{"n":%d,%q:%d}`, i, field, i)
					if oracle[id] == nil || method == "INSERT" {
						oracle[id] = map[string]any{}
					}
					maps.Copy(oracle[id], map[string]any{"n": i, field: i})
				}
				r.write(t, x)
			}
			r.flush(t)
			for id := range f.docs {
				if oracle[id] == nil {
					t.Errorf("%s should be deleted, and is %s", id, f.document(id))
				}
			}
			for id, want := range oracle {
				w, _ := json.Marshal(want)
				if f.document(id) != string(w) {
					t.Errorf("%s is %s, want %s", id, f.document(id), w)
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.most < 2 {
				t.Errorf("%d requests at once at most: nothing was proved", f.most)
			}
		})
	}
}

// TestServerThatIsAwayIsWaitedFor: nothing listens at first.
func TestServerThatIsAwayIsWaitedFor(t *testing.T) {
	f := newFake(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	r := newRun(t, "x", "http://"+addr, map[string]string{"max.retries": "0"})
	done := make(chan error, 1)
	go func() {
		done <- r.Write(context.Background(), r.records(t, rec{key: text("a"), value: jsonValue(`{"n":1}`)}))
	}()
	testenv.Eventually(t, time.Minute, "the task says what it waits for", func() bool { return strings.Contains(r.host.waits(), addr) })
	contains(t, r.host.waits(), "cannot be reached", "refused")
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	go func() { _ = f.Config.Serve(l) }()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.flush(t)
	if f.document("a") != `{"n":1}` {
		t.Fatalf("a is %s", f.document("a"))
	}
	testenv.Eventually(t, 5*time.Second, "the task waits for nothing", func() bool { return r.host.waits() == "" })
}

// TestOneOfTwoServersIsAway: the other takes all.
func TestOneOfTwoServersIsAway(t *testing.T) {
	f := newFake(t, nil)
	r := newRun(t, "x", "http://127.0.0.1:1,"+f.URL, nil)
	for i := range 20 {
		r.write(t, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{}`)})
		r.flush(t)
	}
	if len(f.docs) != 20 {
		t.Fatalf("%d documents", len(f.docs))
	}
}

// TestMemoryIsBounded: a server that never answers holds Write back at the budget, and Write ends with its context.
func TestMemoryIsBounded(t *testing.T) {
	f := newFake(t, func(int) fault { return fault{hang: true} })
	r := newRun(t, "x", f.URL, map[string]string{"max.buffered.bytes": "1048576", "max.in.flight.requests": "2"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		big := strings.Repeat("x", 50_000)
		for {
			if err := r.Write(ctx, r.records(t, rec{key: text(fmt.Sprint(r.offset)), value: jsonValue(`{"v":%q}`, big)})); err != nil {
				done <- err
				return
			}
		}
	}()
	testenv.Eventually(t, time.Minute, "the budget is used", func() bool { _, b := r.budget.held(); return b > 900_000 })
	if n, b := r.budget.held(); b > 1<<20 {
		t.Fatalf("%d records of %d bytes held", n, b)
	}
	select {
	case err := <-done:
		t.Fatalf("Write did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestOverloadLowersRequestsAtOnce: 429 halves, success grows back.
func TestOverloadLowersRequestsAtOnce(t *testing.T) {
	f := newFake(t, until(12, fault{status: 429}))
	r := newRun(t, "x", f.URL, map[string]string{"max.in.flight.requests": "8", "batch.size": "5"})
	for i := range 40 {
		r.write(t, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{}`)})
	}
	testenv.Eventually(t, time.Minute, "the limit falls", func() bool { return r.limit.current() == 1 || f.requests() > 12 })
	r.flush(t)
	for i := range 400 {
		r.write(t, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{}`)})
		if i%20 == 0 {
			r.flush(t)
		}
	}
	r.flush(t)
	if n := r.limit.current(); n != 8 {
		t.Fatalf("%d requests at once are allowed after all went well", n)
	}
	l := newLimiter(8)
	for range 3 {
		_ = l.acquire(t.Context())
		l.release(true)
	}
	if l.current() != 1 {
		t.Fatalf("limit %d after three overloads", l.current())
	}
}

// TestRevokedRecordsAreNotSent: another task has the partition; its offsets are not said again.
func TestRevokedRecordsAreNotSent(t *testing.T) {
	f := newFake(t, until(1<<30, fault{status: 503}))
	r := newRun(t, "x", f.URL, nil)
	r.write(t, rec{key: text("a"), value: jsonValue(`{"n":1}`)})
	testenv.Eventually(t, time.Minute, "a request is refused", func() bool { return f.requests() > 0 })
	if err := r.Revoked(t.Context(), []connectapi.TopicPartition{r.tp()}, true); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the record is dropped", func() bool { _, idle, _ := r.track.state(); return idle })
	if o, err := r.Commit(t.Context(), false); err != nil || len(o) != 0 {
		t.Fatalf("offsets %v, %v", o, err)
	}
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	r.write(t, rec{key: text("b"), value: jsonValue(`{"n":2}`)}) // assigned again
	r.flush(t)
	if f.document("a") != "null" || f.document("b") != `{"n":2}` {
		t.Fatalf("a %s, b %s", f.document("a"), f.document("b"))
	}
}

// TestCommitOfAllGivesUpWhileTheServerIsAway: a task can be stopped and moved during an outage.
func TestCommitOfAllGivesUpWhileTheServerIsAway(t *testing.T) {
	f := newFake(t, nil)
	r := newRun(t, "x", f.URL, map[string]string{"max.in.flight.requests": "1"})
	r.write(t, rec{key: text("a"), value: jsonValue(`{}`)})
	r.flush(t)
	f.mu.Lock()
	f.next = until(1<<30, fault{status: 503})
	f.mu.Unlock()
	r.write(t, rec{key: text("b"), value: jsonValue(`{}`)})
	r.stuckAfter = 50 * time.Millisecond
	o, err := r.Commit(t.Context(), true)
	if err != nil || o[r.tp()] != 1 {
		t.Fatalf("offsets %v, %v", o, err)
	}
}
