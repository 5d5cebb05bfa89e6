package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/bench/process"
)

// latencyLines measures the time from produce to consume of 1 KB records at a steady rate, without linger.
func latencyLines(p plan, a *lineup) error {
	for _, rate := range []int{1000, 20000} {
		t := newTable(fmt.Sprintf("produce to consume, 1 KB, no linger, %d records/s", rate))
		if err := p.each(a.brokers(), t, func(x *arm) (sample, error) { return latency(x, rate, p.window+2*time.Second) }); err != nil {
			return err
		}
		t.print(p50Column, p99Column, cpuColumn)
	}
	return nil
}

func latency(x *arm, rate int, window time.Duration) (sample, error) {
	name := topicName()
	drop, err := x.topic(name, 3)
	if err != nil {
		return sample{}, err
	}
	defer drop()
	cons, err := kgo.NewClient(kgo.SeedBrokers(x.srv.addr), kgo.ConsumeTopics(name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return sample{}, err
	}
	defer cons.Close()
	prod, err := kgo.NewClient(kgo.SeedBrokers(x.srv.addr), kgo.DefaultProduceTopic(name), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return sample{}, err
	}
	defer prod.Close()
	ctx, cancel := context.WithTimeout(context.Background(), window+30*time.Second)
	defer cancel()
	const warm = time.Second
	begun := time.Now()
	want := int(float64(rate) * (warm + window).Seconds())
	var took []time.Duration
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		for n := 0; n < want; {
			f := cons.PollFetches(ctx)
			if err := f.Err(); err != nil {
				failed = err
				return
			}
			now := time.Since(begun)
			f.EachRecord(func(r *kgo.Record) {
				if len(r.Value) < 1000 { // what made sure of the topic
					return
				}
				n++
				if at := time.Duration(binary.BigEndian.Uint64(r.Value)); at > warm {
					took = append(took, now-at)
				}
			})
		}
	})
	c := process.CPU(x.srv.pid())
	for i := 0; i < want; {
		for due := int(float64(rate) * time.Since(begun).Seconds()); i < min(due, want); i++ {
			v := make([]byte, 1000)
			binary.BigEndian.PutUint64(v, uint64(time.Since(begun)))
			prod.Produce(ctx, &kgo.Record{Value: v}, nil)
		}
		time.Sleep(500 * time.Microsecond)
	}
	wg.Wait()
	c = process.CPU(x.srv.pid()) - c
	if failed != nil {
		return sample{}, failed
	}
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	return sample{p50: ms(0.5), p99: ms(0.99), cpu: float64(c.Nanoseconds()) / 1000 / float64(want)}, nil
}
