package store

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// A record of the store's own is a version byte and then a protobuf message, so that fields can be added.
const recordVersion = 1

// Fields of a queue record; of a log start record, new start and cause.
const (
	fieldOp = iota + 1
	fieldAppendTime
	fieldRetentionMs
	fieldRetentionBytes
	fieldCompact
	fieldDelete
	fieldMinLag
	fieldMaxLag
	fieldTombstone
	fieldDirty
	fieldNext
)

const (
	fieldNewStart = iota + 1
	fieldCause
)

const (
	opSet  = 1 // a new queue, or a new policy
	opDrop = 2
	opSkip = 3 // offsets below a next one were given, though nothing of them is left
)

// Causes of a log start moving.
const (
	causeDeleteRecords  = 1
	causeRetentionTime  = 2
	causeRetentionBytes = 3
)

// Open implements API.
func (s *Store) Open(q queue.ID, p Policy) error { return s.OpenAll(p, q) }

// OpenAll opens several queues, or gives them a new policy, in one append: all of them or none.
func (s *Store) OpenAll(p Policy, queues ...queue.ID) error {
	if len(queues) == 0 {
		return nil
	}
	return s.appendOwn(commitlog.ForData, commitlog.KindQueue, policyRecord(p), queues...)
}

// AppendOpen adds entries that open queues, or give them a new policy, to those of an append, so that the queues are there
// together with what is appended beside them, or not at all. The queues can be used when the append is durable.
func AppendOpen(to []Entry, p Policy, queues ...queue.ID) []Entry {
	record := policyRecord(p) // shared: nobody writes to it
	for _, q := range queues {
		to = append(to, Entry{Kind: commitlog.KindQueue, Queue: q, Payload: record, own: true})
	}
	return to
}

func policyRecord(p Policy) []byte {
	b := []byte{recordVersion}
	b = appendField(b, fieldOp, opSet)
	b = appendField(b, fieldAppendTime, boolField(p.AppendTime))
	b = appendField(b, fieldRetentionMs, protowire.EncodeZigZag(p.RetentionMs))
	b = appendField(b, fieldRetentionBytes, protowire.EncodeZigZag(p.RetentionBytes))
	b = appendField(b, fieldCompact, boolField(p.Compact))
	b = appendField(b, fieldDelete, boolField(p.Delete))
	b = appendField(b, fieldMinLag, uint64(p.MinLagMs))
	b = appendField(b, fieldMaxLag, uint64(p.MaxLagMs))
	b = appendField(b, fieldTombstone, uint64(p.TombstoneMs))
	return appendField(b, fieldDirty, uint64(p.Dirty))
}

// AppendDrop adds entries that drop queues to those of an append, so that both happen together or not at all. From the
// append on the queues take nothing; what they held is gone when it is applied. Queues that are gone already are passed over.
func AppendDrop(to []Entry, queues ...queue.ID) []Entry {
	record := dropRecord() // shared: nobody writes to it
	for _, q := range queues {
		to = append(to, Entry{Kind: commitlog.KindQueue, Queue: q, Payload: record, Frees: true, own: true, drop: true})
	}
	return to
}

// Drop implements API. What was appended to the queue before is gone when it returns.
func (s *Store) Drop(q queue.ID) error {
	if st, _, ok := s.table.Get(q); !ok || st.IsDropping() {
		return fmt.Errorf("dropping queue %d: %w", q, ErrNoQueue)
	}
	return s.drop(q)
}

func (s *Store) drop(queues ...queue.ID) error {
	t := s.Append(Durable, AppendDrop(nil, queues...)...)
	<-t.Done()
	return t.Err()
}

// DropAll drops queues; those that are gone already are passed over. What can't be dropped now is tried again in the
// background.
func (s *Store) DropAll(queues ...queue.ID) error {
	for len(queues) > 0 {
		n := min(len(queues), dropTogether)
		if err := s.drop(queues[:n]...); err != nil {
			s.owed.Lock()
			s.owed.queues = append(s.owed.queues, queues...)
			s.owed.Unlock()
			return fmt.Errorf("dropping %d queues, which is tried again: %w", len(queues), err)
		}
		queues = queues[n:]
	}
	return nil
}

// dropOwed tries again what DropAll could not do.
func (s *Store) dropOwed() error {
	s.owed.Lock()
	queues := s.owed.queues
	s.owed.queues = nil
	s.owed.Unlock()
	return s.DropAll(queues...)
}

// dropTogether is how many queues one append drops: the log bounds what an append may hold.
const dropTogether = 4096

func dropRecord() []byte { return appendField([]byte{recordVersion}, fieldOp, opDrop) }

// Trim implements API: records below before are no longer readable when it returns. -1 means all that is durable.
func (s *Store) Trim(q queue.ID, before int64) (int64, error) {
	st, _, ok := s.table.Get(q)
	if !ok || st.IsDropping() {
		return 0, fmt.Errorf("trimming queue %d: %w", q, ErrNoQueue)
	}
	if before == -1 {
		before = st.High
	}
	if before < 0 || before > st.High {
		return st.LogStart, &OffsetError{Queue: q, Offset: before, LogStart: st.LogStart, End: st.High}
	}
	if before <= st.LogStart {
		return st.LogStart, nil
	}
	for st.LogStart < before {
		step, err := s.trimStep(q, st.LogStart, before)
		if err == nil {
			b := appendField([]byte{recordVersion}, fieldNewStart, uint64(step))
			err = s.appendOwn(commitlog.ForFreeing, commitlog.KindLogStart, appendField(b, fieldCause, causeDeleteRecords), q)
		}
		if err != nil {
			return st.LogStart, err
		}
		if st, _, ok = s.table.Get(q); !ok { // dropped meanwhile
			return 0, fmt.Errorf("trimming queue %d: %w", q, ErrNoQueue)
		}
	}
	return st.LogStart, nil
}

// trimStep is how far a log start moves with one record: not over too many batches, since applying it holds up everything.
func (s *Store) trimStep(q queue.ID, from, to int64) (int64, error) {
	var sc scan
	defer sc.release()
	ok, err := sc.seek(s.db, q, from)
	for n := 0; ok && err == nil && sc.e.Last < to; ok, err = sc.next() {
		if n++; n > retainSteps {
			return sc.e.Base, sc.close()
		}
	}
	return to, errors.Join(err, sc.close())
}

func appendField(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func boolField(v bool) uint64 { return protowire.EncodeBool(v) }

// fields decodes a record's numbers; fields of later versions are passed over.
func fields(payload []byte) (map[protowire.Number]uint64, error) {
	if len(payload) == 0 || payload[0] == 0 {
		return nil, errors.New("it has no version")
	}
	m := map[protowire.Number]uint64{}
	for b := payload[1:]; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if typ == protowire.VarintType {
			v, k := protowire.ConsumeVarint(b)
			if k < 0 {
				return nil, protowire.ParseError(k)
			}
			m[num], n = v, k
		} else if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return m, nil
}

// queue applies the opening, change or drop of a queue.
func (a *applier) queue(f commitlog.Frame) error {
	m, err := fields(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the queue record at log position %d: %w", f.Position, err)
	}
	q := queue.ID(f.Queue)
	switch m[fieldOp] {
	case opSet:
		return a.setQueue(q, Policy{
			AppendTime: m[fieldAppendTime] != 0, RetentionMs: protowire.DecodeZigZag(m[fieldRetentionMs]),
			RetentionBytes: protowire.DecodeZigZag(m[fieldRetentionBytes]), Compact: m[fieldCompact] != 0, Delete: m[fieldDelete] != 0,
			MinLagMs: int64(m[fieldMinLag]), MaxLagMs: int64(m[fieldMaxLag]), TombstoneMs: int64(m[fieldTombstone]), Dirty: int32(m[fieldDirty]),
		})
	case opDrop:
		return a.dropQueue(q)
	case opSkip:
		if h := a.head(q); h != nil && int64(m[fieldNext]) > h.st.High {
			h.st.High, h.valid = int64(m[fieldNext]), true
		}
	}
	return nil
}

func (a *applier) setQueue(q queue.ID, p Policy) error {
	if h := a.head(q); h != nil {
		h.policy, h.valid = p, true
		a.s.table.SetPolicy(q, p)
		return nil
	}
	st := queue.State{MaxTime: -1, MaxTimeAt: -1}
	a.s.table.Put(q, st, p)
	a.change(q, st, p).valid = true
	a.buf = index.AppendEpochStart(a.buf[:0], 0)
	return a.batch().Set(index.EpochKey(uint32(q), 0), a.buf)
}

func (a *applier) dropQueue(q queue.ID) error {
	h := a.head(q)
	if h == nil {
		return nil
	}
	h.gone = true
	delete(a.open, q)
	if h.st.Bytes > 0 {
		if err := a.loseAll(q); err != nil {
			return err
		}
	}
	for _, p := range []index.Prefix{index.PrefixBatch, index.PrefixProducer, index.PrefixEpoch, index.PrefixAborted, index.PrefixOpen} {
		from, to := index.QueueRange(p, uint32(q))
		if err := a.batch().DeleteRange(from, to); err != nil {
			return err
		}
	}
	return a.batch().Delete(index.HeadKey(uint32(q)))
}

// logStart applies a trim: entries below the new start go, and their bytes are no longer counted.
func (a *applier) logStart(f commitlog.Frame) error {
	m, err := fields(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the log start at log position %d: %w", f.Position, err)
	}
	start := int64(m[fieldNewStart])
	h := a.head(queue.ID(f.Queue))
	if h == nil || start <= h.st.LogStart || start > h.st.High {
		return nil
	}
	// The entries to go may be in the batch not yet committed. A log start is a group of its own, so what came before
	// it ends at a group end and can be committed first.
	a.groupEnd(f.Position)
	if err := a.commit(); err != nil {
		return err
	}
	a.frames++
	h = a.head(queue.ID(f.Queue))
	from, to := index.BatchKey(f.Queue, 0), index.BatchKey(f.Queue, start)
	it, err := a.s.db.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		_, last := index.BatchLast(it.Key())
		e, err := index.DecodeEntry(last, it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		h.st.Bytes -= int64(e.Size)
		if err := a.lose(queue.ID(f.Queue), &e); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	h.st.LogStart, h.valid, h.trimmed = start, true, true
	if h.st.Aborts {
		if err := a.batch().DeleteRange(index.AbortedKey(f.Queue, 0), index.AbortedKey(f.Queue, start)); err != nil {
			return err
		}
	}
	return a.batch().DeleteRange(from, to)
}
