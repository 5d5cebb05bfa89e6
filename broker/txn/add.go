package txn

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

// nothing is there to be waited for.
func nothing() error { return nil }

// AddPartitions makes partitions part of a producer's transaction, and opens one if there is none. The function it returns
// waits until that is written (I5).
func (c *Coordinator) AddPartitions(id string, producer int64, epoch int16, parts []Partition) (wait func() error, err error) {
	x, err := c.held(id, producer, epoch)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	var fresh []Partition
	seen := make(map[queue.ID]bool, len(parts))
	for _, p := range parts {
		if !seen[p.Queue] && (x.rec.State != Ongoing || !c.gate.has(producer, p.Queue)) {
			seen[p.Queue] = true
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return nothing, nil
	}
	if wait, err = c.grow(x, fresh, nil); err != nil {
		return nil, fmt.Errorf("adding partitions to the transaction of %q: %w", id, err)
	}
	c.gate.add(producer, fresh)
	return wait, nil
}

// AddGroup makes a group's offsets part of a producer's transaction, and opens one if there is none. The function it
// returns waits until that is written (I5).
func (c *Coordinator) AddGroup(id string, producer int64, epoch int16, groupID string) (wait func() error, err error) {
	x, err := c.held(id, producer, epoch)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	if x.rec.State == Ongoing && slices.Contains(x.rec.Groups, groupID) {
		return nothing, nil
	}
	if wait, err = c.grow(x, nil, []string{groupID}); err != nil {
		return nil, fmt.Errorf("adding group %q to the transaction of %q: %w", groupID, id, err)
	}
	return wait, nil
}

// grow appends a record with more in its transaction (I5). The id is locked.
func (c *Coordinator) grow(x *transaction, parts []Partition, groups []string) (wait func() error, err error) {
	if x.rec.State.prepared() {
		return nil, fmt.Errorf("its end is under way: %w", kerr.ConcurrentTransactions)
	}
	now := time.Now()
	next := x.rec
	begins := next.State != Ongoing
	if begins {
		next = x.rec.next(Ongoing)
		next.Started = now.UnixMilli()
	}
	next.Updated = now.UnixMilli()
	next.Partitions = append(slices.Clip(next.Partitions), parts...)
	next.Groups = append(slices.Clip(next.Groups), groups...)
	t, err := c.append(store.Written, recordEntry(&next))
	if err != nil {
		return nil, unavailable(err)
	}
	x.rec = next
	if begins {
		x.began = now
	}
	return func() error {
		<-t.Done()
		return unavailable(t.Err())
	}, nil
}

// CommitOffsets stages a group's offsets, to be committed with the producer's transaction. The function it returns waits
// until they are durable and must be called: a commit may follow them.
func (c *Coordinator) CommitOffsets(id string, producer int64, epoch int16, r group.CommitRequest) (func() error, error) {
	x, err := c.held(id, producer, epoch)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	if x.rec.State != Ongoing || !slices.Contains(x.rec.Groups, r.Group) {
		return nil, fmt.Errorf("group %q is not in the transaction of %q, which is %s: %w", r.Group, id, x.rec.State, kerr.InvalidTxnState)
	}
	wait, err := c.groups.Stage(producer, r)
	if err != nil {
		return nil, unavailable(err)
	}
	return func() error { return unavailable(wait()) }, nil
}
