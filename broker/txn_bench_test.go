package broker

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// benchSeeds names brokers to measure instead of a child, such as Apache Kafka, comma separated.
const benchSeeds = "PENSTOCK_BENCH_SEEDS"

// BenchmarkTransaction begins, writes one record with acks=all and commits, over and over: what an exactly-once source pays
// for each of its batches.
func BenchmarkTransaction(b *testing.B) {
	for _, producers := range []int{1, 8} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			seeds := strings.Split(os.Getenv(benchSeeds), ",")
			if seeds[0] == "" {
				runtime.LockOSThread() // the child dies with the thread that made it
				defer runtime.UnlockOSThread()
				b.Setenv(childBig, "1")
				c := spawn(b, b.TempDir(), "127.0.0.1:0")
				defer c.stop(b)
				seeds = []string{c.addr}
			}
			benchTransactions(b, seeds, producers)
		})
	}
}

func benchTransactions(b *testing.B, seeds []string, producers int) {
	var cls []*kgo.Client
	one := func(cl *kgo.Client) error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Value: []byte("one record")}).FirstErr(); err != nil {
			return err
		}
		return cl.EndTransaction(context.Background(), kgo.TryCommit)
	}
	for i := range producers {
		cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("transactions"),
			kgo.TransactionalID(fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), i)), kgo.ProducerLinger(0))
		if err != nil {
			b.Fatal(err)
		}
		defer cl.Close()
		for range 20 { // connections, ids, a warm broker
			if err := one(cl); err != nil {
				b.Fatal(err)
			}
		}
		cls = append(cls, cl)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, cl := range cls {
		wg.Go(func() {
			for n := i; n < b.N; n += producers {
				if err := one(cl); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
}
