package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestDeadLetters has one record of three that is not valid JSON: passed over into the dead letter queue, all three
// without a schema, and failing the task.
func TestDeadLetters(t *testing.T) {
	s := server(t, "file")
	produce(t, s,
		&kgo.Record{Topic: "c049", Key: []byte("k1"), Value: []byte(`{"a":1}`), Headers: []kgo.RecordHeader{{Key: "src", Value: []byte("test")}}},
		&kgo.Record{Topic: "c049", Key: []byte("k2"), Value: []byte(`{oops`), Headers: []kgo.RecordHeader{{Key: "src", Value: []byte("test")}}},
		&kgo.Record{Topic: "c049", Key: []byte("k3"), Value: []byte(`{"a":3}`), Headers: []kgo.RecordHeader{{Key: "src", Value: []byte("test")}}})
	sink := func(name, schemas, tolerance, dlq string) string {
		t.Helper()
		out := filepath.Join(s.Dir, name+".txt")
		cfg := fileSink(out, "c049")
		cfg["value.converter"], cfg["value.converter.schemas.enable"], cfg["errors.tolerance"] = jsonConverter, schemas, tolerance
		if dlq != "" {
			cfg["errors.deadletterqueue.topic.name"], cfg["errors.deadletterqueue.context.headers.enable"] = dlq, "true"
		}
		if a := post(t, s, name, cfg); a.code != 201 {
			t.Fatalf("create %s: %d %s", name, a.code, a.body)
		}
		return out
	}
	reached := func(name string, n int64) {
		t.Helper()
		testenv.Eventually(t, 20*time.Second, name+" commits "+strconv.FormatInt(n, 10), func() bool { return committed(t, s, "connect-"+name, "c049") == n })
	}

	out := sink("tolerant", "false", "all", "c049-dlq")
	reached("tolerant", 3)
	if got := readFile(t, out); got != "{\"a\":1}\n{\"a\":3}\n" {
		t.Errorf("the sink has %q", got)
	}
	recs := newTap(t, s, "c049-dlq").toEnd(t, "c049-dlq")
	if len(recs) != 1 || string(recs[0].Key) != "k2" || string(recs[0].Value) != "{oops" {
		t.Fatalf("the dead letter queue has %d records: %v", len(recs), recs)
	}
	headers := map[string]string{}
	for _, h := range recs[0].Headers {
		headers[h.Key] = string(h.Value)
	}
	for k, want := range map[string]string{
		"src": "test", "__connect.errors.topic": "c049", "__connect.errors.partition": "0", "__connect.errors.offset": "1",
		"__connect.errors.connector.name": "tolerant", "__connect.errors.task.id": "0", "__connect.errors.stage": "VALUE_CONVERTER",
	} {
		if headers[k] != want {
			t.Errorf("header %s is %q, not %q", k, headers[k], want)
		}
	}

	out = sink("schemas", "true", "all", "c049-dlq2")
	reached("schemas", 3)
	if recs := newTap(t, s, "c049-dlq2").toEnd(t, "c049-dlq2"); len(recs) != 3 || readFile(t, out) != "" {
		t.Errorf("%d records in the queue, the sink has %q", len(recs), readFile(t, out))
	}

	out = sink("strict", "false", "none", "")
	trace := awaitTask(t, s, "strict", 20*time.Second, "FAILED")
	if !strings.Contains(trace, "topic c049, partition 0, offset 1") {
		t.Errorf("the trace is %s", trace)
	}
	reached("strict", 1)
	if got := readFile(t, out); got != "{\"a\":1}\n" {
		t.Errorf("the strict sink has %q", got)
	}
	if a := call(t, s, "POST", "/connectors/strict/tasks/0/restart", ""); a.code != 204 {
		t.Fatalf("restart: %d %s", a.code, a.body)
	}
	testenv.Eventually(t, 20*time.Second, "the task fails again", func() bool {
		return strings.Count(s.Log(), "msg=\"a task failed\"") >= 2 && status(t, s, "strict").Tasks[0].State == "FAILED"
	})
	if got := readFile(t, out); got != "{\"a\":1}\n" {
		t.Errorf("after a restart the strict sink has %q", got)
	}
}

// TestNullsReachSinks writes a null value, the text null and an envelope of nulls; a sink sees nulls: a transform that drops
// tombstones drops them all, and without it each is a line that says null.
func TestNullsReachSinks(t *testing.T) {
	s := server(t, "file")
	for _, c := range []struct {
		schemas   string
		values    []string
		all, kept string
	}{
		{"false", []string{"null", `{"a":1}`}, "null\nnull\n{\"a\":1}\n", "{\"a\":1}\n"},
		{"true", []string{"null", `{"schema":null,"payload":null}`, `{"schema":{"type":"string","optional":false},"payload":"x"}`}, "null\nnull\nnull\nx\n", "x\n"},
	} {
		topic := "nulls-" + c.schemas
		recs := []*kgo.Record{{Topic: topic, Key: []byte("k")}}
		for _, v := range c.values {
			recs = append(recs, value(topic, v))
		}
		produce(t, s, recs...)
		for _, drop := range []bool{false, true} {
			name, want := topic+"-all", c.all
			cfg := fileSink(filepath.Join(s.Dir, name), topic)
			if drop {
				name, want = topic+"-kept", c.kept
				cfg["transforms"], cfg["transforms.u.type"] = "u", "io.debezium.transforms.ExtractNewRecordState"
				cfg["transforms.u.delete.tombstone.handling.mode"] = "drop"
			}
			cfg["file"] = filepath.Join(s.Dir, name)
			cfg["value.converter"], cfg["value.converter.schemas.enable"] = jsonConverter, c.schemas
			s.Create(t, name, cfg)
			testenv.Eventually(t, 20*time.Second, "all are committed", func() bool { return committed(t, s, "connect-"+name, topic) == int64(len(recs)) })
			if got := readFile(t, cfg["file"]); got != want {
				t.Errorf("%s: the sink has %q, not %q", name, got, want)
			}
		}
	}
}

// TestTombstonesStayNull deletes a row: the topic has a null value in both modes, so that compaction can take the key away.
func TestTombstonesStayNull(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	s := server(t, "mysql")
	db.Exec(t, "CREATE DATABASE c052; CREATE TABLE c052.t (id INT PRIMARY KEY); INSERT INTO c052.t VALUES (1)")
	for _, schemas := range []string{"true", "false"} {
		prefix := "c052-" + schemas
		s.Create(t, prefix, mysqlSource(db, prefix, "c052", config{"key.converter.schemas.enable": schemas, "value.converter.schemas.enable": schemas}))
		newTap(t, s, prefix+".c052.t").count(t, 30*time.Second, 1)
	}
	db.Exec(t, "DELETE FROM c052.t")
	for _, schemas := range []string{"true", "false"} {
		topic := "c052-" + schemas + ".c052.t"
		recs := newTap(t, s, topic).count(t, 30*time.Second, 3)
		if recs[2].Value != nil || len(recs[2].Key) == 0 || string(recs[2].Key) != string(recs[1].Key) {
			t.Errorf("schemas.enable=%s: the tombstone is %q %q", schemas, recs[2].Key, recs[2].Value)
		}
		out := string(testenv.Kcat(t, nil, "-C", "-b", s.Broker, "-t", topic, "-Z", "-e", "-q", "-o", "2", "-f", "%s %S\n"))
		if out != "NULL -1\n" {
			t.Errorf("schemas.enable=%s: kcat sees %q", schemas, out)
		}
	}
}
