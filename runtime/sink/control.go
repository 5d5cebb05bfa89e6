package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	moved := t.movable()
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
		_, said := t.durable[tp]
		_, read := t.read[tp]
		if said || read { // still ours
			t.committed[tp] = o
		}
	}
	t.mu.Unlock()
	return nil
}

// begin notes where reading begins in partitions that have come, or where it goes on after a seek.
func (t *Task) begin(from connectapi.Offsets) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.ours, from)
}

// noteDurable takes in what the plugin calls durable. It may still speak of a partition that another task has read on in since,
// or of how far an earlier stay of the partition came: committing that would set the group back.
func (t *Task) noteDurable(offsets connectapi.Offsets) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, o := range offsets {
		if from, ours := t.ours[tp]; ours && o >= from {
			t.durable[tp] = o
		}
	}
}

// movable gives the offsets that may be committed and are not yet: what the plugin called durable (I1), and, where all that
// it was handed is durable, also what was read behind that and dropped or passed over.
func (t *Task) movable() connectapi.Offsets {
	t.mu.Lock()
	defer t.mu.Unlock()
	safe := maps.Clone(t.durable)
	for tp, read := range t.read {
		if sent, any := t.sent[tp]; !any || t.durable[tp] >= sent {
			safe[tp] = max(safe[tp], read)
		}
	}
	maps.DeleteFunc(safe, func(tp connectapi.TopicPartition, o int64) bool { return t.committed[tp] == o })
	return safe
}

// Report is what the plugin last said of itself.
func (t *Task) Report() host.Report { return t.stream.Report() }
