package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/kafka"
)

// oneBatch is a produce of one record, idempotent if seq is not negative.
func oneBatch(t testing.TB, topic string, version, acks int16, pid int64, seq int32) *kmsg.ProduceRequest {
	t.Helper()
	bd := &batch.Builder{}
	if seq >= 0 {
		bd.Producer(pid, 0, seq)
	}
	bd.Add(batch.Record{Value: []byte("v")})
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 5000
	p := kmsg.NewProduceRequestTopicPartition()
	built, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	p.Records = built
	tp := kmsg.NewProduceRequestTopic()
	tp.Topic, tp.Partitions = topic, append(tp.Partitions, p)
	req.Topics = append(req.Topics, tp)
	return req
}

// TestAnswersLeaveInOrder sends many requests of mixed kinds without waiting.
func TestAnswersLeaveInOrder(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "order", 0, 1)
	r := dialRaw(t, b)
	var reqs []kmsg.Request
	var all []byte
	for i := range 100 {
		req := kmsg.Request(oneBatch(t, "order", 9, -1, 0, -1))
		switch i % 3 {
		case 1:
			req = empty(3, 9)
		case 2:
			req = empty(18, 3)
		}
		reqs = append(reqs, req)
		all = append(all, r.frame(req)...)
	}
	if err := r.write(all); err != nil {
		t.Fatal(err)
	}
	offset := int64(0)
	for i, req := range reqs {
		resp, err := r.answer(req, int32(i+1))
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		if p, ok := resp.(*kmsg.ProduceResponse); ok {
			offset++
			if got := p.Topics[0].Partitions[0]; got.BaseOffset != offset || got.ErrorCode != 0 {
				t.Fatalf("produce %d: offset %d, error %d", i, got.BaseOffset, got.ErrorCode)
			}
		}
	}
}

func TestRefusedProduces(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "p", 0, 1)
	first := func(req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
		t.Helper()
		resp, err := dialRaw(t, b).ask(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	}
	for name, c := range map[string]struct {
		req  func() *kmsg.ProduceRequest
		want *kerr.Error
	}{
		"version 2":     {func() *kmsg.ProduceRequest { return oneBatch(t, "p", 2, -1, 0, -1) }, kerr.UnsupportedVersion},
		"acks 2":        {func() *kmsg.ProduceRequest { return oneBatch(t, "p", 9, 2, 0, -1) }, kerr.InvalidRequiredAcks},
		"unknown topic": {func() *kmsg.ProduceRequest { return oneBatch(t, "none", 9, -1, 0, -1) }, kerr.UnknownTopicOrPartition},
		"out of order":  {func() *kmsg.ProduceRequest { return oneBatch(t, "seq", 9, -1, 7, 5) }, kerr.OutOfOrderSequenceNumber},
		"two batches":   {func() *kmsg.ProduceRequest { return twice(oneBatch(t, "p", 9, -1, 0, -1)) }, kerr.InvalidRecord},
		"damaged":       {func() *kmsg.ProduceRequest { return damaged(oneBatch(t, "p", 9, -1, 0, -1)) }, kerr.CorruptMessage},
		"empty records": {func() *kmsg.ProduceRequest { return cutTo(oneBatch(t, "p", 9, -1, 0, -1), 0) }, kerr.CorruptMessage},
		"unknown id":    {func() *kmsg.ProduceRequest { return oneBatch(t, "", 13, -1, 0, -1) }, kerr.UnknownTopicID},
		"wrong queue": {func() *kmsg.ProduceRequest {
			r := oneBatch(t, "p", 9, -1, 0, -1)
			r.Topics[0].Partitions[0].Partition = 9
			return r
		}, kerr.UnknownTopicOrPartition},
		"negative queue": {func() *kmsg.ProduceRequest {
			r := oneBatch(t, "p", 9, -1, 0, -1)
			r.Topics[0].Partitions[0].Partition = -1
			return r
		}, kerr.UnknownTopicOrPartition},
	} {
		if name == "out of order" {
			produceN(t, b, "seq", 0, 1)
			if p := first(oneBatch(t, "seq", 9, -1, 7, 0)); p.ErrorCode != 0 {
				t.Fatalf("the first of a sequence: %d", p.ErrorCode)
			}
			dup := first(oneBatch(t, "seq", 9, -1, 7, 0))
			if dup.ErrorCode != 0 || dup.BaseOffset != 1 {
				t.Errorf("a duplicate: error %d, offset %d, want the original's 1", dup.ErrorCode, dup.BaseOffset)
			}
		}
		if p := first(c.req()); p.ErrorCode != c.want.Code {
			t.Errorf("%s: error %d, want %s", name, p.ErrorCode, c.want.Message)
		}
	}
}

func twice(r *kmsg.ProduceRequest) *kmsg.ProduceRequest {
	p := &r.Topics[0].Partitions[0]
	p.Records = append(bytes.Clone(p.Records), p.Records...)
	return r
}

func damaged(r *kmsg.ProduceRequest) *kmsg.ProduceRequest {
	p := &r.Topics[0].Partitions[0]
	p.Records[len(p.Records)-1] ^= 1
	return r
}

func cutTo(r *kmsg.ProduceRequest, n int) *kmsg.ProduceRequest {
	r.Topics[0].Partitions[0].Records = r.Topics[0].Partitions[0].Records[:n]
	return r
}

// TestRefusedProduceWithoutAnswerEndsTheConnection: with acks=0 that is all a client can notice.
func TestRefusedProduceWithoutAnswerEndsTheConnection(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	r := dialRaw(t, b)
	if err := r.write(r.frame(oneBatch(t, "none", 9, 0, 0, -1))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.read(); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		if ne, ok := errors.AsType[net.Error](err); err == nil || ok && ne.Timeout() {
			t.Fatalf("the connection goes on: %v", err)
		}
	}
}

func TestSilentConnectionsEnd(t *testing.T) {
	b := start(t, t.TempDir(), map[string]string{"connections.max.idle.ms": "1000"})
	r := dialRaw(t, b)
	if _, err := r.ask(empty(18, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.read(); !errors.Is(err, io.EOF) {
		t.Fatalf("a silent connection: %v", err)
	}
	// A parked fetch is not silence.
	produceN(t, b, "idle", 0, 1)
	req := filledFetch("idle", 1, 1800)
	r = dialRaw(t, b)
	if _, err := r.ask(req); err != nil {
		t.Fatalf("a parked fetch: %v", err)
	}
}

func filledFetch(topic string, at int64, maxWait int32) *kmsg.FetchRequest {
	req := empty(1, 12).(*kmsg.FetchRequest)
	req.MinBytes, req.MaxWaitMillis, req.MaxBytes = 1, maxWait, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = at, 1<<20, -1
	tp := kmsg.NewFetchRequestTopic()
	tp.Topic, tp.Partitions = topic, append(tp.Partitions, p)
	req.Topics = append(req.Topics, tp)
	return req
}

func TestConnectionsAreLimited(t *testing.T) {
	b := start(t, t.TempDir(), map[string]string{"max.connections": "2"})
	a, c := dialRaw(t, b), dialRaw(t, b)
	for _, r := range []*raw{a, c} {
		if _, err := r.ask(empty(18, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dialRaw(t, b).ask(empty(18, 3)); err == nil {
		t.Fatal("a third connection was served")
	}
	a.nc.Close()
	waitFor(t, "room for another", func() bool { _, err := dialRaw(t, b).ask(empty(18, 3)); return err == nil })
}

// TestCloseAnswersWhoIsParked: a stop does not wait for long polls, and they get an answer.
func TestCloseAnswersWhoIsParked(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "parked", 0, 1)
	r := dialRaw(t, b)
	req := filledFetch("parked", 1, 60_000)
	if err := r.write(r.frame(req)); err != nil {
		t.Fatal(err)
	}
	other := dialRaw(t, b) // its answer shows that the fetch had time to arrive
	if _, err := other.ask(empty(3, 9)); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	stop(t, b)
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("closing took %s", d)
	}
	resp, err := r.answer(req, r.corr)
	if err == nil {
		if p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Errorf("the parked fetch got error %d", p.ErrorCode)
		}
	}
	if _, err := b.Dial(context.Background(), "User:x"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("dialing a closed broker: %v", err)
	}
	if !errors.Is(b.Health(), ErrNotRunning) {
		t.Errorf("its health: %v", b.Health())
	}
}

// TestMinBytesAboveTheLimitsDoesNotSpin: a request whose limits are below its min bytes gets what fits.
func TestMinBytesAboveTheLimitsDoesNotSpin(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	cl := client(t, b, kgo.DefaultProduceTopic("big"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(20_000))
	for range 20 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Value: make([]byte, 10_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	req := filledFetch("big", 0, 20_000)
	req.MinBytes = 100_000
	req.Topics[0].Partitions[0].PartitionMaxBytes = 30_000
	begun := time.Now()
	resp, err := dialRaw(t, b).ask(req)
	if err != nil || time.Since(begun) > 5*time.Second {
		t.Fatalf("after %s: %v", time.Since(begun), err)
	}
	if n := len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches); n == 0 || n > 30_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestListeners(t *testing.T) {
	ls, err := ParseListeners("127.0.0.1:9092, internal://[::1]:0")
	if err != nil || len(ls) != 2 || ls[0] != (Listener{"PLAINTEXT", "127.0.0.1", 9092}) || ls[1] != (Listener{"INTERNAL", "::1", 0}) {
		t.Errorf("%+v, %v", ls, err)
	}
	for _, bad := range []string{"x", "a:b", "127.0.0.1:99999", "127.0.0.1:1,127.0.0.1:2"} {
		if _, err := ParseListeners(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	_, err = Open(Config{DataDir: t.TempDir(), AdvertisedListeners: []Listener{{Name: "X"}}, Settings: small}, quiet(), nil)
	if err == nil {
		t.Error("an advertised listener that doesn't exist was accepted")
	}
	if _, err := Open(Config{DataDir: t.TempDir(), Settings: map[string]string{"num.partitions": "many"}}, quiet(), nil); err == nil {
		t.Error("a bad setting was accepted")
	}
	if n := nearest("num.partition"); n != "num.partitions" {
		t.Errorf("nearest is %s", n)
	}
	var _ kafka.Authorizer = kafka.AllowAll{}
}
