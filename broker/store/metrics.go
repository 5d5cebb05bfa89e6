package store

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	duplicates, rebuilds   prometheus.Counter
	readBatches, readBytes prometheus.Counter

	snapshots, expired, copied, removedBytes, compactions, compactedBytes, maintenanceErrors prometheus.Counter
	scrubbed                                                                                 prometheus.Counter
	damaged, lastScrub                                                                       prometheus.Gauge
	lastSpace                                                                                prometheus.Gauge
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

		snapshots:         counter("snapshots_total", "Snapshots of all machines written into the log."),
		expired:           counter("retention_moves_total", "Log starts moved by retention."),
		copied:            counter("cold_copied_bytes_total", "Bytes written to the cold log."),
		removedBytes:      counter("reclaimed_bytes_total", "Bytes of log segments removed."),
		compactions:       counter("compactions_total", "Passes of compaction over a queue."),
		compactedBytes:    counter("compacted_bytes_total", "Bytes of record batches that compaction took away."),
		maintenanceErrors: counter("maintenance_errors_total", "Background jobs that failed and are tried again."),
		scrubbed:          counter("scrubbed_bytes_total", "Bytes of the log read and checked in the background."),
		damaged: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_store_damaged_places", Help: "Places of the log found damaged.",
		}),
		lastScrub: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_store_last_scrub_timestamp_seconds", Help: "When all of the log was last read and checked.",
		}),
		lastSpace: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_store_last_maintenance_timestamp_seconds", Help: "When making space was last completed.",
		}),
	}
	if reg == nil {
		return m
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_store_" + name, Help: help}, f)
	}
	for _, r := range Reasons {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "penstock_store_refusing", ConstLabels: prometheus.Labels{"reason": string(r)},
			Help: "1 while this keeps the store from being healthy: it refuses writes, unless the reason is that log was lost (damaged, cut short).",
		}, func() float64 {
			if e := (*StorageError)(nil); errors.As(s.Health(), &e) && e.Reason == r {
				return 1
			}
			return 0
		}))
	}
	reg.MustRegister(
		m.duplicates, m.rebuilds, m.readBatches, m.readBytes,
		m.snapshots, m.expired, m.copied, m.removedBytes, m.compactions, m.compactedBytes, m.maintenanceErrors, m.lastSpace,
		m.scrubbed, m.damaged, m.lastScrub,
		gauge("live_ratio", "Share of the sealed log segments that is still needed, of main and cold log together.", s.liveRatio),
		gauge("reserve_bytes", "Space kept for the time when the disk is full.", func() float64 { return float64(s.reserve.held()) }),
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
