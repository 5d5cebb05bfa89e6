package txn

import (
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/topic"
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

// Partition is one partition in a transaction, with the queue behind it.
type Partition struct {
	Topic     topic.ID
	Partition int32
	Queue     queue.ID
}

// Record is all there is to know of a transactional id.
type Record struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	LastProducer    int64 // the producer id before this one, whose epochs were used up; -1 if none
	LastEpoch       int16 // the epoch its holder raised, -1 if none: a repeated request for that step gets the same answer
	TimeoutMs       int32
	State           State
	Partitions      []Partition // of the open or decided transaction
	Groups          []string
	Started         int64 // of the open or decided transaction, Unix ms
	Updated         int64 // Unix ms

	deleted bool
	unknown []byte // fields of a later version
}

// encode gives the payload of a KindTxn frame: message Txn {id=1, producer=2, epoch=3, last epoch+1=4, timeout=5, state=6,
// repeated Partition {topic=1, partition=2, queue=3} partition=7, repeated group=8, started=9, updated=10, last
// producer+1=11, deleted=12}.
func (r *Record) encode() []byte {
	b := machine.AppendString([]byte{recordVersion}, 1, r.TransactionalID)
	if r.deleted {
		return machine.AppendBool(b, 12, true)
	}
	b = machine.AppendUint(b, 2, uint64(r.ProducerID))
	b = machine.AppendUint(b, 3, uint64(r.Epoch))
	b = machine.AppendUint(b, 4, uint64(r.LastEpoch+1))
	b = machine.AppendUint(b, 5, uint64(r.TimeoutMs))
	b = machine.AppendUint(b, 6, uint64(r.State))
	var m []byte
	for _, p := range r.Partitions {
		m = machine.AppendBytes(m[:0], 1, p.Topic[:])
		m = machine.AppendUint(m, 2, uint64(p.Partition))
		m = machine.AppendUint(m, 3, uint64(p.Queue))
		b = machine.AppendBytes(b, 7, m)
	}
	for _, g := range r.Groups {
		b = machine.AppendBytes(b, 8, []byte(g))
	}
	b = machine.AppendUint(b, 9, uint64(r.Started))
	b = machine.AppendUint(b, 10, uint64(r.Updated))
	b = machine.AppendUint(b, 11, uint64(r.LastProducer+1))
	return append(b, r.unknown...)
}

func decodeRecord(payload []byte) (*Record, error) {
	r := &Record{LastEpoch: -1, LastProducer: -1}
	m, err := machine.Open(payload, recordVersion)
	if err == nil {
		err = machine.Walk(m, r.field)
	}
	switch {
	case err != nil:
	case r.TransactionalID == "":
		err = errors.New("no id")
	case !r.deleted && (r.ProducerID < 0 || r.Epoch < 0):
		err = fmt.Errorf("producer %d with epoch %d", r.ProducerID, r.Epoch)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a transactional id: %w", err)
	}
	return r, nil
}

func (r *Record) field(f machine.Field) error {
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
	case 6:
		if f.Value >= uint64(len(stateNames)) {
			return fmt.Errorf("state %d, which this program does not know", f.Value)
		}
		r.State = State(f.Value)
	case 7:
		p, err := decodePartition(f.Bytes)
		r.Partitions = append(r.Partitions, p)
		return err
	case 8:
		r.Groups = append(r.Groups, string(f.Bytes))
	case 9:
		r.Started = int64(f.Value)
	case 10:
		r.Updated = int64(f.Value)
	case 11:
		r.LastProducer = int64(f.Value) - 1
	case 12:
		r.deleted = f.Value != 0
	default:
		r.unknown = append(r.unknown, f.Raw...)
	}
	return nil
}

func decodePartition(b []byte) (p Partition, err error) {
	err = machine.Walk(b, func(f machine.Field) error {
		switch f.Number {
		case 1:
			if len(f.Bytes) != len(p.Topic) {
				return fmt.Errorf("a topic id of %d bytes", len(f.Bytes))
			}
			copy(p.Topic[:], f.Bytes)
		case 2:
			p.Partition = int32(f.Value)
		case 3:
			p.Queue = queue.ID(f.Value)
		}
		return nil
	})
	return p, err
}
