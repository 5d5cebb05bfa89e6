package topics

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/kafka/table"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func clients(t *testing.T) *kafka.Clients {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kafka.New(kafka.Config{Bootstrap: c.ListenAddrs()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func spec(name string, parts int32) kafka.TopicSpec {
	return kafka.TopicSpec{Name: name, Partitions: parts, Replication: 1}
}

func TestConfigRoundTrip(t *testing.T) {
	cl, ctx := clients(t), within(t)
	var mu sync.Mutex
	var changes []Change
	c, err := OpenConfig(ctx, cl, spec("configs", 1), quiet, func(ch Change) { mu.Lock(); changes = append(changes, ch); mu.Unlock() })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stopped := Stopped
	if err := c.PutConnector(ctx, "a-1", nil, nil); !errors.Is(err, errNotLeading) {
		t.Fatalf("a node that does not lead wrote: %v", err)
	}
	if err := c.Lead(ctx, cl, "connect-cluster-g"); err != nil {
		t.Fatal(err)
	}
	if err := c.PutConnector(ctx, "a-1", map[string]string{"connector.class": "X", "html": "<a&b>"}, &stopped); err != nil {
		t.Fatal(err)
	}
	if err := c.PutTasks(ctx, "a-1", []map[string]string{{"n": "0"}, {"n": "1"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.PutTarget(ctx, "a-1", Started); err != nil {
		t.Fatal(err)
	}
	want := Connector{
		Config: map[string]string{"connector.class": "X", "html": "<a&b>"}, Target: Started,
		Tasks: []map[string]string{{"n": "0"}, {"n": "1"}}, Applied: map[string]string{"connector.class": "X", "html": "<a&b>"},
		FencingPending: true, Fenced: -1, Committed: 7,
	}
	check := func(c *Config) {
		t.Helper()
		got, ok := c.Get("a-1")
		if d := cmp.Diff(want, got); !ok || d != "" {
			t.Fatalf("view differs: %s", d)
		}
	}
	check(c)
	kinds := []ChangeKind{ConfigChanged, TasksCommitted, TargetChanged}
	mu.Lock()
	for i, ch := range changes {
		if i >= len(kinds) || ch.Kind != kinds[i] || ch.Connector != "a-1" {
			t.Errorf("change %d is %+v", i, ch)
		}
	}
	mu.Unlock()

	again, err := OpenConfig(ctx, cl, spec("configs", 1), quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	check(again)
	if err := again.Lead(ctx, cl, "connect-cluster-g"); err != nil {
		t.Fatal(err)
	}
	if err := c.PutTasks(ctx, "a-1", nil); !errors.Is(err, table.ErrFenced) || !errors.Is(c.Broken(), table.ErrFenced) {
		t.Fatalf("a leader whose successor took over wrote: %v", err)
	}
	if err := c.PutConnector(ctx, "a-1", map[string]string{"a": "zombie"}, nil); !errors.Is(err, table.ErrFenced) {
		t.Fatalf("a leader whose successor took over wrote: %v", err)
	}
	check(again)
	if err := again.RemoveConnector(ctx, "a-1"); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadToEnd(ctx); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get("a-1"); ok || len(c.Names()) != 0 {
		t.Fatal("a removed connector is still there")
	}
}

// TestReadsWhatJavaWrites replays records as org.apache.kafka.connect writes them, unknown keys and members among them.
func TestReadsWhatJavaWrites(t *testing.T) {
	c := newConfig(quiet, nil)
	for _, r := range [][2]string{
		{"session-key", `{"key":"AAAA","algorithm":"HmacSHA256","creation-timestamp":1}`},
		{"target-state-x", `{"state":"PAUSED","state.v2":"STOPPED"}`},
		{"connector-x", `{"properties":{"connector.class":"FileStreamSource","nothing":null}}`},
		{"task-x-0", `{"properties":{"a":"old"}}`},
		{"task-x-0", `{"properties":{"a":"new"}}`},
		{"commit-x", `{"tasks":1,"later":true}`},
		{"tasks-fencing-x", `{"task-count":1}`},
		{"logger-cluster-root", `{"level":"debug"}`},
		{"from-the-future", `{`},
	} {
		c.apply(&kgo.Record{Key: []byte(r[0]), Value: []byte(r[1])})
	}
	got, _ := c.Get("x")
	want := Connector{
		Config: map[string]string{"connector.class": "FileStreamSource"}, Target: Stopped,
		Tasks: []map[string]string{{"a": "new"}}, Applied: map[string]string{"connector.class": "FileStreamSource"},
		Fenced: 1, Committed: 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	c.apply(&kgo.Record{Key: []byte("task-x-0"), Value: []byte(`{"properties":{}}`)})
	c.apply(&kgo.Record{Key: []byte("commit-x"), Value: []byte(`{"tasks":1}`)})
	if got, _ := c.Get("x"); !got.FencingPending || got.Fenced != 1 {
		t.Fatalf("tasks committed after a fencing: %+v", got)
	}
	c.apply(&kgo.Record{Key: []byte("commit-x"), Value: []byte(`{"tasks":2}`)})
	if got, _ = c.Get("x"); !got.Inconsistent || len(got.Tasks) != 0 {
		t.Fatalf("an incomplete commit gave %+v", got)
	}
}

// TestLevelsAreAskedForOnce: a record of a logger's level counts for who runs when it comes, as in Kafka Connect.
func TestLevelsAreAskedForOnce(t *testing.T) {
	cl, ctx := clients(t), within(t)
	told := make(chan Change, 10)
	open := func() *Config {
		t.Helper()
		c, err := OpenConfig(ctx, cl, spec("configs", 1), quiet, func(ch Change) { told <- ch })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	c := open()
	if err := c.PutLogger(ctx, "org.apache.kafka", "debug"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Change{Kind: LoggerSet, Logger: "org.apache.kafka", Level: "debug"}, <-told); d != "" {
		t.Error(d)
	}
	open()
	for _, value := range [][]byte{nil, []byte("{"), []byte(`{"level":5}`)} {
		c.apply(&kgo.Record{Key: []byte("logger-cluster-x"), Value: value})
	}
	if len(told) > 0 {
		t.Errorf("%+v was told", <-told)
	}
}

func TestOffsetsKeepKeyBytes(t *testing.T) {
	cl, ctx := clients(t), within(t)
	o, err := OpenOffsets(ctx, cl, spec("offsets", 5), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	java := []byte(`["c",{"z":"<&>","a":1}]`) // a Java map's order, not ours
	if err := o.tab.Write(ctx, record(java, `{"position":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Committed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	key, err := o.key("c", json.RawMessage(`{"a": 1, "z": "<&>"}`))
	if err != nil || string(key) != string(java) {
		t.Fatalf("key %s %v, want the stored bytes %s", key, err, java)
	}
	recs, err := o.Records("c", []Offset{{Partition: json.RawMessage(`{"a":1,"z":"<&>"}`), Value: json.RawMessage(`{"position":2}`)}})
	if err != nil || len(recs) != 1 || recs[0].Topic != "offsets" || recs[0].Partition != -1 {
		t.Fatal(recs, err)
	}
	if err := o.tab.Write(ctx, table.Record{Key: recs[0].Key, Value: recs[0].Value}); err != nil {
		t.Fatal(err)
	}
	if got, err := o.Committed(ctx, "c"); err != nil || len(got) != 1 || string(got[0].Value) != `{"position":2}` {
		t.Fatalf("got %v", got)
	}
	if key, _ := o.key("new <&>", json.RawMessage(`{"f":"/tmp/x"}`)); string(key) != `["new <&>",{"f":"/tmp/x"}]` {
		t.Fatalf("a new key is %s", key)
	}
	if _, err := o.Records("c", []Offset{{Partition: json.RawMessage(`[1]`)}}); err == nil || !strings.Contains(err.Error(), "flat JSON object") {
		t.Fatalf("a bad partition gave %v", err)
	}
}

// TestCommittedBehindAnOpenTransaction: the writer of one task was stopped in the midst of a transaction; what another task's
// writer committed behind it is seen, what nobody committed or somebody aborted is not.
func TestCommittedBehindAnOpenTransaction(t *testing.T) {
	cl, ctx := clients(t), within(t)
	o, err := OpenOffsets(ctx, cl, spec("offsets", 1), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	begin := func(id string) *kgo.Client {
		t.Helper()
		p, err := cl.Fenced(id, nil, id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	write := func(p *kgo.Client, connector, partition, value string) {
		t.Helper()
		off := Offset{Partition: json.RawMessage(partition)}
		if value != "" {
			off.Value = json.RawMessage(value)
		}
		recs, err := o.Records(connector, []Offset{off})
		if err != nil {
			t.Fatal(err)
		}
		recs[0].Partition = 0
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := p.ProduceSync(ctx, recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	end := func(p *kgo.Client, how kgo.TransactionEndTry) {
		t.Helper()
		if err := p.EndTransaction(ctx, how); err != nil {
			t.Fatal(err)
		}
	}
	frozen, live := begin("frozen"), begin("live")
	write(live, "c", `{"f":"gone"}`, `{"n":1}`)
	end(live, kgo.TryCommit)
	write(frozen, "other", `{"f":"x"}`, `{"n":1}`)
	for _, w := range []struct {
		partition, value string
		how              kgo.TransactionEndTry
	}{
		{`{"f":"a"}`, `{"n":1}`, kgo.TryCommit},
		{`{"f":"a"}`, `{"n":2}`, kgo.TryCommit},
		{`{"f":"a"}`, `{"n":3}`, kgo.TryAbort},
		{`{"f":"gone"}`, "", kgo.TryCommit},
	} {
		write(live, "c", w.partition, w.value)
		end(live, w.how)
	}
	check := func(connector string, want ...string) {
		t.Helper()
		got, err := o.Committed(ctx, connector)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, x := range got {
			said = append(said, string(x.Partition)+" "+string(x.Value))
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Fatal(connector, diff)
		}
	}
	check("c", `{"f":"a"} {"n":2}`)
	check("other")
	end(frozen, kgo.TryCommit)
	check("other", `{"f":"x"} {"n":1}`)
	check("c", `{"f":"a"} {"n":2}`)
}

func TestStatuses(t *testing.T) {
	cl, ctx := clients(t), within(t)
	s, err := OpenStatuses(ctx, cl, spec("status", 3), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trace := "boom"
	for _, err := range []error{
		s.PutConnector(ctx, "a", Status{State: "RUNNING", WorkerID: "h:1", Generation: 2}),
		s.PutTask(ctx, "a", 1, Status{State: "FAILED", Trace: &trace, WorkerID: "h:1", Generation: 2}),
		s.PutTask(ctx, "a", 0, Status{State: "RUNNING", WorkerID: "h:1", Generation: 2}),
		s.PutTask(ctx, "a", 0, Status{State: "UNASSIGNED", WorkerID: "old:1", Generation: 1}), // a zombie
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tasks := s.Tasks("a")
	if len(tasks) != 2 || tasks[0].ID != 0 || tasks[0].State != "RUNNING" || *tasks[1].Trace != "boom" {
		t.Fatalf("got %+v", tasks)
	}
	if err := s.Forget(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Connector("a"); ok || len(s.Tasks("a")) != 0 || len(s.Names()) != 0 {
		t.Fatal("forgotten statuses are still there")
	}
}

// TestUsedTopics reads and writes notes of topics as Kafka Connect does.
func TestUsedTopics(t *testing.T) {
	cl, ctx := clients(t), within(t)
	s, err := OpenStatuses(ctx, cl, spec("status", 3), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	uses := func(connector string, want ...string) {
		t.Helper()
		if d := cmp.Diff(append([]string{}, want...), s.Uses(connector)); d != "" {
			t.Errorf("%s: %s", connector, d)
		}
	}
	java := []table.Record{
		record([]byte("status-topic-b:connector-c:connector-x"), `{"topic":{"name":"b","connector":"c:connector-x","task":0,"discoverTimestamp":1}}`),
		record([]byte("status-topic-bad"), `{}`), record([]byte("status-topic-bad:connector-c"), `{`),
	}
	if err := s.tab.WriteApplied(ctx, java...); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"t2", "t1", "t1"} {
		if err := s.PutUse(ctx, "c", 3, topic); err != nil {
			t.Fatal(err)
		}
	}
	uses("c", "t1", "t2")
	uses("c:connector-x", "b")
	uses("none")
	before := s.Forgotten()
	if err := s.ForgetUses(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if uses("c"); s.Forgotten() == before {
		t.Error("nobody is told that topics are forgotten")
	}
	if names := s.Names(); len(names) != 1 || names[0] != "c:connector-x" {
		t.Errorf("names are %q", names)
	}
	if err := s.Forget(ctx, "c:connector-x"); err != nil {
		t.Fatal(err)
	}
	uses("c:connector-x")
	got := string(encodeJSON(topicRecord{topicUse{Name: "a", Connector: "<c>", Task: 1, Discovered: 5}}))
	if got != `{"topic":{"name":"a","connector":"<c>","task":1,"discoverTimestamp":5}}` {
		t.Error(got)
	}
}

func record(key []byte, value string) table.Record {
	return table.Record{Key: key, Value: []byte(value)}
}
