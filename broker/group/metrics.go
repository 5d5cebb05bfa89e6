package group

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	rebalances, expired prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *Coordinator) *metrics {
	m := &metrics{
		rebalances: prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_broker_group_rebalances_total", Help: "Rebalances begun, of all groups."}),
		expired:    prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_broker_group_members_expired_total", Help: "Members whose session ended without a word."}),
	}
	groups := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_broker_groups", Help: "Groups with members or committed offsets."}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(len(c.groups))
	})
	if reg != nil {
		reg.MustRegister(m.rebalances, m.expired, groups)
	}
	return m
}
