package connectpb

import (
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of PartitionOffset.
const (
	offsetTopic     protowire.Number = 1
	offsetPartition protowire.Number = 2
	offsetOffset    protowire.Number = 3
)

// append encodes n as an element of Batch.next.
func (n *NextOffset) append(b []byte) []byte {
	size := 0
	if n.Topic != "" {
		size += protowire.SizeTag(offsetTopic) + protowire.SizeBytes(len(n.Topic))
	}
	if n.Partition != 0 {
		size += protowire.SizeTag(offsetPartition) + protowire.SizeVarint(uint64(n.Partition))
	}
	if n.Offset != 0 {
		size += protowire.SizeTag(offsetOffset) + protowire.SizeVarint(uint64(n.Offset))
	}
	b = protowire.AppendTag(b, batchNext, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	if n.Topic != "" {
		b = protowire.AppendTag(b, offsetTopic, protowire.BytesType)
		b = protowire.AppendString(b, n.Topic)
	}
	if n.Partition != 0 {
		b = protowire.AppendTag(b, offsetPartition, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(n.Partition))
	}
	if n.Offset != 0 {
		b = protowire.AppendTag(b, offsetOffset, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(n.Offset))
	}
	return b
}

var errNotUTF8 = errors.New("a topic is not UTF-8")

// parse reads a PartitionOffset over whatever n was before.
func (n *NextOffset) parse(b []byte) error {
	var topic []byte
	n.Partition, n.Offset = 0, 0
	for len(b) > 0 {
		num, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			return protowire.ParseError(k)
		}
		b = b[k:]
		switch {
		case num == offsetTopic && typ == protowire.BytesType:
			topic, k = protowire.ConsumeBytes(b)
		case (num == offsetPartition || num == offsetOffset) && typ == protowire.VarintType:
			var u uint64
			u, k = protowire.ConsumeVarint(b)
			if num == offsetPartition {
				n.Partition = int32(u)
			} else {
				n.Offset = int64(u)
			}
		default:
			k = protowire.ConsumeFieldValue(num, typ, b)
		}
		if k < 0 {
			return protowire.ParseError(k)
		}
		b = b[k:]
	}
	if n.Topic != string(topic) {
		if !utf8.Valid(topic) {
			return errNotUTF8
		}
		n.Topic = string(topic)
	}
	return nil
}
