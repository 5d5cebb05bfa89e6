package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Error codes of the Kafka protocol that a batch can be refused with.
const (
	CodeCorruptMessage    int16 = 2
	CodeMessageTooLarge   int16 = 10
	CodeInvalidTimestamp  int16 = 32
	CodeInvalidTxnState   int16 = 48
	CodeInvalidProducerID int16 = 49
	CodeUnsupportedCodec  int16 = 76
	CodeInvalidRecord     int16 = 87
	noRecord                    = -1
	supportedMagic              = 2
	highestCodec          Codec = Zstd
	defaultMaxBytes             = 1048588 // Kafka's default of message.max.bytes
)

// Error says why a batch was refused. Code is the number the Kafka protocol answers with.
type Error struct {
	Code   int16
	Record int // index of the record at fault, -1: the batch as a whole
	Reason string
}

func (e *Error) Error() string {
	if e.Record >= 0 {
		return fmt.Sprintf("record %d of the batch: %s", e.Record, e.Reason)
	}
	return "record batch: " + e.Reason
}

func refuse(code int16, format string, a ...any) *Error {
	return &Error{Code: code, Record: noRecord, Reason: fmt.Sprintf(format, a...)}
}

// Rules are a queue's demands on what is appended. The zero value is Kafka's defaults for a topic that keeps the
// producer's timestamps.
type Rules struct {
	MaxBytes   int   // largest batch (max.message.bytes); 0: 1048588
	AppendTime bool  // the queue sets timestamps itself
	Compacted  bool  // every record needs a key
	NoZstd     bool  // the request is older than Produce 7
	Trusted    bool  // from the broker itself: control batches and base offsets are allowed
	Txn        bool  // the request names a transactional id
	LatestTime int64 // highest timestamp allowed, Unix ms; 0: no limit
}

// Check proves that p is exactly one acceptable batch and returns it, without copying (I1). The error is an *Error.
// Records of compressed batches are looked into only for compacted queues.
func Check(p []byte, r Rules) (Batch, error) {
	b := Batch(p)
	if err := checkShape(b, r); err != nil {
		return nil, err
	}
	if err := checkHeader(b, r); err != nil {
		return nil, err
	}
	if r.Compacted || b.Codec() == None {
		if err := checkRecords(b, r); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func checkShape(b Batch, r Rules) error {
	if len(b) > atMagic && b.Magic() != supportedMagic {
		return refuse(CodeInvalidRecord, "magic %d is not supported, only %d (Kafka 0.11 and later) is", b.Magic(), supportedMagic)
	}
	if len(b) < HeaderSize {
		return refuse(CodeCorruptMessage, "%d bytes are less than a header of %d", len(b), HeaderSize)
	}
	if n := int64(int32(binary.BigEndian.Uint32(b[atLength:]))) + lengthFrom; n != int64(len(b)) {
		if n >= HeaderSize && n < int64(len(b)) {
			return refuse(CodeInvalidRecord, "%d bytes hold more than the one batch of %d allowed", len(b), n)
		}
		return refuse(CodeCorruptMessage, "its length field says %d bytes, there are %d", n, len(b))
	}
	if !r.Trusted && b.BaseOffset() != 0 {
		return refuse(CodeInvalidRecord, "base offset %d must be 0 when appended", b.BaseOffset())
	}
	limit := r.MaxBytes
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	if len(b) > limit {
		return refuse(CodeMessageTooLarge, "%d bytes are more than max.message.bytes=%d", len(b), limit)
	}
	if sum := b.SumCRC(); sum != b.CRC() {
		return refuse(CodeCorruptMessage, "its CRC is %08x, its bytes have %08x", b.CRC(), sum)
	}
	return nil
}

func checkHeader(b Batch, r Rules) error {
	if b.Codec() > highestCodec {
		return refuse(CodeUnsupportedCodec, "compression type %d is unknown", b.Codec())
	}
	if b.Codec() == Zstd && r.NoZstd {
		return refuse(CodeUnsupportedCodec, "zstd needs Produce version 7 or later")
	}
	if b.Count() <= 0 || b.LastDelta() < 0 || b.LastDelta() == math.MaxInt32 || b.LastDelta()+1 != b.Count() {
		return refuse(CodeInvalidRecord, "%d records do not fit a last offset delta of %d", b.Count(), b.LastDelta())
	}
	if b.Control() && !r.Trusted {
		return refuse(CodeInvalidRecord, "clients may not write control batches")
	}
	if b.ProducerID() >= 0 && b.BaseSequence() < 0 && !b.Control() {
		return refuse(CodeInvalidRecord, "producer %d gave no sequence number", b.ProducerID())
	}
	if b.Transactional() && !r.Trusted {
		if b.ProducerID() < 0 {
			return refuse(CodeInvalidProducerID, "it is transactional but has no producer id")
		}
		if !r.Txn {
			return refuse(CodeInvalidTxnState, "it is transactional but the request names no transactional id")
		}
	}
	if b.AppendTime() && !r.AppendTime {
		return refuse(CodeInvalidTimestamp, "it claims append time, but the topic keeps the producer's timestamps")
	}
	if r.LatestTime != 0 && !r.AppendTime && b.MaxTime() > r.LatestTime {
		return refuse(CodeInvalidTimestamp, "timestamp %d is later than the %d allowed", b.MaxTime(), r.LatestTime)
	}
	return nil
}

// checkRecords walks all records: their number, offset deltas, and keys where the queue wants them.
func checkRecords(b Batch, r Rules) error {
	n := int32(0)
	err := b.Walk(func(rec Meta) error {
		if rec.OffsetDelta != n {
			return &Error{CodeInvalidRecord, int(n), fmt.Sprintf("its offset delta is %d", rec.OffsetDelta)}
		}
		if r.Compacted && !rec.HasKey && !b.Control() {
			return &Error{CodeInvalidRecord, int(n), "a compacted topic takes no record without a key"}
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	if n != b.Count() {
		return refuse(CodeInvalidRecord, "it holds %d records, its header says %d", n, b.Count())
	}
	return nil
}
