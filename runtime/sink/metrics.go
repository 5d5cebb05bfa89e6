package sink

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of all sink tasks of a worker.
type Metrics struct {
	read, sent *prometheus.CounterVec
	commit     *prometheus.HistogramVec
	lag        *prometheus.GaugeVec
}

// TaskMetrics are one task's.
type TaskMetrics struct {
	read, sent prometheus.Counter
	commit     prometheus.Observer
	lags       *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"connector", "task"}
	m := &Metrics{
		read: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_sink_records_read_total", Help: "Records read from topics."}, labels),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_sink_records_sent_total", Help: "Records sent to the plugin."}, labels),
		commit: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "penstock_sink_offset_commit_seconds", Help: "Time to commit consumer offsets.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, labels),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "penstock_sink_lag_records", Help: "Records between what was read and the end of the partition."},
			[]string{"connector", "task", "topic", "partition"}),
	}
	reg.MustRegister(m.read, m.sent, m.commit, m.lag)
	return m
}

// Task gives one task's metrics.
func (m *Metrics) Task(connector, task string) *TaskMetrics {
	return &TaskMetrics{
		read: m.read.WithLabelValues(connector, task), sent: m.sent.WithLabelValues(connector, task),
		commit: m.commit.WithLabelValues(connector, task),
		lags:   m.lag.MustCurryWith(prometheus.Labels{"connector": connector, "task": task}),
	}
}

func (m *TaskMetrics) lag(topic string, partition int32, n int64) {
	m.lags.WithLabelValues(topic, strconv.Itoa(int(partition))).Set(float64(max(n, 0)))
}

// Forget drops a task's series.
func (m *Metrics) Forget(connector, task string) {
	m.read.DeleteLabelValues(connector, task)
	m.sent.DeleteLabelValues(connector, task)
	m.commit.DeleteLabelValues(connector, task)
	m.lag.DeletePartialMatch(prometheus.Labels{"connector": connector, "task": task})
}
