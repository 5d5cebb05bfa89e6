package broker

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/batch"
)

// wire is a raw connection in a transaction of its own.
type wire struct {
	t     testing.TB
	raw   *raw
	pid   int64
	epoch int16
}

const wireID, wireTopic, wireGroup = "wire", "wired", "wires"

func (w *wire) ask(req kmsg.Request) kmsg.Response {
	w.t.Helper()
	resp, err := w.raw.ask(req)
	if err != nil {
		w.t.Fatalf("%s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

func (w *wire) init(version int16, pid int64, epoch int16) int16 {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = version, kmsg.StringPtr(wireID), 60_000
	req.ProducerID, req.ProducerEpoch = pid, epoch
	resp := w.ask(req).(*kmsg.InitProducerIDResponse)
	if resp.ErrorCode == 0 {
		w.pid, w.epoch = resp.ProducerID, resp.ProducerEpoch
	}
	return resp.ErrorCode
}

// add gives the codes of the partitions asked for.
func (w *wire) add(version, epoch int16, partitions ...int32) (codes []int16) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = version, wireID, w.pid, epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = wireTopic, partitions
	req.Topics = append(req.Topics, t)
	for _, p := range w.ask(req).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions {
		codes = append(codes, p.ErrorCode)
	}
	return codes
}

func (w *wire) addGroup(version, epoch int16) int16 {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = version, wireID, w.pid, epoch, wireGroup
	return w.ask(req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode
}

func (w *wire) end(version, epoch int16, commit bool) int16 {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = version, wireID, w.pid, epoch, commit
	return w.ask(req).(*kmsg.EndTxnResponse).ErrorCode
}

func (w *wire) stage(version, epoch int16, offset int64) int16 {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = version, wireID, wireGroup, w.pid, epoch
	req.Generation = -1
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.Partitions = wireTopic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return w.ask(req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

func (w *wire) produce(version int16, partition int32, epoch int16, seq int32, transactional bool) int16 {
	w.t.Helper()
	bd := batch.Builder{Transactional: transactional}
	b, err := bd.Producer(w.pid, epoch, seq).Add(batch.Record{Time: time.Now().UnixMilli(), Value: []byte("v")}).Build()
	if err != nil {
		w.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 10_000
	if transactional {
		req.TransactionID = kmsg.StringPtr(wireID)
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, b
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = wireTopic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return w.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
}

func (w *wire) endOffset(level int8) int64 { return w.atTime(level, -1) }

// atTime asks for the first offset at or after a time; -1 is the end.
func (w *wire) atTime(level int8, ms int64) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.IsolationLevel = 7, -1, level
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = ms
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = wireTopic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return w.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
}

// offset is what a group has committed, with the code of the partition.
func (w *wire) offset(stable bool) (int64, int16) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, stable
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = wireTopic, []int32{0}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.Topics = wireGroup, append(g.Topics, t)
	req.Groups = append(req.Groups, g)
	p := w.ask(req).(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

// TestTransactionCodes: what each version is told.
func TestTransactionCodes(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	if _, err := admin(t, b).CreateTopic(t.Context(), 2, 1, nil, wireTopic); err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, raw: dialRaw(t, b)}
	const (
		fenced, oldEpoch = 90, 47 // PRODUCER_FENCED, INVALID_PRODUCER_EPOCH
		mapping, state   = 49, 48 // INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE
		abortable        = 120    // TRANSACTION_ABORTABLE
		unknownTopic     = 3
		notAttempted     = 55
		unstable         = 88
	)
	check := func(what string, got, want int16) {
		t.Helper()
		if got != want {
			t.Errorf("%s: error %d (%v), want %d", what, got, kerr.ErrorForCode(got), want)
		}
	}
	check("init", w.init(5, -1, -1), 0)
	first := w.epoch
	check("init again", w.init(0, -1, -1), 0) // the first one is fenced
	for _, v := range []int16{3, 5} {
		want := int16(oldEpoch)
		if v >= 4 {
			want = fenced
		}
		check("init by the first", w.init(v, w.pid, first), want)
	}
	for v := range int16(4) {
		want := int16(oldEpoch)
		if v >= 2 {
			want = fenced
		}
		check("add by the first", w.add(v, first, 0)[0], want)
		check("add a group by the first", w.addGroup(v, first), want)
		check("end by the first", w.end(v, first, true), want)
	}
	if got := w.add(3, w.epoch, 0, 5, 1); !slices.Equal(got, []int16{notAttempted, unknownTopic, notAttempted}) {
		t.Errorf("adding a partition there is not: %v", got)
	}
	check("commit of nothing", w.end(3, w.epoch, true), state)
	check("add", w.add(3, w.epoch, 0)[0], 0)
	check("produce", w.produce(9, 0, w.epoch, 0, true), 0)
	check("produce to what was not added, old client", w.produce(10, 1, w.epoch, 0, true), state)
	check("produce to what was not added", w.produce(11, 1, w.epoch, 0, true), abortable)
	check("produce out of the transaction", w.produce(9, 0, w.epoch, 1, false), state)
	check("produce by the first", w.produce(9, 0, first, 1, true), oldEpoch)
	stranger := &wire{t: t, raw: w.raw, pid: w.pid + 100}
	check("produce by a stranger", stranger.produce(9, 0, 0, 0, true), mapping)
	check("end by a stranger", stranger.end(3, 0, true), mapping)
	if lso, hw := w.endOffset(1), w.endOffset(0); lso != 0 || hw != 1 {
		t.Errorf("ends %d and %d", lso, hw)
	}
	if committed, all := w.atTime(1, 1), w.atTime(0, 1); committed != -1 || all != 0 {
		t.Errorf("by time: %d and %d", committed, all)
	}
	check("stage without the group", w.stage(3, w.epoch, 7), state)
	check("add a group", w.addGroup(3, w.epoch), 0)
	for v := range int16(5) {
		check("stage", w.stage(v, w.epoch, 7+int64(v)), 0)
	}
	if at, code := w.offset(true); code != unstable {
		t.Errorf("a stable offset was asked for: %d, %d", at, code)
	}
	if at, code := w.offset(false); at != -1 || code != 0 {
		t.Errorf("an offset that is not committed: %d, %d", at, code)
	}
	check("commit", w.end(4, w.epoch, true), 0)
	check("commit again", w.end(0, w.epoch, true), 0)
	check("abort after that", w.end(4, w.epoch, false), state)
	if at, code := w.offset(true); at != 11 || code != 0 {
		t.Errorf("the committed offset: %d, %d", at, code)
	}
	if lso, hw := w.endOffset(1), w.endOffset(0); lso != 2 || hw != 2 {
		t.Errorf("ends %d and %d", lso, hw)
	}
	check("produce after the end", w.produce(9, 0, w.epoch, 1, true), state)
}
