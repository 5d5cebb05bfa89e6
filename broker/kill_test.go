package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type place struct {
	partition int32
	offset    int64
}

// TestKilledTenTimesEveryAcknowledgedRecordIsThere kills the broker while three idempotent producers write with acks=all.
func TestKilledTenTimesEveryAcknowledgedRecordIsThere(t *testing.T) {
	const kills, producers, partitions = 10, 3, 3
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	c := spawn(t, dir, "127.0.0.1:0")
	addr := c.addr
	defer func() { c.kill() }()
	newClient := func(opts ...kgo.Opt) *kgo.Client {
		cl, err := kgo.NewClient(append([]kgo.Opt{
			kgo.SeedBrokers(addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
			kgo.RecordDeliveryTimeout(time.Minute), kgo.MetadataMinAge(20 * time.Millisecond),
			kgo.AlwaysRetryEOF(), // a broker that dies right after it accepted looks like one that wants TLS
		}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		return cl
	}
	if err := createChild(t, newClient, partitions); err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		acked = map[place]string{}
		count atomic.Int64
		wg    sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for p := range producers {
		cl := newClient(kgo.DefaultProduceTopic("killed"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(500))
		wg.Go(func() {
			defer cl.Close()
			for i := 0; ctx.Err() == nil; i++ {
				v := fmt.Sprintf("p%d-%d", p, i)
				cl.Produce(context.Background(), &kgo.Record{Partition: int32(i % partitions), Value: []byte(v)}, func(r *kgo.Record, err error) {
					if err != nil {
						t.Errorf("%s: %v", v, err)
						return
					}
					mu.Lock()
					acked[place{r.Partition, r.Offset}] = v
					mu.Unlock()
					count.Add(1)
				})
			}
			if err := cl.Flush(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	for range kills {
		before := count.Load()
		progress := int64(500 + rand.IntN(2000))
		waitFor(t, "new records to be acknowledged", func() bool { return count.Load() > before+progress })
		c.kill()
		c = spawn(t, dir, addr)
	}
	cancel()
	wg.Wait()
	checkChild(t, newClient, acked, producers, partitions)
	c.stop(t)
	c = spawn(t, dir, addr) // and the same after a clean stop
	checkChild(t, newClient, acked, producers, partitions)
	t.Logf("%d records acknowledged over %d kills", len(acked), kills)
}

func createChild(t *testing.T, newClient func(...kgo.Opt) *kgo.Client, partitions int32) error {
	cl := newClient()
	defer cl.Close()
	adm := newAdmin(cl)
	_, err := adm.CreateTopic(t.Context(), partitions, 1, nil, "killed")
	return err
}

// checkChild reads everything back: acknowledged records at their offsets, and every producer's records once, in order.
func checkChild(t *testing.T, newClient func(...kgo.Opt) *kgo.Client, acked map[place]string, producers, partitions int) {
	t.Helper()
	cl := newClient()
	ends, err := newAdmin(cl).ListEndOffsets(t.Context(), "killed")
	cl.Close()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for p := range int32(partitions) {
		o, _ := ends.Lookup("killed", p)
		total += int(o.Offset)
	}
	cl = newClient(kgo.ConsumeTopics("killed"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer cl.Close()
	ctx := within(t, time.Minute)
	next := map[string]int{}
	found := 0
	for read := 0; read < total; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", read, total, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			read++
			if want, ok := acked[place{r.Partition, r.Offset}]; ok {
				found++
				if want != string(r.Value) {
					t.Errorf("partition %d offset %d holds %s, %s was acknowledged", r.Partition, r.Offset, r.Value, want)
				}
			}
			var p, i int
			if _, err := fmt.Sscanf(string(r.Value), "p%d-%d", &p, &i); err != nil {
				t.Errorf("a record of nobody: %q", r.Value)
				return
			}
			key := fmt.Sprintf("%d/%d", p, r.Partition)
			want, ok := next[key]
			if !ok {
				want = int(r.Partition)
			}
			if i != want {
				t.Errorf("producer %d, partition %d: %d after %d", p, r.Partition, i, want-partitions)
			}
			next[key] = i + partitions
		})
		if t.Failed() {
			return
		}
	}
	if found != len(acked) {
		t.Errorf("%d of %d acknowledged records are there", found, len(acked))
	}
	if len(next) != producers*partitions {
		t.Errorf("records of %d producers and partitions, want %d", len(next), producers*partitions)
	}
}

// TestKilledWhileTopicsAndOffsetsChange: what was acknowledged of topics and committed offsets is there after each kill,
// and no topic is without its queues.
func TestKilledWhileTopicsAndOffsetsChange(t *testing.T) {
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	c := spawn(t, dir, "127.0.0.1:0")
	addr := c.addr
	defer func() { c.kill() }()
	topics := map[string]bool{} // acknowledged: true made, false deleted
	committed := int64(-1)
	for round := range 6 {
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0), kgo.RetryTimeout(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		adm := newAdmin(cl)
		var done atomic.Int64
		var wg sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("r%d-%d", round, i)
				if _, err := adm.CreateTopic(ctx, 3, 1, nil, name); err != nil {
					return
				}
				topics[name] = true
				var o kadm.Offsets
				o.AddOffset("r0-0", 0, int64(round*100_000+i), -1)
				if i%2 == 1 {
					if err := adm.CommitAllOffsets(ctx, "g", o); err != nil {
						return
					}
					committed = int64(round*100_000 + i)
				}
				if i%3 == 2 {
					if _, err := adm.DeleteTopic(ctx, name); err != nil {
						delete(topics, name) // not known
						return
					}
					topics[name] = false
				}
				done.Add(1)
			}
		})
		waitFor(t, "some changes", func() bool { return done.Load() >= int64(10+rand.IntN(20)) })
		c.kill()
		wg.Wait()
		cancel()
		cl.Close()
		c = spawn(t, dir, addr)
		checkTopics(t, addr, topics, committed)
	}
	c.stop(t)
	c = spawn(t, dir, addr)
	checkTopics(t, addr, topics, committed)
}

func checkTopics(t *testing.T, addr string, topics map[string]bool, committed int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := newAdmin(cl)
	there, err := adm.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range topics {
		if there.Has(name) != want {
			t.Errorf("topic %s: there is %v, acknowledged was %v", name, there.Has(name), want)
		}
	}
	for name := range there {
		if ends, err := adm.ListEndOffsets(t.Context(), name); err != nil || ends.Error() != nil || len(ends[name]) != 3 {
			t.Errorf("topic %s lacks queues: %v, %v", name, err, ends.Error())
		}
	}
	os, err := adm.FetchOffsets(t.Context(), "g")
	if o, _ := os.Lookup("r0-0", 0); err != nil || o.At < committed {
		t.Errorf("the committed offset is %d, %d was acknowledged: %v", o.At, committed, err)
	}
}
