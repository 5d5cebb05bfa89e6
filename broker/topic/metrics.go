package topic

import "github.com/prometheus/client_golang/prometheus"

// registerMetrics registers gauges that are read from the registry when asked.
func registerMetrics(reg prometheus.Registerer, r *Registry) {
	gauge := func(name, help string, f func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	if reg == nil {
		return
	}
	reg.MustRegister(
		gauge("penstock_broker_topics", "Topics that exist.", func() float64 {
			r.mu.RLock()
			defer r.mu.RUnlock()
			return float64(len(r.byName))
		}),
		gauge("penstock_broker_queue_ids_used", "Queue ids given so far, of 4294967295: they are never given again.", func() float64 {
			return float64(r.nextQueue() - 1)
		}),
	)
}
