package runtime

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	crashes *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{crashes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_plugin_crashes_total", Help: "Plugin processes that ended while they were needed.",
	}, []string{"connector"})}
	reg.MustRegister(m.crashes)
	return m
}
