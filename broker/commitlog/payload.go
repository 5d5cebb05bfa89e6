package commitlog

import (
	"encoding/binary"
	"errors"

	"github.com/penstockio/penstock/broker/batch"
)

// Reason says why a log was opened for writing.
type Reason uint8

// Reasons of an epoch frame.
const (
	ReasonStart Reason = iota + 1
	ReasonPromote
	ReasonRestore
	ReasonRepair
)

// EpochRecord is the payload of an epoch frame: the table of (epoch, start) can be derived from these alone.
type EpochRecord struct {
	Epoch, Previous uint32
	PreviousEnd     int64 // where the log ended, all of it synced, when the epoch began
	Node            [16]byte
	Reason          Reason
	History         uint32
}

const (
	epochRecordSize = 4 + 4 + 8 + 16 + 1 + 4
	epochVersion    = 1
)

// AppendTo encodes the record after its version byte.
func (e *EpochRecord) AppendTo(b []byte) []byte {
	b = append(b, epochVersion)
	b = binary.BigEndian.AppendUint32(b, e.Epoch)
	b = binary.BigEndian.AppendUint32(b, e.Previous)
	b = binary.BigEndian.AppendUint64(b, uint64(e.PreviousEnd))
	b = append(b, e.Node[:]...)
	b = append(b, byte(e.Reason))
	return binary.BigEndian.AppendUint32(b, e.History)
}

// DecodeEpoch is the reverse; bytes added by later versions are passed over.
func DecodeEpoch(b []byte) (EpochRecord, error) {
	var e EpochRecord
	if len(b) < 1+epochRecordSize || b[0] == 0 {
		return e, errors.New("decoding an epoch frame: it is too short")
	}
	b = b[1:]
	e.Epoch, e.Previous = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	e.PreviousEnd = int64(binary.BigEndian.Uint64(b[8:]))
	copy(e.Node[:], b[16:32])
	e.Reason = Reason(b[32])
	e.History = binary.BigEndian.Uint32(b[33:])
	return e, nil
}

const syncedSize = 8

// stated gives the position a frame states as synced, -1 if it states none.
func stated(h *header, payload []byte) int64 {
	switch {
	case h.kind == KindSynced && len(payload) == syncedSize:
		return int64(binary.BigEndian.Uint64(payload))
	case h.kind == KindEpoch:
		if e, err := DecodeEpoch(payload); err == nil {
			return e.PreviousEnd
		}
	}
	return -1
}

// Ref is one place in a queue that a copied batch stands for.
type Ref struct {
	Queue   uint32
	Base    int64
	MaxTime int64 // the queue's running maximum, as the index has it
	Time    int64 // append time of the frame it was copied from
}

// Copied is the payload of a copied frame: the places, and the batch with the base offset of the first.
type Copied struct {
	Refs  []Ref
	Batch batch.Batch
}

// A copied frame's payload is a version byte, a byte of zero, the number of places (2 bytes), the batch's size (4), the
// places of 28 bytes, and the batch. This version writes one place a frame.
const (
	copiedVersion = 1
	copiedHeader  = 8
	copiedRef     = 28
)

// CopiedSize is the payload's size of a copied batch of n bytes with one place.
func CopiedSize(n int) int { return copiedHeader + copiedRef + n }

// AppendCopied encodes a copied batch.
func AppendCopied(b []byte, c *Copied) []byte {
	b = append(b, copiedVersion, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.Refs)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Batch)))
	for _, r := range c.Refs {
		b = binary.BigEndian.AppendUint32(b, r.Queue)
		for _, v := range []int64{r.Base, r.MaxTime, r.Time} {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
	}
	return append(b, c.Batch...)
}

// DecodeCopied is the reverse; the batch is part of b.
func DecodeCopied(b []byte) (Copied, error) {
	bad := func(why string) (Copied, error) { return Copied{}, errors.New("decoding a copied batch: " + why) }
	if len(b) < copiedHeader || b[0] != copiedVersion || b[1] != 0 {
		return bad("its version is not known")
	}
	n, size := int(binary.BigEndian.Uint16(b[2:])), int(binary.BigEndian.Uint32(b[4:]))
	if b = b[copiedHeader:]; n == 0 || size < batch.HeaderSize || len(b) != n*copiedRef+size {
		return bad("its sizes do not fit")
	}
	c := Copied{Refs: make([]Ref, n), Batch: batch.Batch(b[n*copiedRef:])}
	for i := range c.Refs {
		num := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[i*copiedRef+at:])) }
		c.Refs[i] = Ref{Queue: binary.BigEndian.Uint32(b[i*copiedRef:]), Base: num(4), MaxTime: num(12), Time: num(20)}
	}
	if c.Batch.Size() != size {
		return bad("its batch has another length")
	}
	return c, nil
}
