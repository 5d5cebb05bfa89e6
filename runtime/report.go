package runtime

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/connect-api/host"
)

// reportEvery is how often what a plugin says of itself is looked at.
const reportEvery = time.Second

// reporter is a running task that says how it is.
type reporter interface{ Report() host.Report }

// watchReports shows what a task's plugin says of itself, its metrics at /metrics and what it waits for in the log, until
// ctx ends.
func (r *Runtime) watchReports(ctx context.Context, connector string, task int, t reporter, log *slog.Logger) {
	labels := prometheus.Labels{"connector": connector, "task": strconv.Itoa(task)}
	defer r.metrics.reports.DeletePartialMatch(labels)
	gauges := r.metrics.reports.MustCurryWith(labels)
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	waiting := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		rep := t.Report()
		for name, v := range rep.Metrics {
			gauges.WithLabelValues(name).Set(v)
		}
		if rep.WaitingFor == waiting {
			continue
		}
		waiting = rep.WaitingFor
		if waiting != "" {
			log.Debug("the task waits", "for", waiting)
		} else {
			log.Info("the task goes on")
		}
	}
}
