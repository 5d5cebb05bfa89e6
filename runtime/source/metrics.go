package source

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of all source tasks of a worker.
type Metrics struct {
	polled, written *prometheus.CounterVec
	commit          *prometheus.HistogramVec
}

// TaskMetrics are one task's.
type TaskMetrics struct {
	polled, written prometheus.Counter
	commit          prometheus.Observer
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"connector", "task"}
	m := &Metrics{
		polled:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_source_records_polled_total", Help: "Records received from the plugin."}, labels),
		written: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_source_records_written_total", Help: "Records acknowledged by the broker."}, labels),
		commit: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "penstock_source_offset_commit_seconds", Help: "Time to make positions durable.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, labels),
	}
	reg.MustRegister(m.polled, m.written, m.commit)
	return m
}

// Task gives one task's metrics.
func (m *Metrics) Task(connector, task string) *TaskMetrics {
	return &TaskMetrics{
		polled: m.polled.WithLabelValues(connector, task), written: m.written.WithLabelValues(connector, task),
		commit: m.commit.WithLabelValues(connector, task),
	}
}

// Forget drops a task's series.
func (m *Metrics) Forget(connector, task string) {
	m.polled.DeleteLabelValues(connector, task)
	m.written.DeleteLabelValues(connector, task)
	m.commit.DeleteLabelValues(connector, task)
}
