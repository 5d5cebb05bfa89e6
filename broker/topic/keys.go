package topic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Type is the type of a setting's value, numbered as in DescribeConfigs (KIP-569).
type Type int8

// The types of settings.
const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
)

// Key describes one topic setting, as Kafka documents it.
type Key struct {
	Name    string
	Type    Type
	Default string
	Broker  string // the broker's setting that gives the default; empty: none
	Doc     string
	min     float64
	max     float64
	oneOf   []string
}

func number(name string, t Type, def, broker string, lo, hi float64, doc string) Key {
	return Key{Name: name, Type: t, Default: def, Broker: broker, min: lo, max: hi, Doc: doc}
}

func choice(name, def, broker, doc string, of ...string) Key {
	return Key{Name: name, Type: String, Default: def, Broker: broker, oneOf: of, Doc: doc}
}

func boolean(name, def, broker, doc string) Key {
	return Key{Name: name, Type: Boolean, Default: def, Broker: broker, Doc: doc}
}

const (
	maxInt  = math.MaxInt32
	maxLong = math.MaxInt64
)

// The keys the broker itself acts on.
const (
	CleanupPolicy   = "cleanup.policy"
	MaxMessageBytes = "max.message.bytes"
	TimestampType   = "message.timestamp.type"
	TimestampAfter  = "message.timestamp.after.max.ms"
	TimestampBefore = "message.timestamp.before.max.ms"
	RetentionMs     = "retention.ms"
	RetentionBytes  = "retention.bytes"
	DeleteRetention = "delete.retention.ms"
	MinCompactLag   = "min.compaction.lag.ms"
	MaxCompactLag   = "max.compaction.lag.ms"
	DirtyRatio      = "min.cleanable.dirty.ratio"
)

// Keys is the closed table of topic settings, sorted by name. What has no effect here is checked and kept, so that
// tools which set it work and a topic can move to another broker unchanged.
var Keys = []Key{
	{Name: CleanupPolicy, Type: List, Default: "delete", Broker: "log.cleanup.policy", oneOf: []string{"delete", "compact"}, Doc: "What becomes of old records: delete, compact, or both, separated by a comma."},
	number("compression.gzip.level", Int, "-1", "compression.gzip.level", -1, 9, "Kept for other brokers: batches are stored as produced."),
	number("compression.lz4.level", Int, "9", "compression.lz4.level", 1, 17, "Kept for other brokers: batches are stored as produced."),
	choice("compression.type", "producer", "compression.type", "Kept for other brokers: batches are stored as produced.", "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
	number("compression.zstd.level", Int, "3", "compression.zstd.level", -131072, 22, "Kept for other brokers: batches are stored as produced."),
	number(DeleteRetention, Long, "86400000", "log.cleaner.delete.retention.ms", 0, maxLong, "How long tombstones of a compacted topic stay."),
	number("file.delete.delay.ms", Long, "60000", "log.segment.delete.delay.ms", 0, maxLong, "Kept for other brokers."),
	number("flush.messages", Long, "9223372036854775807", "log.flush.interval.messages", 1, maxLong, "Kept for other brokers: acks=all waits for the disk here."),
	number("flush.ms", Long, "9223372036854775807", "log.flush.interval.ms", 0, maxLong, "Kept for other brokers: acks=all waits for the disk here."),
	{Name: "follower.replication.throttled.replicas", Type: List, Doc: "Kept for other brokers."},
	number("index.interval.bytes", Int, "4096", "log.index.interval.bytes", 0, maxInt, "Kept for other brokers: every batch is indexed here."),
	{Name: "leader.replication.throttled.replicas", Type: List, Doc: "Kept for other brokers."},
	number("local.retention.bytes", Long, "-2", "log.local.retention.bytes", -2, maxLong, "Kept for other brokers."),
	number("local.retention.ms", Long, "-2", "log.local.retention.ms", -2, maxLong, "Kept for other brokers."),
	number(MaxCompactLag, Long, "9223372036854775807", "log.cleaner.max.compaction.lag.ms", 1, maxLong, "The longest a record of a compacted topic stays uncompacted."),
	number(MaxMessageBytes, Int, "16777216", "message.max.bytes", 0, maxInt, "The largest record batch, after compression, that is accepted."),
	boolean("message.downconversion.enable", "false", "log.message.downconversion.enable", "Kept for other brokers: old message formats are not served."),
	number(TimestampAfter, Long, "9223372036854775807", "log.message.timestamp.after.max.ms", 0, maxLong, "How far a producer's timestamp may be ahead of the broker's clock."),
	number(TimestampBefore, Long, "9223372036854775807", "log.message.timestamp.before.max.ms", 0, maxLong, "How far a producer's timestamp may be behind the broker's clock."),
	choice(TimestampType, "CreateTime", "log.message.timestamp.type", "Whose timestamp a record carries.", "CreateTime", "LogAppendTime"),
	number(DirtyRatio, Double, "0.5", "log.cleaner.min.cleanable.ratio", 0, 1, "How much of a compacted topic must be new before it is compacted again."),
	number(MinCompactLag, Long, "0", "log.cleaner.min.compaction.lag.ms", 0, maxLong, "The shortest a record of a compacted topic stays uncompacted."),
	number("min.insync.replicas", Int, "1", "min.insync.replicas", 1, maxInt, "Kept for other brokers: there is one replica here."),
	boolean("preallocate", "false", "log.preallocate", "Kept for other brokers: the log is always allocated ahead."),
	boolean("remote.log.copy.disable", "false", "", "Kept for other brokers."),
	boolean("remote.log.delete.on.disable", "false", "", "Kept for other brokers."),
	boolean("remote.storage.enable", "false", "", "Kept for other brokers."),
	number(RetentionBytes, Long, "-1", "log.retention.bytes", -1, maxLong, "How many bytes a partition keeps; -1: no limit."),
	number(RetentionMs, Long, "604800000", "log.retention.ms", -1, maxLong, "How long a partition keeps records; -1: no limit."),
	number("segment.bytes", Int, "268435456", "log.segment.bytes", 14, maxInt, "Kept for other brokers: all topics share the log's segments."),
	number("segment.index.bytes", Int, "10485760", "log.index.size.max.bytes", 4, maxInt, "Kept for other brokers."),
	number("segment.jitter.ms", Long, "0", "log.roll.jitter.ms", 0, maxLong, "Kept for other brokers."),
	number("segment.ms", Long, "604800000", "log.roll.ms", 1, maxLong, "Kept for other brokers."),
	boolean("unclean.leader.election.enable", "false", "unclean.leader.election.enable", "Kept for other brokers."),
}

var keysByName = func() map[string]*Key {
	m := make(map[string]*Key, len(Keys))
	for i := range Keys {
		m[Keys[i].Name] = &Keys[i]
	}
	return m
}()

// LookupKey finds a key of the table; nil if there is none of that name.
func LookupKey(name string) *Key { return keysByName[name] }

// CheckSetting tells why a topic can't have the setting: the error wraps kerr.InvalidConfig.
func CheckSetting(name, value string) error {
	k := keysByName[name]
	if k == nil {
		return fmt.Errorf("unknown topic setting %q: %w", name, kerr.InvalidConfig)
	}
	return k.Check(value)
}

// Check tells why the key can't have the value: the error wraps kerr.InvalidConfig.
func (k *Key) Check(value string) error {
	bad := func(want string) error {
		return fmt.Errorf("setting %s=%q: want %s: %w", k.Name, value, want, kerr.InvalidConfig)
	}
	switch k.Type {
	case Boolean:
		if value != "true" && value != "false" {
			return bad("true or false")
		}
	case Int, Long:
		bits := 64
		if k.Type == Int {
			bits = 32
		}
		n, err := strconv.ParseInt(value, 10, bits)
		if err != nil || float64(n) < k.min || float64(n) > k.max {
			return bad(fmt.Sprintf("a whole number from %.0f to %s", k.min, k.largest()))
		}
	case Double:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n >= k.min && n <= k.max) {
			return bad(fmt.Sprintf("a number from %g to %g", k.min, k.max))
		}
	case String:
		if !k.allows(value) {
			return bad("one of " + strings.Join(k.oneOf, ", "))
		}
	case List:
		if len(k.oneOf) == 0 {
			return nil
		}
		for _, v := range strings.Split(value, ",") {
			if !k.allows(strings.TrimSpace(v)) {
				return bad("a list of " + strings.Join(k.oneOf, ", "))
			}
		}
	}
	return nil
}

// largest is the largest number the key can have; as a float it may not be exact.
func (k *Key) largest() string {
	if k.max >= maxLong {
		return strconv.Itoa(maxLong)
	}
	return strconv.FormatFloat(k.max, 'f', -1, 64)
}

func (k *Key) allows(v string) bool {
	for _, o := range k.oneOf {
		if o == v {
			return true
		}
	}
	return false
}
