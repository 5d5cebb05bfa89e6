package group

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Client is who sends a request.
type Client struct {
	ID     string
	Host   string
	Memory bool // over the connection inside the process
}

// JoinRequest asks to be of a group.
type JoinRequest struct {
	Group        string
	MemberID     string // empty: not a member yet
	Instance     string // empty: a dynamic member
	ProtocolType string
	Protocols    []Protocol
	Session      time.Duration
	Rebalance    time.Duration
	NeedsID      bool // the client understands MEMBER_ID_REQUIRED (KIP-394)
	CanSkip      bool // the client understands SkipAssignment (KIP-814)
	Client       Client
}

// JoinedMember is a member as its leader sees it.
type JoinedMember struct {
	ID, Instance string
	Metadata     []byte
}

// JoinResult is the answer to a join.
type JoinResult struct {
	Err          error
	Generation   int32
	ProtocolType string
	Protocol     string
	Leader       string
	MemberID     string
	Skip         bool
	Members      []JoinedMember // for the leader alone
}

// Join makes somebody a member for the next generation, and waits until that begins or ctx ends. Ending ctx does not take
// the member out again: its session timer will.
func (c *Coordinator) Join(ctx context.Context, r JoinRequest) JoinResult {
	wait, res := c.join(r)
	if wait == nil {
		return res
	}
	select {
	case res = <-wait:
		return res
	case <-ctx.Done():
		return JoinResult{Err: kerr.CoordinatorNotAvailable, MemberID: r.MemberID}
	}
}

// join decides; the answer is there at once, or comes through the channel.
func (c *Coordinator) join(r JoinRequest) (chan JoinResult, JoinResult) {
	fail := func(err error) (chan JoinResult, JoinResult) {
		return nil, JoinResult{Err: err, MemberID: r.MemberID}
	}
	if r.Group == "" {
		return fail(kerr.InvalidGroupID)
	}
	if r.Session < c.cfg.MinSession || r.Session > c.cfg.MaxSession {
		return fail(fmt.Errorf("session timeout %s, want %s to %s: %w", r.Session, c.cfg.MinSession, c.cfg.MaxSession, kerr.InvalidSessionTimeout))
	}
	g := c.lock(r.Group, r.MemberID == "")
	if g == nil {
		return fail(kerr.UnknownMemberID)
	}
	defer g.unlock()
	if c.isClosed() {
		return fail(kerr.CoordinatorNotAvailable)
	}
	if !g.supports(r.ProtocolType, r.Protocols) {
		return fail(fmt.Errorf("group %q has protocol type %q: %w", g.id, g.protocolType, kerr.InconsistentGroupProtocol))
	}
	if r.MemberID != "" {
		return g.rejoin(r)
	}
	if old := g.static[r.Instance]; r.Instance != "" && old != "" {
		return g.replace(g.members[old], r)
	}
	if len(g.members)+len(g.pending) >= c.cfg.MaxSize {
		return fail(fmt.Errorf("group %q has %d members, the limit of group.max.size: %w", g.id, len(g.members), kerr.GroupMaxSizeReached))
	}
	id := newMemberID(r.Client.ID, r.Instance)
	if r.NeedsID && r.Instance == "" {
		g.addPending(id, r.Session)
		return nil, JoinResult{Err: kerr.MemberIDRequired, MemberID: id}
	}
	return g.enter(id, r), JoinResult{}
}

// rejoin is a join with a member id.
func (g *group) rejoin(r JoinRequest) (chan JoinResult, JoinResult) {
	if _, ok := g.pending[r.MemberID]; ok && r.Instance == "" {
		g.dropPending(r.MemberID)
		return g.enter(r.MemberID, r), JoinResult{}
	}
	m, err := g.find(r.MemberID, r.Instance)
	if err != nil {
		return nil, JoinResult{Err: err, MemberID: r.MemberID}
	}
	same := m.same(r.Protocols)
	switch g.state {
	case Preparing:
		return g.update(m, r), JoinResult{}
	case Completing:
		if same {
			return nil, g.current(m) // its answer was lost
		}
	case Stable:
		if same && m.id != g.leader {
			return nil, g.current(m)
		}
	default:
		return nil, JoinResult{Err: kerr.UnknownMemberID, MemberID: r.MemberID}
	}
	wait := g.update(m, r)
	g.changed("member " + m.id + " joined again with other protocols, or is the leader")
	return wait, JoinResult{}
}

// enter adds a new member and parks its join.
func (g *group) enter(id string, r JoinRequest) chan JoinResult {
	m := &member{
		id:           id,
		instance:     r.Instance,
		clientID:     r.Client.ID,
		host:         r.Client.Host,
		memory:       r.Client.Memory,
		session:      r.Session,
		rebalance:    r.Rebalance,
		protocolType: r.ProtocolType,
		protocols:    r.Protocols,
		fresh:        true,
		join:         make(chan JoinResult, 1),
	}
	wait := m.join
	g.add(m)
	g.newcomers = true
	g.arm(m, newMemberTimeout) // its session begins when it knows that it is a member
	g.changed("member " + id + " joined")
	return wait
}

// update takes over what a known member offers now, and parks its join.
func (g *group) update(m *member, r JoinRequest) chan JoinResult {
	m.protocols, m.session, m.rebalance = r.Protocols, r.Session, r.Rebalance
	m.clientID, m.host, m.memory = r.Client.ID, r.Client.Host, r.Client.Memory
	m.answerJoin(JoinResult{Err: kerr.UnknownMemberID, MemberID: m.id}) // an earlier join nobody waits for any more
	m.join = make(chan JoinResult, 1)
	wait := m.join
	g.maybeComplete()
	return wait
}

// replace lets a static member that lost its id take its place again (KIP-345).
func (g *group) replace(old *member, r JoinRequest) (chan JoinResult, JoinResult) {
	wasLeader := g.leader == old.id
	m := &member{
		id: newMemberID(r.Client.ID, r.Instance), instance: r.Instance,
		clientID: r.Client.ID, host: r.Client.Host, memory: r.Client.Memory,
		session: r.Session, rebalance: r.Rebalance,
		protocolType: r.ProtocolType, protocols: r.Protocols, assignment: old.assignment,
	}
	g.swap(old, m)
	g.arm(m, m.session)
	if g.state == Stable && g.choose() == g.protocol {
		t := g.record(false)
		generation := g.generation
		wait := make(chan JoinResult, 1)
		res := g.current(m)
		if wasLeader && r.CanSkip {
			res.Skip = true
		} else if wasLeader { // an old client must not think it has to assign
			res.Leader, res.Members = old.id, nil
		}
		go func() { // bounded by the ticket, which always ends
			<-t.Done()
			if err := t.Err(); err != nil {
				res = JoinResult{Err: err, MemberID: m.id}
			}
			res.Generation = generation
			wait <- res
		}()
		return wait, JoinResult{}
	}
	m.join = make(chan JoinResult, 1)
	wait := m.join
	g.changed("static member " + r.Instance + " came back")
	return wait, JoinResult{}
}

// swap puts m in old's place and fences old.
func (g *group) swap(old, m *member) {
	leader := g.leader
	for i, id := range g.order {
		if id == old.id {
			g.order[i] = m.id
		}
	}
	old.disarm()
	old.answerJoin(JoinResult{Err: kerr.FencedInstanceID, MemberID: old.id})
	old.answerSync(SyncResult{Err: kerr.FencedInstanceID})
	delete(g.members, old.id)
	g.members[m.id] = m
	g.static[m.instance] = m.id
	if leader == old.id {
		g.leader = m.id
	}
}

// current is the answer for a member that need not wait for another generation.
func (g *group) current(m *member) JoinResult {
	r := JoinResult{
		Generation:   g.generation,
		ProtocolType: g.protocolType,
		Protocol:     g.protocol,
		Leader:       g.leader,
		MemberID:     m.id,
	}
	if m.id == g.leader {
		r.Members = make([]JoinedMember, 0, len(g.order))
		for _, id := range g.order {
			o := g.members[id]
			r.Members = append(r.Members, JoinedMember{ID: id, Instance: o.instance, Metadata: o.metadata(g.protocol)})
		}
	}
	return r
}
