package queue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/batch"
)

// Window is how many batches of a producer are remembered: what a client may have in flight.
const Window = 5

// Sequence is one batch of a producer as it was appended.
type Sequence struct {
	First, Last int32
	Base        int64 // offset of its first record
	Time        int64 // its append time as answered, -1 when the queue keeps the producer's timestamps
}

// Producer is the state of one idempotent producer in one queue. The zero value knows nothing and accepts anything.
type Producer struct {
	Epoch   int16
	N       uint8 // batches remembered
	Updated int64 // time of the last append, Unix ms
	Batches [Window]Sequence
}

// Kind says how a batch misses its producer's sequence.
type Kind uint8

// Kinds of sequence errors.
const (
	OutOfOrder  Kind = iota + 1 // OUT_OF_ORDER_SEQUENCE_NUMBER
	FencedEpoch                 // INVALID_PRODUCER_EPOCH
)

// SequenceError refuses a batch that does not follow its producer's last one.
type SequenceError struct {
	Kind       Kind
	Queue      ID
	ProducerID int64
	Epoch      int16 // of the batch
	Current    int16 // of the producer
	First      int32 // of the batch
	Want       int32
}

func (e *SequenceError) Error() string {
	if e.Kind == FencedEpoch {
		return fmt.Sprintf("producer %d in queue %d has epoch %d, the batch came with the older %d", e.ProducerID, e.Queue, e.Current, e.Epoch)
	}
	return fmt.Sprintf("producer %d (epoch %d) in queue %d: sequence %d does not follow, %d was expected",
		e.ProducerID, e.Epoch, e.Queue, e.First, e.Want)
}

// Check decides on a batch: a remembered one comes back as duplicate, one that does not follow as *SequenceError.
func (p *Producer) Check(q ID, b batch.Batch) (dup *Sequence, err error) {
	if p.N == 0 {
		return nil, nil // no state: it may have expired, so any sequence is accepted
	}
	epoch, first, last := b.ProducerEpoch(), b.BaseSequence(), b.LastSequence()
	refuse := func(k Kind, want int32) error {
		return &SequenceError{Kind: k, Queue: q, ProducerID: b.ProducerID(), Epoch: epoch, Current: p.Epoch, First: first, Want: want}
	}
	switch {
	case epoch < p.Epoch:
		return nil, refuse(FencedEpoch, 0)
	case epoch > p.Epoch:
		if first != 0 {
			return nil, refuse(OutOfOrder, 0)
		}
		return nil, nil
	}
	for i := range p.Batches[:p.N] {
		if s := &p.Batches[i]; s.First == first && s.Last == last {
			return s, nil
		}
	}
	if want := batch.AddSequence(p.Batches[p.N-1].Last, 1); first != want {
		return nil, refuse(OutOfOrder, want)
	}
	return nil, nil
}

// Add remembers a batch that was appended. answered is the append time its producer was told, -1 for none.
func (p *Producer) Add(b batch.Batch, base, answered, now int64) {
	if p.N > 0 && p.Epoch != b.ProducerEpoch() {
		p.N = 0
	}
	if p.N == Window {
		copy(p.Batches[:], p.Batches[1:])
		p.N--
	}
	p.Batches[p.N] = Sequence{First: b.BaseSequence(), Last: b.LastSequence(), Base: base, Time: answered}
	p.N++
	p.Epoch, p.Updated = b.ProducerEpoch(), now
}

const producerForm = 1

// AppendTo encodes the state with its whole window (I3).
func (p *Producer) AppendTo(b []byte) []byte {
	b = append(b, producerForm)
	b = binary.AppendVarint(b, int64(p.Epoch))
	b = binary.AppendVarint(b, p.Updated)
	b = append(b, p.N)
	for _, s := range p.Batches[:p.N] {
		b = binary.AppendUvarint(b, uint64(uint32(s.First)))
		b = binary.AppendUvarint(b, uint64(uint32(s.Last)))
		b = binary.AppendUvarint(b, uint64(s.Base))
		b = binary.AppendVarint(b, s.Time)
	}
	return b
}

// DecodeProducer is the reverse of AppendTo.
func DecodeProducer(v []byte) (Producer, error) {
	var p Producer
	bad := errors.New("decoding a producer's state: it is damaged")
	if len(v) < 1 || v[0] != producerForm {
		return p, fmt.Errorf("decoding a producer's state: its form is not known")
	}
	v = v[1:]
	next := func(signed bool) int64 {
		var n int
		var x int64
		if signed {
			x, n = binary.Varint(v)
		} else {
			var u uint64
			u, n = binary.Uvarint(v)
			x = int64(u)
		}
		if n <= 0 {
			v = nil
			return -1
		}
		v = v[n:]
		return x
	}
	p.Epoch, p.Updated = int16(next(true)), next(true)
	if len(v) == 0 || v[0] > Window {
		return Producer{}, bad
	}
	p.N, v = v[0], v[1:]
	for i := range p.Batches[:p.N] {
		if len(v) == 0 {
			return Producer{}, bad
		}
		p.Batches[i] = Sequence{First: int32(next(false)), Last: int32(next(false)), Base: next(false), Time: next(true)}
	}
	if len(v) > 0 {
		return Producer{}, bad
	}
	return p, nil
}
