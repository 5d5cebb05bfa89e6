package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
)

// Heartbeat keeps a member's session alive. Its error says what the member has to do: kerr.RebalanceInProgress to join
// again; while others still sync, all is well, or a slow leader would cause endless rebalances.
func (c *Coordinator) Heartbeat(id string, generation int32, memberID, instance string) error {
	if id == "" {
		return kerr.InvalidGroupID
	}
	g := c.lock(id, false)
	if g == nil {
		return kerr.UnknownMemberID
	}
	defer g.mu.Unlock()
	m, err := g.find(memberID, instance)
	switch {
	case err != nil:
		return err
	case generation != g.generation:
		return kerr.IllegalGeneration
	}
	switch g.state {
	case Preparing:
		if m.join == nil {
			g.arm(m, m.session)
		}
		return kerr.RebalanceInProgress
	case Completing, Stable:
		if m.sync == nil {
			g.arm(m, m.session)
		}
		return nil
	}
	return kerr.UnknownMemberID
}

// Leaver names a member that leaves: by member id, by instance id, or both.
type Leaver struct{ MemberID, Instance string }

// Leave takes members out at once (KIP-345), and says for each what became of it.
func (c *Coordinator) Leave(id string, who []Leaver) ([]error, error) {
	if id == "" {
		return nil, kerr.InvalidGroupID
	}
	errs := make([]error, len(who))
	g := c.lock(id, false)
	if g == nil {
		for i := range errs {
			errs[i] = kerr.UnknownMemberID
		}
		return errs, nil
	}
	defer g.unlock()
	removed := false
	for i, w := range who {
		if _, ok := g.pending[w.MemberID]; ok && w.Instance == "" {
			g.dropPending(w.MemberID)
			g.maybeComplete() // it holds back nobody any more
			continue
		}
		memberID := w.MemberID
		if w.Instance != "" && memberID == "" {
			memberID = g.static[w.Instance] // an administrator knows only the instance
		}
		m, err := g.find(memberID, w.Instance)
		if err != nil {
			errs[i] = err
			continue
		}
		g.remove(m, kerr.UnknownMemberID)
		removed = true
	}
	if removed {
		g.changed("members left")
	}
	return errs, nil
}
