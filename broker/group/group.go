package group

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/topic"
)

// State of a group, named as Kafka's tools show it.
type State string

// The states of a classic group.
const (
	Empty      State = "Empty"
	Preparing  State = "PreparingRebalance"
	Completing State = "CompletingRebalance"
	Stable     State = "Stable"
	Dead       State = "Dead"
)

// Protocol is one way a member offers to share work, with what it tells the leader.
type Protocol struct {
	Name     string
	Metadata []byte
}

type group struct {
	c  *Coordinator
	id string

	mu           sync.Mutex
	state        State
	protocolType string
	protocol     string // chosen; empty unless Completing or Stable
	generation   int32
	leader       string
	members      map[string]*member
	order        []string // member ids by joining
	static       map[string]string
	pending      map[string]*time.Timer // ids given with MEMBER_ID_REQUIRED that have not joined yet

	phase      *time.Timer // ends the joining or the syncing
	phaseSeq   uint64      // which phase a timer belongs to
	initial    bool        // the first rebalance of an empty group, which waits for company
	newcomers  bool        // somebody joined since the initial delay began
	initialEnd time.Time
	storing    bool // an assignment is on its way to the log

	offsets    map[topic.ID]map[int32]committed
	staged     map[int64]*staging       // offsets of open transactions, by producer id
	committing map[uint64][]OffsetEntry // commits on their way to the log, by seq
	stateSince int64                    // Unix ms: since when it is in a state that offsets' retention looks at
	recorded   bool                     // there is a group record in the log
	used       bool                     // it had members or offsets, or gave ids to some
	unknown    []byte
}

func newGroup(c *Coordinator, id string) *group {
	return &group{
		c:          c,
		id:         id,
		state:      Empty,
		members:    map[string]*member{},
		static:     map[string]string{},
		pending:    map[string]*time.Timer{},
		offsets:    map[topic.ID]map[int32]committed{},
		staged:     map[int64]*staging{},
		committing: map[uint64][]OffsetEntry{},
		stateSince: time.Now().UnixMilli(),
	}
}

// unlock ends work on a group. One that never held anything goes: a request that was refused must not leave anything
// behind. What has become empty stays until expire comes by, as in Kafka.
func (g *group) unlock() {
	if !g.used && g.state == Empty && len(g.members) == 0 && len(g.pending) == 0 && len(g.offsets) == 0 && len(g.staged) == 0 && len(g.committing) == 0 && !g.recorded {
		g.c.drop(g)
	}
	g.mu.Unlock()
}

// supports tells whether somebody with these protocols can be of the group.
func (g *group) supports(protocolType string, ps []Protocol) bool {
	if protocolType == "" || len(ps) == 0 {
		return false
	}
	if len(g.members) == 0 {
		return true
	}
	if protocolType != g.protocolType {
		return false
	}
	return slices.ContainsFunc(ps, func(p Protocol) bool { return g.allHave(p.Name) })
}

func (g *group) allHave(protocol string) bool {
	for _, m := range g.members {
		if !m.has(protocol) {
			return false
		}
	}
	return true
}

// choose gives the protocol that most members would like best among those all can do.
func (g *group) choose() string {
	offered := map[string]int{} // by how many members
	for _, m := range g.members {
		for i, p := range m.protocols {
			if !slices.ContainsFunc(m.protocols[:i], func(o Protocol) bool { return o.Name == p.Name }) {
				offered[p.Name]++
			}
		}
	}
	votes := map[string]int{}
	best := ""
	for _, id := range g.order {
		for _, p := range g.members[id].protocols {
			if offered[p.Name] == len(g.members) {
				votes[p.Name]++
				break
			}
		}
	}
	for _, id := range g.order { // ties go to what the earliest member prefers
		for _, p := range g.members[id].protocols {
			if votes[p.Name] > votes[best] {
				best = p.Name
			}
		}
	}
	return best
}

// find checks who speaks: by member id, and by instance id where one is given (KIP-345).
func (g *group) find(memberID, instance string) (*member, error) {
	if instance != "" {
		switch id, ok := g.static[instance]; {
		case !ok:
			return nil, kerr.UnknownMemberID
		case id != memberID:
			return nil, kerr.FencedInstanceID
		}
	}
	m := g.members[memberID]
	if m == nil {
		return nil, kerr.UnknownMemberID
	}
	return m, nil
}

// add makes somebody a member.
func (g *group) add(m *member) {
	if len(g.members) == 0 {
		g.protocolType = m.protocolType
	}
	g.used = true
	g.members[m.id] = m
	g.order = append(g.order, m.id)
	if m.instance != "" {
		g.static[m.instance] = m.id
	}
	if g.leader == "" {
		g.leader = m.id
	}
}

// remove takes a member out and turns away its parked requests.
func (g *group) remove(m *member, why error) {
	m.disarm()
	m.answerJoin(JoinResult{Err: why, MemberID: m.id})
	m.answerSync(SyncResult{Err: why})
	delete(g.members, m.id)
	if m.instance != "" && g.static[m.instance] == m.id {
		delete(g.static, m.instance)
	}
	if i := slices.Index(g.order, m.id); i >= 0 {
		g.order = slices.Delete(g.order, i, i+1)
	}
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0]
		}
	}
}

// restored sets a group going after a restart (I7).
func (g *group) restored() {
	ghosts := 0
	for _, id := range slices.Clone(g.order) {
		if m := g.members[id]; m.memory {
			g.remove(m, kerr.UnknownMemberID)
			ghosts++
		}
	}
	if len(g.members) == 0 {
		if ghosts > 0 {
			g.generation++
			g.becomeEmpty()
		}
		return
	}
	for _, m := range g.members {
		g.arm(m, m.session)
	}
	if ghosts > 0 {
		g.prepare("members of the earlier process are gone")
	}
}

// stop ends timers and turns away whoever is parked.
func (g *group) stop() {
	g.endPhase()
	for _, t := range g.pending {
		t.Stop()
	}
	for _, m := range g.members {
		m.disarm()
		m.answerJoin(JoinResult{Err: kerr.CoordinatorNotAvailable, MemberID: m.id})
		m.answerSync(SyncResult{Err: kerr.CoordinatorNotAvailable})
	}
}

// after runs f under the group's lock when d has passed, unless another phase began meanwhile.
func (g *group) after(d time.Duration, f func()) {
	g.endPhase()
	seq := g.phaseSeq
	g.phase = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.phaseSeq == seq && !g.c.isClosed() {
			f()
		}
	})
}

func (g *group) endPhase() {
	g.phaseSeq++
	if g.phase != nil {
		g.phase.Stop()
		g.phase = nil
	}
}

func (c *Coordinator) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
