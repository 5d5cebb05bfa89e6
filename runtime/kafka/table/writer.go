package table

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
)

// ErrFenced tells that another has taken the table's writer since.
var ErrFenced = errors.New("another has taken over")

// abortTimeout bounds the end of a transaction that failed.
const abortTimeout = 10 * time.Second

// Writer writes a table as the one holder of a transactional id: who takes it later ends its right, on any broker, and what
// it had not committed is gone. Each Write is a transaction. It is safe for concurrent use.
type Writer struct {
	t      *Table
	id     string
	client *kgo.Client

	turn  chan struct{} // to write
	close func()        // its client, once

	mu  sync.Mutex
	err error // why it writes no more
}

// Take makes the caller the holder of a transactional id, and anybody else's Writer of it ErrFenced.
func (t *Table) Take(ctx context.Context, clients *kafka.Clients, id string) (*Writer, error) {
	cl, err := clients.Internal("writer-"+t.topic, kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))
	if err != nil {
		return nil, err
	}
	if _, _, err := cl.ProducerID(ctx); err != nil {
		cl.Close()
		return nil, fmt.Errorf("taking the transactional id %s, to write topic %s: %w", id, t.topic, err)
	}
	return &Writer{t: t, id: id, client: cl, turn: make(chan struct{}, 1), close: sync.OnceFunc(cl.Close)}, nil
}

// Write appends rows, all or none, and waits until they are committed. After an error the outcome is not known, unless
// it is ErrFenced, and the Writer writes no more. What it had begun then ends when the id is taken the next time.
func (w *Writer) Write(ctx context.Context, rows ...Record) error {
	_, err := w.put(ctx, rows)
	return err
}

// put gives where partitions end behind what was written.
func (w *Writer) put(ctx context.Context, rows []Record) (map[int32]int64, error) {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("writing %d records to topic %s as %s, behind a write that does not end: %w", len(rows), w.t.topic, w.id, ctx.Err())
	}
	if err := w.Broken(); err != nil {
		return nil, err
	}
	ends, err := w.write(ctx, rows)
	if err != nil {
		if fenced(err) {
			err = fmt.Errorf("%w: %w", ErrFenced, err)
		}
		err = fmt.Errorf("as %s: %w", w.id, w.t.failed(ctx, rows, err))
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		return nil, err
	}
	return ends, nil
}

func (w *Writer) write(ctx context.Context, rows []Record) (map[int32]int64, error) {
	if err := w.client.BeginTransaction(); err != nil {
		return nil, err
	}
	recs := w.t.records(rows)
	// A transactional client never gives up a record it may have sent; it does when it is closed (I4).
	goOn := context.AfterFunc(ctx, w.close)
	err := w.client.ProduceSync(ctx, recs...).FirstErr()
	if !goOn() {
		return nil, ctx.Err()
	}
	if err == nil {
		if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return nil, fmt.Errorf("committing them, which may still take effect: %w", err)
		}
		return ends(recs), nil
	}
	end, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	return nil, errors.Join(err, w.client.EndTransaction(end, kgo.TryAbort))
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

// WriteApplied writes rows and waits until they have been applied here. A broker may answer a commit before readers of
// committed data see it, so that the end they see says nothing.
func (w *Writer) WriteApplied(ctx context.Context, rows ...Record) error {
	ends, err := w.put(ctx, rows)
	if err != nil {
		return err
	}
	return w.t.awaitEnds(ctx, ends)
}

// Broken tells why it writes no more; nil while it does.
func (w *Writer) Broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close frees its client. Who holds the id does not change.
func (w *Writer) Close() { w.close() }
