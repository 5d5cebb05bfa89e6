package kafka

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type metrics struct {
	bytesIn, bytesOut prometheus.Counter
	connections       prometheus.Gauge
	seconds           map[int16]prometheus.Observer // by key: resolved once, not per request
}

func newMetrics(reg prometheus.Registerer, s *Server) *metrics {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_broker_request_seconds",
		Help:    "Time from a request's arrival to the end of its answer, waiting included.",
		Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30},
	}, []string{"request"})
	m := &metrics{
		bytesIn:     prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_broker_request_bytes_total", Help: "Bytes of requests."}),
		bytesOut:    prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_broker_response_bytes_total", Help: "Bytes of answers."}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "penstock_broker_connections", Help: "Open connections."}),
		seconds:     map[int16]prometheus.Observer{},
	}
	for _, k := range table {
		m.seconds[k.key] = seconds.WithLabelValues(strings.ToLower(kmsg.NameForKey(k.key)))
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_broker_fetch_memory_bytes", Help: "Bytes of answers to Fetch that are being sent."}, func() float64 { return float64(s.answers.inUse()) })
	panics := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "penstock_broker_request_panics_total", Help: "Requests whose handler panicked: each is a bug."}, func() float64 { return float64(s.panics.Load()) })
	if reg != nil {
		reg.MustRegister(held, seconds, m.bytesIn, m.bytesOut, m.connections, panics)
	}
	return m
}

func (m *metrics) answered(key int16, d time.Duration) {
	if o := m.seconds[key]; o != nil {
		o.Observe(d.Seconds())
	}
}
