package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

// staging is what one producer's open transaction is going to commit in a group.
type staging struct {
	offsets map[topic.ID]map[int32]Offset
}

// Stage appends offsets that a producer's transaction is going to commit (KIP-98); whoever calls knows that the transaction
// is open and stays so until Stage returns. The function it returns waits until they are durable.
func (c *Coordinator) Stage(producer int64, r CommitRequest) (func() error, error) {
	if r.Group == "" {
		return nil, kerr.InvalidGroupID
	}
	g := c.lock(r.Group, r.Generation < 0)
	if g == nil {
		return nil, kerr.IllegalGeneration
	}
	defer g.unlock()
	if err := g.mayStage(r); err != nil {
		return nil, err
	}
	if len(r.Offsets) == 0 {
		return func() error { return nil }, nil
	}
	rec := commitRecord{group: g.id, at: time.Now().UnixMilli(), entries: r.Offsets, producer: producer}
	t := g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindOffset, Payload: rec.encode()})
	select {
	case <-t.Done():
		if err := t.Err(); err != nil { // refused at once: nothing was appended
			return nil, fmt.Errorf("staging offsets of group %q: %w", g.id, err)
		}
	default:
	}
	g.stage(producer, r.Offsets)
	return func() error {
		<-t.Done()
		if err := t.Err(); err != nil {
			return fmt.Errorf("staging offsets of group %q: %w", g.id, err)
		}
		return nil
	}, nil
}

// mayStage checks who commits where the request says so (KIP-447); requests before that name no member.
func (g *group) mayStage(r CommitRequest) error {
	if r.Generation < 0 && r.MemberID == "" && r.Instance == "" {
		return nil
	}
	m, err := g.find(r.MemberID, r.Instance)
	switch {
	case err != nil:
		return err
	case r.Generation != g.generation:
		return kerr.IllegalGeneration
	}
	if m.join == nil && m.sync == nil {
		g.arm(m, m.session)
	}
	return nil
}

// stage takes note of offsets that wait for their transaction's end.
func (g *group) stage(producer int64, entries []OffsetEntry) {
	s := g.staged[producer]
	if s == nil {
		s = &staging{offsets: map[topic.ID]map[int32]Offset{}}
		g.staged[producer] = s
	}
	for _, e := range entries {
		of := s.offsets[e.Topic]
		if e.deleted {
			if delete(of, e.Partition); len(of) == 0 {
				delete(s.offsets, e.Topic)
			}
			continue
		}
		if of == nil {
			of = map[int32]Offset{}
			s.offsets[e.Topic] = of
		}
		of[e.Partition] = e.Offset
	}
	if len(s.offsets) == 0 {
		delete(g.staged, producer)
	}
}

// entries lists what is staged, in order.
func (s *staging) entries() []OffsetEntry {
	var out []OffsetEntry
	for t, of := range s.offsets {
		for p, o := range of {
			out = append(out, OffsetEntry{Topic: t, Partition: p, Offset: o})
		}
	}
	slices.SortFunc(out, func(a, b OffsetEntry) int {
		return cmp.Or(slices.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// EndTxn ends a producer's transaction in groups. It hands the records that say so to put, which appends them with the
// transaction's own, and returns what must be called once that is durable: it shows the offsets. The groups stay locked
// meanwhile, so that the log has their records in the order of decisions.
func (c *Coordinator) EndTxn(producer int64, commit bool, groups []string, put func(records []store.Entry) error) (done func(), err error) {
	type end struct {
		g   *group
		rec commitRecord
		seq uint64
	}
	var ends []end
	var records []store.Entry
	now := time.Now().UnixMilli()
	for _, id := range slices.Compact(slices.Sorted(slices.Values(groups))) { // one order for all: no deadlock
		g := c.lock(id, false)
		if g == nil {
			continue // nothing was staged
		}
		defer g.mu.Unlock()
		s := g.staged[producer]
		if s == nil {
			continue
		}
		rec := commitRecord{group: id, at: now, entries: s.entries(), producer: producer, fate: aborted}
		if commit {
			rec.fate = confirmed
		}
		ends = append(ends, end{g, rec, c.nextSeq()})
		records = append(records, store.Entry{Kind: commitlog.KindOffset, Payload: rec.encode()})
	}
	if err := put(records); err != nil {
		return nil, err
	}
	return func() {
		for _, e := range ends {
			e.g.mu.Lock()
			delete(e.g.staged, producer)
			if commit {
				e.g.install(e.rec.entries, e.rec.at, e.seq)
			}
			e.g.unlock()
		}
	}, nil
}

// Unstable tells whether an open transaction is going to commit a position: the one committed may soon be replaced
// (KIP-447).
func (c *Coordinator) Unstable(id string, t topic.ID, partition int32) bool {
	g := c.lock(id, false)
	if g == nil {
		return false
	}
	defer g.mu.Unlock()
	return g.unstable(t, partition)
}

func (g *group) unstable(t topic.ID, partition int32) bool {
	for _, s := range g.staged {
		if _, ok := s.offsets[t][partition]; ok {
			return true
		}
	}
	return false
}

// unstage drops the staged offsets of topics that are gone. The caller holds the group's lock.
func (g *group) unstage(topics []topic.ID) {
	for _, producer := range slices.Sorted(maps.Keys(g.staged)) {
		rec := commitRecord{group: g.id, at: time.Now().UnixMilli(), producer: producer}
		for _, e := range g.staged[producer].entries() {
			if slices.Contains(topics, e.Topic) {
				rec.entries = append(rec.entries, OffsetEntry{Topic: e.Topic, Partition: e.Partition, deleted: true})
			}
		}
		if len(rec.entries) == 0 {
			continue
		}
		g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindOffset, Payload: rec.encode()}) // as in forget
		g.stage(producer, rec.entries)
	}
}
