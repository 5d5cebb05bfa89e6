package table

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
)

// tail reads what is committed behind the last stable offset: a transaction that another writer holds open, because it was
// stopped in the midst of one, hides everything behind it from readers of committed data for up to its timeout. Whoever
// fenced the writers it depends on does not need to wait for that.
type tail struct {
	clients *kafka.Clients

	mu     sync.Mutex
	begun  time.Time // of the last read
	result []*kgo.Record
}

// tailPatience is how long Tail waits for open transactions to end by themselves, as most do.
const tailPatience = 200 * time.Millisecond

// Tail gives, in the order of their offsets within a partition, the committed records that stand behind the last stable
// offset now, tombstones too. Mostly there are none. They may have been applied by the time it returns.
func (t *Table) Tail(ctx context.Context) ([]*kgo.Record, error) {
	ends, err := t.admin.ListEndOffsets(ctx, t.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the end of topic %s: %w", t.topic, err)
	}
	if t.reaches(ctx, ends) {
		return nil, nil
	}
	asked := time.Now()
	t.tail.mu.Lock()
	defer t.tail.mu.Unlock()
	if t.tail.begun.After(asked) { // one read serves all who waited for it to begin
		return t.tail.result, nil
	}
	begun := time.Now()
	recs, err := t.readTail(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading topic %s behind an open transaction: %w", t.topic, err)
	}
	t.tail.begun, t.tail.result = begun, recs
	return recs, nil
}

// reaches waits a moment for the table to apply all below ends.
func (t *Table) reaches(ctx context.Context, ends kadm.ListedOffsets) bool {
	timer := time.NewTimer(tailPatience)
	defer timer.Stop()
	for {
		t.mu.Lock()
		left, moved := behind(t.applied, nil, ends), t.moved
		t.mu.Unlock()
		if !left {
			return true
		}
		select {
		case <-moved:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// readTail reads from where the table is to the end, and sorts transactions out by their markers.
func (t *Table) readTail(ctx context.Context) ([]*kgo.Record, error) {
	t.mu.Lock()
	next := maps.Clone(t.applied)
	t.mu.Unlock()
	ends, err := t.admin.ListEndOffsets(ctx, t.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, err
	}
	from := map[int32]kgo.Offset{}
	ends.Each(func(e kadm.ListedOffset) {
		if next[e.Partition] < e.Offset {
			from[e.Partition] = kgo.NewOffset().At(next[e.Partition])
		}
	})
	if len(from) == 0 {
		return nil, nil
	}
	cl, err := t.tail.clients.Internal("tail-"+t.topic, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{t.topic: from}),
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadUncommitted()), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var s settler
	for unread(next, from, ends) {
		fs := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fs.EachRecord(func(r *kgo.Record) {
			s.add(r)
			next[r.Partition] = r.Offset + 1
		})
	}
	return s.settled(), nil
}

func unread(next map[int32]int64, from map[int32]kgo.Offset, ends kadm.ListedOffsets) bool {
	left := false
	ends.Each(func(e kadm.ListedOffset) {
		_, reads := from[e.Partition]
		left = left || reads && next[e.Partition] < e.Offset
	})
	return left
}

// settler keeps transactions until their markers come.
type settler struct {
	open      map[transaction][]*kgo.Record
	committed []*kgo.Record
}

// transaction is the one a producer has open in a partition.
type transaction struct {
	partition int32
	producer  int64
}

func (s *settler) add(r *kgo.Record) {
	of := transaction{r.Partition, r.ProducerID}
	switch {
	case r.Attrs.IsControl():
		if commits(r.Key) {
			s.committed = append(s.committed, s.open[of]...)
		}
		delete(s.open, of)
	case r.Attrs.IsTransactional():
		if s.open == nil {
			s.open = map[transaction][]*kgo.Record{}
		}
		s.open[of] = append(s.open[of], r)
	default:
		s.committed = append(s.committed, r)
	}
}

// commits tells a marker that commits: its key is a version and a type, 1 for commit.
func commits(marker []byte) bool {
	return len(marker) >= 4 && binary.BigEndian.Uint16(marker[2:]) == 1
}

func (s *settler) settled() []*kgo.Record {
	slices.SortStableFunc(s.committed, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return s.committed
}
