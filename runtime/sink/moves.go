package sink

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// events takes in what the plugin says until its stream ends.
func (t *Task) events(ctx context.Context) error {
	for {
		ev, err := t.stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			if !t.stopping.Load() {
				t.fail(errors.New("the plugin closed the task although nobody had asked it to"))
			}
			return nil
		}
		if err != nil {
			if ctx.Err() == nil {
				t.fail(err)
			}
			return err
		}
		switch e := ev.(type) {
		case *host.Durable:
			t.noteDurable(e.Offsets)
		case *host.Failed:
			if err := t.recordFailed(ctx, e); err != nil {
				t.fail(err)
				return err
			}
		case *host.Flushed:
			signal(t.flushed)
		case *host.Assigned:
			select {
			case t.assigned <- e:
			case <-ctx.Done():
			}
		case *host.Revoked:
			signal(t.revoked)
		case *host.Seek:
			select {
			case t.seeks <- e.To:
			case <-ctx.Done():
			}
		case *host.CommitRequested:
			signal(t.commitRq)
		}
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// recordFailed decides over a record the plugin could not write, before any offset passes it (I1). For the dead letter
// queue it is fetched again.
func (t *Task) recordFailed(ctx context.Context, e *host.Failed) error {
	at := connectapi.Origin{Topic: e.Record.Topic, Partition: e.Record.Partition, Offset: e.Offset}
	if t.DeadLetter != nil {
		r, err := t.DeadLetter.Fetch(ctx, at)
		if err != nil {
			return err
		}
		if err := t.DeadLetter.Write(ctx, r, "TASK_PUT", t.Connector, t.Task, e.Err); err != nil {
			return err
		}
	}
	return t.Policy.Failed("TASK_PUT", at, e.Err)
}

// onAssigned tells the plugin of new partitions and begins where it wants to.
func (t *Task) onAssigned(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	at := connectapi.Offsets{}
	for topic, ps := range offsets {
		for p, o := range ps {
			at[connectapi.TopicPartition{Topic: topic, Partition: p}] = max(o.EpochOffset().Offset, -1)
		}
	}
	if len(at) == 0 {
		return offsets, nil
	}
	t.beginOne.Do(func() { close(t.begun) })
	t.reading() // the group let it in
	from, err := t.assign(ctx, at)
	if err != nil {
		if ctx.Err() == nil && t.work.Err() == nil && !t.stopping.Load() {
			t.fail(fmt.Errorf("assigning %d partitions: %w", len(at), err))
		}
		return offsets, err
	}
	t.begin(from)
	for tp, o := range from {
		if was, asked := at[tp]; asked && o >= 0 && o != was {
			offsets[tp.Topic][tp.Partition] = kgo.NewOffset().At(o)
		}
	}
	return offsets, nil
}

func (t *Task) assign(ctx context.Context, at connectapi.Offsets) (connectapi.Offsets, error) {
	select {
	case <-t.assigned: // an answer nobody waited for any more
	default:
	}
	if err := t.stream.Assign(at); err != nil {
		return nil, err
	}
	select {
	case a := <-t.assigned:
		return a.From, nil
	case <-t.stream.Done():
		return nil, errors.New("the plugin's stream has ended")
	case <-t.work.Done():
		return nil, t.work.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// onRevoked flushes and commits before partitions go (I2).
func (t *Task) onRevoked(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	if len(gone) == 0 || t.over() {
		return
	}
	if err := t.flushAndCommit(ctx, true); err != nil {
		if t.work.Err() == nil && !t.over() {
			t.Log.Warn("flushing before partitions move failed; their records will be read again", "error", err)
		}
	}
	t.release(ctx, gone, t.stream.Revoke)
}

// onLost tells the plugin that another has the partitions already: nothing of them may be committed.
func (t *Task) onLost(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	if len(gone) == 0 || t.over() {
		return
	}
	t.release(ctx, gone, t.stream.Lost)
}

func (t *Task) release(ctx context.Context, gone map[string][]int32, tell func([]connectapi.TopicPartition) error) {
	var tps []connectapi.TopicPartition
	t.mu.Lock()
	for topic, ps := range gone {
		for _, p := range ps {
			tp := connectapi.TopicPartition{Topic: topic, Partition: p}
			tps = append(tps, tp)
			t.forget(tp)
			delete(t.ours, tp)
		}
	}
	t.mu.Unlock()
	select {
	case <-t.revoked: // an answer nobody waited for any more
	default:
	}
	if tell(tps) != nil {
		return // the stream is broken; its end tells why
	}
	select {
	case <-t.revoked:
	case <-t.stream.Done():
	case <-t.work.Done():
	case <-ctx.Done():
	}
}

// forget drops what is known of a partition. The caller holds mu.
func (t *Task) forget(tp connectapi.TopicPartition) {
	for _, m := range []connectapi.Offsets{t.durable, t.sent, t.read, t.committed} {
		delete(m, tp)
	}
}

// over tells that the stream or the task has ended, so that there is nobody to ask.
func (t *Task) over() bool {
	select {
	case <-t.stream.Done():
		return true
	case <-t.work.Done():
		return true
	default:
		return false
	}
}
