package runtime

import (
	"context"
	"log/slog"
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
			t.stop(d)
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

// shutdown stops tasks, then the process, and takes in what still arrives.
func (n *Runner) shutdown() {
	d := n.get()
	for id, t := range n.tasks {
		t.stop(d)
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
