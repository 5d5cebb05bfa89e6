package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/rest/api"
)

// topicPartition names a partition of a topic.
type topicPartition struct {
	topic     string
	partition int32
}

// seen is what a reader saw of a partition, by offset: source partition and number; empty: nothing there.
type seen map[topicPartition][]string

func (s seen) add(topic string, partition int32, offset int64, what string) {
	tp := topicPartition{topic, partition}
	for int64(len(s[tp])) <= offset {
		s[tp] = append(s[tp], "")
	}
	s[tp][offset] = what
}

// numberOf takes a checking record's value apart.
func numberOf(value []byte) (partition string, n int64, err error) {
	f := bytes.SplitN(value, []byte{' '}, 3)
	if len(f) < 2 {
		return "", 0, fmt.Errorf("%q is no checking record", value)
	}
	n, err = strconv.ParseInt(string(f[1]), 10, 64)
	return string(f[0]), n, err
}

// readCommitted reads topics up to their ends, as a reader of committed records sees them.
func readCommitted(t *testing.T, broker string, topics []string, each func(*kgo.Record)) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DisableClientMetrics(), kgo.ConsumeTopics(topics...), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(cl).ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	next := map[topicPartition]int64{}
	for {
		missing := false
		ends.Each(func(o kadm.ListedOffset) { missing = missing || next[topicPartition{o.Topic, o.Partition}] < o.Offset })
		if !missing {
			return
		}
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatalf("reading %v, at %v: %v", topics, next, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			next[topicPartition{r.Topic, r.Partition}] = r.Offset + 1
			if !r.Attrs.IsControl() {
				each(r)
			}
		})
	}
}

// readTopics reads checking records.
func readTopics(t *testing.T, broker string, topics ...string) seen {
	t.Helper()
	out := seen{}
	readCommitted(t, broker, topics, func(r *kgo.Record) {
		p, n, err := numberOf(r.Value)
		if err != nil || p != string(r.Key) {
			t.Fatalf("offset %d of %s-%d: key %q, value %q: %v", r.Offset, r.Topic, r.Partition, r.Key, r.Value, err)
		}
		out.add(r.Topic, r.Partition, r.Offset, p+" "+strconv.FormatInt(n, 10))
	})
	return out
}

// numbers is how far a source partition's numbers are in its topic.
type numbers struct {
	next    int64 // all below are there, first seen in order
	repeats int
}

// inOrder checks that each number came for the first time right behind the one before it, and counts repeats.
func inOrder(t *testing.T, s seen, topic string) map[string]numbers {
	t.Helper()
	out, where := map[string]numbers{}, map[string]int32{}
	wrong := 0
	for tp, rows := range s {
		if tp.topic != topic {
			continue
		}
		for offset, what := range rows {
			if what == "" {
				continue
			}
			p, n, err := numberOf([]byte(what))
			if err != nil {
				t.Fatal(err)
			}
			if at, ok := where[p]; ok && at != tp.partition {
				t.Errorf("source partition %s is in partitions %d and %d of %s", p, at, tp.partition, topic)
			}
			where[p] = tp.partition
			row := out[p]
			switch {
			case n < row.next:
				row.repeats++
			case n == row.next:
				row.next++
			default:
				if wrong++; wrong <= 3 {
					t.Errorf("offset %d of %s-%d: number %d of source partition %s comes before %d", offset, topic, tp.partition, n, p, row.next)
				}
				row.next = n + 1
			}
			out[p] = row
		}
	}
	return out
}

// positions gives the stored position of each source partition.
func positions(t *testing.T, o api.OffsetsInfo) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, x := range o.Offsets {
		var p struct{ Checked string }
		var at struct{ Next int64 }
		if err := json.Unmarshal(x.Partition, &p); err != nil {
			t.Fatalf("partition %s: %v", x.Partition, err)
		}
		if err := json.Unmarshal(x.Offset, &at); err != nil {
			t.Fatalf("offset %s: %v", x.Offset, err)
		}
		out[p.Checked] = at.Next
	}
	return out
}

// readSink reads the files of a checking sink's tasks: what all of them saw, and how many lines.
func readSink(t *testing.T, dir string) (seen, int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.seen"))
	if err != nil {
		t.Fatal(err)
	}
	out, count := seen{}, 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if !strings.HasSuffix(line, "\n") {
				continue // the process was killed as it wrote
			}
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
			if len(f) != 4 {
				t.Fatalf("%s: %q", file, line)
			}
			p, err1 := strconv.ParseInt(f[1], 10, 32)
			o, err2 := strconv.ParseInt(f[2], 10, 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("%s: %q", file, line)
			}
			out.add(f[0], int32(p), o, f[3])
			count++
		}
	}
	return out, count
}

// missed compares what a sink saw with what its topics hold; it gives how many records there are.
func missed(t *testing.T, name string, saw, have seen, topics []string) (records int) {
	t.Helper()
	wrong := 0
	for tp, rows := range have {
		if !slices.Contains(topics, tp.topic) {
			continue
		}
		for offset, what := range rows {
			if what == "" {
				continue
			}
			records++
			got := ""
			if offset < len(saw[tp]) {
				got = saw[tp][offset]
			}
			if got != what {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: of %s-%d, offset %d, it saw %q, there is %q", name, tp.topic, tp.partition, offset, got, what)
				}
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d of %d records are missing or wrong", name, wrong, records)
	}
	return records
}
