package txn

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	committed, aborted, late prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *Coordinator) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_broker_transactions_" + name, Help: help})
	}
	m := &metrics{
		committed: counter("committed_total", "Transactions committed."),
		aborted:   counter("aborted_total", "Transactions aborted, by their producers or for them."),
		late:      counter("timed_out_total", "Transactions aborted because they were open past their timeout."),
	}
	if reg == nil {
		return m
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_broker_" + name, Help: help}, f)
	}
	reg.MustRegister(
		m.committed, m.aborted, m.late,
		gauge("transactional_ids", "Transactional ids known.", func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(len(c.ids))
		}),
		gauge("transactions_open", "Transactions open.", func() float64 {
			n, _ := c.openNow()
			return float64(n)
		}),
		gauge("transactions_oldest_seconds", "For how long the oldest open transaction has been open; 0 without one.", func() float64 {
			_, oldest := c.openNow()
			return oldest.Seconds()
		}),
	)
	return m
}

func (m *metrics) ended(commit bool) {
	if commit {
		m.committed.Inc()
	} else {
		m.aborted.Inc()
	}
}

// openNow counts the open transactions and tells the age of the oldest.
func (c *Coordinator) openNow() (n int, oldest time.Duration) {
	for _, x := range c.all() {
		x.mu.Lock()
		if x.rec.State == Ongoing || x.rec.State.prepared() {
			n++
			oldest = max(oldest, time.Since(x.began))
		}
		x.mu.Unlock()
	}
	return n, oldest
}
