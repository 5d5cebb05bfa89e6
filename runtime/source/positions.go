package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// Offsets is the offset topic. Positions are records of it, which the task's own fenced producer writes.
type Offsets interface {
	Committed(ctx context.Context, connector string) ([]connectapi.Position, error)
	Records(connector string, positions []connectapi.Position) ([]*kgo.Record, error)
}

// FencedError says that another incarnation of the task has begun, here or on another worker: this one's positions are
// accepted no more, by any broker (I5).
type FencedError struct{ Err error }

func (e *FencedError) Error() string {
	return fmt.Sprintf("another worker has started this task, so what this one writes is refused: %v", e.Err)
}

func (e *FencedError) Unwrap() error { return e.Err }

func fencing(err error) error {
	if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
		return &FencedError{err}
	}
	return err
}

// fence takes the task's transactional id: every earlier incarnation is refused from then on, and what it had not committed
// is aborted.
func (t *Task) fence(ctx context.Context) error {
	if _, _, err := t.Fenced.ProducerID(ctx); err != nil {
		return fmt.Errorf("fencing earlier incarnations of the task (InitProducerId): %w", fencing(err))
	}
	return nil
}

// writePositions writes positions in a transaction of their own.
func (t *Task) writePositions(ctx context.Context, positions []connectapi.Position) error {
	recs, err := t.Offsets.Records(t.Connector, positions)
	if err != nil {
		return err
	}
	if err := t.Fenced.BeginTransaction(); err != nil {
		return fencing(err)
	}
	if err := t.Fenced.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		return fencing(errors.Join(err, t.abort()))
	}
	return fencing(t.Fenced.EndTransaction(ctx, kgo.TryCommit))
}

// abortTime bounds the abort of a transaction, lateAbortTime that of a task that was cut off, since its broker may be away: who
// takes the id next aborts it, or the broker by itself some time later.
const (
	abortTime     = 5 * time.Second
	lateAbortTime = time.Second
)

// abort gives up the open transaction.
func (t *Task) abort() error {
	within := abortTime
	if t.cutOff.Load() {
		within = lateAbortTime
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return errors.Join(t.Fenced.AbortBufferedRecords(ctx), t.Fenced.EndTransaction(ctx, kgo.TryAbort))
}

// leasePause is how often it is looked whether the worker's place in its group is sure again.
const leasePause = 50 * time.Millisecond

// leased waits while the worker may have lost its place in the group: it has either heard from the coordinator within the
// session, or it writes nothing.
func (t *Task) leased(ctx context.Context) error {
	if t.Lease == nil {
		return nil
	}
	for warned := false; ; warned = true {
		err := t.Lease()
		if err == nil {
			return nil
		}
		if !warned {
			t.Log.Warn("the task writes nothing until the worker's place in its group is sure", "error", err)
		}
		select {
		case <-time.After(leasePause):
		case <-t.failed:
			return t.failure
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
