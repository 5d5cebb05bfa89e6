package runtime

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/runtime/policy"
	"github.com/penstockio/penstock/runtime/providers"
	"github.com/penstockio/penstock/runtime/sink"
	"github.com/penstockio/penstock/runtime/source"
)

// Config is what all connectors of a node share.
type Config struct {
	Group        string               // of the workers: begins the names of producers and static members
	Defaults     map[string]string    // worker keys a connector falls back to: key.converter, value.converter, header.converter and their sub-keys
	Interval     time.Duration        // offset.flush.interval.ms
	Session      time.Duration        // session.timeout.ms, of sink consumers too
	Drain        time.Duration        // task.shutdown.graceful.timeout.ms
	TopicsEnable bool                 // topic.creation.enable
	ExactlyOnce  bool                 // exactly.once.source.support=enabled: source tasks write records and positions in transactions
	Uses         Uses                 // is told of the topics that tasks use; may be nil
	Providers    *providers.Providers // resolve references in configurations
	Overrides    OverridePolicy       // what connectors may override of their clients
	Lease        func() error         // says why this worker may have lost its place in the group, nil while it is sure; may be nil
}

// Runtime makes runners. Safe for concurrent use.
type Runtime struct {
	cfg     Config
	plugins *plugins.Registry
	clients *kafka.Clients
	offsets source.Offsets
	log     *slog.Logger

	sources *source.Metrics
	sinks   *sink.Metrics
	policy  *policy.Metrics
	metrics *metrics
}

// New makes a runtime.
func New(cfg Config, reg *plugins.Registry, clients *kafka.Clients, offsets source.Offsets, log *slog.Logger, prom prometheus.Registerer) *Runtime {
	return &Runtime{
		cfg: cfg, plugins: reg, clients: clients, offsets: offsets, log: log,
		sources: source.NewMetrics(prom), sinks: sink.NewMetrics(prom), policy: policy.NewMetrics(prom), metrics: newMetrics(prom),
	}
}

// Plugins gives the registry.
func (r *Runtime) Plugins() *plugins.Registry { return r.plugins }

// logger is a connector's own, so that its level can be its own.
func (r *Runtime) logger(connector string) *slog.Logger {
	return r.log.With("logger", "connector."+connector, "connector", connector)
}

// Runner makes a connector's runner; it runs nothing until Set.
func (r *Runtime) Runner(name string, cb Callbacks) *Runner {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Runner{
		rt: r, name: name, cb: cb, log: r.logger(name), ctx: ctx, cancel: cancel,
		wake: make(chan struct{}, 1), results: make(chan func(), 16), restarts: make(chan restart), done: make(chan struct{}),
		tasks: map[int]*task{}, retries: map[int]retry{}, reported: map[int]Status{},
	}
	go n.loop()
	return n
}
