package commitlog

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	bytes, rounds, rolls        prometheus.Counter
	removed                     prometheus.Counter
	tailReads, diskReads, sent  prometheus.Counter
	corrupt, skipped, spaceFail prometheus.Counter
	segments, failed            prometheus.Gauge
	sync                        prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, store byte) *metrics {
	prefix := "penstock_log_"
	if store == StoreCold {
		prefix = "penstock_cold_log_"
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	m := &metrics{
		bytes:     counter("written_bytes_total", "Bytes written to the log, frame headers and padding included."),
		rounds:    counter("rounds_total", "Rounds written: groups of appends that shared one fdatasync."),
		rolls:     counter("segments_created_total", "Segment files created."),
		removed:   counter("segments_removed_total", "Segment files removed because nothing in them was needed any more."),
		tailReads: counter("memory_reads_total", "Batches read from the log's end in memory."),
		diskReads: counter("disk_reads_total", "Batches read from segment files."),
		sent:      counter("sent_batches_total", "Batches found checked in the page cache, to be sent from there."),
		corrupt:   counter("corrupt_reads_total", "Batches that did not match their checksum when read."),
		skipped:   counter("skipped_frames_total", "Frames of unknown skippable kinds passed over at start."),
		spaceFail: counter("space_failures_total", "Attempts to make a segment that failed for want of space or permission; penstock_store_refusing says which."),
		segments:  gauge("segments", "Segment files."),
		failed:    gauge("fenced", "1 when writing is fenced after a failed write or fsync, until a restart."),
		sync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "fdatasync_seconds", Help: "Time of one fdatasync.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 14),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.bytes, m.rounds, m.rolls, m.removed, m.tailReads, m.diskReads, m.sent, m.corrupt, m.skipped, m.spaceFail, m.segments, m.failed, m.sync)
	}
	return m
}
