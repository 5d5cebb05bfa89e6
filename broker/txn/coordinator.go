package txn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/store"
)

// BlockSize is how many producer ids one frame grants.
const BlockSize = 1000

// MaxEpoch is the last epoch of a producer id: after it the transactional id gets a new one. One more exists, to fence
// the holder of the last.
const MaxEpoch = math.MaxInt16 - 1

// ErrNotAdded refuses data for a partition that is not in the producer's open transaction. Clients that know it are told
// TRANSACTION_ABORTABLE instead (KIP-890).
var ErrNotAdded = fmt.Errorf("the partition is not in the transaction: %w", kerr.InvalidTxnState)

// Config bounds transactions. Names in comments are Kafka's.
type Config struct {
	MaxTimeoutMs int32         // transaction.max.timeout.ms
	CheckEvery   time.Duration // transaction.abort.timed.out.transaction.cleanup.interval.ms
	Expiration   time.Duration // transactional.id.expiration.ms
	// ProducerExpiration is how long a queue remembers a producer that appends nothing: producer.id.expiration.ms.
	ProducerExpiration time.Duration
	GroupBytes         int // of records appended together; default 512 KiB
}

// Coordinator grants producer ids and runs transactions. Its methods may be called by any number of goroutines.
type Coordinator struct {
	st      store.API
	groups  *group.Coordinator
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	block   chan struct{} // one token: the right to take an id and, when the block is used up, to grant the next
	gate    *gate

	mu      sync.Mutex
	next    int64 // next id to give
	end     int64 // end of the granted block
	ids     map[string]*transaction
	pending map[string]bool // ids that are being made (I3)
	live    bool
	closed  bool
	check   *time.Timer
	checks  sync.WaitGroup
	expired time.Time // when idle producers were last looked for
	stop    context.Context
	stopNow context.CancelFunc
}

// transaction is one transactional id. All of it is guarded by mu.
type transaction struct {
	mu    sync.Mutex
	rec   Record    // as of the last record appended
	busy  bool      // a change is under way (I3)
	began time.Time // when the open transaction began, or was found open at start (I6)
}

// New makes a coordinator and registers its machine with the store, which must not have been started.
func New(st store.API, groups *group.Coordinator, cfg Config, log *slog.Logger, reg prometheus.Registerer) *Coordinator {
	if cfg.GroupBytes == 0 {
		cfg.GroupBytes = 512 << 10
	}
	c := &Coordinator{
		st:      st,
		groups:  groups,
		cfg:     cfg,
		log:     log.With("component", "txn"),
		block:   make(chan struct{}, 1),
		gate:    newGate(),
		ids:     map[string]*transaction{},
		pending: map[string]bool{},
	}
	c.stop, c.stopNow = context.WithCancel(context.Background())
	c.metrics = newMetrics(reg, c)
	c.block <- struct{}{}
	st.Register(applier{c}, index.PrefixTxn, commitlog.KindProducer, commitlog.KindTxn)
	st.Guard(c.gate.check)
	return c
}

// Started tells the coordinator that the store's replay is over. What the last run had left of its block is given up,
// transactions that were decided are finished before anybody can ask, and open ones get a fresh timeout.
func (c *Coordinator) Started() {
	c.mu.Lock()
	c.live = true
	c.next = c.end
	c.expired = time.Now()
	c.mu.Unlock()
	now := time.Now()
	for _, x := range c.all() {
		x.mu.Lock()
		x.began = now
		c.gate.set(&x.rec)
		x.mu.Unlock()
	}
	c.finishDecided()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.CheckEvery > 0 && !c.closed {
		c.check = time.AfterFunc(c.cfg.CheckEvery, c.checkUp)
	}
}

// Close stops looking for timeouts. The store must still be open.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	c.stopNow()
	if c.check != nil {
		c.check.Stop()
	}
	c.mu.Unlock()
	c.checks.Wait()
}

// all lists the transactional ids in order.
func (c *Coordinator) all() []*transaction {
	type named struct {
		id string
		x  *transaction
	}
	c.mu.Lock()
	list := make([]named, 0, len(c.ids))
	for id, x := range c.ids {
		list = append(list, named{id, x})
	}
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.id, b.id) })
	out := make([]*transaction, len(list))
	for i := range list {
		out[i] = list[i].x
	}
	return out
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

// find locks a transactional id; nil if there is none.
func (c *Coordinator) find(id string) *transaction {
	for {
		c.mu.Lock()
		x := c.ids[id]
		c.mu.Unlock()
		if x == nil {
			return nil
		}
		x.mu.Lock()
		if x.rec.State != Dead {
			return x
		}
		x.mu.Unlock() // forgotten between the two locks: look again
	}
}

// held locks the transactional id a producer says it holds, if nothing else is going on with it.
func (c *Coordinator) held(id string, producer int64, epoch int16) (*transaction, error) {
	x := c.find(id)
	if x == nil {
		return nil, fmt.Errorf("transactional id %q is not known: %w", id, kerr.InvalidProducerIDMapping)
	}
	err := func() error {
		switch {
		case x.rec.ProducerID != producer:
			return fmt.Errorf("transactional id %q is held by producer %d, not by %d: %w", id, x.rec.ProducerID, producer, kerr.InvalidProducerIDMapping)
		case x.rec.Epoch != epoch:
			return fmt.Errorf("transactional id %q is at epoch %d, not %d: %w", id, x.rec.Epoch, epoch, kerr.ProducerFenced)
		case x.busy:
			return fmt.Errorf("transactional id %q has another change under way: %w", id, kerr.ConcurrentTransactions)
		}
		return nil
	}()
	if err != nil {
		x.mu.Unlock()
		return nil, err
	}
	return x, nil
}

// Lookup finds what a transactional id stands for.
func (c *Coordinator) Lookup(id string) (Record, bool) {
	x := c.find(id)
	if x == nil {
		return Record{}, false
	}
	defer x.mu.Unlock()
	return x.rec, true
}

// List lists what all transactional ids stand for, in order.
func (c *Coordinator) List() []Record {
	var out []Record
	for _, x := range c.all() {
		x.mu.Lock()
		if x.rec.State != Dead {
			out = append(out, x.rec)
		}
		x.mu.Unlock()
	}
	return out
}

// Owner is the transactional id a producer id belongs to.
func (c *Coordinator) Owner(producer int64) (string, bool) { return c.gate.owner(producer) }

// unavailable makes storage's refusals something clients of transactions try again after: of any other error they take
// their transactions for lost.
func unavailable(err error) error {
	if errors.Is(err, store.ErrStorage) || errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("%w: %w", kerr.CoordinatorNotAvailable, err)
	}
	return err
}
