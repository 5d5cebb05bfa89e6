package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// control flushes and commits at the interval, or when the plugin asks, until ctx ends.
func (t *Task) control(ctx context.Context) {
	tick := time.NewTicker(t.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.commitRq:
		}
		if err := t.flushAndCommit(ctx, false); err != nil && ctx.Err() == nil && !t.over() {
			t.Log.Warn("committing consumer offsets failed, trying again at the next interval", "error", err)
		}
	}
}

// flushAndCommit asks the plugin what is durable and commits it (I1).
func (t *Task) flushAndCommit(ctx context.Context, all bool) error {
	t.flush.Lock()
	defer t.flush.Unlock()
	select {
	case <-t.flushed: // of a flush nobody waited for any more
	default:
	}
	if err := t.stream.Flush(all); err != nil {
		return err
	}
	select {
	case <-t.flushed:
	case <-t.failed:
		return errors.New("the task has failed")
	case <-t.stream.Done():
		return errors.New("the plugin's stream has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
	return t.commit(ctx)
}

func (t *Task) commit(ctx context.Context) error {
	moved := connectapi.Offsets{}
	t.mu.Lock()
	for tp, o := range t.durable {
		if t.committed[tp] != o {
			moved[tp] = o
		}
	}
	t.mu.Unlock()
	if len(moved) == 0 {
		return nil
	}
	commit := map[string]map[int32]kgo.EpochOffset{}
	for tp, o := range moved {
		if commit[tp.Topic] == nil {
			commit[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		commit[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o}
	}
	start := time.Now()
	if err := t.commitSync(ctx, commit); err != nil {
		return fmt.Errorf("committing offsets of %d partitions in group %s: %w", len(moved), t.Group, err)
	}
	t.Metrics.commit.Observe(time.Since(start).Seconds())
	t.mu.Lock()
	for tp, o := range moved {
		if _, still := t.durable[tp]; still {
			t.committed[tp] = o
		}
	}
	t.mu.Unlock()
	return nil
}

// Report is what the plugin last said of itself.
func (t *Task) Report() host.Report { return t.stream.Report() }
