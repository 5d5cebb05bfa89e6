package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/penstockio/penstock/broker"
	"github.com/penstockio/penstock/rest"
	"github.com/penstockio/penstock/worker"
	"github.com/penstockio/penstock/worker/levels"
)

// flagKeys are the flags' names and the keys they stand for.
var flagKeys = []struct{ flag, key, doc string }{
	{"data-dir", "data-dir", "folder of the broker's data (default ./penstock-data)"},
	{"plugin-path", "plugin.path", "folders of plugin binaries, comma separated (default: plugins beside the binary)"},
	{"rest-listen", "listeners", "address of the REST interface (default 127.0.0.1:8083)"},
	{"broker-listen", "broker.listeners", "address of the broker (default 127.0.0.1:9092)"},
	{"join", "join", "run a worker of an existing group beside no broker; `host:port` is that of the group's broker, which may be another penstock server"},
	{"bootstrap-servers", "bootstrap.servers", "brokers to begin with, host:port, comma separated"},
	{"log-level", "log.level", "trace, debug, info, warn, error or off (default info); PUT /admin/loggers/{logger} changes it while the worker runs"},
	{"log-format", "log.format", "text or json (default text)"},
	{"shutdown-timeout", "shutdown.timeout", "time to stop cleanly, e.g. 30s (default 30s)"},
}

func nodeCommand(use, short string, withBroker, withWorker bool) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	var file string
	var show bool
	c.Flags().BoolVar(&show, "print-config", false, "print the configuration with where each value comes from, and end; secrets are hidden")
	c.Flags().StringVar(&file, "config", "", "configuration file, .properties or .yaml; each key is also an environment variable PENSTOCK_…")
	for _, f := range flagKeys {
		if f.flag == "join" && !(withBroker && withWorker) || f.flag == "bootstrap-servers" && withBroker || f.flag == "broker-listen" && !withBroker || f.flag == "data-dir" && !withBroker ||
			f.flag == "plugin-path" && !withWorker {
			continue
		}
		doc := f.doc
		if f.flag == "rest-listen" && !withWorker {
			doc = "address that serves /health and /metrics (default: none)"
		}
		c.Flags().String(f.flag, "", doc)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		flags := map[string]string{}
		for _, f := range flagKeys {
			if fl := cmd.Flags().Lookup(f.flag); fl != nil && fl.Changed {
				flags[f.key] = fl.Value.String()
			}
		}
		if file == "" {
			file = os.Getenv(envPrefix + "CONFIG")
		}
		s, err := load(file, os.Environ(), flags, knownKeys())
		if err != nil {
			return err
		}
		withBroker := withBroker
		if at := s.or("join", ""); at != "" && withBroker && withWorker {
			if err := s.join(at); err != nil {
				return err
			}
			withBroker = false
		}
		if show {
			return s.printConfig(cmd.OutOrStdout(), withBroker, withWorker)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return runNode(ctx, s, withBroker, withWorker)
	}
	return c
}

func knownKeys() []string {
	var out []string
	for _, f := range flagKeys {
		out = append(out, f.key)
	}
	for _, k := range worker.Keys() {
		out = append(out, k.Name)
	}
	for _, k := range broker.Keys {
		out = append(out, "broker."+k.Name)
	}
	return append(out, "config", "broker.listeners", "broker.advertised.listeners")
}

// node is what runs in this process.
type node struct {
	s      *settings
	log    *slog.Logger
	levels *levels.Levels
	reg    *prometheus.Registry
	broker *broker.Broker
	worker *worker.Worker
	server *rest.Server
	lns    []net.Listener
	opts   rest.Options
}

// runNode starts what was asked for, waits for the end of ctx, and stops in order: REST, worker, broker.
func runNode(ctx context.Context, s *settings, withBroker, withWorker bool) (err error) {
	res, err := s.resolve()
	if err != nil {
		return err
	}
	defer func() { err = res.Error(err) }()
	log, all, err := logger(s.or("log.level", "info"), s.or("log.format", "text"))
	if err != nil {
		return err
	}
	slog.SetDefault(log)
	for _, u := range s.unknown(knownKeys()) {
		log.Warn("unknown configuration key", "key", u)
	}
	for _, i := range worker.Ignored(s.values) {
		log.Warn("a key of Kafka Connect's that changes nothing here", "key", i)
	}
	timeout, err := time.ParseDuration(s.or("shutdown.timeout", "30s"))
	if err != nil {
		return fmt.Errorf("shutdown.timeout: %w", err)
	}
	tuneMemory(withWorker)
	n := &node{s: s, log: log, levels: all, reg: prometheus.NewRegistry()}
	n.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer func() { err = errors.Join(err, n.close(timeout)) }()
	at := s.or("listeners", "")
	if at == "" && withWorker {
		at = "127.0.0.1:8083"
	}
	if at != "" {
		if n.lns, err = rest.Listen(at); err != nil {
			return err
		}
	}
	if n.opts, err = s.restOptions(withWorker); err != nil {
		return err
	}
	if withBroker {
		if err := n.openBroker(ctx); err != nil {
			return err
		}
	}
	if !withWorker {
		return n.runBroker(ctx, timeout)
	}
	return n.runWorker(ctx, timeout)
}

// runBroker waits for the end, and serves health and metrics if that was asked for.
func (n *node) runBroker(ctx context.Context, timeout time.Duration) error {
	served := make(chan error, 1)
	if len(n.lns) > 0 {
		n.server = rest.NewMonitor(n.lns, n.broker.Health, n.reg, n.log.With(levels.Key, "rest"), n.opts)
		go func() { served <- n.server.Serve() }()
		n.log.Info("health and metrics are served", "address", "http://"+n.lns[0].Addr().String())
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if n.server == nil {
		return nil
	}
	return n.stopREST(timeout)
}

func (n *node) openBroker(ctx context.Context) error {
	listeners, err := broker.ParseListeners(n.s.or("broker.listeners", "127.0.0.1:9092"))
	if err != nil {
		return fmt.Errorf("broker.listeners: %w", err)
	}
	var advertised []broker.Listener
	if a := n.s.or("broker.advertised.listeners", ""); a != "" {
		if advertised, err = broker.ParseListeners(a); err != nil {
			return fmt.Errorf("broker.advertised.listeners: %w", err)
		}
	}
	set := n.s.under("broker.")
	delete(set, "listeners")
	delete(set, "advertised.listeners")
	b, err := broker.Open(broker.Config{
		DataDir: n.s.or("data-dir", "penstock-data"), Listeners: listeners, AdvertisedListeners: advertised, Settings: set,
	}, n.log.With(levels.Key, "broker"), n.reg)
	if err != nil {
		return err
	}
	n.broker = b
	return b.Start(ctx)
}

func (n *node) runWorker(ctx context.Context, timeout time.Duration) error {
	props := n.s.values
	if props["plugin.path"] == "" {
		props["plugin.path"] = defaultPluginPath()
	}
	opts := worker.Options{WorkerID: advertised(props, n.lns[0].Addr()), Version: version, Commit: commit(), Log: n.log, Levels: n.levels, Registry: n.reg}
	if n.broker != nil {
		own := n.broker.AdvertisedAddr()
		props["bootstrap.servers"] = own
		oneReplica(props)
		opts.Dialer = n.dialer(own)
		opts.NodeCheck = n.broker.Health
	}
	cfg, err := worker.FromProps(props)
	if err != nil {
		return err
	}
	if n.worker, err = worker.New(cfg, opts); err != nil {
		return err
	}
	n.server = rest.New(n.lns, n.worker, n.reg, n.log.With(levels.Key, "rest"), n.opts)
	served := make(chan error, 1)
	go func() { served <- n.server.Serve() }()
	n.log.Info("REST interface is listening", "address", "http://"+n.lns[0].Addr().String(), "plugin.path", props["plugin.path"])
	// The worker goes after its interface: what others were told is on its way is done first.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	worked := make(chan error, 1)
	go func() { worked <- n.worker.Run(runCtx) }()
	select {
	case err := <-worked:
		return errors.Join(err, n.stopREST(timeout))
	case err := <-served:
		cancel()
		return errors.Join(err, <-worked)
	case <-ctx.Done():
	}
	n.log.Info("stopping: connectors drain, offsets are committed", "deadline", timeout)
	err = n.stopREST(timeout)
	cancel()
	select {
	case werr := <-worked:
		return errors.Join(err, werr)
	case <-time.After(timeout):
		return errors.Join(err, fmt.Errorf("the worker did not stop within %v; what was not committed is done again after the next start", timeout))
	}
}

// oneReplica asks for what the bundled broker can do, one replica, where the user did not ask for a number.
func oneReplica(props map[string]string) {
	for _, topic := range []string{"config", "offset", "status"} {
		if k := topic + ".storage.replication.factor"; props[k] == "" {
			props[k] = "1"
		}
	}
}

func (n *node) stopREST(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(timeout, 5*time.Second))
	defer cancel()
	return n.server.Shutdown(ctx)
}

// dialer answers the bundled broker's own address inside the process; every other goes over the network.
func (n *node) dialer(own string) func(context.Context, string, string) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		if host == own {
			return n.broker.Dial(ctx, "worker")
		}
		return d.DialContext(ctx, network, host)
	}
}

func (n *node) close(timeout time.Duration) error {
	if n.server == nil { // never served
		for _, ln := range append(n.lns, n.opts.Admin...) {
			_ = ln.Close()
		}
	}
	if n.broker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return n.broker.Close(ctx)
}

func defaultPluginPath() string {
	exe, err := os.Executable()
	if err != nil {
		return "plugins"
	}
	return filepath.Join(filepath.Dir(exe), "plugins")
}

// advertised is host:port that other workers reach this one at; it is the worker_id in states.
func advertised(props map[string]string, ln net.Addr) string {
	host, port, err := net.SplitHostPort(ln.String())
	if err != nil {
		return ln.String()
	}
	if h := props["rest.advertised.host.name"]; h != "" {
		host = h
	}
	if p := props["rest.advertised.port"]; p != "" && p != "0" {
		port = p
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		if name, err := os.Hostname(); err == nil {
			host = strings.ToLower(name)
		}
	}
	return net.JoinHostPort(host, port)
}
