package kafka

import (
	"math"
	"time"
)

// Endpoint is a host and port as clients are told.
type Endpoint struct {
	Host string
	Port int32
}

// Limits bound what the peers of one listener can use.
type Limits struct {
	Connections   int           // at once
	FrameBytes    int32         // largest request
	InFlight      int           // requests under way on one connection
	InFlightBytes int64         // bytes of requests under way on one connection; one larger request goes alone
	Handshake     time.Duration // until the first request is complete
	Idle          time.Duration // without a byte and without a request under way
	Write         time.Duration // for 256 KiB of an answer
}

// DefaultLimits are those of a listener that sets none.
func DefaultLimits() Limits {
	return Limits{
		Connections:   10_000,
		FrameBytes:    100 << 20,
		InFlight:      64,
		InFlightBytes: 32 << 20,
		Handshake:     30 * time.Second,
		Idle:          10 * time.Minute,
		Write:         time.Minute,
	}
}

// BrokerSetting is a setting of the broker as DescribeConfigs shows it.
type BrokerSetting struct {
	Name    string
	Value   string
	Default string
	Type    int8 // as topic.Type
	Doc     string
	Set     bool // given by the user
}

// Config is what the server must know of the broker.
type Config struct {
	NodeID        int32
	ClusterID     string
	DataDir       string // as DescribeLogDirs shows it
	AutoCreate    bool   // auto.create.topics.enable
	Partitions    int32  // num.partitions
	ClampReplicas bool   // replication.factor.clamp: accept any replication factor and make one replica
	FetchBytes    int    // largest answer to a Fetch, whatever it asks for
	MaxOffsetMeta int    // offset.metadata.max.bytes
	Settings      []BrokerSetting
	Advertised    func(listener string) Endpoint // where clients of a listener find this broker
}

const (
	defaultFetchBytes = 64 << 20
	noTimestampLimit  = math.MaxInt64
	noAuthOperations  = math.MinInt32 // "not asked for" in answers that carry authorized operations
)
