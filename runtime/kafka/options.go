package kafka

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// setting turns one Kafka client key into options. A key that is not listed is accepted and has no effect, as unknown
// keys have in Java clients.
type setting func(v string) ([]kgo.Opt, error)

// commonSettings hold for every client of a worker, unless its role says otherwise.
var commonSettings = map[string]setting{
	"metadata.max.age.ms": millis(func(d time.Duration) kgo.Opt { return kgo.MetadataMaxAge(max(d, time.Second)) }),
	"request.timeout.ms": number(100, math.MaxInt32, func(n int64) kgo.Opt {
		return kgo.RequestTimeoutOverhead(min(time.Duration(n)*time.Millisecond, mostTimeout))
	}),
	"connections.max.idle.ms": number(-1, math.MaxInt32, func(n int64) kgo.Opt {
		d := time.Duration(n) * time.Millisecond
		if n < 0 {
			d = mostTimeout // Kafka's never
		}
		return kgo.ConnIdleTimeout(min(max(d, time.Second), mostTimeout))
	}),
}

// mostTimeout is the longest the client library takes.
const mostTimeout = 15 * time.Minute

var producerSettings = map[string]setting{
	"acks": func(v string) ([]kgo.Opt, error) {
		switch v {
		case "all", "-1":
			return []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks())}, nil
		case "1":
			return []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()}, nil
		case "0":
			return []kgo.Opt{kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()}, nil
		}
		return nil, fmt.Errorf("must be all, -1, 1 or 0")
	},
	"enable.idempotence": func(v string) ([]kgo.Opt, error) {
		on, err := strconv.ParseBool(v)
		if err != nil || on {
			return nil, err
		}
		return []kgo.Opt{kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1)}, nil
	},
	"linger.ms":           millis(func(d time.Duration) kgo.Opt { return kgo.ProducerLinger(d) }),
	"batch.size":          number(512, 1<<30, func(n int64) kgo.Opt { return kgo.ProducerBatchMaxBytes(int32(n)) }),
	"max.request.size":    number(512, 1<<30, func(n int64) kgo.Opt { return kgo.ProducerBatchMaxBytes(int32(n)) }),
	"buffer.memory":       number(1, math.MaxInt32, func(n int64) kgo.Opt { return kgo.MaxBufferedBytes(int(n)) }),
	"delivery.timeout.ms": millis(func(d time.Duration) kgo.Opt { return kgo.RecordDeliveryTimeout(d) }),
	"request.timeout.ms":  millis(func(d time.Duration) kgo.Opt { return kgo.ProduceRequestTimeout(d) }),
	"compression.type": func(v string) ([]kgo.Opt, error) {
		codecs := map[string]kgo.CompressionCodec{
			"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
			"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
		}
		c, ok := codecs[v]
		if !ok {
			return nil, fmt.Errorf("must be none, gzip, snappy, lz4 or zstd")
		}
		return []kgo.Opt{kgo.ProducerBatchCompression(c)}, nil
	},
}

var consumerSettings = map[string]setting{
	"auto.offset.reset": func(v string) ([]kgo.Opt, error) {
		at := map[string]kgo.Offset{
			"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(), "none": kgo.NoResetOffset(),
		}
		o, ok := at[v]
		if !ok {
			return nil, fmt.Errorf("must be earliest, latest or none")
		}
		start := o
		if v == "none" {
			start = kgo.NewOffset().AtStart()
		}
		return []kgo.Opt{kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(o)}, nil
	},
	"isolation.level": func(v string) ([]kgo.Opt, error) {
		switch v {
		case "read_committed":
			return []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadCommitted())}, nil
		case "read_uncommitted":
			return nil, nil
		}
		return nil, fmt.Errorf("must be read_committed or read_uncommitted")
	},
	"fetch.max.bytes":           number(1, math.MaxInt32, func(n int64) kgo.Opt { return kgo.FetchMaxBytes(int32(n)) }),
	"fetch.min.bytes":           number(1, math.MaxInt32, func(n int64) kgo.Opt { return kgo.FetchMinBytes(int32(n)) }),
	"max.partition.fetch.bytes": number(1, math.MaxInt32, func(n int64) kgo.Opt { return kgo.FetchMaxPartitionBytes(int32(n)) }),
	"fetch.max.wait.ms":         millis(func(d time.Duration) kgo.Opt { return kgo.FetchMaxWait(d) }),
	"session.timeout.ms":        millis(func(d time.Duration) kgo.Opt { return kgo.SessionTimeout(d) }),
	"heartbeat.interval.ms":     millis(func(d time.Duration) kgo.Opt { return kgo.HeartbeatInterval(d) }),
	"metadata.max.age.ms":       millis(func(d time.Duration) kgo.Opt { return kgo.MetadataMaxAge(max(d, time.Second)) }),
	"max.poll.interval.ms":      millis(func(d time.Duration) kgo.Opt { return kgo.RebalanceTimeout(d) }),
}

func producerOpts(props map[string]string) ([]kgo.Opt, error) {
	return options(producerSettings, props)
}

func consumerOpts(props map[string]string) ([]kgo.Opt, error) {
	return options(consumerSettings, props)
}

func options(table map[string]setting, props map[string]string) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	for k, v := range props {
		s, ok := table[k]
		if !ok {
			continue
		}
		o, err := s(v)
		if err != nil {
			return nil, fmt.Errorf("invalid value %q for configuration %s: %w", v, k, err)
		}
		opts = append(opts, o...)
	}
	return opts, nil
}

func millis(f func(time.Duration) kgo.Opt) setting {
	return number(0, math.MaxInt32, func(n int64) kgo.Opt { return f(time.Duration(n) * time.Millisecond) })
}

func number(lo, hi int64, f func(int64) kgo.Opt) setting {
	return func(v string) ([]kgo.Opt, error) {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < lo || n > hi {
			return nil, fmt.Errorf("must be a whole number from %d to %d", lo, hi)
		}
		return []kgo.Opt{f(n)}, nil
	}
}
