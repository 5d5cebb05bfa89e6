package batch

import (
	"encoding/binary"
	"fmt"
)

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil: null
}

// Record is one whole record.
type Record struct {
	Time       int64  // Unix ms
	Key, Value []byte // nil: null
	Headers    []Header
}

// Builder makes a batch out of records: for what the broker itself appends, and for tests. The zero value has no
// producer id.
type Builder struct {
	Codec         Codec
	Transactional bool
	Control       bool

	pid      int64
	epoch    int16
	seq      int32
	producer bool

	body     []byte
	n        int32
	base, mx int64
}

// Producer makes the batch an idempotent producer's.
func (bd *Builder) Producer(id int64, epoch int16, firstSeq int32) *Builder {
	bd.pid, bd.epoch, bd.seq, bd.producer = id, epoch, firstSeq, true
	return bd
}

// Add appends a record.
func (bd *Builder) Add(r Record) *Builder {
	if bd.n == 0 {
		bd.base, bd.mx = r.Time, r.Time
	}
	bd.mx = max(bd.mx, r.Time)
	rec := make([]byte, 1, 32+len(r.Key)+len(r.Value))
	rec = binary.AppendVarint(rec, r.Time-bd.base)
	rec = binary.AppendVarint(rec, int64(bd.n))
	rec = appendBytes(rec, r.Key)
	rec = appendBytes(rec, r.Value)
	rec = binary.AppendVarint(rec, int64(len(r.Headers)))
	for _, h := range r.Headers {
		rec = binary.AppendVarint(rec, int64(len(h.Key)))
		rec = append(rec, h.Key...)
		rec = appendBytes(rec, h.Value)
	}
	bd.body = binary.AppendVarint(bd.body, int64(len(rec)))
	bd.body = append(bd.body, rec...)
	bd.n++
	return bd
}

func appendBytes(to, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(to, -1)
	}
	to = binary.AppendVarint(to, int64(len(b)))
	return append(to, b...)
}

// Build returns the batch with base offset 0 and leader epoch -1. It needs at least one record.
func (bd *Builder) Build() (Batch, error) {
	if bd.n == 0 {
		return nil, fmt.Errorf("building a record batch: it has no records")
	}
	body, err := compress(bd.Codec, bd.body)
	if err != nil {
		return nil, fmt.Errorf("building a record batch: %w", err)
	}
	b := make(Batch, HeaderSize, HeaderSize+len(body))
	attrs := int16(bd.Codec)
	if bd.Transactional {
		attrs |= TxnBit
	}
	if bd.Control {
		attrs |= ControlBit
	}
	pid, epoch, seq := int64(-1), int16(-1), int32(-1)
	if bd.producer {
		pid, epoch, seq = bd.pid, bd.epoch, bd.seq
	}
	binary.BigEndian.PutUint32(b[atLength:], uint32(HeaderSize-lengthFrom+len(body)))
	b.SetLeaderEpoch(-1)
	b[atMagic] = supportedMagic
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(attrs))
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(bd.n-1))
	binary.BigEndian.PutUint64(b[atBaseTime:], uint64(bd.base))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(bd.mx))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(pid))
	binary.BigEndian.PutUint16(b[atProdEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(b[atBaseSeq:], uint32(seq))
	binary.BigEndian.PutUint32(b[atCount:], uint32(bd.n))
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[atCRC:], b.SumCRC())
	return b, nil
}
