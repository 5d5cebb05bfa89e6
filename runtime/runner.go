package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/plugins"
)

// Backoff of plugin processes and of the connector's split into tasks.
const (
	crashBackoff    = time.Second
	splitBackoff    = 250 * time.Millisecond
	maxBackoff      = time.Minute
	healthyAfter    = time.Minute // a process that lived so long begins the backoff anew
	connectorCloser = 10 * time.Second
)

// Runner runs one connector's units on this node. Its methods are safe for concurrent use.
type Runner struct {
	rt   *Runtime
	name string
	cb   Callbacks
	log  *slog.Logger

	ctx      context.Context
	cancel   context.CancelFunc
	wake     chan struct{} // desired changed
	results  chan func()   // run on the loop
	restarts chan restart
	done     chan struct{}

	mu      sync.Mutex
	desired Desired

	// Of the loop's goroutine alone (I1):
	proc     *host.Process
	plugin   *plugins.Plugin
	class    string // connector.class the process was started for
	starting bool
	started  time.Time
	retryAt  time.Time // of a process that died or did not start
	failures int
	procErr  error
	conn     connector
	tasks    map[int]*task
	retries  map[int]retry // of tasks that failed
	reported map[int]Status
}

// Set gives what should run from now on; the latest wins. It does not wait.
func (n *Runner) Set(d Desired) {
	n.mu.Lock()
	n.desired = d
	n.mu.Unlock()
	n.poke()
}

func (n *Runner) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Close stops everything and waits (I3).
func (n *Runner) Close() {
	n.cancel()
	<-n.done
}

// PID gives the plugin's process id, 0 when none runs.
func (n *Runner) PID() int {
	out := make(chan int, 1)
	select {
	case n.results <- func() {
		if n.proc == nil {
			out <- 0
			return
		}
		out <- n.proc.PID()
	}:
		select {
		case pid := <-out:
			return pid
		case <-n.done:
		}
	case <-n.done:
	}
	return 0
}

func (n *Runner) get() Desired {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.desired
}

// loop is the one goroutine that changes what runs.
func (n *Runner) loop() {
	defer close(n.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var died <-chan struct{}
		if n.proc != nil {
			died = n.proc.Done()
		}
		timer.Reset(n.untilRetry())
		select {
		case <-n.ctx.Done():
			n.shutdown()
			return
		case <-n.wake:
		case <-timer.C:
		case f := <-n.results:
			f()
		case r := <-n.restarts:
			n.restart(r)
		case <-died:
			n.crashed()
		}
		n.reconcile(n.get())
	}
}

func (n *Runner) untilRetry() time.Duration {
	at := n.retryAt
	if !n.conn.retryAt.IsZero() && (at.IsZero() || n.conn.retryAt.Before(at)) {
		at = n.conn.retryAt
	}
	for id, r := range n.retries {
		if t := n.tasks[id]; t != nil && t.ended && !r.at.IsZero() && (at.IsZero() || r.at.Before(at)) {
			at = r.at
		}
	}
	if at.IsZero() {
		return time.Hour
	}
	return max(time.Until(at), time.Millisecond)
}

// reconcile does what is missing between what runs and what is desired.
func (n *Runner) reconcile(d Desired) {
	n.stopUnwanted(d)
	if !d.RunConnector || d.Target != Started {
		n.conn.rest()
	}
	if d.nothing() || d.Target == OnStop {
		if d.RunConnector {
			n.report(ConnectorUnit, Stopped, "")
		}
		if !n.anyRunning() { // tasks drain first; the loop comes by when one has ended
			n.stopProcess()
		}
		return
	}
	if d.Target == OnPause && !n.anyRunning() {
		n.reportPaused(d)
		return
	}
	if !n.leaveClass(d) || !n.ensureProcess() {
		return
	}
	n.splitIfDue(d)
	n.startMissing(d)
	n.setPause(d)
}

// leaveClass stops a process that serves another class than the configuration now names, once its tasks have drained.
func (n *Runner) leaveClass(d Desired) bool {
	if n.proc == nil || d.Config["connector.class"] == n.class {
		return true
	}
	for _, t := range n.tasks {
		if t.live() {
			t.again = true
			t.stop()
		}
	}
	if n.anyRunning() {
		return false
	}
	n.stopProcess()
	return true
}

func (n *Runner) anyRunning() bool {
	for _, t := range n.tasks {
		if t.live() {
			return true
		}
	}
	return false
}

func (n *Runner) reportPaused(d Desired) {
	if d.RunConnector && n.reported[ConnectorUnit].State != Failed {
		n.report(ConnectorUnit, Paused, "")
	}
	for id := range d.Tasks {
		if n.reported[id].State != Failed {
			n.report(id, Paused, "")
		}
	}
}

// ensureProcess starts the process unless it runs or its backoff has not passed; starting goes on beside the loop.
func (n *Runner) ensureProcess() bool {
	if n.proc != nil {
		return true
	}
	if n.starting || time.Now().Before(n.retryAt) {
		return false
	}
	n.starting = true
	class := n.get().Config["connector.class"]
	go func() {
		plugin, err := n.rt.plugins.Find(n.ctx, class)
		var proc *host.Process
		if err == nil {
			proc, err = n.rt.plugins.Start(n.ctx, plugin, n.log.With("plugin", plugin.Name))
		}
		n.post(func() { n.processStarted(class, plugin, proc, err) }, func() {
			if proc != nil {
				proc.Kill()
			}
		})
	}()
	return false
}

// post runs f on the loop, or otherwise when the loop has ended.
func (n *Runner) post(f, otherwise func()) {
	select {
	case n.results <- f:
	case <-n.ctx.Done():
		select {
		case n.results <- f: // shutdown still takes results in
		case <-n.done:
			otherwise()
		}
	}
}

func (n *Runner) processStarted(class string, plugin *plugins.Plugin, proc *host.Process, err error) {
	n.starting = false
	if err != nil && n.ctx.Err() != nil {
		return // stopped while it started
	}
	if err != nil {
		n.backOff(fmt.Errorf("starting the connector's plugin: %w", err))
		return
	}
	n.class, n.plugin, n.proc, n.started, n.procErr, n.retryAt = class, plugin, proc, time.Now(), nil, time.Time{}
	n.conn.ready = nil
	n.log.Debug("plugin process started", "pid", proc.PID())
}

// crashed takes the end of a process nobody had asked for (I2).
func (n *Runner) crashed() {
	err := n.proc.Err()
	n.rt.metrics.crashes.WithLabelValues(n.name).Inc()
	proc := n.proc
	n.proc = nil
	_ = proc.Stop(n.ctx) // it is gone: this frees what is left of it
	if time.Since(n.started) > healthyAfter {
		n.failures = 0
	}
	for _, t := range n.tasks {
		t.crashed = true
	}
	n.backOff(err)
}

// backOff marks all units failed until the process is tried again.
func (n *Runner) backOff(err error) {
	wait := min(crashBackoff<<min(n.failures, 10), maxBackoff)
	n.failures++
	n.procErr, n.retryAt = err, time.Now().Add(wait)
	trace := fmt.Sprintf("%v\nThe plugin is started again in %v.", err, wait)
	again := retry{attempts: n.failures, at: n.retryAt}
	n.log.Error("the plugin process of a connector failed", "error", err, "again_in", wait)
	for _, w := range n.conn.waiting {
		w <- err
	}
	n.conn.waiting = nil
	d := n.get()
	if d.RunConnector {
		n.reportFailed(ConnectorUnit, trace, again)
	}
	for id := range d.Tasks {
		n.reportFailed(id, trace, again)
	}
}

func (n *Runner) stopProcess() {
	n.conn.rest()
	n.retryAt, n.failures, n.procErr = time.Time{}, 0, nil
	if n.proc == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectorCloser)
	defer cancel()
	if err := n.proc.Stop(ctx); err != nil {
		n.log.Warn("the plugin process did not stop by itself", "error", err)
	}
	n.proc = nil
}

// shutdown stops tasks, then the process, and takes in what still arrives.
func (n *Runner) shutdown() {
	for id, t := range n.tasks {
		t.stop()
		if t.ended {
			delete(n.tasks, id)
		}
	}
	for len(n.tasks) > 0 || n.starting || n.conn.busy {
		(<-n.results)()
	}
	for id, s := range n.reported {
		if s.State != Unassigned && s.State != Stopped { // a state that stays would read as a crash
			n.report(id, Unassigned, "")
		}
	}
	n.stopProcess()
}

// report tells a unit's state when it changed.
func (n *Runner) report(id int, s State, trace string) {
	n.tell(Status{Connector: n.name, Task: id, State: s, Trace: trace})
}

// reportFailed tells why a unit failed, how often in a row, and when it is started again.
func (n *Runner) reportFailed(id int, trace string, again retry) {
	st := Status{Connector: n.name, Task: id, State: Failed, Trace: trace, Attempts: again.attempts}
	if !again.at.IsZero() {
		st.NextTry = again.at.UnixMilli()
	}
	n.tell(st)
}

func (n *Runner) tell(st Status) {
	id, s := st.Task, st.State
	if n.reported[id] == st {
		return
	}
	if n.reported[id].State != s {
		if id == ConnectorUnit {
			n.log.Info("the connector's state changed", "state", s)
		} else {
			n.log.Info("a task's state changed", "task", id, "state", s)
		}
	}
	n.reported[id] = st
	n.cb.Status(st)
}

func sameConfig(a, b map[string]string) bool { return maps.Equal(a, b) }

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
			t.stop()
			return t.gone
		}
	}
	return nil
}
