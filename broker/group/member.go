package group

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// member is one member of a group. All of it is guarded by the group's lock.
type member struct {
	id           string
	instance     string // group.instance.id of a static member
	clientID     string
	host         string
	memory       bool // joined over the connection inside the process
	session      time.Duration
	rebalance    time.Duration
	protocolType string
	protocols    []Protocol
	assignment   []byte

	fresh    bool            // parked in its first JoinGroup
	join     chan JoinResult // where its parked JoinGroup waits; nil: not parked
	sync     chan SyncResult
	synced   bool // has asked for the assignment of this generation
	timer    *time.Timer
	timerSeq uint64
}

func newMemberID(clientID, instance string) string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // crypto/rand.Read never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	name := clientID
	if instance != "" {
		name = instance
	}
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", name, u[0:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func (m *member) has(protocol string) bool {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return true
		}
	}
	return false
}

func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return []byte{}
}

// same tells whether a join offers what the member already offers.
func (m *member) same(ps []Protocol) bool {
	if len(ps) != len(m.protocols) {
		return false
	}
	for i, p := range ps {
		if p.Name != m.protocols[i].Name || !bytes.Equal(p.Metadata, m.protocols[i].Metadata) {
			return false
		}
	}
	return true
}

func (m *member) answerJoin(r JoinResult) {
	if m.join != nil {
		m.join <- r // has room for one
		m.join = nil
		m.fresh = false
	}
}

func (m *member) answerSync(r SyncResult) {
	if m.sync != nil {
		m.sync <- r
		m.sync = nil
	}
}

// arm gives a member d until it expires (I4: time.Timer is monotonic).
func (g *group) arm(m *member, d time.Duration) {
	m.disarm()
	seq := m.timerSeq
	m.timer = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.unlock()
		if g.members[m.id] == m && m.timerSeq == seq && !g.c.isClosed() {
			g.expireMember(m)
		}
	})
}

func (m *member) disarm() {
	m.timerSeq++
	if m.timer != nil {
		m.timer.Stop()
	}
}

func (g *group) expireMember(m *member) {
	if (m.join != nil || m.sync != nil) && !m.fresh { // I5
		return
	}
	g.c.log.Info("member expired", "group", g.id, "member", m.id, "session", m.session)
	g.c.metrics.expired.Inc()
	g.remove(m, kerr.UnknownMemberID)
	g.changed("member " + m.id + " expired")
}

// addPending remembers an id that was given away and holds back the end of a joining until it is used or forgotten.
func (g *group) addPending(id string, session time.Duration) {
	g.used = true
	g.pending[id] = time.AfterFunc(session, func() {
		g.mu.Lock()
		defer g.unlock()
		if _, ok := g.pending[id]; ok && !g.c.isClosed() {
			g.dropPending(id)
			g.maybeComplete()
		}
	})
}

func (g *group) dropPending(id string) {
	if t, ok := g.pending[id]; ok {
		t.Stop()
		delete(g.pending, id)
	}
}
