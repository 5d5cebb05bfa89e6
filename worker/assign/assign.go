package assign

import (
	"cmp"
	"slices"
)

// Unit is one thing to run: a task, or with Task == ConnectorUnit the connector itself.
type Unit struct {
	Connector string
	Task      int32
}

// ConnectorUnit is the task number that stands for the connector itself, on the wire too.
const ConnectorUnit int32 = -1

// Work is a connector's: how many tasks it has, and what one of them weighs beside other connectors' tasks (0 counts as 1).
type Work struct {
	Tasks, Weight int
}

// Plan is what one member is told. Of what it is to add, what was kept for it comes first: it is given back last.
type Plan struct {
	Add, Revoke []Unit
}

// Compute makes the plans of one round. current holds what each member runs now, in the order it got it; configured what
// there is. kept says what happens with units that nobody runs: one that maps to a member goes there if that is no
// burden, one that maps to "" stays unassigned. The boolean tells that something was revoked, so another round must follow.
func Compute(current map[string][]Unit, configured map[string]Work, kept map[Unit]string) (map[string]Plan, bool) {
	members := make([]string, 0, len(current))
	for m := range current {
		members = append(members, m)
	}
	slices.Sort(members)
	plans := make(map[string]Plan, len(members))
	if len(members) == 0 {
		return plans, false
	}
	all := units(configured)
	owned, holders := survivors(members, current, all, plans)
	for _, connectors := range []bool{true, false} { // I3
		r := round{kept: kept, members: make([]*member, len(members))}
		for i, m := range members {
			r.members[i] = &member{name: m}
			for _, u := range owned[m] {
				if (u.Task == ConnectorUnit) == connectors {
					r.members[i].take(item{u, weight(configured, u), false})
				}
			}
		}
		var free []item
		for _, u := range all {
			if (u.Task == ConnectorUnit) == connectors && holders[u] == 0 { // I1: what is being revoked is still held
				free = append(free, item{u, weight(configured, u), true})
			}
		}
		r.hand(free)
		r.level()
		for _, m := range r.members {
			p := plans[m.name]
			p.Revoke = append(p.Revoke, m.gone...)
			for _, it := range m.items {
				if it.fresh {
					p.Add = append(p.Add, it.unit)
				}
			}
			plans[m.name] = p
		}
	}
	revoked := false
	for _, m := range members {
		p := plans[m]
		revoked = revoked || len(p.Revoke) > 0
		sortUnits(p.Revoke)
		plans[m] = p
	}
	return plans, revoked
}

func units(configured map[string]Work) []Unit {
	var out []Unit
	for c, w := range configured {
		out = append(out, Unit{c, ConnectorUnit})
		for t := range w.Tasks {
			out = append(out, Unit{c, int32(t)})
		}
	}
	sortUnits(out)
	return out
}

func weight(configured map[string]Work, u Unit) int {
	if u.Task == ConnectorUnit {
		return 1
	}
	return max(1, configured[u.Connector].Weight)
}

// survivors keeps what members hold and still exists once; the rest is revoked. holders counts who holds a unit.
func survivors(members []string, current map[string][]Unit, all []Unit, plans map[string]Plan) (map[string][]Unit, map[Unit]int) {
	exists := make(map[Unit]bool, len(all))
	for _, u := range all {
		exists[u] = true
	}
	holders := map[Unit]int{}
	for _, m := range members {
		for _, u := range current[m] {
			holders[u]++
		}
	}
	owned := make(map[string][]Unit, len(members))
	for _, m := range members {
		p := plans[m]
		for _, u := range current[m] {
			if exists[u] && holders[u] == 1 {
				owned[m] = append(owned[m], u)
			} else {
				p.Revoke = append(p.Revoke, u)
			}
		}
		plans[m] = p
	}
	return owned, holders
}

// round levels one kind of units.
type round struct {
	members []*member
	kept    map[Unit]string
}

type member struct {
	name  string
	load  int
	items []item // in the order they came
	gone  []Unit // revoked in this round
}

type item struct {
	unit   Unit
	weight int
	fresh  bool // nobody runs it yet
}

func (m *member) take(it item) {
	m.items = append(m.items, it)
	m.load += it.weight
}

// hand gives away what nobody holds: first what is kept for a member, then the heaviest, each to the least loaded.
func (r *round) hand(free []item) {
	slices.SortStableFunc(free, func(a, b item) int { return cmp.Compare(b.weight, a.weight) })
	var rest []item
	for _, it := range free {
		home, kept := r.kept[it.unit]
		if !kept {
			rest = append(rest, it)
			continue
		}
		for _, m := range r.members {
			if m.name == home {
				m.take(it)
			}
		}
	}
	for _, it := range rest {
		least := r.members[0]
		for _, m := range r.members[1:] {
			if m.load < least.load {
				least = m
			}
		}
		least.take(it)
	}
}

// level moves units from loaded members to less loaded ones while that brings the two closer. What somebody runs is
// revoked; where it goes is counted only, since a later round hands it out.
func (r *round) level() {
	for {
		order := slices.Clone(r.members)
		slices.SortStableFunc(order, func(a, b *member) int { return cmp.Compare(b.load, a.load) })
		if !r.step(order) {
			return
		}
	}
}

func (r *round) step(order []*member) bool {
	for _, from := range order {
		for i := len(order) - 1; i >= 0; i-- {
			to := order[i]
			if from.load-to.load <= 1 {
				break
			}
			if at := from.lastBelow(from.load - to.load); at >= 0 {
				from.move(at, to)
				return true
			}
		}
	}
	return false
}

// lastBelow finds what came last and weighs less, what nobody runs before what somebody does (I5).
func (m *member) lastBelow(weight int) int {
	for _, fresh := range []bool{true, false} {
		for i := len(m.items) - 1; i >= 0; i-- {
			if m.items[i].fresh == fresh && m.items[i].weight < weight {
				return i
			}
		}
	}
	return -1
}

func (m *member) move(at int, to *member) {
	it := m.items[at]
	m.items = slices.Delete(m.items, at, at+1)
	m.load -= it.weight
	if it.fresh {
		to.take(it)
		return
	}
	m.gone = append(m.gone, it.unit)
	to.load += it.weight
}

func sortUnits(us []Unit) {
	slices.SortFunc(us, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Connector, b.Connector), cmp.Compare(a.Task, b.Task))
	})
}
