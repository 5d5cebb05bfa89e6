package commitlog

import (
	"encoding/binary"
	"errors"
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
