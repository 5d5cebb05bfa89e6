package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/bench/process"
)

// batchBytes is the size of a batch and nearly that of a request, as a busy client makes them.
const batchBytes = 64 << 10

// inFlight is how many requests a connection keeps under way, as clients do.
const inFlight = 5

// produceLines measures producing with a load that costs little: requests encoded once and sent again and again.
func produceLines(p plan, a *lineup) error {
	for _, size := range []int{100, 1000} {
		for _, partitions := range []int32{1, 3} {
			for _, producers := range []int{1, 4} {
				t := newTable(fmt.Sprintf("produce acks=all, encoded once: %d B, partitions %d, producers %d", size, partitions, producers))
				if err := p.each(a, t, func(x *arm) (sample, error) {
					if x.name == floorArm {
						return floorLoad(x, producers, size, p.window)
					}
					return cheapProduce(x, size, partitions, producers, p.window)
				}); err != nil {
					return err
				}
				t.print(rateColumn, cpuColumn, rssColumn)
			}
		}
	}
	return nil
}

// each runs every arm once a round.
func (p plan) each(a *lineup, t *table, run func(x *arm) (sample, error)) error {
	if !strings.Contains(t.title, p.lines) {
		return nil
	}
	for range p.rounds {
		for _, x := range a.list {
			if err := x.begin(); err != nil {
				return err
			}
			s, err := run(x)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			t.add(x.name, s)
			x.end()
		}
	}
	return nil
}

var topics atomic.Int64

func topicName() string { return fmt.Sprintf("bench-%d", topics.Add(1)) }

// encodeBatch makes a record batch of about batchBytes and tells how many records it holds.
func encodeBatch(size int) ([]byte, int) {
	value := noise(size)
	var records []byte
	n := 0
	for ; len(records) < batchBytes-size-200; n++ {
		r := kmsg.Record{OffsetDelta: int32(n), Value: value}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length's own byte is not counted; corrected below
		body := r.AppendTo(nil)
		_, w := kbin.Varint(body)
		r.Length = int32(len(body) - w)
		body = r.AppendTo(nil)
		_, w = kbin.Varint(body)
		r.Length = int32(len(body) - w)
		records = r.AppendTo(records)
	}
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(n - 1), FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(n), Records: records,
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw, n
}

// noise is a value that does not compress.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

func produceRequests(topic string, partitions int32, batch []byte) [][]byte {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))
	all := make([][]byte, partitions)
	for i := range all {
		req := kmsg.NewPtrProduceRequest()
		req.SetVersion(9)
		req.Acks, req.TimeoutMillis = -1, 30000
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), batch
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
		all[i] = f.AppendRequest(nil, req, int32(i))
	}
	return all
}

// cheapProduce loads an arm for a warm-up and the window, and counts what was acknowledged in the window.
func cheapProduce(x *arm, size int, partitions int32, producers int, window time.Duration) (sample, error) {
	name := topicName()
	drop, err := x.topic(name, partitions)
	if err != nil {
		return sample{}, err
	}
	defer drop()
	batch, n := encodeBatch(size)
	reqs := produceRequests(name, partitions, batch)
	return pump(x, producers, window, n, func(i int) []byte { return reqs[i%len(reqs)] }, func(r *bufio.Reader) error {
		return produceAnswer(r)
	})
}

func produceAnswer(r *bufio.Reader) error {
	body, err := frame(r)
	if err != nil {
		return err
	}
	var resp kmsg.ProduceResponse
	resp.SetVersion(9)
	if err := resp.ReadFrom(body[5:]); err != nil { // correlation id, empty tags
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

func frame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, body)
	return body, err
}

// pump keeps inFlight requests under way on each connection and counts answers in the window.
func pump(x *arm, conns int, window time.Duration, perAnswer int, request func(i int) []byte, answer func(*bufio.Reader) error) (sample, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answered atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 2*conns)
	for i := range conns {
		nc, err := net.Dial("tcp", x.srv.addr)
		if err != nil {
			return sample{}, err
		}
		defer nc.Close()
		tokens := make(chan struct{}, inFlight)
		for range inFlight {
			tokens <- struct{}{}
		}
		wg.Go(func() {
			for j := i; ; j++ {
				select {
				case <-tokens:
				case <-ctx.Done():
					return
				}
				if _, err := nc.Write(request(j)); err != nil {
					errs <- err
					return
				}
			}
		})
		wg.Go(func() {
			r := bufio.NewReaderSize(nc, 64<<10)
			for ctx.Err() == nil {
				if err := answer(r); err != nil {
					if ctx.Err() == nil {
						errs <- err
					}
					return
				}
				answered.Add(1)
				tokens <- struct{}{}
			}
		})
	}
	var s sample
	select {
	case err := <-errs:
		return s, err
	case <-time.After(700 * time.Millisecond):
	}
	s = watch(x, window, func() int64 { return answered.Load() * int64(perAnswer) })
	cancel()
	select {
	case err := <-errs:
		return s, err
	default:
	}
	// What is under way is answered before the connections close.
	time.Sleep(50 * time.Millisecond)
	return s, nil
}

// watch reads a counter and the broker's CPU over the window.
func watch(x *arm, window time.Duration, count func() int64) sample {
	n, c, at := count(), process.CPU(x.srv.pid()), time.Now()
	time.Sleep(window)
	n, c = count()-n, process.CPU(x.srv.pid())-c
	took := time.Since(at)
	if n == 0 {
		n = 1
	}
	return sample{
		rate: float64(n) / took.Seconds(), cpu: float64(c.Nanoseconds()) / 1000 / float64(n), rss: residentMB(x.srv.pid()),
	}
}

// floorLoad loads the floor with pieces of 64 KiB, counted as so many records.
func floorLoad(x *arm, conns, size int, window time.Duration) (sample, error) {
	piece := make([]byte, batchBytes)
	for i := range piece {
		piece[i] = byte(i*7 + 1)
	}
	_, n := encodeBatch(size)
	return pump(x, conns, window, n, func(int) []byte { return piece }, func(r *bufio.Reader) error {
		b, err := r.ReadByte()
		if err == nil && b != 1 {
			err = errors.New("the floor answered something else")
		}
		return err
	})
}
