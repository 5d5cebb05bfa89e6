package store

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/queue"
)

func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return float64(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkAppend appends durably with many tickets in flight, as pipelining clients do.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := start(b, b.TempDir(), Options{})
			open(b, s, forever, 1, 2, 3)
			var bd batch.Builder
			bt, err := bd.Add(batch.Record{Value: make([]byte, size)}).Build()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(bt)))
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			slots := make(chan struct{}, 1000)
			for i := range b.N {
				slots <- struct{}{}
				s.Append(Durable, data(queue.ID(1+i%3), bt)).OnDone(func() { <-slots })
			}
			for range cap(slots) {
				slots <- struct{}{}
			}
			b.StopTimer()
			b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkAppendAlone is the latency of one writer that waits for each answer.
func BenchmarkAppendAlone(b *testing.B) {
	s := start(b, b.TempDir(), Options{})
	open(b, s, forever, 1)
	bt := one(b, 1, string(make([]byte, 1000)))
	for range 2000 { // past the place where zero-filling begins
		put(b, s, 1, bt)
	}
	b.ResetTimer()
	before := cpu()
	for range b.N {
		put(b, s, 1, bt)
	}
	b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkRead reads 1 MiB at a time, from memory and from files.
func BenchmarkRead(b *testing.B) {
	for _, from := range []string{"tail", "disk"} {
		for _, size := range []int{1 << 10, 16 << 10} {
			b.Run(fmt.Sprintf("%s/%d", from, size), func(b *testing.B) {
				s := start(b, b.TempDir(), Options{})
				open(b, s, forever, 1)
				var bd batch.Builder
				bt, err := bd.Add(batch.Record{Value: make([]byte, size)}).Build()
				if err != nil {
					b.Fatal(err)
				}
				total := 64 << 20
				for i := 0; i < total; i += len(bt) {
					s.Append(Written, data(1, bt))
				}
				put(b, s, 1, bt)
				h, err := s.Head(1)
				if err != nil {
					b.Fatal(err)
				}
				lo, hi := int64(0), h.End/2
				if from == "tail" {
					lo, hi = h.End-int64(8<<20/len(bt)), h.End-int64(2<<20/len(bt))
				}
				b.SetBytes(1 << 20)
				b.ReportAllocs()
				b.ResetTimer()
				before := cpu()
				at := lo
				for range b.N {
					res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: 1, Offset: at, MaxBytes: 1 << 20})
					if err != nil || res.Parts[0].Err != nil {
						b.Fatal(err, res.Parts[0].Err)
					}
					if at += int64(len(res.Parts[0].Batches) / len(bt)); at >= hi {
						at = lo
					}
					res.Release()
				}
				b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
