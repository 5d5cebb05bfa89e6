package runtime

import (
	"context"
	"errors"
	"time"
)

// lostDrain is the most that tasks have to stop when this node lost its place. They may write nothing any more and others may
// run already, so what they hold is read again anyway; a plugin that can still close by itself mostly does in this time, and
// each longer wait would keep the node out of its group.
const lostDrain = 500 * time.Millisecond

// errLost is why such tasks stop, as their context tells it.
var errLost = errors.New("this worker lost its place in the group")

// drain is the time a task has to stop cleanly, by why its context ended.
func (r *Runtime) drain(stopped context.Context) time.Duration {
	if errors.Is(context.Cause(stopped), errLost) {
		return min(r.cfg.Drain, lostDrain)
	}
	return r.cfg.Drain
}
