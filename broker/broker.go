package broker

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/kafka"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
	"github.com/penstockio/penstock/broker/txn"
)

// Config is what a broker is made from.
type Config struct {
	DataDir             string
	Listeners           []Listener        // may be empty: then only Dial reaches the broker
	AdvertisedListeners []Listener        // by name; a listener without one advertises what it is bound to
	Settings            map[string]string // by the names in Keys

	authorizer kafka.Authorizer // nil: everything is allowed
	disk       disk.FS          // nil, but in tests: the operating system's
	indexFS    vfs.FS           // likewise
}

// Broker is one broker. Its methods may be called by any number of goroutines.
type Broker struct {
	log       *slog.Logger
	store     *store.Store
	topics    *topic.Registry
	groups    *group.Coordinator
	txns      *txn.Coordinator
	server    *kafka.Server
	listeners []bound
	endpoints map[string]kafka.Endpoint
	limits    kafka.Limits
	clusterID string

	accepting sync.WaitGroup
	mu        sync.Mutex
	started   bool
	closed    bool
	failed    error // a listener that ended by itself
}

// ErrNotRunning is returned by Dial before Start and after Close.
var ErrNotRunning = errors.New("the broker is not running")

// Open checks the configuration, takes the data directory and binds the listeners. Nothing is served before Start; call
// Close even if Start is never called.
func Open(cfg Config, log *slog.Logger, reg prometheus.Registerer) (*Broker, error) {
	return open(cfg, log, reg, false)
}

func open(cfg Config, log *slog.Logger, reg prometheus.Registerer, rebuild bool) (_ *Broker, err error) {
	if cfg.DataDir == "" {
		return nil, errors.New("opening the broker: no data directory is given (data-dir)")
	}
	set, err := resolve(cfg.Settings, log)
	if err != nil {
		return nil, err
	}
	b := &Broker{log: log.With("component", "broker"), limits: kafka.DefaultLimits()}
	b.limits.Connections = int(set.num(maxConnections))
	b.limits.FrameBytes = int32(set.num(requestMaxBytes))
	b.limits.Idle = set.ms(idleMs)
	if b.listeners, err = listen(cfg.Listeners); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.closeListeners()
		}
	}()
	if b.endpoints, err = advertise(b.listeners, cfg.AdvertisedListeners); err != nil {
		return nil, err
	}
	b.store, err = store.Open(cfg.DataDir, store.Options{
		Disk:            cfg.disk,
		IndexFS:         cfg.indexFS,
		NodeID:          int32(set.num(nodeID)),
		SegmentBytes:    set.num(segmentBytes),
		MaxMessageBytes: int(set.num(messageMaxBytes)),
		TailBytes:       set.num(tailBytes),
		Rebuild:         rebuild,

		RetentionCheck:   set.ms(retentionCheckMs),
		CleanBackoff:     set.ms(cleanBackoffMs),
		CompactMemory:    set.num(cleanMemory),
		CompactFloor:     set.num(cleanFloor),
		ScrubBytes:       cmp.Or(set.num(scrubRate), -1),
		MaintenanceBytes: cmp.Or(set.num(cleanRate), -1),
	}, log, reg)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("%w; stop that process or choose another data-dir", err)
	}
	if err != nil {
		return nil, err
	}
	id := b.store.Meta().ClusterUUID
	b.clusterID = base64.RawURLEncoding.EncodeToString(id[:])
	b.compose(cfg, set, log, reg)
	return b, nil
}

// compose makes the coordinators and the server over the store.
func (b *Broker) compose(cfg Config, set settings, log *slog.Logger, reg prometheus.Registerer) {
	b.topics = topic.New(b.store, topic.NewDefaults(set.given(cfg.Settings)), log, reg)
	b.groups = group.New(b.store, group.Config{
		MinSession:    set.ms(minSessionMs),
		MaxSession:    set.ms(maxSessionMs),
		InitialDelay:  set.ms(initialDelayMs),
		MaxSize:       int(set.num(groupMaxSize)),
		MaxOffsetMeta: int(set.num(offsetMetadataMax)),
		Retention:     time.Duration(set.num(offsetsRetention)) * time.Minute,
	}, log, reg)
	auth := cfg.authorizer
	if auth == nil {
		auth = kafka.AllowAll{}
	}
	b.txns = txn.New(b.store, b.groups, txn.Config{
		MaxTimeoutMs: int32(set.num(txnMaxTimeoutMs)),
		CheckEvery:   set.ms(txnCheckMs),
		Expiration:   set.ms(txnIDExpirationMs),

		ProducerExpiration: set.ms(producerExpirationMs),
	}, log, reg)
	b.topics.OnDelete(func(t *topic.Topic) { b.groups.ForgetTopic(t.ID) })
	b.server = kafka.New(kafka.Config{
		NodeID:        int32(set.num(nodeID)),
		ClusterID:     b.clusterID,
		DataDir:       cfg.DataDir,
		AutoCreate:    set.is(autoCreate),
		Partitions:    int32(set.num(numPartitions)),
		ClampReplicas: set.is(clampReplicas),
		FetchBytes:    int(set.num(fetchMaxBytes)),
		MaxOffsetMeta: int(set.num(offsetMetadataMax)),
		Settings:      set.shown(cfg.Settings),
		Advertised:    b.endpoint,
	}, kafka.Parts{Store: b.store, Topics: b.topics, Groups: b.groups, Txns: b.txns, Auth: auth}, log, reg)
}

// endpoint is where clients of a listener find this broker; the connection inside the process gets the first listener's.
func (b *Broker) endpoint(listener string) kafka.Endpoint {
	if at, ok := b.endpoints[listener]; ok {
		return at
	}
	if len(b.listeners) > 0 {
		return b.endpoints[b.listeners[0].Name]
	}
	return memoryEndpoint
}

// Start replays the log and then accepts connections. ctx bounds the replay alone.
func (b *Broker) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started || b.closed {
		return errors.New("starting the broker: it was started or closed before")
	}
	begun := time.Now()
	if err := b.store.Start(ctx); err != nil {
		return fmt.Errorf("starting the broker: %w", err)
	}
	b.topics.Started()
	b.groups.Started(func(id topic.ID) (string, bool) {
		if t := b.topics.GetID(id); t != nil {
			return t.Name, true
		}
		return "", false
	})
	b.txns.Started() // after the groups: it finishes what was decided
	b.started = true
	for _, l := range b.listeners {
		b.accepting.Go(func() {
			if err := b.server.Serve(l.ln, l.Name, b.limits); err != nil && !errors.Is(err, kafka.ErrClosed) {
				b.log.Error("a listener ended", "listener", l.Name, "error", err)
				b.mu.Lock()
				b.failed = fmt.Errorf("listener %s ended: %w", l.Name, err)
				b.mu.Unlock()
			}
		})
		b.log.Info("broker listens", "listener", l.Name, "address", l.ln.Addr().String(), "advertised", hostPort(b.endpoints[l.Name]))
	}
	b.log.Info("broker is ready", "cluster", b.clusterID, "took", time.Since(begun).Round(time.Millisecond))
	return nil
}

// Serve starts the broker and runs it until ctx ends; then it drains for at most drain.
func (b *Broker) Serve(ctx context.Context, drain time.Duration) error {
	err := b.Start(ctx)
	if err == nil {
		<-ctx.Done()
	}
	end, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	return errors.Join(err, b.Close(end))
}

func hostPort(e kafka.Endpoint) string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// Addr is the address the first listener is bound to, with the port the system chose if 0 was asked for; empty without
// listeners.
func (b *Broker) Addr() string {
	if len(b.listeners) == 0 {
		return ""
	}
	return b.listeners[0].ln.Addr().String()
}

// AdvertisedAddr is the address Metadata gives to clients of the first listener and of Dial.
func (b *Broker) AdvertisedAddr() string { return hostPort(b.endpoint("")) }

// ClusterID is the id of the cluster of one, made with the data directory.
func (b *Broker) ClusterID() string { return b.clusterID }

// memoryListener is the name under which connections inside the process are counted.
const memoryListener = "memory"

// Dial connects inside the process, for a principal the caller vouches for. A Kafka client's dialer answers
// AdvertisedAddr with it.
func (b *Broker) Dial(ctx context.Context, principal string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	running := b.started && !b.closed
	b.mu.Unlock()
	if !running {
		return nil, ErrNotRunning
	}
	near, far := net.Pipe()
	session := &kafka.Session{Principal: principal, Address: memoryListener, Listener: memoryListener, Memory: true}
	if err := b.server.ServeConn(far, session, b.limits); err != nil {
		near.Close()
		return nil, fmt.Errorf("connecting inside the process: %w", err)
	}
	return near, nil
}

// Health says why the broker can't do all its work; nil if it can.
func (b *Broker) Health() error {
	b.mu.Lock()
	failed, running := b.failed, b.started && !b.closed
	b.mu.Unlock()
	switch {
	case !running:
		return ErrNotRunning
	case failed != nil:
		return failed
	}
	return b.store.Health()
}

// Close refuses new requests, answers those under way until ctx ends, and closes the store. It may be called again.
func (b *Broker) Close(ctx context.Context) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	drained := b.server.Drain(ctx)
	b.closeListeners()
	b.accepting.Wait()
	b.txns.Close()
	b.groups.Close()
	if err := errors.Join(drained, b.store.Close(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("closing the broker: %w", err)
	}
	return nil
}

func (b *Broker) closeListeners() {
	for _, l := range b.listeners {
		l.ln.Close()
	}
}
