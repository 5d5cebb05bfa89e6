package broker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicsAreCreatedGrownChangedAndDeleted(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	ctx := t.Context()
	made, err := adm.CreateTopics(ctx, 2, 3, map[string]*string{"retention.ms": kadm.StringPtr("1000")}, "a", "b.c", "b_c", "bad name", "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := made["a"].Err; err != nil && !errors.Is(err, kerr.InvalidRequest) {
		t.Errorf("creating a: %v", err)
	}
	if made["b.c"].Err != nil || !errors.Is(made["b_c"].Err, kerr.InvalidTopicException) || !errors.Is(made["bad name"].Err, kerr.InvalidTopicException) {
		t.Errorf("b.c: %v, b_c: %v, bad name: %v", made["b.c"].Err, made["b_c"].Err, made["bad name"].Err)
	}
	if made["b.c"].ReplicationFactor != 1 || made["b.c"].NumPartitions != 2 {
		t.Errorf("b.c was made with %d replicas and %d partitions", made["b.c"].ReplicationFactor, made["b.c"].NumPartitions)
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, nil, "b.c"); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("creating b.c twice: %v", err)
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, map[string]*string{"nonsense": kadm.StringPtr("1")}, "x"); !errors.Is(err, kerr.InvalidConfig) {
		t.Errorf("an unknown setting: %v", err)
	}
	grown, err := adm.CreatePartitions(ctx, 3, "b.c")
	if err != nil || grown["b.c"].Err != nil || b.topics.Get("b.c").Partitions() != 5 {
		t.Errorf("growing: %v %v", err, grown["b.c"].Err)
	}
	produceN(t, b, "b.c", 0, 50)
	alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")}, {Op: kadm.DeleteConfig, Name: "retention.ms"}}
	if rs, err := adm.AlterTopicConfigs(ctx, alter, "b.c"); err != nil || rs[0].Err != nil {
		t.Errorf("altering: %v %+v", err, rs)
	}
	rs, err := adm.DescribeTopicConfigs(ctx, "b.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rs[0].Configs {
		if c.Source < 1 || c.Source > 8 {
			t.Errorf("%s has source %d, which Java clients refuse", c.Key, c.Source)
		}
		if c.Key == "cleanup.policy" && (*c.Value != "compact" || c.Source != kmsg.ConfigSourceDynamicTopicConfig) {
			t.Errorf("cleanup.policy is %s from %s", *c.Value, c.Source)
		}
		if c.Key == "retention.ms" && (*c.Value != "604800000" || c.Source != kmsg.ConfigSourceDefaultConfig) {
			t.Errorf("retention.ms is %s from %s", *c.Value, c.Source)
		}
	}
	if _, err := adm.DeleteTopic(ctx, "b.c"); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if _, err := adm.DeleteTopic(ctx, "b.c"); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("deleting twice: %v", err)
	}
}

func TestBrokerSettingsAreShown(t *testing.T) {
	b := start(t, t.TempDir(), map[string]string{"num.partitions": "3"})
	rs, err := admin(t, b).DescribeBrokerConfigs(t.Context(), 1)
	if err != nil || rs[0].Err != nil {
		t.Fatal(err, rs[0].Err)
	}
	for _, c := range rs[0].Configs {
		if c.Key == "num.partitions" && (*c.Value != "3" || c.Source != kmsg.ConfigSourceStaticBrokerConfig) {
			t.Errorf("num.partitions is %s from %s", *c.Value, c.Source)
		}
	}
	produceN(t, b, "auto", 0, 1)
	if n := b.topics.Get("auto").Partitions(); n != 3 {
		t.Errorf("a topic made on first use has %d partitions", n)
	}
}

func TestKeylessRecordIsRefusedByCompactedTopic(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	if _, err := admin(t, b).CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}, "c"); err != nil {
		t.Fatal(err)
	}
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "zstd": kgo.ZstdCompression()} {
		cl := client(t, b, kgo.ProducerBatchCompression(codec))
		err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "c", Value: []byte(strings.Repeat("v", 100))}).FirstErr()
		if !errors.Is(err, kerr.InvalidRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := client(t, b).ProduceSync(t.Context(), &kgo.Record{Topic: "c", Key: []byte("k")}).FirstErr(); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
}

func TestDeleteRecordsMovesTheStart(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	produceN(t, b, "d", 0, 100)
	low := func(at int64) error {
		o := kadm.Offsets{}
		o.AddOffset("d", 0, at, -1)
		rs, err := adm.DeleteRecords(t.Context(), o)
		if err != nil {
			return err
		}
		r, _ := rs.Lookup("d", 0)
		if r.Err == nil && at >= 0 && r.LowWatermark != at {
			return fmt.Errorf("the start is %d, want %d", r.LowWatermark, at)
		}
		return r.Err
	}
	if err := low(42); err != nil { // inside a batch
		t.Fatal(err)
	}
	rs := consume(t, b, "d", 58)
	if rs[0].Offset != 42 {
		t.Errorf("the first record has offset %d", rs[0].Offset)
	}
	if err := low(101); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Errorf("past the end: %v", err)
	}
	if err := low(-1); err != nil {
		t.Errorf("all: %v", err)
	}
	starts, err := adm.ListStartOffsets(t.Context(), "d")
	if o, _ := starts.Lookup("d", 0); err != nil || o.Offset != 100 {
		t.Errorf("the start is %d: %v", o.Offset, err)
	}
	if _, err := adm.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")}}, "d"); err != nil {
		t.Fatal(err)
	}
	if err := low(100); !errors.Is(err, kerr.PolicyViolation) {
		t.Errorf("of a topic that is only compacted: %v", err)
	}
}

func TestCommittedOffsets(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	ctx := t.Context()
	if _, err := adm.CreateTopics(ctx, 2, 1, nil, "o1", "o2"); err != nil {
		t.Fatal(err)
	}
	none, err := adm.FetchOffsets(ctx, "nobody")
	if err != nil || len(none) != 0 {
		t.Errorf("an unknown group: %v %v", none, err)
	}
	os := kadm.Offsets{}
	os.Add(kadm.Offset{Topic: "o1", Partition: 0, At: 5, LeaderEpoch: 0, Metadata: "m"})
	os.Add(kadm.Offset{Topic: "o2", Partition: 1, At: 6, LeaderEpoch: -1})
	if err := adm.CommitAllOffsets(ctx, "g", os); err != nil {
		t.Fatal(err)
	}
	got, err := adm.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := got.Lookup("o1", 0); !ok || o.At != 5 || o.Metadata != "m" {
		t.Errorf("o1: %+v", o)
	}
	if o, ok := got.Lookup("o2", 1); !ok || o.At != 6 {
		t.Errorf("o2: %+v", o)
	}
	long := kadm.Offsets{}
	long.Add(kadm.Offset{Topic: "o1", Partition: 0, At: 9, Metadata: strings.Repeat("x", 5000)})
	if err := adm.CommitAllOffsets(ctx, "g", long); !errors.Is(err, kerr.OffsetMetadataTooLarge) {
		t.Errorf("long metadata: %v", err)
	}
	lag, err := adm.Lag(ctx, "g")
	if err != nil || lag["g"].State != "Empty" {
		t.Errorf("lag: %v %+v", err, lag)
	}
	del := kadm.TopicsSet{}
	del.Add("o2", 1)
	if r, err := adm.DeleteOffsets(ctx, "g", del); err != nil || r["o2"][1] != nil {
		t.Errorf("deleting an offset: %v %v", err, r)
	}
	if _, err := adm.DeleteTopic(ctx, "o1"); err != nil {
		t.Fatal(err)
	}
	if all := b.groups.FetchAll("g"); len(all) != 0 {
		t.Errorf("the offsets of a deleted topic are still there: %v", all)
	}
	ls, err := adm.ListGroups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range ls {
		if g.Group == "g" && g.State != "Empty" {
			t.Errorf("%+v", g)
		}
	}
}

// TestLongPoll crosses min bytes and max wait: an answer comes at once when there is enough, else when the time is up,
// and a parked fetch wakes when data comes.
func TestLongPoll(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "poll", 0, 1)
	fetch := func(at int64, minBytes, maxWait int32) *kmsg.FetchRequest {
		req := empty(1, 12).(*kmsg.FetchRequest)
		req.MinBytes, req.MaxWaitMillis, req.MaxBytes = minBytes, maxWait, 1<<20
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = at, 1<<20, -1
		tp := kmsg.NewFetchRequestTopic()
		tp.Topic, tp.Partitions = "poll", append(tp.Partitions, p)
		req.Topics = append(req.Topics, tp)
		return req
	}
	for _, c := range []struct {
		at                int64
		minBytes, maxWait int32
		low, high         time.Duration
		data              bool
		code              int16
	}{
		{0, 1, 10_000, 0, time.Second, true, 0},
		{0, 0, 10_000, 0, time.Second, true, 0},
		{1, 0, 10_000, 0, time.Second, false, 0},
		{1, 1, 0, 0, time.Second, false, 0},
		{1, 1, 200, 200 * time.Millisecond, 2 * time.Second, false, 0},
		{0, 100_000, 200, 200 * time.Millisecond, 2 * time.Second, true, 0},
		{9, 1, 10_000, 0, time.Second, false, 1}, // out of range is answered at once
	} {
		begun := time.Now()
		resp, err := dialRaw(t, b).ask(fetch(c.at, c.minBytes, c.maxWait))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if p.ErrorCode != c.code || len(p.RecordBatches) > 0 != c.data || took < c.low || took > c.high {
			t.Errorf("%+v: error %d, %d bytes after %s", c, p.ErrorCode, len(p.RecordBatches), took)
		}
		if p.RecordBatches == nil || p.AbortedTransactions == nil {
			t.Errorf("%+v: null records or transactions", c)
		}
	}
	r := dialRaw(t, b)
	req := fetch(1, 1, 9000)
	if err := r.write(r.frame(req)); err != nil {
		t.Fatal(err)
	}
	produceN(t, b, "poll", 1, 2)
	begun := time.Now()
	resp, err := r.answer(req, r.corr)
	if err != nil || time.Since(begun) > 3*time.Second {
		t.Fatalf("woken after %s: %v", time.Since(begun), err)
	}
	if n := len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches); n == 0 {
		t.Error("woken without data")
	}
}

// TestDeletedTopicWakesItsReaders: a fetch parked on a topic that is deleted is told so.
func TestDeletedTopicWakesItsReaders(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "gone", 0, 1)
	req := empty(1, 13).(*kmsg.FetchRequest)
	req.MinBytes, req.MaxWaitMillis, req.MaxBytes = 1, 9000, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = 1, 1<<20, -1
	tp := kmsg.NewFetchRequestTopic()
	tp.TopicID, tp.Partitions = b.topics.Get("gone").ID, append(tp.Partitions, p)
	req.Topics = append(req.Topics, tp)
	r := dialRaw(t, b)
	if err := r.write(r.frame(req)); err != nil {
		t.Fatal(err)
	}
	if _, err := admin(t, b).DeleteTopic(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	resp, err := r.answer(req, r.corr)
	if err != nil || time.Since(begun) > 3*time.Second {
		t.Fatalf("after %s: %v", time.Since(begun), err)
	}
	if e := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; e != kerr.UnknownTopicID.Code {
		t.Errorf("error %d", e)
	}
}

func TestAppendTimeTopics(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	if _, err := adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"message.timestamp.type": kadm.StringPtr("LogAppendTime")}, "at"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now().Add(-time.Second)
	cl := client(t, b)
	for range 2 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "at", Value: []byte("v"), Timestamp: time.UnixMilli(1000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range consume(t, b, "at", 2) {
		if r.Timestamp.Before(begun) || r.Attrs.TimestampType() != 1 {
			t.Errorf("offset %d has time %s of type %d", r.Offset, r.Timestamp, r.Attrs.TimestampType())
		}
	}
	produceN(t, b, "ct", 0, 1)
	for i, ms := range []int64{5000, 9000, 7000} {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "ts", Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(ms)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := adm.ListMaxTimestampOffsets(t.Context(), "ts")
	if o, _ := got.Lookup("ts", 0); err != nil || o.Offset != 1 || o.Timestamp != 9000 {
		t.Errorf("the highest timestamp: %+v, %v", o, err)
	}
	dirs, err := adm.DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	dirs.Each(func(d kadm.DescribedLogDir) { bytes += d.Size() })
	if bytes < 100 {
		t.Errorf("the log holds %d bytes", bytes)
	}
}

// TestRecreatedTopicIsAnother: a topic made again under its name has another id, no records, no offsets and no producers'
// sequences of the first, also after a restart; who asks by the old id is told.
func TestRecreatedTopicIsAnother(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir, nil)
	adm := admin(t, b)
	produceN(t, b, "again", 0, 10)
	old := b.topics.Get("again").ID
	os := kadm.Offsets{}
	os.Add(kadm.Offset{Topic: "again", At: 7})
	if err := adm.CommitAllOffsets(t.Context(), "g", os); err != nil {
		t.Fatal(err)
	}
	if p := askProduce(t, b, oneBatch(t, "again", 9, -1, 77, 0)); p.ErrorCode != 0 {
		t.Fatalf("error %d", p.ErrorCode)
	}
	if _, err := adm.DeleteTopic(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.CreateTopic(t.Context(), 1, 1, nil, "again"); err != nil {
		t.Fatal(err)
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			stop(t, b)
			b = start(t, dir, nil)
		}
		if b.topics.Get("again").ID == old {
			t.Error("it has the id of the first")
		}
		if o := b.groups.FetchAll("g"); len(o) != 0 {
			t.Errorf("it has offsets of the first: %v", o)
		}
		req := empty(1, 13).(*kmsg.FetchRequest)
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes, p.CurrentLeaderEpoch = 1<<20, -1
		at := kmsg.NewFetchRequestTopic()
		at.TopicID, at.Partitions = old, append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		resp, err := dialRaw(t, b).ask(req)
		if err != nil || resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicID.Code {
			t.Errorf("a fetch by the old id: %+v, %v", resp, err)
		}
		produce := oneBatch(t, "", 13, -1, 0, -1)
		produce.Topics[0].TopicID = old
		if p := askProduce(t, b, produce); p.ErrorCode != kerr.UnknownTopicID.Code {
			t.Errorf("a produce by the old id: error %d", p.ErrorCode)
		}
		if !restarted {
			if p := askProduce(t, b, oneBatch(t, "again", 9, -1, 77, 5)); p.ErrorCode != 0 || p.BaseOffset != 0 {
				t.Errorf("its first record: error %d, offset %d", p.ErrorCode, p.BaseOffset)
			}
		}
		if rs := consume(t, b, "again", 1); len(rs) != 1 {
			t.Errorf("it holds %d records", len(rs))
		}
	}
}

func askProduce(t *testing.T, b *Broker, req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	resp, err := dialRaw(t, b).ask(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}
