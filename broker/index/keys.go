package index

import "encoding/binary"

// CheckpointKey is the one key of the checkpoint.
func CheckpointKey() []byte { return []byte{byte(PrefixCheckpoint)} }

func queueKey(p Prefix, q uint32) []byte {
	b := make([]byte, 5, 21)
	b[0] = byte(p)
	binary.BigEndian.PutUint32(b[1:], q)
	return b
}

// BatchKey is the key of the batch whose last offset is last: a seek to an offset lands on the batch that holds it,
// or on the next one.
func BatchKey(q uint32, last int64) []byte {
	return binary.BigEndian.AppendUint64(queueKey(PrefixBatch, q), uint64(last))
}

// BatchLast is the last offset in a batch's key.
func BatchLast(key []byte) (q uint32, last int64) {
	return binary.BigEndian.Uint32(key[1:]), int64(binary.BigEndian.Uint64(key[5:]))
}

// HeadKey is the key of a queue's head.
func HeadKey(q uint32) []byte { return queueKey(PrefixHead, q) }

// HeadQueue is the queue of a head's key.
func HeadQueue(key []byte) uint32 { return binary.BigEndian.Uint32(key[1:]) }

// ProducerKey is the key of a producer's state in a queue.
func ProducerKey(q uint32, id int64) []byte {
	return binary.BigEndian.AppendUint64(queueKey(PrefixProducer, q), uint64(id))
}

// ProducerID is the producer of a producer's key.
func ProducerID(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[5:])) }

// EpochKey is the key of the start of a leader epoch.
func EpochKey(q uint32, epoch int32) []byte {
	return binary.BigEndian.AppendUint32(queueKey(PrefixEpoch, q), uint32(epoch))
}

// EpochOf is the epoch of an epoch's key.
func EpochOf(key []byte) int32 { return int32(binary.BigEndian.Uint32(key[5:])) }

// AbortedKey is the key of an aborted transaction, by the offset of its marker.
func AbortedKey(q uint32, marker int64) []byte {
	return binary.BigEndian.AppendUint64(queueKey(PrefixAborted, q), uint64(marker))
}

// OpenKey is the key of an open transaction, by its first offset in the queue.
func OpenKey(q uint32, first int64) []byte {
	return binary.BigEndian.AppendUint64(queueKey(PrefixOpen, q), uint64(first))
}

// KeyOffset is the queue and offset in the key of an aborted or open transaction.
func KeyOffset(key []byte) (q uint32, offset int64) { return BatchLast(key) }

// QueueRange bounds the keys of one queue under a prefix.
func QueueRange(p Prefix, q uint32) (from, to []byte) {
	from = queueKey(p, q)
	if q == ^uint32(0) {
		return from, []byte{byte(p) + 1}
	}
	return from, queueKey(p, q+1)
}

// PrefixRange bounds all keys of a prefix.
func PrefixRange(p Prefix) (from, to []byte) { return []byte{byte(p)}, []byte{byte(p) + 1} }

// AppendBatchKey appends a batch's key to b.
func AppendBatchKey(b []byte, q uint32, last int64) []byte {
	b = append(b, byte(PrefixBatch))
	b = binary.BigEndian.AppendUint32(b, q)
	return binary.BigEndian.AppendUint64(b, uint64(last))
}
