package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientLines measures producing with two ordinary franz-go clients, three partitions, 5 ms linger. The client is the
// bound here, so the broker's CPU says more than the rate.
func clientLines(p plan, a *lineup) error {
	for _, size := range []int{100, 1000} {
		t := newTable(fmt.Sprintf("produce acks=all, two franz-go clients, %d B, partitions 3, linger 5 ms", size))
		if err := p.each(a.brokers(), t, func(x *arm) (sample, error) { return clientProduce(x, size, p.window) }); err != nil {
			return err
		}
		t.print(rateColumn, cpuColumn, rssColumn)
	}
	return nil
}

// brokers are the arms that speak Kafka's protocol.
func (a *lineup) brokers() *lineup {
	b := &lineup{}
	for _, x := range a.list {
		if x.name != floorArm {
			b.list = append(b.list, x)
		}
	}
	return b
}

func clientProduce(x *arm, size int, window time.Duration) (sample, error) {
	name := topicName()
	drop, err := x.topic(name, 3)
	if err != nil {
		return sample{}, err
	}
	defer drop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	values := noise(4 << 20) // taken from all over, so that the client's compression finds nothing
	var acked atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range 2 {
		cl, err := kgo.NewClient(kgo.SeedBrokers(x.srv.addr), kgo.DefaultProduceTopic(name), kgo.ProducerLinger(5*time.Millisecond),
			kgo.MaxBufferedRecords(50000))
		if err != nil {
			return sample{}, err
		}
		defer cl.Close()
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i += 7919 {
				at := i % (len(values) - size)
				cl.Produce(ctx, &kgo.Record{Value: values[at : at+size]}, func(_ *kgo.Record, err error) {
					if err == nil {
						acked.Add(1)
					} else if ctx.Err() == nil {
						failed.Store(&err)
					}
				})
			}
		})
	}
	time.Sleep(700 * time.Millisecond)
	s := watch(x, window, acked.Load)
	cancel()
	wg.Wait()
	if e := failed.Load(); e != nil {
		return s, *e
	}
	return s, nil
}
