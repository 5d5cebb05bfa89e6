package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Limits of every client of a worker.
const (
	MaxRecord       = 16 << 20 // bytes of one produce batch
	MaxDecompressed = 64 << 20 // bytes a fetched batch may grow to
)

// What a consumer asks for at a time, as Kafka's own do: a batch that is larger comes nevertheless, alone. More at a time makes
// reading slower: the records of a megabyte are still in the CPU's cache when they are converted.
const (
	fetchPartition = 1 << 20
	fetchBroker    = 4 << 20
)

// Dialer opens a connection to a broker. The one of `penstock server` answers the bundled broker's advertised
// address inside the process.
type Dialer func(ctx context.Context, network, host string) (net.Conn, error)

// Config says how a worker reaches its cluster.
type Config struct {
	Bootstrap []string          // host:port
	ClientID  string            // prefix of every client id
	Props     map[string]string // worker properties; unprefixed client keys, and those under producer., consumer., admin.
	Dialer    Dialer            // nil: the network
}

// Clients makes clients. It is safe for concurrent use; whoever is given a client closes it.
type Clients struct {
	cfg Config
	log *slog.Logger

	records records
}

// New checks the configuration; it does not connect.
func New(cfg Config, log *slog.Logger) (*Clients, error) {
	c := &Clients{cfg: cfg, log: log}
	if len(cfg.Bootstrap) == 0 {
		return nil, errors.New("bootstrap.servers is empty: name at least one broker as host:port")
	}
	cl, err := c.client("check", nil)
	if err != nil {
		return nil, err
	}
	cl.Close()
	return c, nil
}

// Bootstrap gives the brokers to begin with, as configured.
func (c *Clients) Bootstrap() []string { return c.cfg.Bootstrap }

// Internal makes the client of an internal topic: reads from the start, writes with Java's partitioner (murmur2 of
// the key), so that a mixed cluster agrees where a key lives.
func (c *Clients) Internal(role string, opts ...kgo.Opt) (*kgo.Client, error) {
	base := []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchMaxBytes(MaxRecord),
		kgo.ProducerLinger(0),
	}
	return c.client(role, nil, append(base, opts...)...)
}

// Producer makes the producer of a source task: idempotent, acks=all, Java's partitioner. Overrides are Kafka
// producer keys, the worker's producer.* first.
func (c *Clients) Producer(role string, overrides map[string]string, opts ...kgo.Opt) (*kgo.Client, error) {
	props := c.section("producer.", overrides)
	po, err := producerOpts(props)
	if err != nil {
		return nil, err
	}
	base := []kgo.Opt{
		kgo.RecordPartitioner(newPartitioner()),
		kgo.ProducerBatchMaxBytes(MaxRecord),
		kgo.ProducerLinger(5 * time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedBytes(64 << 20),
		kgo.MaxBufferedRecords(1 << 20),
		kgo.AllowAutoTopicCreation(),
	}
	return c.client(role, props, append(append(base, po...), opts...)...)
}

// Fenced makes a transactional producer. Its ProducerID takes the transactional id: every earlier holder is refused from then
// on, on any broker. It sends what a transaction holds as soon as it is asked to, without linger.
func (c *Clients) Fenced(role string, overrides map[string]string, transactionalID string) (*kgo.Client, error) {
	props := c.section("producer.", overrides)
	delete(props, "acks") // a transaction is acknowledged by all replicas or not at all
	delete(props, "enable.idempotence")
	return c.Producer(role, props, kgo.TransactionalID(transactionalID), kgo.TransactionTimeout(transactionTimeout), kgo.RequiredAcks(kgo.AllISRAcks()))
}

// transactionTimeout is Kafka's default of transaction.timeout.ms.
const transactionTimeout = time.Minute

// Consumer makes the consumer of a sink task in a group. Offsets are committed by the task alone.
func (c *Clients) Consumer(role, group string, overrides map[string]string, opts ...kgo.Opt) (*kgo.Client, error) {
	props := c.section("consumer.", overrides)
	if g := props["group.id"]; g != "" {
		group = g
	}
	co, err := consumerOpts(props)
	if err != nil {
		return nil, err
	}
	base := []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.DisableAutoCommit(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(fetchPartition),
		kgo.FetchMaxBytes(fetchBroker),
		kgo.MaxConcurrentFetches(2),
		kgo.WithPools(&c.records),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.MetadataMaxAge(5 * time.Second), // a topic that comes later is found soon (Kafka's default: 5 minutes)
	}
	return c.client(role, props, append(append(base, co...), opts...)...)
}

// Admin makes an administrator. Close it through its Close method.
func (c *Clients) Admin(role string, overrides map[string]string) (*kadm.Client, error) {
	cl, err := c.client(role, c.section("admin.", overrides))
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(cl), nil
}

// Raw makes a client without a role's settings, for requests of one's own (group membership).
func (c *Clients) Raw(role string, opts ...kgo.Opt) (*kgo.Client, error) {
	return c.client(role, nil, opts...)
}

// section gives the keys of one role: the worker's under prefix, then a connector's overrides.
func (c *Clients) section(prefix string, overrides map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range c.cfg.Props {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	maps.Copy(out, overrides)
	return out
}

func (c *Clients) client(role string, props map[string]string, opts ...kgo.Opt) (*kgo.Client, error) {
	merged := maps.Clone(c.cfg.Props)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, props)
	bootstrap := c.cfg.Bootstrap
	if b := props["bootstrap.servers"]; b != "" {
		bootstrap = SplitList(b)
	}
	id := role
	if c.cfg.ClientID != "" {
		id = c.cfg.ClientID + "-" + role
	}
	base := []kgo.Opt{
		kgo.SeedBrokers(bootstrap...),
		kgo.ClientID(id),
		kgo.SoftwareNameAndVersion("penstock", "1"),
		kgo.BrokerMaxReadBytes(100 << 20),
		kgo.BrokerMaxWriteBytes(100 << 20),
		kgo.MaxDecompressBatchBytes(MaxDecompressed), // I1
		kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryBackoffFn(backoff),
		kgo.RetryTimeout(40 * time.Second),
		kgo.RequestRetries(100), // RetryTimeout ends them before
		kgo.WithLogger(newSlogger(c.log.With("client", id))),
	}
	secure, err := transport(merged)
	if err != nil {
		return nil, err
	}
	dial := networkDialer(secure)
	if c.cfg.Dialer != nil && props["bootstrap.servers"] == "" {
		if secure != nil {
			return nil, fmt.Errorf("security.protocol=%s: the bundled broker is reached inside the process, without TLS: leave it out", merged["security.protocol"])
		}
		dial = c.cfg.Dialer
	}
	base = append(base, kgo.Dialer(newSpacedDialer(dial).DialContext))
	common, err := options(commonSettings, c.cfg.Props)
	if err != nil {
		return nil, err
	}
	base = append(base, common...)
	sec, err := saslOpts(merged)
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(append(base, sec...), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("making the Kafka client %s: %w", id, err)
	}
	return cl, nil
}

// TopicSpec is a topic to create. Zero partitions or replication means the broker's default.
type TopicSpec struct {
	Name        string
	Partitions  int32
	Replication int16
	Settings    map[string]string
}

// EnsureTopic creates a topic unless it is there, and reports whether it was made now.
func EnsureTopic(ctx context.Context, adm *kadm.Client, t TopicSpec) (created bool, err error) {
	settings := make(map[string]*string, len(t.Settings))
	for k, v := range t.Settings {
		settings[k] = kadm.StringPtr(v)
	}
	parts, rf := t.Partitions, t.Replication
	if parts == 0 {
		parts = -1
	}
	if rf == 0 {
		rf = -1
	}
	r, err := adm.CreateTopic(ctx, parts, rf, settings, t.Name)
	if errors.Is(err, kerr.TopicAlreadyExists) || errors.Is(r.Err, kerr.TopicAlreadyExists) {
		return false, nil
	}
	if err == nil {
		err = r.Err
	}
	if errors.Is(err, kerr.InvalidReplicationFactor) {
		return false, fmt.Errorf("creating topic %s: the cluster has fewer brokers than its replication factor %d: set the topic's replication.factor lower, or -1 for the broker's default: %w", t.Name, rf, err)
	}
	if err != nil {
		return false, fmt.Errorf("creating topic %s (%d partitions, replication factor %d): %w %s", t.Name, parts, rf, err, r.ErrMessage)
	}
	return true, nil
}

// SplitList splits a comma separated list, trimming blanks and dropping empty parts.
func SplitList(s string) []string {
	var out []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}
