package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type config = map[string]string

// newServer makes a server that commits five times a second; it is not started.
func newServer(t *testing.T, plugins ...string) *testenv.Penstock {
	t.Helper()
	s := testenv.NewPenstock(t, plugins)
	file := filepath.Join(s.Dir, "penstock.properties")
	write(t, file, "offset.flush.interval.ms=200\n")
	s.Args = append(s.Args, "--config", file)
	return s
}

// server is newServer, started.
func server(t *testing.T, plugins ...string) *testenv.Penstock {
	t.Helper()
	s := newServer(t, plugins...)
	s.Start(t)
	return s
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, file, content string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// answer is what the REST interface said.
type answer struct {
	code   int
	header http.Header
	body   string
}

// call sends a request; headers are name, value pairs.
func call(t testing.TB, s *testenv.Penstock, method, path, body string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 95*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.REST+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// into decodes the body.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("decoding %q: %v", a.body, err)
	}
}

func post(t testing.TB, s *testenv.Penstock, name string, cfg config) answer {
	t.Helper()
	b, err := json.Marshal(map[string]any{"name": name, "config": cfg})
	if err != nil {
		t.Fatal(err)
	}
	return call(t, s, "POST", "/connectors", string(b))
}

// state is GET …/status, of which tests look at a few fields.
type state struct {
	Name      string
	Type      string
	Connector struct{ State, Trace, Worker_ID string } //nolint:revive,staticcheck // as it is sent
	Tasks     []struct {
		ID           int
		State, Trace string
		Worker_ID    string //nolint:revive,staticcheck // as it is sent
	}
}

func status(t testing.TB, s *testenv.Penstock, name string) state {
	t.Helper()
	var st state
	if a := call(t, s, "GET", "/connectors/"+name+"/status", ""); a.code == 200 {
		a.into(t, &st)
	}
	return st
}

// awaitTask waits for a task's state and gives its trace.
func awaitTask(t testing.TB, s *testenv.Penstock, name string, d time.Duration, want string) string {
	t.Helper()
	var st state
	testenv.Eventually(t, d, "task 0 of "+name+" is "+want, func() bool {
		st = status(t, s, name)
		return len(st.Tasks) > 0 && st.Tasks[0].State == want
	})
	return st.Tasks[0].Trace
}

// client is a Kafka client over the network, as any other program is.
func client(t testing.TB, s *testenv.Penstock, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.Broker), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes records and waits until they are durable.
func produce(t testing.TB, s *testenv.Penstock, recs ...*kgo.Record) {
	t.Helper()
	cl := client(t, s, kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func value(topic, v string) *kgo.Record { return &kgo.Record{Topic: topic, Value: []byte(v)} }

// tap reads topics from their start and keeps what it read.
type tap struct {
	cl   *kgo.Client
	recs []*kgo.Record
}

func newTap(t testing.TB, s *testenv.Penstock, topics ...string) *tap {
	t.Helper()
	return &tap{cl: client(t, s, kgo.ConsumeTopics(topics...), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(time.Second), kgo.UnknownTopicRetries(-1))}
}

// more takes in what there is.
func (p *tap) more(wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	p.recs = append(p.recs, p.cl.PollFetches(ctx).Records()...)
}

// until reads until ok.
func (p *tap) until(t testing.TB, d time.Duration, what string, ok func([]*kgo.Record) bool) []*kgo.Record {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok(p.recs) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s; %d records were read", d, what, len(p.recs))
		}
		p.more(200 * time.Millisecond)
	}
	return p.recs
}

// count reads until n records are there.
func (p *tap) count(t testing.TB, d time.Duration, n int) []*kgo.Record {
	t.Helper()
	return p.until(t, d, fmt.Sprintf("%d records", n), func(r []*kgo.Record) bool { return len(r) >= n })
}

// toEnd reads up to the end topics have now.
func (p *tap) toEnd(t testing.TB, topics ...string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(p.cl).ListEndOffsets(ctx, topics...)
	if err != nil {
		t.Fatal(err)
	}
	return p.until(t, 60*time.Second, "the topics' ends", func(recs []*kgo.Record) bool {
		next := map[string]map[int32]int64{}
		for _, r := range recs {
			if next[r.Topic] == nil {
				next[r.Topic] = map[int32]int64{}
			}
			next[r.Topic][r.Partition] = r.Offset + 1
		}
		ok := true
		ends.Each(func(o kadm.ListedOffset) { ok = ok && (o.Err != nil || next[o.Topic][o.Partition] >= o.Offset) })
		return ok
	})
}

// committed gives a sink's offset of partition 0.
func committed(t testing.TB, s *testenv.Penstock, group, topic string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o, err := kadm.NewClient(client(t, s)).FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := o.Lookup(topic, 0)
	if !ok {
		return -1
	}
	return got.At
}

// children lists the processes a process started, by id.
func children(t testing.TB, pid int) []int {
	t.Helper()
	var out []int
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		b, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		var id, ppid int
		var st string
		if _, err := fmt.Sscanf(string(b[:bytes.IndexByte(b, '(')]), "%d", &id); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(string(b[bytes.LastIndexByte(b, ')')+1:]), " %s %d", &st, &ppid); err != nil {
			t.Fatal(err)
		}
		if ppid == pid && st != "Z" {
			out = append(out, id)
		}
	}
	return out
}

// plugin gives the process of a plugin of the server, by the name of its binary.
func plugin(t testing.TB, s *testenv.Penstock, name string) (pids []int) {
	t.Helper()
	for _, pid := range children(t, s.PID()) {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.Contains(exe, "penstock-connector-"+name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(b[bytes.LastIndexByte(b, ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(rest), "Z")
}

func fileSource(file, topic string) config {
	return config{
		"connector.class": "file-source", "file": file, "topic": topic, "key.converter": stringConverter, "value.converter": stringConverter,
	}
}

func fileSink(file, topic string) config {
	return config{
		"connector.class": "file-sink", "file": file, "topics": topic, "key.converter": stringConverter, "value.converter": stringConverter,
	}
}

const (
	stringConverter = "org.apache.kafka.connect.storage.StringConverter"
	jsonConverter   = "org.apache.kafka.connect.json.JsonConverter"
)
