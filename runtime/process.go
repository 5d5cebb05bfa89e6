package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/plugins"
)

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
