package group

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/store"
)

// SyncRequest asks for a member's assignment; the leader's brings everybody's.
type SyncRequest struct {
	Group        string
	Generation   int32
	MemberID     string
	Instance     string
	ProtocolType *string
	Protocol     *string
	Assignments  map[string][]byte
}

// SyncResult is the answer to a sync.
type SyncResult struct {
	Err          error
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// Sync waits until the leader's assignment is durable (I1) or ctx ends.
func (c *Coordinator) Sync(ctx context.Context, r SyncRequest) SyncResult {
	wait, store, res := c.sync(r)
	if store != nil {
		store() // ends by itself; a leader that hung up must not leave the others waiting
	}
	if wait == nil {
		return res
	}
	select {
	case res = <-wait:
		return res
	case <-ctx.Done():
		return SyncResult{Err: kerr.CoordinatorNotAvailable}
	}
}

func (c *Coordinator) sync(r SyncRequest) (chan SyncResult, func(), SyncResult) {
	fail := func(err error) (chan SyncResult, func(), SyncResult) { return nil, nil, SyncResult{Err: err} }
	if r.Group == "" {
		return fail(kerr.InvalidGroupID)
	}
	g := c.lock(r.Group, false)
	if g == nil {
		return fail(kerr.UnknownMemberID)
	}
	defer g.mu.Unlock()
	m, err := g.find(r.MemberID, r.Instance)
	if err != nil {
		return fail(err)
	}
	switch {
	case r.Generation != g.generation:
		return fail(kerr.IllegalGeneration)
	case r.ProtocolType != nil && *r.ProtocolType != g.protocolType,
		r.Protocol != nil && g.state != Preparing && *r.Protocol != g.protocol:
		return fail(fmt.Errorf("group %q runs protocol %q of type %q: %w", g.id, g.protocol, g.protocolType, kerr.InconsistentGroupProtocol))
	}
	switch g.state {
	case Preparing:
		return fail(kerr.RebalanceInProgress)
	case Stable:
		g.arm(m, m.session)
		return nil, nil, g.assignment(m)
	case Completing:
	default:
		return fail(kerr.UnknownMemberID)
	}
	m.answerSync(SyncResult{Err: kerr.RebalanceInProgress}) // an earlier sync nobody waits for any more
	m.sync, m.synced = make(chan SyncResult, 1), true
	wait := m.sync
	if m.id != g.leader || g.storing {
		return wait, nil, SyncResult{}
	}
	for id, o := range g.members {
		o.assignment = r.Assignments[id] // who is missing gets nothing to do
	}
	g.storing = true
	t, generation := g.record(false), g.generation
	return wait, func() { g.stored(t, generation) }, SyncResult{}
}

func (g *group) assignment(m *member) SyncResult {
	return SyncResult{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
}

// stored waits for the log and tells the members, unless another generation began meanwhile (I1).
func (g *group) stored(t *store.Ticket, generation int32) {
	<-t.Done()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != Completing || g.generation != generation || !g.storing {
		return
	}
	g.storing = false
	if err := t.Err(); err != nil {
		g.c.log.Error("storing a group's assignment failed", "group", g.id, "generation", generation, "error", err)
		for _, m := range g.members {
			m.assignment = nil
			m.answerSync(SyncResult{Err: err})
		}
		g.prepare("storing the assignment failed")
		return
	}
	g.state = Stable
	for _, m := range g.members {
		if m.sync != nil {
			m.answerSync(g.assignment(m))
			g.arm(m, m.session)
		}
	}
	// Members that did not sync yet still have their time; nothing else ends in this phase.
	g.c.log.Debug("group is stable", "group", g.id, "generation", generation, "members", len(g.members), "protocol", g.protocol)
	g.after(g.rebalanceTimeout(), func() { g.slowSync(generation) })
}

// slowSync drops members of a stable group that never asked for their assignment.
func (g *group) slowSync(generation int32) {
	if g.state != Stable || g.generation != generation {
		return
	}
	late := false
	for _, m := range g.membersInOrder() {
		if !m.synced && m.instance == "" {
			late = true
			g.remove(m, kerr.UnknownMemberID)
		}
	}
	if late {
		g.changed("members did not sync in time")
	}
}

func (g *group) membersInOrder() []*member {
	out := make([]*member, 0, len(g.order))
	for _, id := range g.order {
		out = append(out, g.members[id])
	}
	return out
}
