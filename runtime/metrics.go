package runtime

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	crashes *prometheus.CounterVec
	reports *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		crashes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_plugin_crashes_total", Help: "Plugin processes that ended while they were needed.",
		}, []string{"connector"}),
		reports: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "penstock_plugin_report", Help: "What a task's plugin last reported, by the names its description declares.",
		}, []string{"connector", "task", "metric"}),
	}
	reg.MustRegister(m.crashes, m.reports)
	return m
}
