package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

func (s *Store) coldDir() string { return filepath.Join(s.dir, "log", "cold") }

// coldSegmentBytes: a round of one batch of any size must fit into a quarter.
func (o *Options) coldSegmentBytes() int64 {
	return max(o.SegmentBytes/2, 8*int64(o.MaxMessageBytes))
}

// openCold lists the cold log; its files are made when something is first moved there.
func (s *Store) openCold(o commitlog.Options) (err error) {
	o.Dir, o.Store, o.SegmentBytes = s.coldDir(), commitlog.StoreCold, s.o.coldSegmentBytes()
	o.TailBytes, o.FillAhead = 1<<20, 0
	s.cold, err = commitlog.Open(o)
	return err
}

// startCold opens the cold log for writing. Only one goroutine moves data.
func (s *Store) startCold() error {
	if s.coldStarted {
		return nil
	}
	err := s.cold.Start(s.coldRec, commitlog.EpochRecord{
		Epoch: s.meta.Epoch, Node: s.meta.NodeUUID, Reason: commitlog.ReasonStart, History: s.meta.History,
	}, commitlog.Hooks{
		Written: func(*commitlog.Round) {},
		Synced: func(r *commitlog.Round) {
			s.cold.Release(r)
			if t, ok := r.Tag.(*coldTag); ok {
				t.finish(nil)
			}
		},
		Failed: func(r *commitlog.Round, err error) {
			if t, ok := r.Tag.(*coldTag); ok {
				t.finish(err)
			}
		},
	})
	s.coldFailed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("opening the cold log in %s for writing: %w", s.coldDir(), err)
	}
	s.coldStarted = true
	return nil
}

// coldTag lets the one who writes a round wait for it.
type coldTag struct{ done chan error }

func (t *coldTag) finish(err error) { t.done <- err }

// move writes a round, makes it durable, and only then lets the index name its copies.
func (s *Store) move(ctx context.Context, r *round) error {
	if err := s.startCold(); err != nil {
		return err
	}
	if r.asOf == 0 {
		r.asOf = s.applied.Load()
	}
	size := commitlog.FrameSize(len(r.begin())) + commitlog.FrameSize(len(r.commit()))
	for i := range r.copies {
		size += commitlog.FrameSize(commitlog.CopiedSize(len(r.copies[i].batch)))
	}
	if err := s.cold.Begin(size, true); err != nil {
		s.coldFailed.Store(true)
		return fmt.Errorf("writing %d bytes to the cold log: %w", size, err)
	}
	r.number = uint64(s.cold.Position())
	s.cold.Put(commitlog.KindRound, 0, r.begin(), true)
	var buf []byte
	for i := range r.copies {
		c := &r.copies[i]
		buf = commitlog.AppendCopied(buf[:0], &commitlog.Copied{Refs: []commitlog.Ref{c.ref}, Batch: c.batch})
		c.entry.Store, c.entry.Position = index.StoreCold, s.cold.Put(commitlog.KindCopied, c.ref.Queue, buf, true).Position
		c.batch = nil
	}
	s.cold.Put(commitlog.KindCommit, 0, r.commit(), false)
	r.end = s.cold.Position()
	tag := &coldTag{make(chan error, 1)}
	s.cold.Current().Tag = tag
	s.cold.Seal()
	s.cold.End()
	err := <-tag.done
	s.coldFailed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("writing %d bytes to the cold log: %w", size, err)
	}
	s.m.copied.Add(float64(size))
	return s.do(ctx, func(a *applier) error { return a.swap(r) })
}

// replayCold applies the rounds the index has not seen. The main log has been applied to its end: what is trimmed or
// dropped since a round was written needs no copy.
func (s *Store) replayCold(ctx context.Context, from int64) error {
	var r *round
	return s.cold.Replay(from, func(f commitlog.Frame, _ bool, end int64) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replaying the cold log: %w", err)
		}
		var err error
		switch f.Kind {
		case commitlog.KindRound:
			r, err = decodeRound(f.Payload)
		case commitlog.KindCopied:
			if r == nil {
				return nil
			}
			err = r.add(f)
		case commitlog.KindCommit:
			number, n, cerr := decodeCommit(f.Payload)
			if err = cerr; err != nil || r == nil || r.number != number {
				break
			}
			if uint64(len(r.copies)) != n { // some were damaged and have been taken out by a repair
				s.l.Warn("a round of the cold log lacks batches; they are lost", "position", r.number, "copies", len(r.copies), "of", n)
			}
			r.end = end
			err = s.apply.swap(r)
			r = nil
		}
		if err != nil {
			return fmt.Errorf("applying the cold log at position %d: %w", f.Position, err)
		}
		return nil
	})
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

// swap swaps the index's entries of a round's ranges for its copies, in one batch with the cold log's position.
func (a *applier) swap(r *round) error {
	if a.frames > 0 || a.b != nil { // so that the index has all entries
		if err := a.commit(); err != nil {
			return err
		}
	}
	for _, x := range union(r.ranges) {
		if err := a.replace(x); err != nil {
			return err
		}
	}
	for i := range r.copies {
		e := &r.copies[i].entry
		q := queue.ID(r.copies[i].ref.Queue)
		h := a.head(q)
		if h == nil || e.Last < h.st.LogStart {
			continue
		}
		if err := a.enter(q, h, e); err != nil {
			return err
		}
	}
	for _, m := range r.cleaned {
		if h := a.head(m.q); h != nil && m.offset > h.st.Cleaned {
			h.st.Cleaned, h.valid = m.offset, true
		}
	}
	for _, m := range r.markers {
		if err := a.batch().Delete(index.AbortedKey(uint32(m.q), m.offset)); err != nil {
			return err
		}
	}
	a.cp.Cold = r.end
	return a.commit()
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

// replace removes the entries of a range.
func (a *applier) replace(x span) error {
	h := a.head(x.q)
	if h == nil {
		return nil
	}
	from, to := index.BatchKey(uint32(x.q), x.from), index.BatchKey(uint32(x.q), x.to+1)
	it, err := a.s.db.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		_, last := index.BatchLast(it.Key())
		e, err := index.DecodeEntry(last, it.Value())
		if err == nil {
			err = a.lose(x.q, &e)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		h.st.Bytes -= int64(e.Size)
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	h.valid = true
	return a.batch().DeleteRange(from, to)
}
