package group

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

// Offset is a committed position.
type Offset struct {
	Offset      int64
	LeaderEpoch int32 // -1: not given
	Metadata    string
}

// committed is an Offset with what ordering and retention need.
type committed struct {
	Offset
	at  int64  // Unix ms
	seq uint64 // I3
}

// OffsetEntry is one partition's position in a commit.
type OffsetEntry struct {
	Topic     topic.ID
	Partition int32
	Offset
	deleted bool
}

// CommitRequest asks to keep positions. Generation -1 without a member comes from outside the group's membership.
type CommitRequest struct {
	Group      string
	Generation int32
	MemberID   string
	Instance   string
	Offsets    []OffsetEntry
}

// Commit appends a commit. The function it returns waits until it is durable (I2) and must be called.
func (c *Coordinator) Commit(r CommitRequest) (func() error, error) {
	if r.Group == "" {
		return nil, kerr.InvalidGroupID
	}
	g := c.lock(r.Group, r.Generation < 0)
	if g == nil {
		return nil, kerr.IllegalGeneration
	}
	defer g.unlock()
	if err := g.mayCommit(r); err != nil {
		return nil, err
	}
	if len(r.Offsets) == 0 {
		return func() error { return nil }, nil
	}
	return g.commit(r.Offsets), nil
}

func (g *group) mayCommit(r CommitRequest) error {
	switch {
	case r.Generation < 0 && g.state == Empty:
		return nil // from outside the membership, whatever it calls itself
	case r.Generation < 0 && r.MemberID == "" && r.Instance == "":
		return kerr.UnknownMemberID
	}
	m, err := g.find(r.MemberID, r.Instance)
	switch {
	case err != nil:
		return err
	case r.Generation != g.generation:
		return kerr.IllegalGeneration
	case g.state == Completing:
		return kerr.RebalanceInProgress
	}
	if m.join == nil && m.sync == nil {
		g.arm(m, m.session)
	}
	return nil
}

// commit appends entries in one frame. The caller holds the group's lock.
func (g *group) commit(entries []OffsetEntry) func() error {
	now, seq := time.Now().UnixMilli(), g.c.nextSeq()
	t := g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindOffset, Payload: encodeOffsets(g.id, now, entries)})
	g.committing[seq] = entries
	return func() error {
		<-t.Done()
		g.mu.Lock()
		defer g.unlock()
		delete(g.committing, seq)
		if err := t.Err(); err != nil {
			return fmt.Errorf("committing offsets of group %q: %w", g.id, err)
		}
		g.install(entries, now, seq)
		return nil
	}
}

// install makes a durable commit visible unless a later one is (I3).
func (g *group) install(entries []OffsetEntry, at int64, seq uint64) {
	g.used = true
	for _, e := range entries {
		of := g.offsets[e.Topic]
		if of[e.Partition].seq > seq {
			continue
		}
		if e.deleted {
			delete(of, e.Partition)
			if len(of) == 0 {
				delete(g.offsets, e.Topic)
			}
			continue
		}
		if of == nil {
			of = map[int32]committed{}
			g.offsets[e.Topic] = of
		}
		of[e.Partition] = committed{Offset: e.Offset, at: at, seq: seq}
	}
}

// Fetch finds a committed position.
func (c *Coordinator) Fetch(id string, t topic.ID, partition int32) (Offset, bool) {
	g := c.lock(id, false)
	if g == nil {
		return Offset{}, false
	}
	defer g.mu.Unlock()
	o, ok := g.offsets[t][partition]
	return o.Offset, ok
}

// FetchAll lists all committed positions of a group by topic.
func (c *Coordinator) FetchAll(id string) map[topic.ID]map[int32]Offset {
	g := c.lock(id, false)
	if g == nil {
		return nil
	}
	defer g.mu.Unlock()
	out := make(map[topic.ID]map[int32]Offset, len(g.offsets))
	for t, of := range g.offsets {
		m := make(map[int32]Offset, len(of))
		for p, o := range of {
			m[p] = o.Offset
		}
		out[t] = m
	}
	return out
}

// forget drops the offsets of topics. The caller holds the group's lock.
func (g *group) forget(topics []topic.ID) {
	g.unstage(topics)
	var entries []OffsetEntry
	for _, id := range topics {
		for p := range g.offsets[id] {
			entries = append(entries, OffsetEntry{Topic: id, Partition: p, deleted: true})
		}
	}
	if len(entries) == 0 {
		return
	}
	now, seq := time.Now().UnixMilli(), g.c.nextSeq()
	// Nobody waits: after a crash the topic is still gone, and Started drops them again.
	g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindOffset, Payload: encodeOffsets(g.id, now, entries)})
	g.install(entries, now, seq)
}

// ForgetTopic drops a deleted topic's offsets from all groups.
func (c *Coordinator) ForgetTopic(id topic.ID) {
	for _, g := range c.all() {
		g.mu.Lock()
		if g.state != Dead {
			g.forget([]topic.ID{id})
		}
		g.mu.Unlock()
	}
}

// DeleteOffsets drops positions of a group that doesn't use them (KIP-496). subscribed tells by name whether a live member
// reads a topic. The first error is for all, the others are by entry.
func (c *Coordinator) DeleteOffsets(id string, entries []OffsetEntry, names []string) ([]error, error) {
	g := c.lock(id, false)
	if g == nil {
		return nil, kerr.GroupIDNotFound
	}
	if len(g.members) > 0 && g.protocolType != consumerType {
		g.mu.Unlock()
		return nil, kerr.NonEmptyGroup
	}
	errs := make([]error, len(entries))
	subscribed, known := g.subscriptions()
	var gone []OffsetEntry
	for i, e := range entries {
		if len(g.members) > 0 && (!known || subscribed[names[i]]) {
			errs[i] = kerr.GroupSubscribedToTopic
			continue
		}
		if _, ok := g.offsets[e.Topic][e.Partition]; ok {
			e.deleted = true
			gone = append(gone, e)
		}
	}
	if len(gone) == 0 {
		g.mu.Unlock()
		return errs, nil
	}
	wait := g.commit(gone)
	g.mu.Unlock()
	return errs, wait()
}

// subscriptions reads what the members of a "consumer" group read; false if some member can't be understood.
func (g *group) subscriptions() (map[string]bool, bool) {
	out := map[string]bool{}
	for _, m := range g.members {
		var meta kmsg.ConsumerMemberMetadata
		if len(m.protocols) == 0 || meta.ReadFrom(m.protocols[0].Metadata) != nil { // all protocols of a member name the same topics
			return nil, false
		}
		for _, t := range meta.Topics {
			out[t] = true
		}
	}
	return out, true
}

// expire drops offsets past their retention, and groups left with nothing.
func (c *Coordinator) expire() {
	if c.isClosed() {
		return
	}
	now := time.Now().UnixMilli()
	for _, g := range c.all() {
		g.mu.Lock()
		g.expireOffsets(now)
		g.unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.expiry.Reset(expireEvery)
	}
}

// expireOffsets drops what is past its retention. An empty group that had members keeps offsets from when it became empty,
// one that never had from each commit. A live group keeps them, but a group of consumers those of topics it no longer reads
// only from each commit.
func (g *group) expireOffsets(now int64) {
	since := int64(0)
	var reads map[string]bool
	switch {
	case g.state == Dead, len(g.pending) > 0:
		return
	case g.state == Empty && g.protocolType != "":
		since = g.stateSince
	case g.state == Empty:
	case g.state == Stable && g.protocolType == consumerType:
		var known bool
		if reads, known = g.subscriptions(); !known {
			return
		}
	default:
		return
	}
	before := now - g.c.cfg.Retention.Milliseconds()
	var gone []OffsetEntry
	for id, of := range g.offsets {
		if reads != nil {
			if name, ok := g.c.topicName(id); !ok || reads[name] {
				continue
			}
		}
		for p, o := range of {
			if max(o.at, since) < before && !g.unstable(id, p) {
				gone = append(gone, OffsetEntry{Topic: id, Partition: p, deleted: true})
			}
		}
	}
	if len(gone) > 0 {
		seq := g.c.nextSeq()
		g.c.log.Info("committed offsets are past their retention", "group", g.id, "offsets", len(gone))
		g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindOffset, Payload: encodeOffsets(g.id, now, gone)})
		g.install(gone, now, seq)
	}
	if g.state == Empty && len(g.offsets) == 0 && len(g.staged) == 0 {
		if g.recorded {
			g.record(true)
		}
		g.c.drop(g)
	}
}
