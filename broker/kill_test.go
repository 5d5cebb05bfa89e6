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
