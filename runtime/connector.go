package runtime

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
)

// connector is the connector unit: it splits the work into tasks, and watches for changes outside.
type connector struct {
	ready    map[string]string // configuration of the last good split; nil: none in this process
	busy     bool
	failures int
	retryAt  time.Time
	watch    context.CancelFunc
	waiting  []chan error // restarts that wait for the next split
}

func (c *connector) stopWatch() {
	if c.watch != nil {
		c.watch()
		c.watch = nil
	}
}

// rest is for as long as the connector itself does not run here: its next life begins with a split, also within the same
// process, since other work of it may still drain there.
func (c *connector) rest() {
	c.stopWatch()
	c.ready, c.retryAt, c.failures = nil, time.Time{}, 0
	for _, w := range c.waiting {
		w <- nil // a restart of what was stopped meanwhile
	}
	c.waiting = nil
}

// splitIfDue asks the plugin for tasks when the connector should run and its configuration is new.
func (n *Runner) splitIfDue(d Desired) {
	c := &n.conn
	if !d.RunConnector || d.Target != Started {
		if d.RunConnector {
			n.report(ConnectorUnit, Paused, "")
		}
		return
	}
	if c.busy || c.ready != nil && sameConfig(c.ready, d.Config) || time.Now().Before(c.retryAt) {
		return
	}
	c.stopWatch()
	c.busy, c.retryAt = true, time.Time{}
	proc, plugin, cfg := n.proc, n.plugin, d.Config
	go func() {
		ctx, cancel := context.WithTimeout(n.ctx, 90*time.Second)
		defer cancel()
		res, err := n.rt.cfg.Providers.Resolve(cfg)
		var tasks []map[string]string
		if err == nil {
			tasks, err = tasksOf(ctx, proc, plugin.Name, res.Values)
		}
		n.post(func() { n.split(cfg, res.Restore(tasks), res.Error(err)) }, func() {})
	}()
}

// tasksOf asks the plugin for tasks.
func tasksOf(ctx context.Context, proc *host.Process, plugin string, cfg map[string]string) ([]map[string]string, error) {
	maxTasks, err := strconv.Atoi(valueOr(cfg["tasks.max"], "1"))
	if err != nil {
		return nil, err
	}
	tasks, err := proc.Tasks(ctx, plugin, cfg, maxTasks, nil)
	if err == nil && len(tasks) > maxTasks && cfg["tasks.max.enforce"] != "false" {
		err = fmt.Errorf("the connector %s made %d tasks, more than tasks.max=%d", plugin, len(tasks), maxTasks)
	}
	return tasks, err
}

func valueOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// split takes the outcome in.
func (n *Runner) split(cfg map[string]string, tasks []map[string]string, err error) {
	c := &n.conn
	c.busy = false
	for _, w := range c.waiting {
		w <- err
	}
	c.waiting = nil
	if n.ctx.Err() != nil || n.proc == nil {
		return // the process died under it: its end is told already
	}
	if d := n.get(); !d.RunConnector || d.Target != Started {
		return // asked for no more: the next life asks again
	}
	if err != nil {
		wait := min(splitBackoff<<min(c.failures, 10), maxBackoff)
		c.failures++
		c.retryAt = time.Now().Add(wait)
		n.log.Error("the connector could not make its tasks, trying again", "error", err, "in", wait)
		n.reportFailed(ConnectorUnit, fmt.Sprintf("making the connector's tasks: %v\nIt is tried again in %v.", err, wait), retry{c.failures, c.retryAt})
		return
	}
	c.failures, c.ready = 0, cfg
	n.report(ConnectorUnit, Running, "")
	n.cb.TaskConfigs(n.name, cfg, tasks)
	n.startWatch(cfg)
}

// startWatch keeps an eye on the outside for as long as this configuration holds: a change asks for tasks again.
func (n *Runner) startWatch(cfg map[string]string) {
	ctx, cancel := context.WithCancel(n.ctx)
	n.conn.watch = cancel
	proc, plugin := n.proc, n.plugin
	go func() {
		res, err := n.rt.cfg.Providers.Resolve(cfg)
		if err == nil {
			err = res.Error(proc.Watch(ctx, plugin.Name, res.Values, func() {
				n.post(func() { n.conn.ready = nil }, func() {})
			}))
		}
		if err != nil && ctx.Err() == nil {
			n.log.Debug("the plugin does not watch for changes any more", "error", err)
		}
	}()
}

// restart is a request to start units again.
type restart struct {
	connector  bool
	tasks      bool
	task       int // one task alone, if single
	single     bool
	onlyFailed bool
	done       chan error
}

// RestartConnector splits the work again and waits for the outcome.
func (n *Runner) RestartConnector(ctx context.Context) error {
	return n.ask(ctx, restart{connector: true, done: make(chan error, 1)})
}

// RestartTask starts one task again; it does not wait until it runs.
func (n *Runner) RestartTask(ctx context.Context, id int) error {
	return n.ask(ctx, restart{single: true, task: id, done: make(chan error, 1)})
}

// Restart starts the connector, and its tasks if asked, again; with onlyFailed those alone that failed.
func (n *Runner) Restart(ctx context.Context, tasks, onlyFailed bool) error {
	return n.ask(ctx, restart{connector: true, tasks: tasks, onlyFailed: onlyFailed, done: make(chan error, 1)})
}

func (n *Runner) ask(ctx context.Context, r restart) error {
	select {
	case n.restarts <- r:
	case <-n.done:
		return fmt.Errorf("connector %s does not run here any more", n.name)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-n.done:
		return fmt.Errorf("connector %s was stopped meanwhile", n.name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *Runner) restart(r restart) {
	d := n.get()
	if n.proc == nil {
		n.retryAt = time.Time{} // whatever was waited for: try now
	}
	restartOne := func(id int) {
		if r.onlyFailed && n.reported[id].State != Failed {
			return
		}
		if t, ok := n.tasks[id]; ok {
			t.stop(d)
			t.again = true
		}
		delete(n.retries, id)
		delete(n.reported, id)
	}
	if r.single {
		restartOne(r.task)
	}
	if r.tasks {
		for id := range d.Tasks {
			restartOne(id)
		}
	}
	if !r.connector || r.onlyFailed && n.reported[ConnectorUnit].State != Failed || !d.RunConnector || d.Target != Started {
		r.done <- nil
		return
	}
	n.conn.ready, n.conn.retryAt = nil, time.Time{}
	delete(n.reported, ConnectorUnit)
	if r.tasks {
		r.done <- nil
		return
	}
	n.conn.waiting = append(n.conn.waiting, r.done)
}
