package topic

import (
	"strconv"
	"strings"

	"github.com/penstockio/penstock/broker/store"
)

// Config is a topic's settings, resolved against the broker's defaults, in the form the broker uses.
type Config struct {
	MaxMessageBytes int
	AppendTime      bool
	TimestampAfter  int64 // ms
	TimestampBefore int64 // ms
	Compact, Delete bool
	RetentionMs     int64
	RetentionBytes  int64
	MinLagMs        int64 // of compaction
	MaxLagMs        int64
	TombstoneMs     int64
	Dirty           float64
}

// Defaults gives a topic setting's value where the topic has none of its own.
type Defaults struct{ broker map[string]string }

// NewDefaults takes the broker's settings by their Kafka names; those that are no topic's default are ignored.
func NewDefaults(broker map[string]string) Defaults { return Defaults{broker: broker} }

// Get gives the default of a key, and whether the broker's settings gave it.
func (d Defaults) Get(k *Key) (value string, static bool) {
	if v, ok := d.broker[k.Broker]; ok && k.Broker != "" && k.Check(v) == nil {
		return v, true
	}
	return k.Default, false
}

func (d Defaults) resolve(settings map[string]string) Config {
	get := func(name string) string {
		if v, ok := settings[name]; ok {
			return v
		}
		v, _ := d.Get(keysByName[name])
		return v
	}
	// Values were checked on their way in, and a setting that no longer parses counts as zero rather than stop a start.
	num := func(name string) int64 { n, _ := strconv.ParseInt(get(name), 10, 64); return n }
	ratio, _ := strconv.ParseFloat(get(DirtyRatio), 64)
	policy := get(CleanupPolicy)
	return Config{
		MaxMessageBytes: int(num(MaxMessageBytes)),
		AppendTime:      get(TimestampType) == "LogAppendTime",
		TimestampAfter:  num(TimestampAfter),
		TimestampBefore: num(TimestampBefore),
		Compact:         strings.Contains(policy, "compact"),
		Delete:          strings.Contains(policy, "delete"),
		RetentionMs:     num(RetentionMs),
		RetentionBytes:  num(RetentionBytes),
		MinLagMs:        num(MinCompactLag),
		MaxLagMs:        num(MaxCompactLag),
		TombstoneMs:     num(DeleteRetention),
		Dirty:           ratio,
	}
}

// policy is what the store must know of the settings.
func (c Config) policy() store.Policy {
	return store.Policy{
		AppendTime:     c.AppendTime,
		RetentionMs:    c.RetentionMs,
		RetentionBytes: c.RetentionBytes,
		Compact:        c.Compact,
		Delete:         c.Delete,
		MinLagMs:       c.MinLagMs,
		MaxLagMs:       c.MaxLagMs,
		TombstoneMs:    c.TombstoneMs,
		Dirty:          int32(c.Dirty * 1000),
	}
}
