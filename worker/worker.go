package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/runtime/providers"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/group"
	"github.com/penstockio/penstock/worker/herder"
	"github.com/penstockio/penstock/worker/levels"
	"github.com/penstockio/penstock/worker/topics"
)

// Options are what the program gives a worker beside its configuration.
type Options struct {
	Dialer    kafka.Dialer // nil: the network
	WorkerID  string       // advertised host:port
	Version   string       // Penstock's
	Commit    string
	NodeCheck func() error // more that health depends on; may be nil
	Log       *slog.Logger
	Levels    *levels.Levels // of Log and what descends from it
	Registry  prometheus.Registerer
}

// Worker is a node of a worker group. It serves rest.Worker through its Herder.
type Worker struct {
	*herder.Herder
	cfg  Config
	opts Options
	log  *slog.Logger

	registry  *plugins.Registry
	clients   *kafka.Clients
	providers *providers.Providers

	mu     sync.Mutex
	opened bool
	status string // how far start-up is, for health
}

// connectVersion is the Kafka Connect version whose interface we serve; clients gate features on it.
const connectVersion = "4.0.0"

// New checks the configuration and finds plugins' folders; it does not connect.
func New(cfg Config, o Options) (*Worker, error) {
	prov, err := providers.New(cfg.Props)
	if err != nil {
		return nil, err
	}
	clients, err := kafka.New(kafka.Config{Bootstrap: cfg.Bootstrap, ClientID: cfg.Props["client.id"], Props: cfg.Props, Dialer: o.Dialer}, o.Log.With(levels.Key, "kafka"))
	if err != nil {
		return nil, err
	}
	reg, err := plugins.New(cfg.PluginPath, o.Log.With(levels.Key, "runtime"))
	if err != nil {
		return nil, err
	}
	return &Worker{Herder: herder.New(o.Log.With(levels.Key, "worker.herder")), cfg: cfg, opts: o, log: o.Log.With(levels.Key, "worker"), registry: reg, clients: clients, providers: prov, status: "connecting to the broker at " + fmt.Sprint(cfg.Bootstrap)}, nil
}

// Run opens the topics, joins the group and works until ctx ends; then it leaves the group, stops every task within its
// drain time, and returns. An error means that it never came up.
func (w *Worker) Run(ctx context.Context) error {
	defer func() { _ = w.registry.Close() }() // only socket folders are left
	var wg sync.WaitGroup
	defer wg.Wait()
	scan, stopScan := context.WithCancel(ctx)
	defer stopScan()
	wg.Go(func() { w.registry.Run(scan) })

	stores, err := w.open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer stores.close()
	member, err := group.New(group.Config{
		Group: w.cfg.Group, URL: "http://" + w.opts.WorkerID + "/", SessionTimeout: w.cfg.Session, Heartbeat: w.cfg.Heartbeat,
		RebalanceTimeout: w.cfg.Rebalance, MaxDelay: w.cfg.MaxDelay, View: view{stores.configs, w.Herder}, BeforeJoin: w.BeforeJoin, OnAssigned: w.OnAssigned, OnLost: w.OnLost,
	}, w.clients, w.logger("worker.group"))
	if err != nil {
		return err
	}
	w.registry.Guard(w.cfg.Session, member.Lease)
	rt := runtime.New(runtime.Config{
		Group: w.cfg.Group, Defaults: w.cfg.Props, Interval: w.cfg.FlushInterval, Session: w.cfg.Session, Drain: w.cfg.Drain, TopicsEnable: w.cfg.TopicCreation,
		ExactlyOnce: w.cfg.ExactlyOnce == Enabled, Lease: member.Lease, Uses: w.uses(), Providers: w.providers, Overrides: w.cfg.Overrides,
	}, w.registry, w.clients, offsets{stores.offsets}, w.logger("runtime"), w.opts.Registry)
	w.Open(herder.Config{
		WorkerID: w.opts.WorkerID, Configs: stores.configs, Statuses: stores.statuses, Offsets: stores.offsets, Runtime: rt, Admin: stores.admin, Lease: member.Lease, Signing: w.cfg.Signing,
		Lead: func(ctx context.Context) error {
			return stores.configs.Lead(ctx, w.clients, "connect-cluster-"+w.cfg.Group)
		},
		Fencer: stores.fencer, Group: w.cfg.Group, ExactlyOnce: w.cfg.ExactlyOnce != Disabled,
		Info:      api.ServerInfo{Version: connectVersion, Commit: w.opts.Commit, KafkaClusterID: stores.clusterID, Penstock: w.opts.Version},
		NodeCheck: w.opts.NodeCheck, Log: w.logger("worker.herder"),
	}, member.Rejoin)
	w.mu.Lock()
	w.opened = true
	w.mu.Unlock()

	// The member leaves only after the herder has stopped its work, so that nobody starts it beside us.
	membership, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	run, stop := context.WithCancel(ctx)
	defer stop()
	refused := make(chan error, 1)
	go func() { refused <- member.Run(membership); stop() }()
	w.Herder.Run(run)
	leave()
	return <-refused
}

// Health answers for start-up too.
func (w *Worker) Health(ctx context.Context) (bool, error) {
	w.mu.Lock()
	opened, status := w.opened, w.status
	w.mu.Unlock()
	if !opened {
		return false, fmt.Errorf("Worker is still starting up: %s", status)
	}
	return w.Herder.Health(ctx)
}

// Ready tells that the worker can serve more than its health.
func (w *Worker) Ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened
}

func (w *Worker) at(what string) {
	w.mu.Lock()
	w.status = what
	w.mu.Unlock()
}

type stores struct {
	configs   *topics.Config
	statuses  *topics.Statuses
	offsets   *topics.Offsets
	admin     *kadm.Client
	fencer    *kgo.Client
	clusterID string
}

func (s *stores) close() {
	if s.configs != nil {
		s.configs.Close()
	}
	if s.statuses != nil {
		s.statuses.Close()
	}
	if s.offsets != nil {
		s.offsets.Close()
	}
	if s.admin != nil {
		s.admin.Close()
	}
	if s.fencer != nil {
		s.fencer.Close()
	}
}

// open opens the internal topics, side by side.
func (w *Worker) open(ctx context.Context) (*stores, error) {
	s := &stores{}
	adm, err := w.clients.Admin("admin", nil)
	if err != nil {
		return nil, err
	}
	s.admin = adm
	if s.fencer, err = w.clients.Raw("fencer"); err != nil {
		s.close()
		return nil, err
	}
	if s.clusterID, err = w.clusterID(ctx, adm); err != nil {
		s.close()
		return nil, err
	}
	w.at("reading the internal topics")
	errs := make(chan error, 3)
	go func() {
		var err error
		s.configs, err = topics.OpenConfig(ctx, w.clients, w.cfg.ConfigTopic, w.logger("worker.topics"), w.changed)
		errs <- err
	}()
	go func() {
		var err error
		s.statuses, err = topics.OpenStatuses(ctx, w.clients, w.cfg.StatusTopic, w.logger("worker.topics"))
		errs <- err
	}()
	go func() {
		var err error
		s.offsets, err = topics.OpenOffsets(ctx, w.clients, w.cfg.OffsetTopic, w.logger("worker.topics"))
		errs <- err
	}()
	var first error
	for range 3 {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		s.close()
		return nil, fmt.Errorf("opening the worker's internal topics: %w", first)
	}
	return s, nil
}

// clusterID waits for the cluster: a worker may start before its broker.
func (w *Worker) clusterID(ctx context.Context, adm *kadm.Client) (string, error) {
	wait := 200 * time.Millisecond
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		meta, err := adm.BrokerMetadata(try)
		cancel()
		if err == nil {
			return meta.Cluster, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		w.log.Warn("the broker cannot be reached, trying again", "bootstrap.servers", w.cfg.Bootstrap, "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// view is what the group's leader sees of the configuration.
type view struct {
	*topics.Config
	h *herder.Herder
}

func (v view) Configured() map[string]assign.Work { return v.h.Configured() }

func (v view) LastOwners(ctx context.Context, units []assign.Unit) (map[assign.Unit]group.Owner, error) {
	return v.h.LastOwners(ctx, units)
}

// offsets turns the offset topic into what source tasks need.
type offsets struct{ store *topics.Offsets }

func (o offsets) Committed(ctx context.Context, connector string) ([]connectapi.Position, error) {
	stored, err := o.store.Committed(ctx, connector)
	if err != nil {
		return nil, err
	}
	var out []connectapi.Position
	for _, f := range stored {
		p, err := connectapi.CanonicalPartition(f.Partition)
		if err != nil {
			return nil, fmt.Errorf("reading the stored positions of connector %s: %w", connector, err)
		}
		off, err := connectapi.CanonicalOffset(f.Value)
		if err != nil {
			return nil, fmt.Errorf("reading the stored positions of connector %s: %w", connector, err)
		}
		out = append(out, connectapi.Position{Partition: p, Offset: off})
	}
	return out, nil
}

func (o offsets) Records(connector string, positions []connectapi.Position) ([]*kgo.Record, error) {
	rows := make([]topics.Offset, 0, len(positions))
	for _, p := range positions {
		row := topics.Offset{Partition: []byte(p.Partition)}
		if p.Offset != "" {
			row.Value = []byte(p.Offset)
		}
		rows = append(rows, row)
	}
	return o.store.Records(connector, rows)
}
