package group

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/worker/assign"
)

// lead computes every member's assignment at the highest config offset any of them has read.
func (m *Member) lead(ctx context.Context, join *kmsg.JoinGroupResponse) ([]kmsg.SyncGroupRequestGroupAssignment, error) {
	version := versionCompatible
	if join.Protocol != nil && *join.Protocol == "sessioned" {
		version = versionSessioned
	}
	current, urls := map[string][]assign.Unit{}, map[string]string{}
	highest, stable := int64(0), int64(math.MaxInt64)
	for _, j := range join.Members {
		meta, err := decodeMetadata(j.ProtocolMetadata)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", j.MemberID, err)
		}
		current[j.MemberID], urls[j.MemberID] = meta.Current, meta.URL
		highest, stable = max(highest, meta.ConfigOffset), min(stable, meta.ConfigOffset)
	}
	m.warnOfClash(urls)
	if m.cfg.View.Offset() < highest {
		if err := m.cfg.View.ReadToEnd(ctx); err != nil {
			return nil, err
		}
	}
	code, offset := noError, m.cfg.View.Offset()
	plans := map[string]assign.Plan{}
	var delay time.Duration
	if offset < highest {
		code = configMismatch
	} else {
		configured := m.cfg.View.Configured()
		var kept map[assign.Unit]string
		kept, delay = m.keep(ctx, current, urls, configured)
		plans, _ = assign.Compute(current, configured, kept)
		m.owners = owners(current, plans, urls)
		m.given = map[assign.Unit]bool{}
		for _, p := range plans {
			for _, u := range p.Revoke {
				m.given[u] = true
			}
		}
	}
	out := make([]kmsg.SyncGroupRequestGroupAssignment, 0, len(current))
	for id := range current {
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID = id
		ga.MemberAssignment = assignment{
			Error: code, Leader: m.id, LeaderURL: m.cfg.URL, ConfigOffset: offset,
			Assigned: plans[id].Add, Revoked: plans[id].Revoke, DelayMs: int32(delay.Milliseconds()),
			Stable: stable,
		}.encode(version)
		out = append(out, ga)
	}
	return out, nil
}

// warnOfClash tells of workers with one address: calls for one of them reach the other, and nobody can tell who runs what.
func (m *Member) warnOfClash(urls map[string]string) {
	at := map[string][]string{}
	for id, url := range urls {
		at[url] = append(at[url], id)
	}
	maps.DeleteFunc(at, func(_ string, ids []string) bool { return len(ids) < 2 })
	for url, ids := range at {
		slices.Sort(ids)
		if !slices.Equal(ids, m.clashes[url]) {
			m.log.Warn("workers of this group are advertised at the same address, so calls for one of them reach another: "+
				"give each its own rest.advertised.host.name and rest.advertised.port", "url", url, "members", ids)
		}
	}
	m.clashes = at
}

// keep says which units that nobody runs belong to somebody: to a member that ran them last and has come back, or, for the
// scheduled delay, to one that crashed. The delay's rest is told to all, so that it outlives the leader.
func (m *Member) keep(ctx context.Context, current map[string][]assign.Unit, urls map[string]string, configured map[string]assign.Work) (map[assign.Unit]string, time.Duration) {
	held := map[assign.Unit]bool{}
	for _, us := range current {
		for _, u := range us {
			held[u] = true
		}
	}
	var free []assign.Unit
	for c, w := range configured {
		for t := int(assign.ConnectorUnit); t < w.Tasks; t++ {
			if u := (assign.Unit{Connector: c, Task: int32(t)}); !held[u] && !m.given[u] {
				free = append(free, u)
			}
		}
	}
	if len(free) == 0 {
		m.delayUntil = time.Time{}
		return nil, 0
	}
	last, err := m.cfg.View.LastOwners(ctx, free)
	if err != nil {
		m.log.Warn("who ran what is not known; work that is free is shared out at once", "error", err)
		return nil, 0
	}
	members := map[string]string{}
	for id, url := range urls {
		members[url] = id
	}
	kept, crashed := map[assign.Unit]string{}, []assign.Unit{}
	for _, u := range free {
		o, ran := last[u]
		if !ran {
			continue
		}
		if id, back := members[o.URL]; back {
			kept[u] = id
		} else if o.Crashed {
			crashed = append(crashed, u)
		}
	}
	switch {
	case len(crashed) == 0 || m.cfg.MaxDelay <= 0:
		m.delayUntil = time.Time{}
		return kept, 0
	case m.delayUntil.IsZero():
		m.delayUntil = time.Now().Add(m.cfg.MaxDelay)
		m.log.Info("a worker is gone without a word; its work is kept for it", "units", len(crashed), "for", m.cfg.MaxDelay)
	}
	rest := time.Until(m.delayUntil)
	if rest <= 0 {
		m.delayUntil = time.Time{}
		return kept, 0
	}
	for _, u := range crashed {
		kept[u] = ""
	}
	return kept, rest
}

// owners tells where each unit runs after a round.
func owners(current map[string][]assign.Unit, plans map[string]assign.Plan, urls map[string]string) map[assign.Unit]string {
	out := map[assign.Unit]string{}
	for id, units := range current {
		gone := map[assign.Unit]bool{}
		for _, u := range plans[id].Revoke {
			gone[u] = true
		}
		for _, u := range slices.Concat(units, plans[id].Add) {
			if !gone[u] {
				out[u] = urls[id]
			}
		}
	}
	return out
}
