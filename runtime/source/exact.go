package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// Boundary is where transactions of an exactly-once task end (transaction.boundary of KIP-618).
type Boundary string

// The boundaries. Each moves on to the next place where a position stands behind all rows: anywhere else a transaction
// would hold rows that a restart reads again.
const (
	PollBoundary      Boundary = "poll"      // after each batch
	IntervalBoundary  Boundary = "interval"  // after some time
	ConnectorBoundary Boundary = "connector" // where the plugin says so
)

// Exact makes a task write records and positions in the same transactions.
type Exact struct {
	Boundary Boundary
	Interval time.Duration // of IntervalBoundary
}

// longestUncovered is how long a transaction waits for a position: the broker aborts those that last a minute.
const longestUncovered = 30 * time.Second

// transaction is what stands between two commits of an exactly-once task. It is the data goroutine's alone.
type transaction struct {
	open    bool
	begun   time.Time
	covered bool // a position stands behind every row so far
	last    time.Time
	batch   uint64 // every row up to this batch is in it, or in an earlier one
	pending map[connectapi.Partition]connectapi.Offset
	order   []connectapi.Partition
}

func (x *transaction) position(m connectapi.Mark) {
	x.covered = true
	if m.AckOnly || m.Partition == "" {
		return
	}
	if _, seen := x.pending[m.Partition]; !seen {
		x.order = append(x.order, m.Partition)
	}
	x.pending[m.Partition] = m.Offset
}

// something tells that there is something to commit, and that it may be.
func (x *transaction) something() bool { return x.covered && (x.open || len(x.order) > 0) }

// exactly moves records as data does, in transactions; the positions go with the records, so there is no control beside it.
func (t *Task) exactly(ctx, work context.Context) error {
	x := &transaction{pending: map[connectapi.Partition]connectapi.Offset{}, last: time.Now()}
	err := t.transactions(ctx, work, x)
	if x.open { // rows that no position covers are read again
		err = errors.Join(err, t.abort())
	}
	return err
}

func (t *Task) transactions(ctx, work context.Context, x *transaction) error {
	running, cancel := context.WithCancel(work) // ends with ctx, too: what waits for a batch then looks around
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for {
		if err := t.pauseExactly(ctx, work, x); err != nil {
			return err
		}
		b, err := t.recvUntilDue(ctx, work, running, x)
		var said *connectapi.Error
		switch {
		case errors.As(err, &said) && said.Kind == connectapi.EndOfInput:
			if err := t.commitExactly(work, x); err != nil {
				return err
			}
			t.endOfInput(ctx, work)
			continue
		case errors.Is(err, io.EOF):
			return t.commitExactly(work, x)
		case err != nil:
			return err
		case b == nil && ctx.Err() != nil:
			if done, err := t.settleExactly(work, x); done || err != nil {
				return err
			}
			continue
		case b == nil: // the interval is over
			if err := t.commitExactly(work, x); err != nil {
				return err
			}
			continue
		}
		if err := t.pauseExactly(ctx, work, x); err != nil { // paused while it waited for the batch
			return err
		}
		if err := t.handleExactly(work, x, b); err != nil {
			return err
		}
	}
}

// pauseExactly commits what it can before the task rests.
func (t *Task) pauseExactly(ctx, work context.Context, x *transaction) error {
	if t.pause.Open() {
		return nil
	}
	if err := t.commitExactly(work, x); err != nil {
		return err
	}
	if err := t.pause.Wait(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// drainIdle is how long a plugin that was told to stop sends nothing until it is taken to wait for acknowledgements.
const drainIdle = 100 * time.Millisecond

// settleExactly ends what a stopping task has open, so that its plugin, which closes when all it sent is acknowledged, can. What
// must not be committed here, since no position covers it or the connector did not end it, is given up: then the task is done.
func (t *Task) settleExactly(work context.Context, x *transaction) (done bool, err error) {
	if x.something() && (t.Exact.Boundary != ConnectorBoundary || !x.open) {
		return false, t.commitExactly(work, x)
	}
	if !x.open && x.batch > 0 {
		_ = t.stream.Ack(x.batch, nil) // a broken stream shows in Recv
	}
	return x.open, nil
}

// recvUntilDue gives the next batch, or nil when a transaction of the interval boundary is due first, or when a stopping plugin
// sends nothing more.
func (t *Task) recvUntilDue(ctx, work, running context.Context, x *transaction) (*host.SourceBatch, error) {
	due := t.Exact.Boundary == IntervalBoundary && x.something()
	if t.Exact.Boundary == ConnectorBoundary && !x.open && len(x.order) > 0 { // positions alone wait for no mark
		due = true
	}
	until, cancel := running, func() {}
	switch {
	case ctx.Err() != nil:
		until, cancel = context.WithTimeout(work, drainIdle)
	case due:
		until, cancel = context.WithDeadline(running, x.last.Add(t.exactInterval()))
	}
	defer cancel()
	b, err := t.stream.Recv(until)
	if err != nil && work.Err() == nil && until.Err() != nil && errors.Is(err, until.Err()) {
		return nil, nil
	}
	return b, err
}

func (t *Task) exactInterval() time.Duration {
	if t.Exact.Interval > 0 {
		return t.Exact.Interval
	}
	return t.Interval
}

// handleExactly produces a batch's rows into the open transaction, and ends it where the boundary says.
func (t *Task) handleExactly(ctx context.Context, x *transaction, b *host.SourceBatch) error {
	if err := t.leased(ctx); err != nil {
		return err
	}
	marks := b.Positions
	at := func(row int) error {
		for len(marks) > 0 && marks[0].Rows <= row {
			m := marks[0]
			marks = marks[1:]
			if err := t.markExactly(ctx, x, m); err != nil {
				return err
			}
		}
		return nil
	}
	rows, n := b.Rows(), 0
	var row connectapi.RawRow
	for ; rows.Next(&row); n++ {
		if err := at(n); err != nil {
			return err
		}
		if err := t.produceExactly(ctx, x, &row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := at(b.Count); err != nil {
		return err
	}
	x.batch = b.ID
	b.Release() // its bytes were copied; what is buffered, the producer bounds
	if x.open && !x.covered && time.Since(x.begun) > longestUncovered {
		t.Log.Warn("the source gives no position (a snapshot?): what it wrote so far is committed, and comes again if the task stops before its next position",
			"for", longestUncovered)
		x.covered = true
		return t.commitExactly(ctx, x)
	}
	switch t.Exact.Boundary {
	case PollBoundary:
		return t.commitExactly(ctx, x)
	case IntervalBoundary:
		if time.Since(x.last) >= t.exactInterval() {
			return t.commitExactly(ctx, x)
		}
	case ConnectorBoundary:
		if !x.open && len(x.order) > 0 && time.Since(x.last) >= t.exactInterval() {
			return t.commitExactly(ctx, x)
		}
	}
	return nil
}

func (t *Task) markExactly(ctx context.Context, x *transaction, m connectapi.Mark) error {
	switch m.Transaction {
	case connectapi.NoMark:
		x.position(m)
		return nil
	case connectapi.CommitMark:
		if t.Exact.Boundary == ConnectorBoundary {
			return t.commitExactly(ctx, x)
		}
	case connectapi.AbortMark:
		if t.Exact.Boundary == ConnectorBoundary && x.open {
			x.open, x.covered = false, true
			return t.abort()
		}
	case connectapi.BeginMark:
	}
	return nil
}

func (t *Task) produceExactly(ctx context.Context, x *transaction, row *connectapi.RawRow) error {
	t.Metrics.polled.Inc()
	if row.Route.Raw != nil { // durable before any later row, whatever becomes of the transaction
		return t.raw(ctx, row)
	}
	r, ok, err := t.convert(row)
	if err != nil || !ok {
		return err
	}
	if !t.known[r.Topic] {
		if err := t.Topics.Ensure(ctx, r.Topic, nil); err != nil {
			return err
		}
		t.known[r.Topic] = true
	}
	if !x.open {
		if err := t.Fenced.BeginTransaction(); err != nil {
			return fencing(err)
		}
		x.open, x.begun = true, time.Now()
	}
	x.covered = false
	t.Fenced.Produce(ctx, &r, func(r *kgo.Record, err error) {
		switch {
		case err == nil:
			t.Metrics.written.Inc()
			t.Used(r.Topic)
		case ctx.Err() == nil:
			t.fail(fencing(produceError(r, err)))
		}
	})
	return nil
}

// commitExactly ends the transaction with the positions behind its rows, and acknowledges them to the plugin. Without
// anything to commit, or with rows that no position covers, it does nothing.
func (t *Task) commitExactly(ctx context.Context, x *transaction) error {
	if !x.something() {
		return nil
	}
	if err := t.leased(ctx); err != nil {
		return err
	}
	positions := make([]connectapi.Position, 0, len(x.order))
	for _, p := range x.order {
		positions = append(positions, connectapi.Position{Partition: p, Offset: x.pending[p]})
	}
	recs, err := t.Offsets.Records(t.Connector, positions)
	if err != nil {
		return err
	}
	start := time.Now()
	if !x.open {
		if err := t.Fenced.BeginTransaction(); err != nil {
			return fencing(err)
		}
		x.open = true
	}
	for _, r := range recs {
		t.Fenced.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil && ctx.Err() == nil {
				t.fail(fmt.Errorf("writing source positions: %w", fencing(err)))
			}
		})
	}
	if err := t.Fenced.Flush(ctx); err != nil {
		return err
	}
	select {
	case <-t.failed:
		return t.failure
	default:
	}
	if err := t.Fenced.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("committing a transaction with %d source positions: %w", len(positions), fencing(err))
	}
	t.Metrics.commit.Observe(time.Since(start).Seconds())
	x.open, x.last, x.order = false, time.Now(), nil
	clear(x.pending)
	if x.batch > 0 { // a batch without a position is acknowledged with nothing behind it
		_ = t.stream.Ack(x.batch, nil) // a broken stream shows in Recv
	}
	return nil
}
