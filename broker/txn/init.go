package txn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/store"
)

// Init answers InitProducerId for a transactional id: a new id begins with epoch 0, a known one has its epoch raised,
// which fences every earlier holder. A transaction that is open is aborted in the same step. producerID and epoch are what
// the caller believes it holds, -1 and -1 if nothing.
func (c *Coordinator) Init(ctx context.Context, id string, timeoutMs int32, producerID int64, epoch int16) (Record, error) {
	if id == "" {
		return Record{}, fmt.Errorf("the transactional id is empty: %w", kerr.InvalidRequest)
	}
	if timeoutMs <= 0 || timeoutMs > c.cfg.MaxTimeoutMs {
		return Record{}, fmt.Errorf("transactional id %q: timeout %d ms, want 1 to %d (transaction.max.timeout.ms): %w", id, timeoutMs, c.cfg.MaxTimeoutMs, kerr.InvalidTransactionTimeout)
	}
	for {
		if x := c.find(id); x != nil {
			return c.raise(ctx, x, timeoutMs, producerID, epoch)
		}
		rec, again, err := c.create(ctx, id, timeoutMs, producerID)
		if !again {
			return rec, err
		}
	}
}

// create makes a transactional id; again tells that there is one by now.
func (c *Coordinator) create(ctx context.Context, id string, timeoutMs int32, producerID int64) (rec Record, again bool, err error) {
	if producerID >= 0 {
		return Record{}, false, fmt.Errorf("transactional id %q is not held by producer %d: %w", id, producerID, kerr.ProducerFenced)
	}
	c.mu.Lock()
	if c.ids[id] != nil {
		c.mu.Unlock()
		return Record{}, true, nil
	}
	if c.pending[id] {
		c.mu.Unlock()
		return Record{}, false, fmt.Errorf("transactional id %q has another change under way: %w", id, kerr.ConcurrentTransactions)
	}
	c.pending[id] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()
	rec = Record{TransactionalID: id, LastProducer: -1, LastEpoch: -1, TimeoutMs: timeoutMs, Updated: time.Now().UnixMilli()}
	if rec.ProducerID, err = c.NewProducerID(ctx); err != nil {
		return Record{}, false, unavailable(err)
	}
	t := c.st.Append(store.Durable, recordEntry(&rec))
	<-t.Done()
	if err := t.Err(); err != nil {
		return Record{}, false, unavailable(fmt.Errorf("making transactional id %q: %w", id, err))
	}
	c.gate.set(&rec)
	c.mu.Lock()
	c.ids[id] = &transaction{rec: rec}
	c.mu.Unlock()
	return rec, false, nil
}

// raise raises the epoch of a known id, which is locked, and unlocks it.
func (c *Coordinator) raise(ctx context.Context, x *transaction, timeoutMs int32, producerID int64, epoch int16) (Record, error) {
	next, same, err := x.raised(timeoutMs, producerID, epoch)
	if err != nil || same {
		x.mu.Unlock()
		return next, err
	}
	x.busy = true
	if next.ProducerID < 0 {
		x.mu.Unlock()
		id, err := c.NewProducerID(ctx)
		x.mu.Lock()
		if err != nil {
			x.busy = false
			x.mu.Unlock()
			return Record{}, unavailable(err)
		}
		next.ProducerID = id
	}
	wait := c.conclude(x, next, false)
	x.mu.Unlock()
	if err := wait(); err != nil {
		return Record{}, err
	}
	return next, nil
}

// raised decides what an id becomes; same tells that the answer to an earlier request for this step was lost, so that it
// gets the same again. The producer id is -1 if a new one is needed.
func (x *transaction) raised(timeoutMs int32, producerID int64, epoch int16) (next Record, same bool, err error) {
	cur := &x.rec
	fenced := func() (Record, bool, error) {
		return Record{}, false, fmt.Errorf("transactional id %q is held by producer %d at epoch %d, not by %d at %d: %w", cur.TransactionalID, cur.ProducerID, cur.Epoch, producerID, epoch, kerr.ProducerFenced)
	}
	lost := false
	if producerID >= 0 {
		lost = cur.State != Ongoing && cur.LastEpoch >= 0 && epoch == cur.LastEpoch &&
			(cur.Epoch > 0 && producerID == cur.ProducerID || cur.Epoch == 0 && producerID == cur.LastProducer)
		if !lost && (producerID != cur.ProducerID || epoch != cur.Epoch) {
			return fenced()
		}
	}
	if x.busy || cur.State.prepared() {
		return Record{}, false, fmt.Errorf("transactional id %q has another change under way: %w", cur.TransactionalID, kerr.ConcurrentTransactions)
	}
	if lost && cur.Epoch <= MaxEpoch {
		return *cur, true, nil
	}
	next = Record{
		TransactionalID: cur.TransactionalID, ProducerID: cur.ProducerID, Epoch: cur.Epoch + 1,
		LastProducer: cur.LastProducer, LastEpoch: -1,
		TimeoutMs: timeoutMs, Updated: time.Now().UnixMilli(), unknown: slices.Clone(cur.unknown),
	}
	if producerID >= 0 { // who holds it may ask again; who does not, may not
		next.LastEpoch = epoch
	}
	if cur.Epoch >= MaxEpoch {
		next.ProducerID, next.Epoch, next.LastProducer = -1, 0, cur.ProducerID
	}
	return next, false, nil
}
