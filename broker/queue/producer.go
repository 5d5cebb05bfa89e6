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
	Known   bool  // the producer has appended here
	Updated int64 // time of the last append, Unix ms
	Batches [Window]Sequence

	open int64 // first offset of its open transaction and 1; 0: it has none
}

// Open is the first offset of the producer's open transaction in the queue.
func (p *Producer) Open() (first int64, open bool) { return p.open - 1, p.open > 0 }

// IdleSince tells whether the producer has not appended since a time and has no transaction open: its state may expire.
func (p *Producer) IdleSince(ms int64) bool { return p.Known && p.open == 0 && p.Updated < ms }

// Kind says how a batch misses its producer's sequence.
type Kind uint8

// Kinds of sequence errors.
const (
	OutOfOrder    Kind = iota + 1 // OUT_OF_ORDER_SEQUENCE_NUMBER
	FencedEpoch                   // INVALID_PRODUCER_EPOCH
	InTransaction                 // INVALID_TXN_STATE
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
	switch e.Kind {
	case FencedEpoch:
		return fmt.Sprintf("producer %d in queue %d has epoch %d, the batch came with the older %d", e.ProducerID, e.Queue, e.Current, e.Epoch)
	case InTransaction:
		return fmt.Sprintf("producer %d (epoch %d) has a transaction open in queue %d, the batch is not transactional", e.ProducerID, e.Epoch, e.Queue)
	}
	return fmt.Sprintf("producer %d (epoch %d) in queue %d: sequence %d does not follow, %d was expected",
		e.ProducerID, e.Epoch, e.Queue, e.First, e.Want)
}

// Check decides on a batch: a remembered one comes back as duplicate, one that does not follow as *SequenceError.
// Control batches have no sequence; only an older epoch refuses them.
func (p *Producer) Check(q ID, b batch.Batch) (dup *Sequence, err error) {
	if !p.Known {
		return nil, nil // no state: it may have expired, so any sequence is accepted
	}
	epoch, first, last := b.ProducerEpoch(), b.BaseSequence(), b.LastSequence()
	refuse := func(k Kind, want int32) error {
		return &SequenceError{Kind: k, Queue: q, ProducerID: b.ProducerID(), Epoch: epoch, Current: p.Epoch, First: first, Want: want}
	}
	switch {
	case epoch < p.Epoch:
		return nil, refuse(FencedEpoch, 0)
	case b.Control():
		return nil, nil
	case p.open > 0 && !b.Transactional():
		return nil, refuse(InTransaction, 0)
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
	want := int32(0) // nothing of this epoch but a marker
	if p.N > 0 {
		want = batch.AddSequence(p.Batches[p.N-1].Last, 1)
	}
	if first != want {
		return nil, refuse(OutOfOrder, want)
	}
	return nil, nil
}

// Add remembers a batch that was appended. answered is the append time its producer was told, -1 for none. A marker ends
// the open transaction; with a new epoch, which fenced the producer, it also clears the window.
func (p *Producer) Add(b batch.Batch, base, answered, now int64) {
	if p.Epoch != b.ProducerEpoch() {
		p.N = 0
	}
	p.Epoch, p.Updated, p.Known = b.ProducerEpoch(), now, true
	if b.Control() {
		p.open = 0
		return
	}
	if b.Transactional() && p.open == 0 {
		p.open = base + 1
	}
	if p.N == Window {
		copy(p.Batches[:], p.Batches[1:])
		p.N--
	}
	p.Batches[p.N] = Sequence{First: b.BaseSequence(), Last: b.LastSequence(), Base: base, Time: answered}
	p.N++
}

const producerForm = 2

// AppendTo encodes a known state with its whole window (I3).
func (p *Producer) AppendTo(b []byte) []byte {
	b = append(b, producerForm)
	b = binary.AppendVarint(b, int64(p.Epoch))
	b = binary.AppendVarint(b, p.Updated)
	b = binary.AppendUvarint(b, uint64(p.open))
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
	p.Epoch, p.Updated, p.open, p.Known = int16(next(true)), next(true), next(false), true
	if len(v) == 0 || v[0] > Window || p.open < 0 {
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
