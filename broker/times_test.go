package broker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestListOffsetsAgainstAModel writes batches of records with timestamps in no order, with every codec, to topics of both
// timestamp types, cuts the start, and compares every kind of ListOffsets with a model that knows each record's timestamp.
func TestListOffsetsAgainstAModel(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	adm := admin(t, b)
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for _, kind := range []string{"CreateTime", "LogAppendTime"} {
		topic := "times-" + kind
		if _, err := adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"message.timestamp.type": &kind}, topic); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			cl := client(t, b, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codecs[i%len(codecs)]))
			var rs []*kgo.Record
			for range 1 + rand.IntN(20) {
				rs = append(rs, &kgo.Record{Value: []byte("penstock penstock penstock"), Timestamp: time.UnixMilli(1000 + rand.Int64N(1000))})
			}
			if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			cl.Close()
		}
		all := consumeAll(t, b, topic)
		for _, start := range []int64{0, int64(len(all)) / 3} {
			if start > 0 {
				o := kadm.Offsets{}
				o.AddOffset(topic, 0, start, -1)
				if _, err := adm.DeleteRecords(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			compareTimes(t, b, topic, all[start:])
		}
	}
}

// consumeAll reads a topic to its end.
func consumeAll(t *testing.T, b *Broker, topic string) []*kgo.Record {
	t.Helper()
	q, _ := b.topics.Get(topic).Queue(0)
	h, err := b.store.Head(q)
	if err != nil {
		t.Fatal(err)
	}
	return consume(t, b, topic, int(h.HighWatermark))
}

func compareTimes(t *testing.T, b *Broker, topic string, rs []*kgo.Record) {
	t.Helper()
	r := dialRaw(t, b)
	list := func(version int16, at int64) (int64, int64) {
		t.Helper()
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID = version, -1
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = at, -1
		tp := kmsg.NewListOffsetsRequestTopic()
		tp.Topic, tp.Partitions = topic, append(tp.Partitions, p)
		req.Topics = append(req.Topics, tp)
		resp, err := r.ask(req)
		if err != nil {
			t.Fatal(err)
		}
		got := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			t.Fatalf("%s at %d: error %d", topic, at, got.ErrorCode)
		}
		return got.Offset, got.Timestamp
	}
	first, end := rs[0].Offset, rs[len(rs)-1].Offset+1
	ms := func(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() }
	top := rs[0]
	for _, r := range rs {
		if ms(r) > ms(top) {
			top = r
		}
	}
	check := func(version int16, at, offset, stamp int64) {
		t.Helper()
		if o, s := list(version, at); o != offset || s != stamp {
			t.Errorf("%s version %d at %d: offset %d of time %d, want %d of %d", topic, version, at, o, s, offset, stamp)
		}
	}
	check(10, -1, end, -1)
	check(10, -2, first, -1)
	check(10, -3, top.Offset, ms(top))
	check(10, -4, first, -1)
	check(10, -5, -1, -1)
	times := []int64{0, 1, ms(top), ms(top) + 1, ms(rs[0]), ms(rs[0]) - 1, ms(rs[len(rs)-1]), 1 << 60}
	for range 200 {
		times = append(times, ms(rs[rand.IntN(len(rs))])+rand.Int64N(3)-1)
	}
	for i, at := range times {
		offset, stamp := int64(-1), int64(-1)
		for _, r := range rs {
			if ms(r) >= at {
				offset, stamp = r.Offset, ms(r)
				break
			}
		}
		check([]int16{1, 3, 6, 10}[i%4], at, offset, stamp)
	}
}
