package store

import (
	"context"
	"fmt"
	"os"
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

// BenchmarkReadLast reads the one newest batch of a queue, as a consumer at the tail does.
func BenchmarkReadLast(b *testing.B) {
	s := start(b, b.TempDir(), Options{})
	open(b, s, forever, 1)
	for range 20_000 {
		s.Append(Written, data(1, one(b, 1, "value")))
	}
	put(b, s, 1, one(b, 1, "value"))
	h, err := s.Head(1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: 1, Offset: h.End - 1, MaxBytes: 1 << 20})
		if err != nil || len(res.Parts[0].Batches) == 0 {
			b.Fatal(err)
		}
		res.Release()
	}
}

// BenchmarkStart opens a store of many queues, after a clean stop and from the log alone.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		dir := b.TempDir()
		s := start(b, dir, Options{})
		for from := 0; from < n; from += 10_000 {
			var qs []queue.ID
			for q := from; q < min(n, from+10_000); q++ {
				qs = append(qs, queue.ID(q))
			}
			open(b, s, forever, qs...)
		}
		stop(b, s)
		for _, how := range []string{"clean", "rebuild"} {
			b.Run(fmt.Sprintf("%s/%d", how, n), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					if how == "rebuild" {
						if err := os.RemoveAll(dir + "/index"); err != nil {
							b.Fatal(err)
						}
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
}

// BenchmarkSnapshot writes the state of a million queues into the log, without the bound on its rate.
func BenchmarkSnapshot(b *testing.B) {
	s := start(b, b.TempDir(), Options{MaintenanceBytes: -1, ScrubBytes: -1})
	const queues = 1_000_000
	for q := 0; q < queues; q += 100_000 {
		ids := make([]queue.ID, 100_000)
		for i := range ids {
			ids[i] = queue.ID(q + i)
		}
		open(b, s, forever, ids...)
	}
	b.ResetTimer()
	before := cpu()
	for range b.N {
		if err := s.Snapshot(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric((cpu()-before)/float64(b.N)/1e9, "cpu-s/op")
	b.ReportMetric(float64(s.snapshotted.Load().size)/queues, "bytes/queue")
}

// BenchmarkCompact compacts a queue of many small records, of which a tenth is left, without the bound on its rate.
func BenchmarkCompact(b *testing.B) {
	const batches, records = 2000, 100
	for range b.N {
		b.StopTimer()
		s := start(b, b.TempDir(), Options{MaintenanceBytes: -1, ScrubBytes: -1, CompactFloor: 1, CleanBackoff: 1 << 40, RetentionCheck: 1 << 40})
		open(b, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40}, 1)
		for i := range batches {
			var bd batch.Builder
			for j := range records {
				bd.Add(batch.Record{Time: 1, Key: fmt.Append(nil, "key", (i*records+j)%(batches*records/10)), Value: make([]byte, 100)})
			}
			bt, err := bd.Build()
			if err != nil {
				b.Fatal(err)
			}
			put(b, s, 1, bt)
		}
		before := cpu()
		b.StartTimer()
		if err := s.Compact(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric((cpu()-before)/batches/records, "cpu-ns/record")
		stop(b, s)
	}
}
