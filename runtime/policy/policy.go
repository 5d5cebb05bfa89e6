// Package policy decides what becomes of a record that failed: the keys errors.* of Kafka Connect (KIP-298). It owns the
// decision, its log line and its metrics; it never retries and never writes a record itself.
package policy

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// Stage is where a record failed, in Kafka Connect's words.
type Stage string

// The stages.
const (
	KeyConverter    Stage = "KEY_CONVERTER"
	ValueConverter  Stage = "VALUE_CONVERTER"
	HeaderConverter Stage = "HEADER_CONVERTER"
	Transformation  Stage = "TRANSFORMATION"
	TaskPut         Stage = "TASK_PUT"
	KafkaProduce    Stage = "KAFKA_PRODUCE"
)

// Defs are the keys, for validation.
func Defs(sink bool) []connectapi.ConfigKey {
	def := func(s string) *string { return &s }
	keys := []connectapi.ConfigKey{
		{
			Name: "errors.retry.timeout", Type: connectapi.LongConfig, Default: def("0"), Importance: connectapi.Medium, Group: "Error Handling", Width: connectapi.MediumWidth,
			Display: "Retry Timeout for Errors", Doc: "How long (ms) a failed operation is tried again; -1: without end.",
		},
		{
			Name: "errors.retry.delay.max.ms", Type: connectapi.LongConfig, Default: def("60000"), Importance: connectapi.Medium, Group: "Error Handling", Width: connectapi.MediumWidth,
			Display: "Maximum Delay Between Retries for Errors", Doc: "Longest time (ms) between two tries.",
		},
		{
			Name: "errors.tolerance", Type: connectapi.StringConfig, Default: def("none"), OneOf: []string{"none", "all"}, Importance: connectapi.Medium, Group: "Error Handling",
			Width: connectapi.ShortWidth, Display: "Error Tolerance", Doc: "none: a record that fails fails the task; all: it is passed over.",
		},
		{
			Name: "errors.log.enable", Type: connectapi.BooleanConfig, Default: def("false"), Importance: connectapi.Medium, Group: "Error Handling", Width: connectapi.ShortWidth,
			Display: "Log Errors", Doc: "Whether each tolerated failure is logged.",
		},
		{
			Name: "errors.log.include.messages", Type: connectapi.BooleanConfig, Default: def("false"), Importance: connectapi.Medium, Group: "Error Handling", Width: connectapi.ShortWidth,
			Display: "Log Error Details", Doc: "Whether the record's topic, partition and offset stand in that log line.",
		},
	}
	if sink {
		keys = append(keys,
			connectapi.ConfigKey{
				Name: "errors.deadletterqueue.topic.name", Type: connectapi.StringConfig, Default: def(""), Importance: connectapi.Medium, Group: "Error Handling",
				Display: "Dead Letter Queue Topic Name", Doc: "Topic for records that failed; empty: none.",
			},
			connectapi.ConfigKey{
				Name: "errors.deadletterqueue.topic.replication.factor", Type: connectapi.ShortConfig, Default: def("3"), Importance: connectapi.Medium, Group: "Error Handling",
				Display: "Dead Letter Queue Topic Replication Factor", Doc: "Replication factor the topic is created with.",
			},
			connectapi.ConfigKey{
				Name: "errors.deadletterqueue.context.headers.enable", Type: connectapi.BooleanConfig, Default: def("false"), Importance: connectapi.Medium, Group: "Error Handling",
				Display: "Enable Error Context Headers", Doc: "Whether headers that say what failed are added to those records.",
			},
		)
	}
	return keys
}

// Policy is one task's.
type Policy struct {
	tolerate, logged, details bool
	log                       *slog.Logger
	failures                  prometheus.Counter
	skipped                   prometheus.Counter
}

// New reads the keys; they were validated before.
func New(cfg map[string]string, log *slog.Logger, m *Metrics, connector, task string) *Policy {
	return &Policy{
		tolerate: cfg["errors.tolerance"] == "all", logged: cfg["errors.log.enable"] == "true",
		details: cfg["errors.log.include.messages"] == "true", log: log,
		failures: m.failures.WithLabelValues(connector, task), skipped: m.skipped.WithLabelValues(connector, task),
	}
}

// Metrics are the counters of all tasks.
type Metrics struct{ failures, skipped *prometheus.CounterVec }

// NewMetrics registers the counters.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_task_record_failures_total", Help: "Records that failed."}, []string{"connector", "task"}),
		skipped:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_task_records_skipped_total", Help: "Failed records that were passed over."}, []string{"connector", "task"}),
	}
	reg.MustRegister(m.failures, m.skipped)
	return m
}

// Forget drops a task's series.
func (m *Metrics) Forget(connector, task string) {
	m.failures.DeleteLabelValues(connector, task)
	m.skipped.DeleteLabelValues(connector, task)
}

// Failed decides over one record: nil passes over it, an error must fail the task. It names where the record stands.
func (p *Policy) Failed(stage Stage, at connectapi.Origin, err error) error {
	p.failures.Inc()
	if !p.tolerate {
		err = fmt.Errorf("%s failed for the record of %s: %w (errors.tolerance=all would pass over such records)", stage, Place(at), err)
		if stage == KafkaProduce { // the broker's doing, most likely: another try may help
			return err
		}
		return connectapi.DataError(err)
	}
	p.skipped.Inc()
	if p.logged {
		args := []any{"stage", string(stage), "error", err}
		if p.details {
			args = append(args, "topic", at.Topic, "partition", at.Partition, "offset", at.Offset)
		}
		p.log.Log(context.Background(), slog.LevelWarn, "a record failed and was passed over", args...)
	}
	return nil
}

// Place says where a record stands, for people.
func Place(at connectapi.Origin) string {
	if at.Offset < 0 {
		return fmt.Sprintf("topic %s", at.Topic)
	}
	return fmt.Sprintf("topic %s, partition %d, offset %d", at.Topic, at.Partition, at.Offset)
}
