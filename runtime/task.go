package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/runtime/source"
)

// task is one task on this node. Its fields are the loop's; run works beside it.
type task struct {
	id      int
	spec    TaskSpec
	gate    *source.Gate
	cancel  context.CancelCauseFunc
	gone    chan struct{} // closed when it has ended
	open    bool          // the plugin has opened it
	opened  time.Time     // when
	paused  bool
	leaving bool // was told to stop
	crashed bool // its process died
	again   bool // to be started again once it has ended
	ended   bool
	err     error
}

func (t *task) live() bool { return !t.ended }

// stop lets the task drain, or cuts it off when this node lost its place; it does not wait.
func (t *task) stop(d Desired) {
	t.leaving = true
	var why error
	if d.Lost {
		why = errLost
	}
	t.cancel(why)
}

// stopUnwanted stops tasks that should not run, or not with this configuration; they leave the map when they end.
func (n *Runner) stopUnwanted(d Desired) {
	for id, t := range n.tasks {
		spec, wanted := d.Tasks[id]
		if wanted && d.Target != OnStop && spec.same(t.spec) {
			t.again = t.again || t.leaving && !t.ended // wanted again while it still drains
			continue
		}
		if t.ended {
			delete(n.tasks, id)
			delete(n.reported, id)
			delete(n.retries, id)
			continue
		}
		t.again = wanted
		delete(n.retries, id)
		t.stop(d)
	}
	for id := range n.reported {
		_, wanted := d.Tasks[id]
		_, runs := n.tasks[id]
		if id != ConnectorUnit && !wanted && !runs {
			delete(n.reported, id)
		}
	}
	if !d.RunConnector {
		delete(n.reported, ConnectorUnit)
	}
}

// startMissing starts wanted tasks; those made by another class wait for their new configuration. A failed one stays failed
// until it is asked for again or its automatic restart is due; one whose process died is started with the new process.
func (n *Runner) startMissing(d Desired) {
	for id, spec := range d.Tasks {
		if spec.Wait || spec.Connector["connector.class"] != n.class {
			continue
		}
		if t, ok := n.tasks[id]; ok {
			if !t.ended || !t.crashed && !t.again && !n.retryDue(t) {
				continue
			}
			delete(n.tasks, id)
		}
		if d.Target != Started {
			n.report(id, Paused, "")
			continue
		}
		n.startTask(id, spec)
	}
}

func (n *Runner) startTask(id int, spec TaskSpec) {
	ctx, cancel := context.WithCancelCause(n.ctx)
	t := &task{id: id, spec: spec, gate: source.NewGate(true), cancel: cancel, gone: make(chan struct{})}
	n.tasks[id] = t
	proc, plugin := n.proc, n.plugin
	go func() {
		err := n.runTask(ctx, t, proc, plugin)
		cancel(nil)
		close(t.gone)
		n.post(func() { n.taskEnded(t, err) }, func() {})
	}()
}

// runTask opens the task, tells that it runs, and stays with it to its end.
func (n *Runner) runTask(ctx context.Context, t *task, proc *host.Process, plugin *plugins.Plugin) (err error) {
	connector, err1 := n.rt.cfg.Providers.Resolve(t.spec.Connector)
	own, err2 := n.rt.cfg.Providers.Resolve(t.spec.Task)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("starting the task: %w", err)
	}
	defer func() { err = connector.Error(own.Error(err)) }()
	spec := TaskSpec{Connector: connector.Values, Task: own.Values}
	b := builder{rt: n.rt, name: n.name, id: t.id, spec: spec, proc: proc, plugin: plugin, log: n.log.With("task", t.id)}
	defer b.close()
	run, err := b.open(ctx, t.gate)
	if err != nil {
		return fmt.Errorf("starting the task: %w", err)
	}
	n.post(func() { n.taskOpened(t) }, func() {})
	return run(ctx)
}

func (n *Runner) taskOpened(t *task) {
	if n.tasks[t.id] != t || t.ended {
		return
	}
	t.open, t.opened = true, time.Now()
	n.setTaskPause(t, n.get().Target == OnPause)
}

func (n *Runner) setPause(d Desired) {
	for _, t := range n.tasks {
		if t.open && !t.ended && !t.leaving {
			n.setTaskPause(t, d.Target == OnPause)
		}
	}
	if d.RunConnector && d.Target == OnPause {
		n.report(ConnectorUnit, Paused, "")
	}
}

func (n *Runner) setTaskPause(t *task, paused bool) {
	t.paused = paused
	t.gate.Set(!paused)
	if paused {
		n.report(t.id, Paused, "")
	} else {
		n.report(t.id, Running, "")
	}
}

func (n *Runner) taskEnded(t *task, err error) {
	t.ended, t.err = true, err
	if n.tasks[t.id] != t {
		return
	}
	d := n.get()
	_, wanted := d.Tasks[t.id]
	stopping := n.ctx.Err() != nil
	switch {
	case stopping || !wanted || t.again || d.Target == OnStop:
		if err != nil && !t.crashed && t.open { // one that was still starting had nothing to drain
			n.log.Warn("a task did not stop cleanly", "task", t.id, "error", err)
		}
		delete(n.tasks, t.id)
		if stopping || wanted && d.Target != OnStop {
			return
		}
		delete(n.reported, t.id)
	case t.crashed || n.diedUnder(t, err):
		t.crashed = true // told by the process's end, with its reason
	case err != nil:
		var ran time.Duration
		if t.open {
			ran = time.Since(t.opened)
		}
		next := n.retryLater(t, err, ran)
		n.log.Error("a task failed", "task", t.id, "error", err, "next", next)
		n.reportFailed(t.id, n.trace(t, err)+"\n"+next, n.retries[t.id])
	default:
		n.report(t.id, Unassigned, "")
	}
}

// diedUnder tells that the error is the process's end, which the loop may learn of a moment later.
func (n *Runner) diedUnder(t *task, err error) bool {
	if n.proc == nil {
		return n.procErr != nil
	}
	select {
	case <-n.proc.Done():
		return true
	default:
		return false
	}
}

// trace is what status shows: the cause first, then where.
func (n *Runner) trace(t *task, err error) string {
	var b strings.Builder
	b.WriteString(err.Error())
	b.WriteString("\nconnector " + n.name + ", task " + strconv.Itoa(t.id))
	return b.String()
}
