package source

import (
	"context"
	"fmt"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
)

// control writes positions at the interval, and at once while draining, and acknowledges what is behind them (I2). It
// ends when data has and nothing is left, or with work.
func (t *Task) control(work context.Context, dataDone <-chan struct{}) {
	tick := time.NewTicker(t.Interval)
	defer tick.Stop()
	draining := t.draining
	ended := false
	for {
		atOnce := draining == nil || ended
		select {
		case <-work.Done():
			return
		case <-tick.C:
			atOnce = true
		case <-t.ledger.freed:
		case <-draining:
			draining, atOnce = nil, true
		case <-dataDone:
			dataDone, ended, atOnce = nil, true, true
		}
		if atOnce {
			if err := t.commit(work); err != nil {
				t.fail(err)
				return
			}
		}
		if ended && t.ledger.idle() {
			return
		}
	}
}

func (t *Task) commit(ctx context.Context) error {
	c := t.ledger.take()
	if len(c.positions) > 0 {
		start := time.Now()
		if err := t.Offsets.Put(ctx, t.Connector, c.positions); err != nil {
			t.ledger.putBack(c)
			if ctx.Err() != nil {
				return nil // cut off while draining; Run says so
			}
			return fmt.Errorf("committing %d source positions: %w", len(c.positions), err)
		}
		t.Metrics.commit.Observe(time.Since(start).Seconds())
	}
	if c.batch > 0 {
		_ = t.stream.Ack(c.batch, nil) // a broken stream shows in Recv
	}
	return nil
}

// Report is what the plugin last said of itself.
func (t *Task) Report() host.Report { return t.stream.Report() }
