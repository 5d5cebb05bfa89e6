package store

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	duplicates, rebuilds   prometheus.Counter
	readBatches, readBytes prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, s *Store) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_store_" + name, Help: help})
	}
	m := &metrics{
		duplicates:  counter("duplicate_batches_total", "Batches of idempotent producers that had been appended before."),
		rebuilds:    counter("index_rebuilds_total", "Times the index was thrown away and rebuilt from the log."),
		readBatches: counter("read_batches_total", "Record batches read."),
		readBytes:   counter("read_bytes_total", "Bytes of record batches read."),
	}
	if reg == nil {
		return m
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_store_" + name, Help: help}, f)
	}
	reg.MustRegister(
		m.duplicates, m.rebuilds, m.readBatches, m.readBytes,
		gauge("queues", "Queues held.", func() float64 { return float64(s.table.Len()) }),
		gauge("queue_bytes", "Bytes of record batches kept in all queues.", func() float64 { return float64(s.table.Bytes()) }),
		gauge("log_durable_position", "End of the log that is durable.", func() float64 { return float64(s.log.Durable()) }),
		gauge("index_position", "Log position the index has reached.", func() float64 { return float64(s.applied.Load()) }),
		gauge("healthy", "1 while writes are accepted and nothing was lost.", func() float64 {
			if s.Health() != nil {
				return 0
			}
			return 1
		}),
	)
	return m
}
