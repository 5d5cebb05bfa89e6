package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// round is one round of the cold log (log-format L10): what it replaces, and the copies that take its place. It counts
// with its commit frame alone, and then replaces every older entry of its ranges, wherever that stands.
type round struct {
	number  uint64 // where it began in the cold log
	asOf    int64  // end of the main log when it was written: it replaces nothing behind
	ranges  []span
	cleaned []mark // compaction has been through everything below
	markers []mark // aborted transactions whose marker is dropped

	copies []copied
	end    int64 // in the cold log
}

// span is a range of offsets, both ends included.
type span struct {
	q        queue.ID
	from, to int64
}

// mark is one offset of a queue.
type mark struct {
	q      queue.ID
	offset int64
}

// copied is a batch in a round.
type copied struct {
	ref   commitlog.Ref
	batch batch.Batch // only while it is being written
	entry index.Entry
}

// Fields of a round's begin record, of its ranges and marks, and of its commit record.
const (
	fieldRoundNumber  = 1 // fixed, 8 bytes
	fieldRoundAsOf    = 2
	fieldRoundRange   = 3 // 1 queue, 2 from, 3 to
	fieldRoundCleaned = 4 // 1 queue, 2 offset
	fieldRoundMarker  = 5 // 1 queue, 2 offset
	fieldCommitCopies = 2
)

func (r *round) begin() []byte {
	b := appendNumber([]byte{recordVersion}, r.number)
	b = appendField(b, fieldRoundAsOf, uint64(r.asOf))
	for _, x := range r.ranges {
		b = appendMessage(b, fieldRoundRange, uint64(x.q), uint64(x.from), uint64(x.to))
	}
	for _, x := range r.cleaned {
		b = appendMessage(b, fieldRoundCleaned, uint64(x.q), uint64(x.offset))
	}
	for _, x := range r.markers {
		b = appendMessage(b, fieldRoundMarker, uint64(x.q), uint64(x.offset))
	}
	return b
}

func (r *round) commit() []byte {
	return appendField(appendNumber([]byte{recordVersion}, r.number), fieldCommitCopies, uint64(len(r.copies)))
}

func appendNumber(b []byte, n uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, fieldRoundNumber, protowire.Fixed64Type), n)
}

// appendMessage appends a message whose fields are numbered from 1.
func appendMessage(b []byte, num protowire.Number, values ...uint64) []byte {
	var m []byte
	for i, v := range values {
		m = appendField(m, protowire.Number(i+1), v)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), m)
}

// eachField walks the fields of a record behind its version byte: numbers come as v, messages as m.
func eachField(payload []byte, f func(num protowire.Number, v uint64, m []byte) error) error {
	if len(payload) == 0 || payload[0] == 0 {
		return errors.New("it has no version")
	}
	return eachProto(payload[1:], f)
}

func eachProto(b []byte, f func(num protowire.Number, v uint64, m []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var m []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			m, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(num, v, m); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func decodeRound(payload []byte) (*round, error) {
	r := &round{}
	err := eachField(payload, func(num protowire.Number, v uint64, m []byte) error {
		var at [4]uint64
		if err := eachProto(m, func(num protowire.Number, v uint64, _ []byte) error {
			if num < 4 {
				at[num] = v
			}
			return nil
		}); err != nil {
			return err
		}
		q := queue.ID(at[1])
		switch num {
		case fieldRoundNumber:
			r.number = v
		case fieldRoundAsOf:
			r.asOf = int64(v)
		case fieldRoundRange:
			if at[1] > 1<<32-1 || int64(at[2]) < 0 || int64(at[3]) < int64(at[2]) {
				return fmt.Errorf("offsets %d to %d of queue %d are no range", int64(at[2]), int64(at[3]), at[1])
			}
			r.ranges = append(r.ranges, span{q, int64(at[2]), int64(at[3])})
		case fieldRoundCleaned:
			r.cleaned = append(r.cleaned, mark{q, int64(at[2])})
		case fieldRoundMarker:
			r.markers = append(r.markers, mark{q, int64(at[2])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("decoding a round of the cold log: %w", err)
	}
	return r, nil
}

func decodeCommit(payload []byte) (number, copies uint64, err error) {
	err = eachField(payload, func(num protowire.Number, v uint64, _ []byte) error {
		switch num {
		case fieldRoundNumber:
			number = v
		case fieldCommitCopies:
			copies = v
		}
		return nil
	})
	return number, copies, err
}

// union gives ranges of the same offsets that do not overlap.
func union(ranges []span) []span {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b span) int { return cmp.Or(cmp.Compare(a.q, b.q), cmp.Compare(a.from, b.from)) })
	out := sorted[:0]
	for _, x := range sorted {
		if k := len(out) - 1; k >= 0 && out[k].q == x.q && x.from <= out[k].to+1 {
			out[k].to = max(out[k].to, x.to)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// add takes a copied frame into a round that is replayed.
func (r *round) add(f commitlog.Frame) error {
	c, err := commitlog.DecodeCopied(f.Payload)
	if err != nil {
		return err
	}
	for _, ref := range c.Refs {
		r.copies = append(r.copies, copied{ref: ref, entry: index.Entry{
			Last: ref.Base + int64(c.Batch.LastDelta()), Base: ref.Base, Store: index.StoreCold, Position: f.Position,
			Size: len(c.Batch), MaxTime: ref.MaxTime, Count: c.Batch.Count(),
		}})
	}
	return nil
}
