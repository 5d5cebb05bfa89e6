package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// Batch is one RecordBatch v2 (KIP-98), header and records, as it came off the wire and as it is stored and served.
// Accessors assume at least HeaderSize bytes; Check proves that.
type Batch []byte

// HeaderSize is the size of a RecordBatch v2 header: everything before the records.
const HeaderSize = 61

// Uncovered is how many of the first bytes the batch's own CRC does not cover: base offset, length, leader epoch,
// magic and the CRC itself.
const Uncovered = 21

// Where the header's fields stand.
const (
	atBaseOffset = 0
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atCRC        = 17
	atAttributes = 21
	atLastDelta  = 23
	atBaseTime   = 27
	atMaxTime    = 35
	atProducerID = 43
	atProdEpoch  = 51
	atBaseSeq    = 53
	atCount      = 57
	lengthFrom   = 12 // the length field counts from here
)

// Bits of the attributes.
const (
	CodecMask     = 0x07
	AppendTimeBit = 0x08
	TxnBit        = 0x10
	ControlBit    = 0x20
	HorizonBit    = 0x40 // the base timestamp holds a delete horizon (KIP-534)
)

// Codec is a compression type.
type Codec uint8

// The codecs of Kafka.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

func (c Codec) String() string {
	return [...]string{"none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"}[c&CodecMask]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[atBaseOffset:])) }

// LastOffset is the offset of the last record, present or compacted away.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastDelta()) }

// Size is the batch's size in bytes as its length field states it.
func (b Batch) Size() int { return lengthFrom + int(int32(binary.BigEndian.Uint32(b[atLength:]))) }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[atEpoch:])) }

// Magic is the format; 2 is the only one served.
func (b Batch) Magic() int8 { return int8(b[atMagic]) }

// CRC is the CRC-32C as stored.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// Attributes are the batch's flag bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttributes:])) }

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & CodecMask) }

// AppendTime tells whether timestamps are the broker's.
func (b Batch) AppendTime() bool { return b.Attributes()&AppendTimeBit != 0 }

// Transactional tells whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes()&TxnBit != 0 }

// Control tells whether the batch holds a marker and not data.
func (b Batch) Control() bool { return b.Attributes()&ControlBit != 0 }

// LastDelta is the last record's offset less the base offset.
func (b Batch) LastDelta() int32 { return int32(binary.BigEndian.Uint32(b[atLastDelta:])) }

// BaseTime is the timestamp record deltas count from, Unix ms.
func (b Batch) BaseTime() int64 { return int64(binary.BigEndian.Uint64(b[atBaseTime:])) }

// MaxTime is the highest timestamp of the batch, Unix ms; with AppendTime it is every record's.
func (b Batch) MaxTime() int64 { return int64(binary.BigEndian.Uint64(b[atMaxTime:])) }

// ProducerID is the idempotent producer's id, -1 without one.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[atProducerID:])) }

// ProducerEpoch is the idempotent producer's epoch.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[atProdEpoch:])) }

// BaseSequence is the first record's sequence number, -1 without one.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[atBaseSeq:])) }

// LastSequence is the last record's sequence number; sequences wrap after 2147483647 to 0.
func (b Batch) LastSequence() int32 { return AddSequence(b.BaseSequence(), b.LastDelta()) }

// Count is the number of records stated. Never allocate by it.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[atCount:])) }

// AddSequence adds n to a sequence number, with the wrap of Kafka's clients.
func AddSequence(seq, n int32) int32 {
	return int32((int64(seq) + int64(n)) & 0x7fffffff)
}

// SumCRC computes the CRC-32C over what it covers.
func (b Batch) SumCRC() uint32 { return crc32.Checksum(b[Uncovered:], castagnoli) }

// SetBaseOffset patches the base offset in place (I2).
func (b Batch) SetBaseOffset(o int64) { binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(o)) }

// SetLeaderEpoch patches the leader epoch in place (I2).
func (b Batch) SetLeaderEpoch(e int32) { binary.BigEndian.PutUint32(b[atEpoch:], uint32(e)) }

// SetAppendTime makes ms every record's timestamp and redoes the CRC (I2).
func (b Batch) SetAppendTime(ms int64) {
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(b.Attributes()|AppendTimeBit))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(ms))
	binary.BigEndian.PutUint32(b[atCRC:], b.SumCRC())
}
