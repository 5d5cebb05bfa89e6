package txn

import (
	"fmt"

	"github.com/penstockio/penstock/broker/machine"
)

const recordVersion = 1

// encodeBlock gives the payload of a KindProducer frame: message Block {end=1}, the first id not granted.
func encodeBlock(end int64) []byte {
	return machine.AppendUint([]byte{recordVersion}, 1, uint64(end))
}

func decodeBlock(payload []byte) (end int64, err error) {
	m, err := machine.Open(payload, recordVersion)
	if err == nil {
		err = machine.Walk(m, func(f machine.Field) error {
			if f.Number == 1 {
				end = int64(f.Value)
			}
			return nil
		})
	}
	if err == nil && end <= 0 {
		err = fmt.Errorf("the block ends at %d", end)
	}
	if err != nil {
		return 0, fmt.Errorf("decoding a block of producer ids: %w", err)
	}
	return end, nil
}

// Identity is what a transactional id stands for.
type Identity struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	LastEpoch       int16 // the one before, -1 if none: a repeated request for the step from it gets the same answer
	TimeoutMs       int32

	unknown []byte // fields of a later version
}

// encode gives the payload of a KindTxn frame: message Identity {id=1, producer=2, epoch=3, last epoch+1=4, timeout=5}.
func (r *Identity) encode() []byte {
	b := machine.AppendString([]byte{recordVersion}, 1, r.TransactionalID)
	b = machine.AppendUint(b, 2, uint64(r.ProducerID))
	b = machine.AppendUint(b, 3, uint64(r.Epoch))
	b = machine.AppendUint(b, 4, uint64(r.LastEpoch+1))
	b = machine.AppendUint(b, 5, uint64(r.TimeoutMs))
	return append(b, r.unknown...)
}

func decodeIdentity(payload []byte) (*Identity, error) {
	r := &Identity{LastEpoch: -1}
	m, err := machine.Open(payload, recordVersion)
	if err == nil {
		err = machine.Walk(m, func(f machine.Field) error {
			switch f.Number {
			case 1:
				r.TransactionalID = string(f.Bytes)
			case 2:
				r.ProducerID = int64(f.Value)
			case 3:
				r.Epoch = int16(f.Value)
			case 4:
				r.LastEpoch = int16(f.Value) - 1
			case 5:
				r.TimeoutMs = int32(f.Value)
			default:
				r.unknown = append(r.unknown, f.Raw...)
			}
			return nil
		})
	}
	if err == nil && r.TransactionalID == "" {
		err = fmt.Errorf("no id")
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a transactional id: %w", err)
	}
	return r, nil
}
