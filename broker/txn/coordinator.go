package txn

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/store"
)

// BlockSize is how many producer ids one frame grants.
const BlockSize = 1000

// MaxEpoch is the last epoch of a producer id: after it the transactional id gets a new one.
const MaxEpoch = math.MaxInt16 - 1

// Coordinator grants producer ids. Its methods may be called by any number of goroutines; they return when what they
// grant is durable.
type Coordinator struct {
	st           store.API
	log          *slog.Logger
	maxTimeoutMs int32
	block        chan struct{} // one token: the right to take an id and, when the block is used up, to grant the next

	mu      sync.Mutex
	next    int64 // next id to give
	end     int64 // end of the granted block
	ids     map[string]*Identity
	pending map[string]bool // ids with a change under way (I3)
	live    bool
}

// New makes a coordinator and registers its machine with the store, which must not have been started. maxTimeoutMs is
// transaction.max.timeout.ms.
func New(st store.API, maxTimeoutMs int32, log *slog.Logger) *Coordinator {
	c := &Coordinator{
		st:           st,
		log:          log.With("component", "txn"),
		maxTimeoutMs: maxTimeoutMs,
		block:        make(chan struct{}, 1),
		ids:          map[string]*Identity{},
		pending:      map[string]bool{},
	}
	c.block <- struct{}{}
	st.Register(applier{c}, index.PrefixTxn, commitlog.KindProducer, commitlog.KindTxn)
	return c
}

// Started tells the coordinator that the store's replay is over. What the last run had left of its block is given up.
func (c *Coordinator) Started() {
	c.mu.Lock()
	c.live = true
	c.next = c.end
	c.mu.Unlock()
}

// NewProducerID gives a producer id nobody has had.
func (c *Coordinator) NewProducerID(ctx context.Context) (int64, error) {
	select {
	case <-c.block:
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for a producer id: %w", context.Cause(ctx))
	}
	defer func() { c.block <- struct{}{} }()
	c.mu.Lock()
	next, end := c.next, c.end
	c.mu.Unlock()
	if next == end { // I1
		t := c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindProducer, Payload: encodeBlock(end + BlockSize)})
		<-t.Done()
		if err := t.Err(); err != nil {
			return 0, fmt.Errorf("granting a block of producer ids: %w", err)
		}
		end += BlockSize
	}
	c.mu.Lock()
	c.next, c.end = next+1, end
	c.mu.Unlock()
	return next, nil
}

// Init answers InitProducerId for a transactional id: a new id begins with epoch 0, a known one has its epoch raised,
// which fences every earlier holder. producerID and epoch are what the caller believes it holds, -1 and -1 if nothing.
func (c *Coordinator) Init(ctx context.Context, id string, timeoutMs int32, producerID int64, epoch int16) (Identity, error) {
	if id == "" {
		return Identity{}, fmt.Errorf("the transactional id is empty: %w", kerr.InvalidRequest)
	}
	if timeoutMs <= 0 || timeoutMs > c.maxTimeoutMs {
		return Identity{}, fmt.Errorf("transactional id %q: timeout %d ms, want 1 to %d (transaction.max.timeout.ms): %w", id, timeoutMs, c.maxTimeoutMs, kerr.InvalidTransactionTimeout)
	}
	cur, err := c.begin(id)
	if err != nil {
		return Identity{}, err
	}
	defer c.finish(id)
	if producerID >= 0 {
		switch {
		case cur == nil || cur.ProducerID != producerID:
			return Identity{}, fmt.Errorf("transactional id %q is not held by producer %d: %w", id, producerID, kerr.ProducerFenced)
		case epoch == cur.LastEpoch && epoch >= 0:
			return *cur, nil // its answer was lost; the step it asks for is made
		case epoch != cur.Epoch:
			return Identity{}, fmt.Errorf("transactional id %q is at epoch %d, not %d: %w", id, cur.Epoch, epoch, kerr.ProducerFenced)
		}
	}
	next := Identity{TransactionalID: id, TimeoutMs: timeoutMs, LastEpoch: -1}
	if cur != nil && cur.Epoch < MaxEpoch {
		next.ProducerID, next.Epoch, next.LastEpoch, next.unknown = cur.ProducerID, cur.Epoch+1, cur.Epoch, cur.unknown
	} else if next.ProducerID, err = c.NewProducerID(ctx); err != nil {
		return Identity{}, err
	}
	t := c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindTxn, Payload: next.encode()})
	<-t.Done()
	if err := t.Err(); err != nil {
		return Identity{}, fmt.Errorf("raising the epoch of transactional id %q: %w", id, err)
	}
	c.mu.Lock()
	c.ids[id] = &next
	c.mu.Unlock()
	return next, nil
}

// begin claims a transactional id for one change.
func (c *Coordinator) begin(id string) (*Identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] {
		return nil, fmt.Errorf("transactional id %q has another change under way: %w", id, kerr.ConcurrentTransactions)
	}
	c.pending[id] = true
	return c.ids[id], nil
}

func (c *Coordinator) finish(id string) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}

// Lookup finds what a transactional id stands for.
func (c *Coordinator) Lookup(id string) (Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ids[id]; r != nil {
		return *r, true
	}
	return Identity{}, false
}
