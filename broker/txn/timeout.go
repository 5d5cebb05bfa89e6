package txn

import (
	"fmt"
	"time"

	"github.com/penstockio/penstock/broker/store"
)

// checkUp aborts transactions that are open for too long, finishes what could not be finished, and forgets ids that
// nobody has used for long.
func (c *Coordinator) checkUp() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.checks.Add(1)
	c.mu.Unlock()
	defer c.checks.Done()
	c.finishDecided()
	c.abortLate()
	c.forgetIdle()
	c.expireProducers()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.check.Reset(c.cfg.CheckEvery)
	}
}

// abortLate aborts transactions past their timeout and fences their producers. The producer that was late may go on: it
// asks for its next epoch with the one it has (KIP-588).
func (c *Coordinator) abortLate() {
	type late struct {
		id   string
		wait func() error
	}
	var all []late
	for _, x := range c.all() {
		x.mu.Lock()
		open := time.Since(x.began)
		if x.rec.State == Ongoing && !x.busy && open > time.Duration(x.rec.TimeoutMs)*time.Millisecond {
			c.log.Warn("aborting a transaction past its timeout", "id", x.rec.TransactionalID, "producer", x.rec.ProducerID,
				"epoch", x.rec.Epoch, "open", open.Round(time.Millisecond), "timeout_ms", x.rec.TimeoutMs)
			next := x.rec.next(CompleteAbort)
			next.LastEpoch = next.Epoch
			next.Epoch++ // past MaxEpoch the next request gets a new producer id
			x.busy = true
			all = append(all, late{x.rec.TransactionalID, c.conclude(x, next, false)})
		}
		x.mu.Unlock()
	}
	for _, l := range all {
		if err := l.wait(); err != nil {
			c.log.Error("aborting a transaction past its timeout failed; it is tried again", "id", l.id, "error", err)
			continue
		}
		c.metrics.late.Inc()
	}
}

// producerCheck is how often idle producers are looked for (Kafka's producer.id.expiration.check.interval.ms).
const producerCheck = 10 * time.Minute

// expireProducers lets queues forget producers that have not appended for long. Only checkUp calls it.
func (c *Coordinator) expireProducers() {
	if c.cfg.ProducerExpiration <= 0 || time.Since(c.expired) < min(producerCheck, c.cfg.ProducerExpiration) {
		return
	}
	c.expired = time.Now()
	n, err := c.st.ExpireProducers(c.stop, c.expired.Add(-c.cfg.ProducerExpiration).UnixMilli())
	if err != nil && c.stop.Err() == nil {
		c.log.Error("forgetting idle producers failed; it is tried again", "error", err)
	}
	if n > 0 {
		c.log.Info("queues forgot idle producers", "count", n)
	}
}

// forgetIdle removes ids whose last transaction is long over.
func (c *Coordinator) forgetIdle() {
	if c.cfg.Expiration <= 0 {
		return
	}
	before := time.Now().Add(-c.cfg.Expiration).UnixMilli()
	for _, x := range c.all() {
		x.mu.Lock()
		idle := x.rec.State != Ongoing && !x.rec.State.prepared() && !x.busy && x.rec.Updated < before
		if !idle {
			x.mu.Unlock()
			continue
		}
		gone := Record{TransactionalID: x.rec.TransactionalID, deleted: true}
		_, err := c.append(store.Durable, recordEntry(&gone))
		if err != nil {
			x.mu.Unlock()
			c.log.Error("forgetting an idle transactional id failed; it is tried again", "error", fmt.Errorf("%q: %w", gone.TransactionalID, err))
			return
		}
		x.rec.State = Dead
		c.gate.remove(&x.rec)
		c.mu.Lock()
		if c.ids[gone.TransactionalID] == x {
			delete(c.ids, gone.TransactionalID)
		}
		c.mu.Unlock()
		x.mu.Unlock()
	}
}
