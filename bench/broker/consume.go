package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/penstockio/penstock/bench/process"
)

// consumeMB is how much is there to be read, over three partitions.
const consumeMB = 600

// consumeLines measures reading 1 KB records from the start: by an ordinary client and by requests encoded once whose
// answers are not decoded; from the page cache and from a cold disk.
func consumeLines(p plan, a *lineup) error {
	const size = 1000
	a = a.brokers()
	client := newTable("consume 1 KB, one franz-go client, partitions 3, from the page cache")
	cheap := newTable("consume 1 KB, answers not decoded, partitions 3, from the page cache")
	cold := newTable("consume 1 KB, one franz-go client, partitions 3, from a cold disk")
	for range p.rounds {
		for _, x := range a.list {
			if err := x.begin(); err != nil {
				return err
			}
			name := topicName()
			drop, err := x.topic(name, 3)
			if err != nil {
				return err
			}
			total, err := fill(x, name, 3, size)
			for _, run := range []struct {
				t    *table
				load func() (sample, error)
			}{
				{client, func() (sample, error) { return clientConsume(x, name, total) }},
				{cheap, func() (sample, error) { return cheapConsume(x, name, 3, total) }},
				{cold, func() (sample, error) { dropCaches(); return clientConsume(x, name, total) }},
			} {
				var s sample
				if err == nil && strings.Contains(run.t.title, p.lines) {
					s, err = run.load()
					run.t.add(x.name, s)
				}
			}
			drop()
			x.end()
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	for _, t := range []*table{client, cheap, cold} {
		t.print(rateColumn, cpuColumn, rssColumn)
	}
	return nil
}

// fill writes consumeMB of records and gives how many.
func fill(x *arm, topic string, partitions int32, size int) (int64, error) {
	batch, n := encodeBatch(size)
	reqs := produceRequests(topic, partitions, batch)
	nc, err := net.Dial("tcp", x.srv.addr)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	r := bufio.NewReader(nc)
	count := consumeMB << 20 / len(batch) / int(partitions) * int(partitions)
	for i, sent := 0, 0; i < count; i++ {
		for ; sent < count && sent < i+inFlight; sent++ {
			if _, err := nc.Write(reqs[sent%len(reqs)]); err != nil {
				return 0, err
			}
		}
		if err := produceAnswer(r); err != nil {
			return 0, err
		}
	}
	return int64(count * n), nil
}

func clientConsume(x *arm, topic string, total int64) (sample, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.srv.addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return sample{}, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return timed(x, total, func() error {
		for n := int64(0); n < total; { // and a few that made sure of the topic
			f := cl.PollFetches(ctx)
			if err := f.Err(); err != nil {
				return err
			}
			n += int64(f.NumRecords())
		}
		return nil
	})
}

func timed(x *arm, total int64, run func() error) (sample, error) {
	c, at := process.CPU(x.srv.pid()), time.Now()
	err := run()
	took, c := time.Since(at), process.CPU(x.srv.pid())-c
	return sample{
		rate: float64(total) / took.Seconds(), cpu: float64(c.Nanoseconds()) / 1000 / float64(total), rss: residentMB(x.srv.pid()),
	}, err
}

// cheapConsume reads each partition to its end; of the answers only sizes and ends of batches are looked at.
func cheapConsume(x *arm, topic string, partitions int32, total int64) (sample, error) {
	nc, err := net.Dial("tcp", x.srv.addr)
	if err != nil {
		return sample{}, err
	}
	defer nc.Close()
	r := bufio.NewReaderSize(nc, 256<<10)
	next := make([]int64, partitions)
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))
	var got atomic.Int64
	buf := make([]byte, 0, 4<<20)
	return timed(x, total, func() error {
		for got.Load() < total {
			req := kmsg.NewPtrFetchRequest()
			req.SetVersion(11)
			req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 500, 1, 3<<20, -1
			t := kmsg.NewFetchRequestTopic()
			t.Topic = topic
			for i := range partitions {
				p := kmsg.NewFetchRequestTopicPartition()
				p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = i, next[i], 1<<20, -1
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
			if _, err := nc.Write(f.AppendRequest(nil, req, 1)); err != nil {
				return err
			}
			var head [4]byte
			if _, err := io.ReadFull(r, head[:]); err != nil {
				return err
			}
			n := int(binary.BigEndian.Uint32(head[:]))
			if cap(buf) < n {
				buf = make([]byte, 0, n)
			}
			buf = buf[:n]
			if _, err := io.ReadFull(r, buf); err != nil {
				return err
			}
			var resp kmsg.FetchResponse
			resp.SetVersion(11)
			if err := resp.ReadFrom(buf[4:]); err != nil {
				return err
			}
			for _, p := range resp.Topics[0].Partitions {
				if p.ErrorCode != 0 {
					return fmt.Errorf("fetching partition %d: error %d", p.Partition, p.ErrorCode)
				}
				for b := p.RecordBatches; len(b) >= 61; {
					size := 12 + int(binary.BigEndian.Uint32(b[8:]))
					if size > len(b) {
						break
					}
					end := int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:])) + 1
					if end <= next[p.Partition] {
						return errors.New("a batch below the offset asked for")
					}
					got.Add(end - next[p.Partition])
					next[p.Partition] = end
					b = b[size:]
				}
			}
		}
		return nil
	})
}

// dropCaches makes the next read come from the disk; without the right to do that the line equals the one before.
func dropCaches() {
	unix.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0o600); err != nil {
		fmt.Println("  the page cache cannot be dropped here, so nothing is cold:", err)
	}
}
