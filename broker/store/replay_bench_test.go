package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/queue"
)

// BenchmarkRecovery starts on the files of a killed store that held 200 MB of log no index had been flushed for.
func BenchmarkRecovery(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			origin := b.TempDir()
			s := start(b, origin, Options{FlushInterval: time.Hour})
			open(b, s, forever, 1, 2, 3)
			var bd batch.Builder
			bt, err := bd.Add(batch.Record{Value: make([]byte, size)}).Build()
			if err != nil {
				b.Fatal(err)
			}
			n := 200_000_000 / (len(bt) + 45)
			for i := range n {
				s.Append(Written, data(queue.ID(1+i%3), bt))
			}
			put(b, s, 1, bt)
			dir := b.TempDir()
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				if err := os.RemoveAll(dir + "/index"); err != nil {
					b.Fatal(err)
				}
				s, err := Open(dir, Options{}, quiet(), nil)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := s.Start(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stop(b, s)
			}
		})
	}
}
