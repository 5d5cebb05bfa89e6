package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// finish lets the plugin write what it holds, when the task stops because of why and the plugin has not failed (I2).
func (t *Task) finish(ctx, work context.Context, why error) error {
	select {
	case <-t.failed:
		return nil
	case <-work.Done():
		return nil
	default:
	}
	if why == nil {
		return nil
	}
	most := t.Drain(ctx)
	drain, cancel := context.WithTimeout(work, most)
	defer cancel()
	// After a failure there is no cutOff.
	defer context.AfterFunc(drain, t.stream.Close)()
	if err := t.flushAndCommit(drain, true); err != nil {
		return fmt.Errorf("the task did not drain within %v and was cut off; what was not committed is read again: %w", most, err)
	}
	t.stopping.Store(true)
	if err := t.stream.Stop(); err != nil {
		return nil // everything is committed; the plugin has gone already
	}
	select {
	case <-t.stream.Done():
	case <-drain.Done():
	}
	return nil
}

// closeTime is what the client has to close cleanly. One that waits for the answer to its JoinGroup would wait for as long as
// another member that cannot leave has its session.
const closeTime = 2 * time.Second

// close ends membership: with leave at once, so that other tasks take the partitions of one that was stopped or has failed;
// a task that was cut off while it drained keeps its place until the session runs out.
func (t *Task) close(leave bool) {
	late := time.AfterFunc(closeTime, t.drop)
	t.client.CloseAllowingRebalance()
	late.Stop()
	t.drop()
	if !leave {
		return
	}
	adm, err := t.Clients.Admin("leave-"+t.Connector, nil)
	if err != nil {
		return
	}
	defer adm.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := adm.LeaveGroup(ctx, kadm.LeaveGroup(t.Group).InstanceIDs(t.Member).Reason("the task was stopped")); err != nil {
		t.Log.Debug("leaving the consumer group failed; the session will run out", "group", t.Group, "error", err)
	}
}

// cutOff ends the stream when the task has not stopped within the drain time after ctx ended: a plugin that receives nothing
// any more holds a Send back, and even a Flush.
func (t *Task) cutOff(ctx context.Context, stopped <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-stopped:
		return
	}
	timer := time.NewTimer(t.Drain(ctx))
	defer timer.Stop()
	select {
	case <-timer.C:
		t.stream.Close()
	case <-stopped:
	}
}
