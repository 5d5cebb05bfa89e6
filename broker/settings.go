package broker

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/penstockio/penstock/broker/kafka"
	"github.com/penstockio/penstock/broker/topic"
)

// Key describes one setting of the broker. Names are Kafka's; those Kafka does not have say so in their Doc.
type Key struct {
	Name     string
	Type     topic.Type
	Default  string
	Doc      string
	min, max int64 // of Int and Long
	topic    *topic.Key
}

// The settings the broker itself acts on.
const (
	nodeID               = "node.id"
	autoCreate           = "auto.create.topics.enable"
	numPartitions        = "num.partitions"
	clampReplicas        = "replication.factor.clamp"
	messageMaxBytes      = "message.max.bytes"
	segmentBytes         = "log.segment.bytes"
	tailBytes            = "log.tail.bytes"
	retentionCheckMs     = "log.retention.check.interval.ms"
	cleanBackoffMs       = "log.cleaner.backoff.ms"
	cleanMemory          = "log.cleaner.dedupe.buffer.size"
	scrubRate            = "log.scrub.io.max.bytes.per.second"
	cleanFloor           = "log.cleaner.min.dirty.bytes"
	cleanRate            = "log.cleaner.io.max.bytes.per.second"
	fetchMaxBytes        = "fetch.max.bytes"
	requestMaxBytes      = "socket.request.max.bytes"
	maxConnections       = "max.connections"
	idleMs               = "connections.max.idle.ms"
	initialDelayMs       = "group.initial.rebalance.delay.ms"
	minSessionMs         = "group.min.session.timeout.ms"
	maxSessionMs         = "group.max.session.timeout.ms"
	groupMaxSize         = "group.max.size"
	offsetMetadataMax    = "offset.metadata.max.bytes"
	offsetsRetention     = "offsets.retention.minutes"
	producerExpirationMs = "producer.id.expiration.ms"
	txnCheckMs           = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
	txnIDExpirationMs    = "transactional.id.expiration.ms"
	txnMaxTimeoutMs      = "transaction.max.timeout.ms"
	defaultReplication   = "default.replication.factor"
)

const (
	mib     = 1 << 20
	hugeInt = 1<<31 - 1
)

// own are the keys that are no topic's default.
var own = []Key{
	{Name: autoCreate, Type: topic.Boolean, Default: "true", Doc: "Make a topic when a client first asks for it."},
	{Name: idleMs, Type: topic.Long, Default: "600000", min: 1000, max: hugeInt, Doc: "How long a connection may be silent."},
	{Name: defaultReplication, Type: topic.Int, Default: "1", min: 1, max: 1, Doc: "Replicas of a new topic: this broker is one node."},
	{Name: fetchMaxBytes, Type: topic.Int, Default: "57671680", min: 1024, max: 1 << 30, Doc: "Largest answer to one Fetch; the first batch is sent even if it is larger."},
	{Name: initialDelayMs, Type: topic.Int, Default: "0", min: 0, max: hugeInt, Doc: "How long the first rebalance of an empty group waits for more members."},
	{Name: groupMaxSize, Type: topic.Int, Default: "100000", min: 1, max: hugeInt, Doc: "Most members of one group."},
	{Name: maxSessionMs, Type: topic.Int, Default: "1800000", min: 1, max: hugeInt, Doc: "Longest session timeout a group member may ask for."},
	{Name: minSessionMs, Type: topic.Int, Default: "6000", min: 1, max: hugeInt, Doc: "Shortest session timeout a group member may ask for."},
	{Name: cleanBackoffMs, Type: topic.Long, Default: "15000", min: 100, max: hugeInt, Doc: "How often compacted topics are looked at, and space is made in the log."},
	{Name: cleanMemory, Type: topic.Long, Default: "33554432", min: mib, max: 1 << 40, Doc: "Memory for the keys of a compaction, 24 bytes a key; with more keys it takes more passes."},
	{Name: cleanFloor, Type: topic.Long, Default: "1048576", min: 1, max: 1 << 50, Doc: "Fewer new bytes than this in a partition are compacted only for their age (max.compaction.lag.ms). Not a Kafka setting."},
	{Name: cleanRate, Type: topic.Long, Default: "67108864", min: 0, max: 1 << 50, Doc: "Bytes a second that compaction, making space and snapshots may read and write; 0: no limit."},
	{Name: scrubRate, Type: topic.Long, Default: "8388608", min: 0, max: 1 << 50, Doc: "Bytes of the log a second that are read and checked in the background, each once a day; 0: none. Not a Kafka setting."},
	{Name: retentionCheckMs, Type: topic.Long, Default: "300000", min: 1, max: hugeInt, Doc: "How often it is looked for records that retention keeps no longer."},
	{Name: tailBytes, Type: topic.Long, Default: "16777216", min: mib, max: 1 << 40, Doc: "Memory that keeps the end of the log for readers. Not a Kafka setting."},
	{Name: maxConnections, Type: topic.Int, Default: "10000", min: 1, max: hugeInt, Doc: "Most connections of one listener."},
	{Name: nodeID, Type: topic.Int, Default: "1", min: 0, max: hugeInt, Doc: "This broker's id."},
	{Name: numPartitions, Type: topic.Int, Default: "1", min: 1, max: topic.MaxPartitions, Doc: "Partitions of a new topic that doesn't say."},
	{Name: offsetMetadataMax, Type: topic.Int, Default: "4096", min: 0, max: mib, Doc: "Longest text stored with a committed offset."},
	{Name: offsetsRetention, Type: topic.Int, Default: "10080", min: 1, max: hugeInt, Doc: "How long an empty group keeps its committed offsets."},
	{Name: producerExpirationMs, Type: topic.Int, Default: "86400000", min: 1, max: hugeInt, Doc: "How long a partition remembers an idempotent producer that appends nothing."},
	{Name: clampReplicas, Type: topic.Boolean, Default: "true", Doc: "Accept topics with any replication factor and make one replica. Not a Kafka setting."},
	{Name: requestMaxBytes, Type: topic.Int, Default: "104857600", min: mib, max: 1 << 30, Doc: "Largest request."},
	{Name: txnCheckMs, Type: topic.Int, Default: "10000", min: 1, max: hugeInt, Doc: "How often transactions past their timeout are looked for."},
	{Name: txnIDExpirationMs, Type: topic.Int, Default: "604800000", min: 1, max: hugeInt, Doc: "How long a transactional id that nobody uses is kept."},
	{Name: txnMaxTimeoutMs, Type: topic.Int, Default: "900000", min: 1, max: hugeInt, Doc: "Longest transaction a producer may ask for."},
}

// Keys is the closed table of settings, sorted by name: the broker's own and the defaults of topics.
var Keys = func() []Key {
	all := slices.Clone(own)
	for i := range topic.Keys {
		if k := &topic.Keys[i]; k.Broker != "" {
			all = append(all, Key{Name: k.Broker, Type: k.Type, Default: k.Default, Doc: k.Doc, topic: k})
		}
	}
	slices.SortFunc(all, func(a, b Key) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}()

// check tells why a setting can't have the value.
func (k *Key) check(value string) error {
	if k.topic != nil {
		if err := k.topic.Check(value); err != nil {
			return fmt.Errorf("broker setting %s=%q is not valid: %w", k.Name, value, err)
		}
		return nil
	}
	switch k.Type {
	case topic.Boolean:
		if value != "true" && value != "false" {
			return fmt.Errorf("broker setting %s=%q: want true or false", k.Name, value)
		}
	default:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < k.min || n > k.max {
			return fmt.Errorf("broker setting %s=%q: want a whole number from %d to %d", k.Name, value, k.min, k.max)
		}
	}
	return nil
}

// settings are the checked values of all keys.
type settings map[string]string

// resolve checks the user's settings. Unknown ones are warned about, with the nearest name there is.
func resolve(given map[string]string, log *slog.Logger) (settings, error) {
	all := make(settings, len(Keys))
	for i := range Keys {
		k := &Keys[i]
		v, ok := given[k.Name]
		if !ok {
			v = k.Default
		}
		if err := k.check(v); err != nil {
			return nil, err
		}
		all[k.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := all[name]; !ok {
			log.Warn("unknown broker setting; it has no effect", "setting", name, "nearest", nearest(name))
		}
	}
	return all, nil
}

func (s settings) num(name string) int64 { n, _ := strconv.ParseInt(s[name], 10, 64); return n } // checked by resolve

func (s settings) is(name string) bool { return s[name] == "true" }

func (s settings) ms(name string) time.Duration { return time.Duration(s.num(name)) * time.Millisecond }

// given are the settings the user gave and that are known.
func (s settings) given(by map[string]string) map[string]string {
	out := map[string]string{}
	for name := range by {
		if v, ok := s[name]; ok {
			out[name] = v
		}
	}
	return out
}

// shown lists the settings for DescribeConfigs.
func (s settings) shown(given map[string]string) []kafka.BrokerSetting {
	out := make([]kafka.BrokerSetting, 0, len(Keys))
	for _, k := range Keys {
		_, set := given[k.Name]
		out = append(out, kafka.BrokerSetting{Name: k.Name, Value: s[k.Name], Default: k.Default, Type: int8(k.Type), Doc: k.Doc, Set: set})
	}
	return out
}

// nearest finds the known name with the fewest edits between.
func nearest(name string) string {
	best, least := "", 1<<30
	for _, k := range Keys {
		if d := distance(name, k.Name); d < least {
			best, least = k.Name, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
