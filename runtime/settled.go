package runtime

// Settled waits until nothing runs that is not desired any more, or not with its configuration; of a runner that is being
// closed, until it has ended.
func (n *Runner) Settled() {
	for {
		if n.ctx.Err() != nil {
			<-n.done
			return
		}
		settled := make(chan (<-chan struct{}), 1)
		select {
		case n.results <- func() { settled <- n.unsettled() }:
		case <-n.done:
			return
		}
		var ended <-chan struct{}
		select {
		case ended = <-settled:
		case <-n.done:
			return
		}
		if ended == nil {
			return
		}
		select {
		case <-ended:
		case <-n.done:
			return
		}
	}
}

// unsettled gives a channel that is closed when one of the tasks that must end has; nil when there is none.
func (n *Runner) unsettled() <-chan struct{} {
	d := n.get()
	for id, t := range n.tasks {
		if spec, wanted := d.Tasks[id]; !t.ended && (!wanted || d.Target == OnStop || !spec.same(t.spec)) {
			t.stop(d)
			return t.gone
		}
	}
	return nil
}
