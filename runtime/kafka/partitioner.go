package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// ByKey marks a record whose partition is chosen by its key.
const ByKey int32 = -1

// partitioner keeps the partition a record names and otherwise chooses as Java's default partitioner does (murmur2 of the
// key, sticky without one), so that keys live in the same places whoever writes them.
type partitioner struct{ byKey kgo.Partitioner }

type topicPartitioner struct{ kgo.TopicPartitioner }

func newPartitioner() kgo.Partitioner { return partitioner{kgo.StickyKeyPartitioner(nil)} }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{p.byKey.ForTopic(topic)}
}

func (p topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.TopicPartitioner.RequiresConsistency(r)
}

func (p topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

// OnNewBatch keeps the inner partitioner sticky.
func (p topicPartitioner) OnNewBatch() {
	if o, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		o.OnNewBatch()
	}
}
