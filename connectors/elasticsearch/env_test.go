package elasticsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testHost is the worker's end of a task that is driven directly.
type testHost struct {
	text    lockedBuffer
	mu      sync.Mutex
	waiting string
	reasons []string // every other reason reported
	values  map[string]float64
	asked   int
	failed  map[int64]error
}

func (h *testHost) Log() *slog.Logger { return slog.New(slog.NewTextHandler(&h.text, nil)) }

func (h *testHost) Report(waiting string, values map[string]float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if waiting != h.waiting && len(h.reasons) < 10_000 {
		h.reasons = append(h.reasons, waiting)
	}
	h.waiting, h.values = waiting, values
}

func (h *testHost) RequestCommit() { h.mu.Lock(); h.asked++; h.mu.Unlock() }

func (h *testHost) waits() string { h.mu.Lock(); defer h.mu.Unlock(); return h.waiting }

func (h *testHost) value(name string) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.values[name]
}

func (h *testHost) failures() map[int64]error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.failed)
}

func (h *testHost) fail(r *connectapi.Record, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed[r.Original.Offset] = err
}

// rec is a record to write.
type rec struct {
	key, value connectapi.Value
	headers    map[string]string
}

// run drives a task.
type run struct {
	*task
	host    *testHost
	catalog *connectapi.Catalog
	dir     *connectapi.Directory
	batch   *connectapi.Batch
	topic   string
	offset  int64
}

// configOf is a configuration as a user's, with defaults.
func configOf(t testing.TB, values map[string]string) Config {
	t.Helper()
	def, err := connectapi.ConfigOf[Config]()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := connectapi.DecodeConfig[Config](def, values)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func newRun(t testing.TB, topic, url string, values map[string]string) *run {
	t.Helper()
	all := map[string]string{"connection.url": url, "retry.backoff.ms": "10"}
	maps.Copy(all, values)
	h := &testHost{failed: map[int64]error{}}
	task, err := open(configOf(t, all), h)
	if err != nil {
		t.Fatal(err)
	}
	task.longPause = 20 * time.Millisecond
	r := &run{task: task, host: h, catalog: connectapi.NewCatalog(), dir: connectapi.NewDirectory(), topic: topic}
	r.batch = connectapi.NewBatch(r.catalog)
	t.Cleanup(r.close)
	return r
}

func (r *run) close() { _ = r.Close(context.Background()) }

func (r *run) tp() connectapi.TopicPartition { return connectapi.TopicPartition{Topic: r.topic} }

// records makes a batch of records.
func (r *run) records(t testing.TB, recs ...rec) *connectapi.Records {
	t.Helper()
	r.batch.Reset()
	for _, x := range recs {
		var h connectapi.Headers
		for k, v := range x.headers {
			h = h.AppendHeader(r.catalog, k, connectapi.NewValue(connectapi.StringSchema, []byte(v)))
		}
		route := connectapi.NewRoute(r.topic, x.key.Schema(), x.value.Schema())
		route.Partition = 0
		r.batch.AppendConsumed(route, 1_700_000_000_000, r.offset, x.key.Encoded(), x.value.Encoded(), h)
		r.offset++
	}
	schemas, routes := r.catalog.Announce()
	for _, a := range schemas {
		if err := r.dir.AddSchema(a.ID, a.Schema); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range routes {
		if err := r.dir.AddRoute(a.ID, a.Route); err != nil {
			t.Fatal(err)
		}
	}
	return connectapi.NewRecords(r.batch.Encoded(), r.batch.Len(), r.batch.Base(), r.dir, r.host.fail)
}

func (r *run) write(t testing.TB, recs ...rec) {
	t.Helper()
	if err := r.Write(context.Background(), r.records(t, recs...)); err != nil {
		t.Fatal(err)
	}
}

// flush waits until all is durable.
func (r *run) flush(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for { // a busy server may take longer than one call waits
		o, err := r.Commit(ctx, true)
		if err != nil {
			t.Fatal(err)
		}
		if o[r.tp()] == r.offset {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("durable below %d, written below %d; waiting for %q", o[r.tp()], r.offset, r.host.waits())
		}
	}
}

// flushErr waits for the task's failure.
func (r *run) flushErr(t testing.TB) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	o, err := r.Commit(ctx, true)
	if err == nil {
		t.Fatalf("no error; durable: %v", o)
	}
	return err
}

func text(s string) connectapi.Value {
	return connectapi.NewValue(connectapi.StringSchema, []byte(s))
}

func jsonValue(format string, args ...any) connectapi.Value {
	return connectapi.NewValue(nil, fmt.Appendf(nil, format, args...))
}

func number(n int64) connectapi.Value {
	return connectapi.NewValue(connectapi.Int64Schema, connectapi.AppendInt([]byte{}, n))
}

// encoded is a Go value under a schema.
func encoded(t testing.TB, s *connectapi.Schema, v any) connectapi.Value {
	t.Helper()
	b, err := connectapi.Append([]byte{}, s, v)
	if err != nil {
		t.Fatal(err)
	}
	return connectapi.NewValue(s, b)
}

// structOf is a struct of the fields given.
func structOf(t testing.TB, s *connectapi.Schema, fields map[string]any) connectapi.Value {
	t.Helper()
	st := connectapi.NewStructValue(s)
	for k, v := range fields {
		if err := st.Put(k, v); err != nil {
			t.Fatal(err)
		}
	}
	return encoded(t, s, st)
}

// index is an index of a test's own.
func index(t testing.TB) string {
	return strings.NewReplacer("/", "-", "#", "-").Replace(strings.ToLower(t.Name())) + fmt.Sprint("-", time.Now().UnixNano()%1e9)
}

// do asks the server, which must answer with the status.
func do(t testing.TB, es *testenv.Elasticsearch, method, path, body string, want int) map[string]any {
	t.Helper()
	status, reply, err := es.Do(method, path, body)
	if err != nil || status != want && want != 0 {
		t.Fatalf("%s %s: %d %s %v", method, path, status, reply, err)
	}
	m := map[string]any{}
	if len(reply) > 0 && reply[0] == '{' {
		if err := json.Unmarshal(reply, &m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// documents returns all documents of an index by id.
func documents(t testing.TB, es *testenv.Elasticsearch, index string) map[string]map[string]any {
	t.Helper()
	do(t, es, "POST", "/"+index+"/_refresh", "", 200)
	out := map[string]map[string]any{}
	after := ""
	for {
		r := do(t, es, "POST", "/"+index+"/_search", `{"size":10000,"sort":[{"_doc":"asc"}],"query":{"match_all":{}}`+after+`}`, 200)
		hits := r["hits"].(map[string]any)["hits"].([]any)
		for _, h := range hits {
			m := h.(map[string]any)
			out[m["_id"].(string)] = m["_source"].(map[string]any)
		}
		if len(hits) < 10000 {
			return out
		}
		last, _ := json.Marshal(hits[len(hits)-1].(map[string]any)["sort"])
		after = `,"search_after":` + string(last)
	}
}

var plugin = sync.OnceValues(func() (string, error) {
	out := filepath.Join(testenv.TempDir("pses"), "plugin")
	cmd := exec.Command("go", "build", "-o", out, "./plugin")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the plugin: %w\n%s", err, text)
	}
	return out, nil
})
