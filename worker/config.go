package worker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/providers"
	"github.com/penstockio/penstock/worker/peer"
)

// Config is a worker's configuration, Kafka Connect's keys.
type Config struct {
	Bootstrap  []string
	Group      string
	PluginPath []string
	Listeners  string
	Advertised string // host:port that others reach this worker at; empty: the listener's

	ConfigTopic, OffsetTopic, StatusTopic kafka.TopicSpec

	Session, Heartbeat, Rebalance time.Duration
	MaxDelay                      time.Duration // how long the work of a worker that crashed is kept for it
	FlushInterval, Drain          time.Duration
	TopicCreation                 bool
	TopicTracking, TopicReset     bool
	ExactlyOnce                   ExactlyOnce
	Overrides                     runtime.OverridePolicy
	Signing                       peer.Signing // of calls between workers

	Props map[string]string // all of it, for clients and converter defaults
}

// ExactlyOnce is exactly.once.source.support (KIP-618).
type ExactlyOnce string

// A group is switched on in two rolling restarts: with preparing every worker fences, with enabled tasks write in transactions.
const (
	Disabled  ExactlyOnce = "disabled"
	Preparing ExactlyOnce = "preparing"
	Enabled   ExactlyOnce = "enabled"
)

func ptr(s string) *string { return &s }

// least is a key of a number with its smallest value.
func least(n float64, k connectapi.ConfigKey) connectapi.ConfigKey {
	k.Min = &n
	return k
}

func key(name string, t connectapi.ConfigType, def, doc string) connectapi.ConfigKey {
	return connectapi.ConfigKey{Name: name, Type: t, Default: &def, Doc: doc, Importance: connectapi.Medium}
}

// oneOf is a key of one of the algorithms of signatures.
func oneOf(name, def, doc string) connectapi.ConfigKey {
	k := key(name, connectapi.StringConfig, def, doc)
	k.OneOf, k.Importance = peer.Algorithms(), connectapi.Low
	return k
}

// Keys are the worker's keys with their defaults; those that differ from Kafka Connect's stand in the README's table.
func Keys() []connectapi.ConfigKey {
	s, i, b, l := connectapi.StringConfig, connectapi.IntConfig, connectapi.BooleanConfig, connectapi.ListConfig
	return append(runtime.RestartKeys(), []connectapi.ConfigKey{
		key("bootstrap.servers", l, "127.0.0.1:9092", "Brokers to begin with, as host:port."),
		key("group.id", s, "connect-cluster", "Name of the worker group; must not be a consumer group's."),
		key(providers.Prefix, l, "", "Names of providers that resolve references ${name:path:key} in configurations, each with config.providers.<name>.class."),
		key("plugin.path", l, "", "Folders of plugin binaries; default: plugins beside the penstock binary."),
		key("listeners", s, "127.0.0.1:8083", "Addresses of the REST interface, host:port; the first is told to other workers."),
		key("access.control.allow.origin", l, "", "Origins whose pages may call the REST interface; *: all."),
		key("access.control.allow.methods", l, "", "Methods they may use; without any GET, HEAD and POST."),
		key("response.http.headers.config", s, "", "Headers of every answer, such as \"set X-Frame-Options: DENY\", comma separated."),
		key("rest.advertised.host.name", s, "", "Host name other workers reach this one at."),
		least(0, key("rest.advertised.port", i, "0", "Port other workers reach this one at; 0: the listener's.")),
		key("key.converter", s, "org.apache.kafka.connect.json.JsonConverter", "Converter of keys for connectors that name none."),
		key("value.converter", s, "org.apache.kafka.connect.json.JsonConverter", "Converter of values for connectors that name none."),
		key("header.converter", s, "org.apache.kafka.connect.storage.SimpleHeaderConverter", "Converter of headers for connectors that name none."),
		key("config.storage.topic", s, "connect-configs", "Topic of configurations (one partition, compacted)."),
		least(-1, key("config.storage.replication.factor", i, "3", "Its replication factor; -1: the broker's default.")),
		key("offset.storage.topic", s, "connect-offsets", "Topic of source positions (compacted)."),
		least(-1, key("offset.storage.partitions", i, "25", "Its partitions.")),
		least(-1, key("offset.storage.replication.factor", i, "3", "Its replication factor; -1: the broker's default.")),
		key("status.storage.topic", s, "connect-status", "Topic of states (compacted)."),
		least(-1, key("status.storage.partitions", i, "5", "Its partitions.")),
		least(-1, key("status.storage.replication.factor", i, "3", "Its replication factor; -1: the broker's default.")),
		least(1, key("session.timeout.ms", i, "10000", "After so long without a heartbeat a worker is counted out.")),
		least(1, key("heartbeat.interval.ms", i, "500", "Time between heartbeats, and so the longest until a worker learns that another came or went. Kafka Connect: 3000.")),
		least(1, key("rebalance.timeout.ms", i, "60000", "Time a worker may take to join a round.")),
		least(0, key("scheduled.rebalance.max.delay.ms", i, "0", "Time the work of a worker that crashed is kept for it before others take it over; one that stops by itself hands over at once. Kafka Connect: 300000.")),
		least(1, key("offset.flush.interval.ms", i, "5000", "Time between commits of positions. Kafka Connect: 60000.")),
		least(0, key("task.shutdown.graceful.timeout.ms", i, "5000", "Time tasks have to stop cleanly.")),
		{
			Name: "exactly.once.source.support", Type: s, Default: ptr(string(Disabled)), OneOf: []string{string(Disabled), string(Preparing), string(Enabled)},
			Doc: "Whether source tasks write records and positions in one transaction. Switch a group on in two rolling restarts: preparing, then enabled.", Importance: connectapi.High,
		},
		{
			Name: "connect.protocol", Type: s, Default: ptr("sessioned"), OneOf: []string{"sessioned", "compatible"},
			Doc: "Both are always offered and the broker picks one that all workers have; eager would stop everything for each change.", Importance: connectapi.Low,
		},
		key("topic.creation.enable", b, "true", "Whether source connectors' topic.creation.* keys take effect."),
		key("connector.client.config.override.policy", s, "All", "Which settings of its clients a connector may override: All, None, Principal (who it is), or those of an Allowlist."),
		key("connector.client.config.override.allowlist", l, "", "The settings that the policy Allowlist allows."),
		oneOf("inter.worker.key.generation.algorithm", peer.Default.KeyAlgorithm, "Algorithm of the key that signs calls between workers."),
		least(0, key("inter.worker.key.size", i, "0", "Its size in bits; 0: the algorithm's.")),
		least(1000, key("inter.worker.key.ttl.ms", i, "3600000", "Time after which the leader makes another.")),
		oneOf("inter.worker.signature.algorithm", peer.Default.Algorithm, "Algorithm of signatures."),
		key("inter.worker.verification.algorithms", l, peer.Default.Algorithm, "Algorithms of signatures that are accepted."),
		key("topic.tracking.enable", b, "true", "Whether it is noted which topics a connector uses (GET /connectors/{c}/topics)."),
		key("topic.tracking.allow.reset", b, "true", "Whether that may be forgotten by PUT /connectors/{c}/topics/reset."),
	}...)
}

// FromProps reads a worker's properties. All problems come in one error.
func FromProps(props map[string]string) (Config, error) {
	d, err := connectapi.NewConfigDef(Keys()...)
	if err != nil {
		return Config{}, err
	}
	v, err := d.Parse(props)
	if err != nil {
		return Config{}, fmt.Errorf("reading the worker's configuration: %w", err)
	}
	str := func(k string) string { s, _ := v[k].(string); return s }
	num := func(k string) int32 { n, _ := v[k].(int32); return n }
	ms := func(k string) time.Duration { return time.Duration(num(k)) * time.Millisecond }
	list := func(k string) []string { l, _ := v[k].([]string); return l }
	c := Config{
		Bootstrap: list("bootstrap.servers"), Group: str("group.id"), PluginPath: list("plugin.path"), Listeners: str("listeners"),
		Session: ms("session.timeout.ms"), Heartbeat: ms("heartbeat.interval.ms"), Rebalance: ms("rebalance.timeout.ms"),
		MaxDelay:      ms("scheduled.rebalance.max.delay.ms"),
		FlushInterval: ms("offset.flush.interval.ms"), Drain: ms("task.shutdown.graceful.timeout.ms"),
		Props: maps.Clone(props),
	}
	c.TopicCreation, _ = v["topic.creation.enable"].(bool)
	c.TopicTracking, _ = v["topic.tracking.enable"].(bool)
	c.TopicReset, _ = v["topic.tracking.allow.reset"].(bool)
	if c.Overrides, err = runtime.NewOverridePolicy(str("connector.client.config.override.policy"), list("connector.client.config.override.allowlist")); err != nil {
		return Config{}, fmt.Errorf("reading the worker's configuration: %w", err)
	}
	c.Signing = peer.Signing{
		KeyAlgorithm: str("inter.worker.key.generation.algorithm"), KeyBits: int(num("inter.worker.key.size")), KeyTTL: ms("inter.worker.key.ttl.ms"),
		Algorithm: str("inter.worker.signature.algorithm"), Accepted: list("inter.worker.verification.algorithms"),
	}
	c.ExactlyOnce = ExactlyOnce(str("exactly.once.source.support"))
	topic := func(prefix string, partitions int32) kafka.TopicSpec {
		t := kafka.TopicSpec{Name: str(prefix + ".topic"), Partitions: partitions, Replication: int16(num(prefix + ".replication.factor")), Settings: map[string]string{}}
		for k, val := range props {
			if rest, ok := strings.CutPrefix(k, prefix+"."); ok {
				switch rest {
				case "topic", "partitions", "replication.factor", "cleanup.policy":
				default:
					t.Settings[rest] = val
				}
			}
		}
		return t
	}
	c.ConfigTopic = topic("config.storage", 1)
	c.OffsetTopic = topic("offset.storage", num("offset.storage.partitions"))
	c.StatusTopic = topic("status.storage", num("status.storage.partitions"))
	for _, a := range c.Signing.Accepted {
		if !slices.Contains(peer.Algorithms(), a) {
			return Config{}, fmt.Errorf("inter.worker.verification.algorithms: %s is not one of %s", a, strings.Join(peer.Algorithms(), ", "))
		}
	}
	for _, k := range []string{"key.converter", "value.converter", "header.converter"} {
		c.Props[k] = str(k)
	}
	if err := runtime.CheckConverters(c.Props); err != nil { // else the first task that needs one would tell
		return Config{}, fmt.Errorf("reading the worker's configuration: %w", err)
	}
	if host := str("rest.advertised.host.name"); host != "" {
		c.Advertised = host + ":" + strconv.Itoa(int(num("rest.advertised.port")))
	}
	return c, c.Validate()
}

// Validate checks what single keys cannot tell.
func (c *Config) Validate() error {
	switch {
	case c.Group == "":
		return fmt.Errorf("group.id is empty: name the worker group")
	case c.Session > c.Rebalance:
		return fmt.Errorf("session.timeout.ms (%v) must not be above rebalance.timeout.ms (%v)", c.Session, c.Rebalance)
	case c.Heartbeat >= c.Session:
		return fmt.Errorf("heartbeat.interval.ms (%v) must be below session.timeout.ms (%v)", c.Heartbeat, c.Session)
	case c.Signing.KeyBits > 0 && c.Signing.KeyBits < 128 || c.Signing.KeyBits > 8192:
		return fmt.Errorf("inter.worker.key.size (%d) must be from 128 to 8192 bits, or 0", c.Signing.KeyBits)
	case !slices.Contains(c.Signing.Accepted, c.Signing.Algorithm):
		return fmt.Errorf("inter.worker.verification.algorithms (%s) must contain inter.worker.signature.algorithm (%s)", strings.Join(c.Signing.Accepted, ","), c.Signing.Algorithm)
	case c.FlushInterval <= 0:
		return fmt.Errorf("offset.flush.interval.ms must be above 0")
	case c.ConfigTopic.Name == c.OffsetTopic.Name || c.ConfigTopic.Name == c.StatusTopic.Name || c.OffsetTopic.Name == c.StatusTopic.Name:
		return fmt.Errorf("config.storage.topic, offset.storage.topic and status.storage.topic must be three topics")
	}
	return nil
}
