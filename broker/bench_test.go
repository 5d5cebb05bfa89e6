package broker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clockTick is the unit of /proc's times: 100 a second on every Linux Go runs on.
const clockTick = 100

// cpuSeconds is what a child has used of the processor.
func (c *child) cpuSeconds(t testing.TB) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	sys, _ := strconv.ParseFloat(f[12], 64)
	return (user + sys) / clockTick
}

// BenchmarkBroker produces and consumes through a broker in another process and reports its processor time a record.
func BenchmarkBroker(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			runtime.LockOSThread() // the child dies with the thread that made it
			defer runtime.UnlockOSThread()
			b.Setenv(childBig, "1")
			c := spawn(b, b.TempDir(), "127.0.0.1:0")
			defer c.stop(b)
			b.Run("produce", func(b *testing.B) { benchProduce(b, c, size) })
			b.Run("consume", func(b *testing.B) { benchConsume(b, c, size) })
		})
	}
}

func benchProduce(b *testing.B, c *child, size int) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("bench"),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	value := bytes.Repeat([]byte("v"), size)
	b.SetBytes(int64(size))
	before := c.cpuSeconds(b)
	b.ResetTimer()
	for range b.N {
		cl.Produce(context.Background(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := cl.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric((c.cpuSeconds(b)-before)*1e9/float64(b.N), "broker-ns/record")
}

func benchConsume(b *testing.B, c *child, size int) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.addr), kgo.ConsumeTopics("bench"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	b.SetBytes(int64(size))
	ends, err := newAdmin(cl).ListEndOffsets(context.Background(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	end, _ := ends.Lookup("bench", 0)
	before := c.cpuSeconds(b)
	b.ResetTimer()
	n := 0
	for n < b.N {
		fs := cl.PollFetches(context.Background())
		if err := fs.Err(); err != nil {
			b.Fatal(err)
		}
		n += fs.NumRecords()
		if last := fs.Records(); len(last) > 0 && last[len(last)-1].Offset == end.Offset-1 { // from the start again
			cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{"bench": {0: {Epoch: -1, Offset: 0}}})
		}
	}
	b.StopTimer()
	b.ReportMetric((c.cpuSeconds(b)-before)*1e9/float64(n), "broker-ns/record")
}
