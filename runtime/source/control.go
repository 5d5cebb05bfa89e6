package source

import (
	"context"
	"fmt"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
)

// control writes positions, at most once an interval and at once while draining, and acknowledges what is behind them
// (I2). The first one after a quiet interval, or after the start, does not wait: a worker that is killed again and again
// still comes on. It ends when data has and nothing is left, or with work.
func (t *Task) control(work context.Context, dataDone <-chan struct{}) {
	tick := time.NewTicker(t.Interval)
	defer tick.Stop()
	draining := t.draining
	ended := false
	var last time.Time // of the last commit
	for {
		atOnce := draining == nil || ended
		select {
		case <-work.Done():
			return
		case <-tick.C:
			atOnce = true
		case <-t.ledger.freed:
			atOnce = atOnce || time.Since(last) >= t.Interval
		case <-draining:
			draining, atOnce = nil, true
		case <-dataDone:
			dataDone, ended, atOnce = nil, true, true
		}
		if atOnce {
			wrote, err := t.commit(work)
			if err != nil {
				t.fail(err)
				return
			}
			if wrote {
				last = time.Now()
			}
		}
		if ended && t.ledger.idle() {
			return
		}
	}
}

func (t *Task) commit(ctx context.Context) (wrote bool, err error) {
	if t.Lease != nil && t.Lease() != nil {
		return false, nil // somebody else may run the task already; what is free stays free
	}
	c := t.ledger.take()
	if len(c.positions) > 0 {
		start := time.Now()
		if err := t.writePositions(ctx, c.positions); err != nil {
			t.ledger.putBack(c)
			if ctx.Err() != nil {
				return false, nil // cut off while draining; Run says so
			}
			return false, fmt.Errorf("committing %d source positions: %w", len(c.positions), err)
		}
		t.Metrics.commit.Observe(time.Since(start).Seconds())
	}
	if c.batch > 0 {
		_ = t.stream.Ack(c.batch, nil) // a broken stream shows in Recv
	}
	return len(c.positions) > 0, nil
}

// Report is what the plugin last said of itself.
func (t *Task) Report() host.Report { return t.stream.Report() }
