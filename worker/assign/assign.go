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

// Plan is what one member is told.
type Plan struct {
	Add, Revoke []Unit
}

// Compute makes the plans of one round. current holds what each member runs now, configured the number of tasks of
// each connector. The boolean tells that something was revoked, so another round must follow.
func Compute(current map[string][]Unit, configured map[string]int) (map[string]Plan, bool) {
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
	revoked := false
	for _, kind := range []bool{true, false} { // connectors, then tasks: I3
		of := func(u Unit) bool { return (u.Task == ConnectorUnit) == kind }
		revoked = shed(members, owned, plans, of, count(all, of)) || revoked
		hand(members, owned, plans, all, holders, of)
	}
	for _, m := range members {
		p := plans[m]
		revoked = revoked || len(p.Revoke) > 0
		sortUnits(p.Add)
		sortUnits(p.Revoke)
		plans[m] = p
	}
	return plans, revoked
}

func units(configured map[string]int) []Unit {
	var out []Unit
	for c, n := range configured {
		out = append(out, Unit{c, ConnectorUnit})
		for t := range n {
			out = append(out, Unit{c, int32(t)})
		}
	}
	sortUnits(out)
	return out
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
		held := slices.Clone(current[m])
		sortUnits(held)
		for _, u := range slices.Compact(held) {
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

// shed revokes what a member holds above its share. Members with more keep the larger shares.
func shed(members []string, owned map[string][]Unit, plans map[string]Plan, of func(Unit) bool, total int) bool {
	order := slices.Clone(members)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(count(owned[b], of), count(owned[a], of)) })
	shed := false
	for i, m := range order {
		share := total / len(members)
		if i < total%len(members) {
			share++
		}
		for n := count(owned[m], of); n > share; n-- {
			at := lastIndex(owned[m], of)
			p := plans[m]
			p.Revoke = append(p.Revoke, owned[m][at])
			plans[m] = p
			owned[m] = slices.Delete(owned[m], at, at+1)
			shed = true
		}
	}
	return shed
}

// hand gives every unit that nobody holds to the least loaded member (I1: what is being revoked is still held).
func hand(members []string, owned map[string][]Unit, plans map[string]Plan, all []Unit, holders map[Unit]int, of func(Unit) bool) {
	for _, u := range all {
		if !of(u) || holders[u] > 0 {
			continue
		}
		least := members[0]
		for _, m := range members[1:] {
			if count(owned[m], of) < count(owned[least], of) {
				least = m
			}
		}
		owned[least] = append(owned[least], u)
		p := plans[least]
		p.Add = append(p.Add, u)
		plans[least] = p
	}
}

func count(us []Unit, of func(Unit) bool) (n int) {
	for _, u := range us {
		if of(u) {
			n++
		}
	}
	return n
}

func lastIndex(us []Unit, of func(Unit) bool) int {
	for i := len(us) - 1; i >= 0; i-- {
		if of(us[i]) {
			return i
		}
	}
	return -1
}

func sortUnits(us []Unit) {
	slices.SortFunc(us, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Connector, b.Connector), cmp.Compare(a.Task, b.Task))
	})
}
