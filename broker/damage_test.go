package broker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/store"
)

// flipped writes some segments to two partitions, stops the broker in order, and turns one bit of the value of a record in
// the first segment. It gives the damaged file, the record's offset, and how many records each partition has.
func flipped(t *testing.T, dir string) (file string, offset, each int64) {
	t.Helper()
	b := start(t, dir, nil)
	if _, err := admin(t, b).CreateTopic(t.Context(), 2, 1, nil, "flip"); err != nil {
		t.Fatal(err)
	}
	cl := client(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	offset, each = 40, 200
	for i := range each {
		for p := range int32(2) {
			value := append(fmt.Appendf(nil, "partition %d record %d;", p, i), make([]byte, 60_000)...)
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "flip", Partition: p, Value: value}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cl.Close()
	stop(t, b)
	file = filepath.Join(dir, "log", fmt.Sprintf("%020d.log", 0))
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, fmt.Appendf(nil, "partition 0 record %d;", offset))
	if at < 0 {
		t.Fatal("the record is not in the first segment")
	}
	content[at+1000] ^= 0x10
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, offset, each
}

// fetchAt asks for both partitions, the first from an offset.
func fetchAt(t *testing.T, r *raw, version int16, offset, other int64) []kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.ReplicaState.ID, req.SessionEpoch = version, -1, -1, -1
	req.MaxBytes, req.MaxWaitMillis = 1<<20, 100
	for p, at := range []int64{offset, other} {
		q := kmsg.NewFetchRequestTopicPartition()
		q.Partition, q.FetchOffset, q.PartitionMaxBytes, q.CurrentLeaderEpoch = int32(p), at, 100_000, -1
		if p == 0 {
			req.Topics = []kmsg.FetchRequestTopic{{Topic: "flip"}}
		}
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, q)
	}
	resp, err := r.ask(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.FetchResponse).Topics[0].Partitions
}

// TestFlippedBitOnTheWire: a bit flipped far below what a start looks at does not stop the start. Fetch of that partition
// answers CORRUPT_MESSAGE at that batch and nowhere else, to any client; the scrubber and `penstock log verify` name the place.
func TestFlippedBitOnTheWire(t *testing.T) {
	dir := t.TempDir()
	file, offset, each := flipped(t, dir)
	b := start(t, dir, map[string]string{"log.scrub.io.max.bytes.per.second": "0"}) // what is found is found by reading
	if err := b.Health(); err != nil {
		t.Fatal(err)
	}
	r := dialRaw(t, b)
	for version := int16(4); version <= 12; version++ {
		for range 2 { // the second time just as well
			ps := fetchAt(t, r, version, offset, offset)
			if ps[0].ErrorCode != kerr.CorruptMessage.Code || len(ps[0].RecordBatches) > 0 {
				t.Fatalf("v%d: the damaged partition answers %d with %d bytes", version, ps[0].ErrorCode, len(ps[0].RecordBatches))
			}
			if ps[1].ErrorCode != 0 || !bytes.Contains(ps[1].RecordBatches, fmt.Appendf(nil, "partition 1 record %d;", offset)) {
				t.Fatalf("v%d: the other partition answers %d with %d bytes", version, ps[1].ErrorCode, len(ps[1].RecordBatches))
			}
		}
		ps := fetchAt(t, r, version, offset-1, 0)
		if ps[0].ErrorCode != 0 || !bytes.Contains(ps[0].RecordBatches, fmt.Appendf(nil, "record %d;", offset-1)) || bytes.Contains(ps[0].RecordBatches, fmt.Appendf(nil, "record %d;", offset)) {
			t.Fatalf("v%d: what stands before answers %d with %d bytes", version, ps[0].ErrorCode, len(ps[0].RecordBatches))
		}
		if ps = fetchAt(t, r, version, offset+1, 0); ps[0].ErrorCode != 0 || !bytes.Contains(ps[0].RecordBatches, fmt.Appendf(nil, "record %d;", offset+1)) {
			t.Fatalf("v%d: what stands behind answers %d with %d bytes", version, ps[0].ErrorCode, len(ps[0].RecordBatches))
		}
	}
	named := func(err error) bool {
		var se *store.StorageError
		return errors.As(err, &se) && se.Reason == store.Damaged && strings.Contains(err.Error(), file)
	}
	if err := b.Health(); !named(err) {
		t.Fatalf("health: %v", err)
	}
	wholeClient(t, b, offset, each)
	stop(t, b)

	b = start(t, dir, map[string]string{"log.scrub.io.max.bytes.per.second": "1073741824"})
	waitFor(t, "the scrubber names the place", func() bool { return named(b.Health()) })
	stop(t, b)

	c, err := store.Verify(t.Context(), dir, store.Options{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0], file) || len(c.Log.Damage) != 1 {
		t.Fatalf("verify names %q", c.Problems)
	}
	if d := c.Log.Damage[0]; d.To-d.From < 60_000 || d.To-d.From > 61_000 {
		t.Fatalf("verify names %d bytes", d.To-d.From)
	}
}

// wholeClient consumes with an ordinary client: it is told of the damage, gets all of the other partition, and everything
// behind the damaged batch once it seeks over that. (Without the option franz-go takes the error for one that passes.)
func wholeClient(t *testing.T, b *Broker, offset, each int64) {
	t.Helper()
	cl := client(t, b, kgo.KeepRetryableFetchErrors(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"flip": {0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0)}}))
	var got [2][]int64
	told := false
	ctx := within(t, time.Minute)
	for !told || int64(len(got[0])) < each-1 || int64(len(got[1])) < each {
		fs := cl.PollFetches(ctx)
		fs.EachError(func(topic string, p int32, err error) {
			if !errors.Is(err, kerr.CorruptMessage) || topic != "flip" || p != 0 {
				t.Fatalf("%s-%d: %v, after %d and %d records", topic, p, err, len(got[0]), len(got[1]))
			}
			if !told {
				told = true
				cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{"flip": {0: {Epoch: -1, Offset: offset + 1}}})
			}
		})
		fs.EachRecord(func(r *kgo.Record) { got[r.Partition] = append(got[r.Partition], r.Offset) })
	}
	for p, offsets := range got {
		if p == 0 {
			offsets = slices.Insert(offsets, int(offset), offset)
		}
		for i, at := range offsets {
			if at != int64(i) {
				t.Fatalf("partition %d: record %d has offset %d", p, i, at)
			}
		}
	}
}
