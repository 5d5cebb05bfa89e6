package txn

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
)

// coordinatorEpoch is what markers say of who wrote them: there has never been another coordinator.
const coordinatorEpoch = 0

// End answers EndTxn. The function it returns waits until the end is durable and must be called. The same decision again is
// answered as it was.
func (c *Coordinator) End(id string, producer int64, epoch int16, commit bool) (wait func() error, err error) {
	x, err := c.held(id, producer, epoch)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	prepare, complete := ended(commit)
	switch x.rec.State {
	case Ongoing:
	case prepare:
		return nil, fmt.Errorf("the end of the transaction of %q is under way: %w", id, kerr.ConcurrentTransactions)
	case complete:
		return nothing, nil
	case Empty:
		if !commit {
			return nothing, nil // nothing to abort: a power cut may have taken what was added (I5)
		}
		fallthrough
	default:
		return nil, fmt.Errorf("transactional id %q is %s, its transaction can't end with commit=%t: %w", id, x.rec.State, commit, kerr.InvalidTxnState)
	}
	next := x.rec.next(complete)
	x.busy = true
	return c.conclude(x, next, commit), nil
}

// next is a record without a transaction.
func (r *Record) next(s State) Record {
	n := *r
	n.State, n.Partitions, n.Groups, n.Started, n.Updated = s, nil, nil, 0, time.Now().UnixMilli()
	return n
}

// conclude makes next what an id is, and ends the transaction that is open or decided. The id is locked and busy; the function
// returned waits for the log and frees it.
func (c *Coordinator) conclude(x *transaction, next Record, commit bool) (wait func() error) {
	was := x.rec
	open := was.State == Ongoing || was.State.prepared()
	mark := was.Epoch // of the markers: a higher one than the producer's fences it in the queues, too
	switch {
	case next.ProducerID != was.ProducerID && was.Epoch <= MaxEpoch:
		mark++
	case next.ProducerID == was.ProducerID:
		mark = next.Epoch
	}
	c.gate.fence(&was, mark) // I4
	done := func() {}
	var last *store.Ticket
	var err error
	if open {
		done, last, err = c.appendEnd(x, next, mark, commit)
	} else {
		last, err = c.append(store.Durable, recordEntry(&next))
	}
	if err != nil { // nothing, or not all, was appended
		x.busy = false
		c.gate.set(&x.rec)
		return func() error {
			return unavailable(fmt.Errorf("ending the transaction of %q: %w", was.TransactionalID, err))
		}
	}
	return func() error {
		<-last.Done()
		err := last.Err()
		if err == nil {
			done()
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.busy = false
		if err != nil { // the log is fenced: after a restart it says what became of it
			return unavailable(fmt.Errorf("ending the transaction of %q: %w", was.TransactionalID, err))
		}
		x.rec = next
		c.gate.set(&next)
		if open {
			c.metrics.ended(commit)
		}
		return nil
	}
}

// append appends entries and tells at once when they were refused.
func (c *Coordinator) append(s store.Safety, entries ...store.Entry) (*store.Ticket, error) {
	t := c.st.Append(s, entries...)
	select {
	case <-t.Done():
		return t, t.Err()
	default:
		return t, nil
	}
}

// appendEnd appends what ends a transaction: in one group, or the decision first and the rest behind it. x.rec becomes the
// decision as soon as that stands in the log by itself.
func (c *Coordinator) appendEnd(x *transaction, next Record, epoch int16, commit bool) (done func(), last *store.Ticket, err error) {
	was := x.rec
	now := time.Now().UnixMilli()
	complete := recordEntry(&next)
	prepare, _ := ended(commit)
	done, err = c.groups.EndTxn(was.ProducerID, commit, was.Groups, func(offsets []store.Entry) error {
		group := append([]store.Entry{complete}, offsets...)
		size := 0
		for _, e := range group {
			size += frameRoom + len(e.Payload)
		}
		split := size+len(was.Partitions)*markerRoom > c.cfg.GroupBytes
		if split {
			decided := was
			decided.State, decided.Updated, decided.Epoch = prepare, now, epoch
			if next.ProducerID == was.ProducerID {
				decided.LastEpoch = next.LastEpoch
			}
			if !was.State.prepared() {
				if _, err := c.append(store.Durable, recordEntry(&decided)); err != nil {
					return err
				}
				x.rec = decided
			}
		}
		var markers []store.Entry
		for i, p := range was.Partitions {
			// The queue of a deleted topic refuses its marker, and no other.
			markers = append(markers, store.Entry{
				Kind: commitlog.KindData, Queue: p.Queue, Batch: batch.NewMarker(was.ProducerID, epoch, commit, coordinatorEpoch, now),
			})
			if split && (len(markers)*markerRoom >= c.cfg.GroupBytes || i == len(was.Partitions)-1) {
				if _, err := c.append(store.Durable, markers...); err != nil {
					return err
				}
				markers = nil
			}
		}
		last, err = c.append(store.Durable, append(group, markers...)...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return done, last, nil
}

func recordEntry(r *Record) store.Entry {
	return store.Entry{Kind: commitlog.KindTxn, Payload: r.encode()}
}

// What an entry takes in the log, about.
const (
	frameRoom  = 48
	markerRoom = 128
)

// finishDecided ends transactions whose end was decided and not finished: a crash or a full disk came between.
func (c *Coordinator) finishDecided() {
	var waits []func() error
	for _, x := range c.all() {
		x.mu.Lock()
		if x.rec.State.prepared() && !x.busy {
			x.busy = true
			commit := x.rec.State == PrepareCommit
			_, complete := ended(commit)
			waits = append(waits, c.conclude(x, x.rec.next(complete), commit))
		}
		x.mu.Unlock()
	}
	for _, wait := range waits {
		if err := wait(); err != nil && !errors.Is(err, store.ErrClosed) {
			c.log.Error("a decided transaction could not be finished; it is tried again", "error", err)
		}
	}
}
