package broker

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cpuTime is what the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTenThousandParkedFetches: they cost no CPU while nothing comes, and all are answered when something does.
func TestTenThousandParkedFetches(t *testing.T) {
	if testing.Short() {
		t.Skip("go test -short leaves out what takes long")
	}
	const n = 10_000
	b := start(t, t.TempDir(), map[string]string{"max.connections": "11000"})
	produceN(t, b, "quiet", 0, 1)
	conns := make([]*raw, n)
	var got atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range conns {
		nc, err := b.Dial(t.Context(), "User:parked") // no file descriptors
		if err != nil {
			t.Fatal(err)
		}
		r := &raw{t: t, nc: nc, patience: 3 * time.Minute}
		conns[i] = r
		defer nc.Close()
		req := filledFetch("quiet", 1, 120_000)
		frame := r.frame(req)
		wg.Go(func() {
			if r.write(frame) != nil {
				return
			}
			if resp, err := r.answer(req, r.corr); err == nil && len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches) > 0 {
				got.Add(1)
			}
		})
	}
	waitFor(t, "all fetches to be parked", func() bool { return b.store.Waiting() == n })
	before, begun := cpuTime(t), time.Now()
	time.Sleep(3 * time.Second)
	used, took := cpuTime(t)-before, time.Since(begun)
	if used > took/5 { // the test's own runtime is in it; polling would need all there is
		t.Errorf("10,000 parked fetches used %v CPU in %v", used, took)
	}
	t.Logf("10,000 parked fetches used %v CPU in %v", used, took)
	produceN(t, b, "quiet", 1, 2)
	waitFor(t, "all fetches to be answered", func() bool { return got.Load() == n })
}

// TestSlowReaders: two hundred readers that take 10 KB a second of large answers hold a bounded amount of memory, and
// neither a producer nor another reader waits for them.
func TestSlowReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("go test -short leaves out what takes long")
	}
	b := start(t, t.TempDir(), nil)
	cl := client(t, b, kgo.DefaultProduceTopic("hot"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(1000))
	produce := func(n int) {
		t.Helper()
		for range n {
			cl.Produce(t.Context(), &kgo.Record{Value: make([]byte, 10_000)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := cl.Flush(within(t, 30*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	produce(5000) // 50 MB
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	base := mem.HeapAlloc
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for range 200 {
		nc, err := b.Dial(t.Context(), "User:slow") // no buffers of a kernel between
		if err != nil {
			t.Fatal(err)
		}
		r := &raw{t: t, nc: nc}
		wg.Go(func() {
			defer nc.Close()
			req := filledFetch("hot", 0, 100)
			req.MaxBytes = 50 << 20
			req.Topics[0].Partitions[0].PartitionMaxBytes = 50 << 20
			if r.write(r.frame(req)) != nil {
				return
			}
			_ = nc.SetDeadline(time.Now().Add(time.Minute))
			var size [4]byte
			if _, err := io.ReadFull(nc, size[:]); err != nil {
				return
			}
			left := int64(binary.BigEndian.Uint32(size[:]))
			for left > 0 {
				n, err := io.CopyN(io.Discard, nc, min(left, 1000))
				left -= n
				select {
				case <-time.After(100 * time.Millisecond):
				case <-stop:
					return
				}
				if err != nil {
					return
				}
			}
		})
	}
	time.Sleep(2 * time.Second)
	begun := time.Now()
	produce(2000)
	if got := consume(t, b, "hot", 7000); len(got) < 7000 {
		t.Errorf("another reader got %d records", len(got))
	}
	if d := time.Since(begun); d > 20*time.Second {
		t.Errorf("producing and reading beside slow readers took %v", d)
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	grown := int64(mem.HeapAlloc) - int64(base)
	t.Logf("200 slow readers: the heap grew by %d MiB", grown>>20)
	if grown > 640<<20 { // 200 answers of 50 MB would be 10 GB
		t.Errorf("200 slow readers: the heap grew by %d MiB", grown>>20)
	}
}
