package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestExactlyOnceThroughKills copies a topic in transactions, offsets and records together, while the broker is killed
// over and over: in the end each record is there once, in its order.
func TestExactlyOnceThroughKills(t *testing.T) {
	const records, partitions, kills = 3000, 3, 6
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	c := spawn(t, dir, "127.0.0.1:0")
	addr := c.addr
	defer func() { c.kill() }()
	base := []kgo.Opt{
		kgo.SeedBrokers(addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.MetadataMinAge(20 * time.Millisecond), kgo.AlwaysRetryEOF(),
	}
	cl, err := kgo.NewClient(base...)
	if err != nil {
		t.Fatal(err)
	}
	adm := newAdmin(cl)
	for _, topic := range []string{"from", "to"} {
		if _, err := adm.CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	for i := range records {
		r := &kgo.Record{Topic: "from", Key: fmt.Append(nil, i%partitions), Value: fmt.Append(nil, i)}
		cl.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	cl.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var committed, aborted, begun atomic.Int64
	copied := make(chan error, 1)
	go func() { copied <- copyInTransactions(ctx, base, records, &committed, &aborted, &begun) }()
	for range kills {
		before := committed.Load()
		progress := int64(50 + rand.IntN(records/kills-100))
		for committed.Load() < min(before+progress, records) { // a session that ended in an error takes its time to come back
			if time.Sleep(time.Millisecond); ctx.Err() != nil {
				t.Fatalf("waited in vain for more than %d records to be copied", committed.Load())
			}
		}
		c.kill()
		c = spawn(t, dir, addr)
	}
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	cl, err = kgo.NewClient(append(base, kgo.ConsumeTopics("to"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	stable, err := newAdmin(cl).ListCommittedOffsets(ctx, "to")
	if err != nil {
		t.Fatal(err)
	}
	ends, err := newAdmin(cl).ListEndOffsets(ctx, "to")
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(partitions) {
		s, _ := stable.Lookup("to", p)
		e, _ := ends.Lookup("to", p)
		if s.Offset != e.Offset {
			t.Errorf("partition %d: a transaction hangs at %d of %d", p, s.Offset, e.Offset)
		}
	}
	next := map[string]int{"0": 0, "1": 1, "2": 2}
	for n := 0; n < records; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		for _, r := range fs.Records() {
			n++
			if want := next[string(r.Key)]; string(r.Value) != fmt.Sprint(want) {
				t.Fatalf("key %s: record %s, want %d", r.Key, r.Value, want)
			}
			next[string(r.Key)] += partitions
		}
	}
	t.Logf("%d transactions begun, %d of them not committed", begun.Load(), aborted.Load())
}

// copyInTransactions copies until so many records are committed. What ends a session in an error is begun anew by another.
func copyInTransactions(ctx context.Context, base []kgo.Opt, records int64, committed, aborted, begun *atomic.Int64) error {
	for committed.Load() < records && ctx.Err() == nil {
		s, err := kgo.NewGroupTransactSession(append(base,
			kgo.TransactionalID("copier"), kgo.ConsumerGroup("copiers"), kgo.ConsumeTopics("from"),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.SessionTimeout(2*time.Second), kgo.HeartbeatInterval(200*time.Millisecond), kgo.DefaultProduceTopic("to"))...)
		if err != nil {
			return err
		}
		// A transaction that an earlier session left open keeps offsets unstable: it is aborted now, and not when the
		// first record is produced.
		if _, _, err := s.Client().ProducerID(ctx); err != nil {
			s.Close()
			continue
		}
		err = copyUntilAnError(ctx, s, records, committed, aborted, begun)
		s.Close()
		if ctx.Err() != nil {
			return fmt.Errorf("after %d records: %w: %w", committed.Load(), ctx.Err(), err)
		}
	}
	return ctx.Err()
}

func copyUntilAnError(ctx context.Context, s *kgo.GroupTransactSession, records int64, committed, aborted, begun *atomic.Int64) error {
	for committed.Load() < records {
		poll, stop := context.WithTimeout(ctx, time.Second)
		fs := s.PollRecords(poll, 10)
		stop()
		if err := ctx.Err(); err != nil {
			return err
		}
		if fs.NumRecords() == 0 { // a commit whose answer was lost was not counted
			if at, err := newAdmin(s.Client()).FetchOffsets(ctx, "copiers"); err == nil {
				sum := int64(0)
				at.Each(func(o kadm.OffsetResponse) { sum += o.At })
				committed.Store(sum)
			}
			continue
		}
		if err := s.Begin(); err != nil {
			return err
		}
		begun.Add(1)
		var failed atomic.Bool
		fs.EachRecord(func(r *kgo.Record) {
			s.Produce(ctx, &kgo.Record{Key: r.Key, Value: r.Value}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Store(true)
				}
			})
		})
		if err := s.Client().Flush(ctx); err != nil {
			return err
		}
		done, err := s.End(ctx, kgo.TransactionEndTry(!failed.Load()))
		if done {
			committed.Add(int64(fs.NumRecords()))
		} else {
			aborted.Add(1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
