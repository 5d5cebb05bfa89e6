package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/broker/index"
)

// drained is what a consumer of committed records sees of a topic, in order.
func drained(t *testing.T, b *Broker, topic string) []string {
	t.Helper()
	cl := client(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords())
	adm := newAdmin(cl)
	ends, err := adm.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	starts, err := adm.ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	from, _ := starts.Lookup(topic, 0)
	var out []string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next := from.Offset; next < end.Offset; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("%s: stuck at %d of %d: %v", topic, next, end.Offset, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				out = append(out, fmt.Sprintf("%d %s=%.20s", r.Offset, r.Key, r.Value))
			}
		})
	}
	return out
}

// machineKeys is the state of all machines and queues as the index of a stopped broker has it.
func machineKeys(t *testing.T, dir string) map[string]string {
	t.Helper()
	db, err := index.Open(index.Options{Dir: filepath.Join(dir, "index"), MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	it, err := db.Iter([]byte{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		switch index.Prefix(it.Key()[0]) {
		case index.PrefixCheckpoint, index.PrefixBatch, index.PrefixSegment: // they hold places, and hints that may differ
		default:
			out[string(it.Key())] = string(it.Value())
		}
	}
	if err := errors.Join(it.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSpaceComesBack: under retention, compaction and transactions the log's first segments go, by the broker's own
// doing; after its index is lost as well, topics, settings, groups and records are what they were.
func TestSpaceComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("fills and empties a log")
	}
	dir := t.TempDir()
	set := map[string]string{
		"log.segment.bytes": "4194304", "log.retention.check.interval.ms": "100", "log.cleaner.backoff.ms": "100", "log.cleaner.min.dirty.bytes": "1",
	}
	b := start(t, dir, set)
	cl := client(t, b, kgo.ProducerBatchCompression(kgo.NoCompression()))
	adm := newAdmin(cl)
	p := func(s string) *string { return &s }
	for name, own := range map[string]map[string]*string{
		"small": {"retention.bytes": p("200000")},
		"table": {"cleanup.policy": p("compact"), "min.cleanable.dirty.ratio": p("0.1")},
		"txns":  {"cleanup.policy": p("compact"), "delete.retention.ms": p("0"), "min.cleanable.dirty.ratio": p("0.01")},
		"ever":  {"retention.ms": p("-1")},
	} {
		if _, err := adm.CreateTopic(t.Context(), 1, 1, own, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "table", Value: []byte("no key")}).FirstErr(); !errors.Is(err, kerr.InvalidRecord) {
		t.Fatalf("a record without a key in a compacted topic: %v", err)
	}
	tcl := client(t, b, kgo.TransactionalID("writer"))
	value := make([]byte, 2000)
	last := map[string]string{}
	for i := range 60 {
		var rs []*kgo.Record
		for j := range 100 {
			for k := range value {
				value[k] = byte('a' + rand.IntN(26))
			}
			rs = append(rs, &kgo.Record{Topic: "small", Value: slices.Clone(value)})
			key := fmt.Sprint("k", rand.IntN(200))
			last[key] = fmt.Sprintf("%d-%d %s", i, j, value[:200])
			rs = append(rs, &kgo.Record{Topic: "table", Key: []byte(key), Value: []byte(last[key])})
		}
		rs = append(rs, &kgo.Record{Topic: "ever", Key: fmt.Append(nil, i), Value: []byte("stays")})
		if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := tcl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		what := []string{"aborted", "committed"}[i%2]
		if err := tcl.ProduceSync(t.Context(), &kgo.Record{Topic: "txns", Key: []byte("one"), Value: fmt.Append(nil, what, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := tcl.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 1)); err != nil {
			t.Fatal(err)
		}
		var offs kadm.Offsets
		offs.AddOffset("ever", 0, int64(i), -1)
		if _, err := adm.CommitOffsets(t.Context(), "readers", offs); err != nil {
			t.Fatal(err)
		}
	}
	first := filepath.Join(dir, "log", fmt.Sprintf("%020d.log", 0))
	waitFor(t, "the first segment goes", func() bool { _, err := os.Stat(first); return os.IsNotExist(err) })
	waitFor(t, "the table is compacted", func() bool { return len(drained(t, b, "table")) < 2*len(last) })
	state := func() any {
		var all []any
		for _, topic := range []string{"small", "table", "txns", "ever"} {
			all = append(all, drained(t, b, topic))
		}
		adm := newAdmin(client(t, b))
		offs, err := adm.FetchOffsets(t.Context(), "readers")
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := adm.DescribeTopicConfigs(t.Context(), "table", "small", "txns")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cfg {
			for _, k := range c.Configs {
				if k.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
					all = append(all, c.Name+k.Key+k.MaybeValue())
				}
			}
		}
		return append(all, offs)
	}
	cl.Close()
	tcl.Close()
	stop(t, b)
	set["log.cleaner.backoff.ms"], set["log.retention.check.interval.ms"] = "3600000", "3600000" // so that nothing moves between the looks
	b = start(t, dir, set)
	before := state()
	for key, v := range last {
		if !slices.ContainsFunc(before.([]any)[1].([]string), func(s string) bool { return strings.HasSuffix(s, " "+key+"="+v[:20]) }) {
			t.Fatalf("the last value of %s is lost", key)
		}
	}
	if seen := before.([]any)[2].([]string); len(seen) == 0 || !strings.Contains(seen[len(seen)-1], "committed59") || strings.Contains(fmt.Sprint(seen), "aborted") {
		t.Fatalf("%v", seen)
	}
	stop(t, b)
	keys := machineKeys(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	if err := Reindex(t.Context(), dir, quiet()); err != nil {
		t.Fatal(err)
	}
	rebuilt := machineKeys(t, dir)
	for k, v := range keys {
		if rebuilt[k] != v {
			t.Errorf("key %q = %q, rebuilt %q", k, v, rebuilt[k])
		}
	}
	if len(rebuilt) != len(keys) || len(keys) < 10 {
		t.Fatalf("%d keys, rebuilt %d", len(keys), len(rebuilt))
	}
	b = start(t, dir, set)
	if after := state(); !reflect.DeepEqual(before, after) {
		t.Fatalf("before the index was lost:\n%.3000v\nafter:\n%.3000v", before, after)
	}
}
