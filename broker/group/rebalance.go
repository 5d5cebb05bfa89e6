package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// changed begins a rebalance, or lets the one that runs go on.
func (g *group) changed(why string) {
	switch g.state {
	case Preparing:
		g.maybeComplete()
	case Stable, Completing, Empty:
		g.prepare(why)
	}
}

// prepare begins the joining phase.
func (g *group) prepare(why string) {
	g.c.log.Debug("group rebalances", "group", g.id, "generation", g.generation, "members", len(g.members), "why", why)
	g.c.metrics.rebalances.Inc()
	if g.state == Completing {
		for _, m := range g.members {
			m.assignment = nil
			m.answerSync(SyncResult{Err: kerr.RebalanceInProgress})
			if m.join == nil {
				g.arm(m, m.session)
			}
		}
	}
	g.storing = false
	g.initial = g.state == Empty
	g.state = Preparing
	if g.initial && g.c.cfg.InitialDelay > 0 {
		g.newcomers = false
		g.initialEnd = time.Now().Add(g.rebalanceTimeout())
		g.after(g.c.cfg.InitialDelay, g.initialOver)
		return
	}
	g.initial = false
	g.after(g.rebalanceTimeout(), g.completeJoin)
	g.maybeComplete()
}

// initialOver ends the delay of an empty group's first rebalance, or extends it while members keep coming.
func (g *group) initialOver() {
	left := time.Until(g.initialEnd)
	if g.newcomers && left > 0 {
		g.newcomers = false
		g.after(min(g.c.cfg.InitialDelay, left), g.initialOver)
		return
	}
	g.initial = false
	g.completeJoin()
}

func (g *group) rebalanceTimeout() time.Duration {
	var d time.Duration
	for _, m := range g.members {
		d = max(d, m.rebalance)
	}
	return d
}

// maybeComplete ends the joining phase when nobody is missing.
func (g *group) maybeComplete() {
	if g.state != Preparing || g.initial || len(g.pending) > 0 {
		return
	}
	for _, m := range g.members {
		if m.join == nil {
			return
		}
	}
	g.completeJoin()
}

// completeJoin begins a generation with those who joined. Dynamic members that did not are dropped, static ones stay.
func (g *group) completeJoin() {
	joined := 0
	for _, id := range slices.Clone(g.order) {
		m := g.members[id]
		switch {
		case m.join != nil:
			joined++
		case m.instance == "":
			g.remove(m, kerr.UnknownMemberID)
		}
	}
	if joined == 0 && len(g.members) > 0 { // only absent static members: wait on for one to lead
		g.after(g.rebalanceTimeout(), g.completeJoin)
		return
	}
	g.generation++
	if len(g.members) == 0 {
		g.becomeEmpty()
		return
	}
	g.electLeader()
	g.protocol = g.choose()
	g.state = Completing
	g.storing = false
	for _, m := range g.members {
		m.synced = false
	}
	generation := g.generation
	g.after(g.rebalanceTimeout(), func() { g.syncOver(generation) })
	for _, id := range g.order {
		m := g.members[id]
		if m.join == nil {
			continue
		}
		m.answerJoin(g.current(m))
		g.arm(m, m.session)
	}
}

// electLeader keeps the leader if it joined again, else takes the first that did.
func (g *group) electLeader() {
	if m := g.members[g.leader]; m != nil && m.join != nil {
		return
	}
	for _, id := range g.order {
		if g.members[id].join != nil {
			g.leader = id
			return
		}
	}
}

// syncOver drops members that did not ask for their assignment in time.
func (g *group) syncOver(generation int32) {
	if g.state != Completing || g.generation != generation {
		return
	}
	late := 0
	for _, id := range slices.Clone(g.order) {
		if m := g.members[id]; !m.synced {
			late++
			g.remove(m, kerr.UnknownMemberID)
		}
	}
	if late > 0 {
		g.changed("members did not sync in time")
	}
}

// becomeEmpty ends a group's last generation. The caller has raised the generation.
func (g *group) becomeEmpty() {
	g.endPhase()
	g.state, g.protocol, g.leader = Empty, "", ""
	g.stateSince = time.Now().UnixMilli()
	g.c.log.Debug("group is empty", "group", g.id, "generation", g.generation)
	if g.recorded {
		g.record(false) // nobody waits: after a crash the members restored instead expire
	}
}
