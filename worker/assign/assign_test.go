package assign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// apply does to each member what its plan says, checking that nobody runs what another still holds (I1).
func apply(t *testing.T, current map[string][]Unit, plans map[string]Plan) {
	t.Helper()
	held := map[Unit]string{}
	for m, us := range current {
		for _, u := range us {
			held[u] = m
		}
	}
	for m, p := range plans {
		for _, u := range p.Add {
			if h, ok := held[u]; ok {
				t.Fatalf("%v is given to %s while %s holds it", u, m, h)
			}
		}
		current[m] = slices.DeleteFunc(append(current[m], p.Add...), func(u Unit) bool { return slices.Contains(p.Revoke, u) })
	}
}

func settle(t *testing.T, current map[string][]Unit, configured map[string]int) (moved int) {
	t.Helper()
	for round := 0; ; round++ {
		if round > 5 {
			t.Fatalf("no end of rounds: %v", current)
		}
		plans, again := Compute(current, configured)
		for _, p := range plans {
			moved += len(p.Revoke)
		}
		apply(t, current, plans)
		if !again {
			return moved
		}
	}
}

func balanced(t *testing.T, current map[string][]Unit, configured map[string]int) {
	t.Helper()
	seen := map[Unit]int{}
	for kind := range 2 {
		lo, hi := 1<<30, 0
		for _, us := range current {
			n := count(us, func(u Unit) bool { return (u.Task == ConnectorUnit) == (kind == 0) })
			lo, hi = min(lo, n), max(hi, n)
		}
		if hi-lo > 1 {
			t.Fatalf("unbalanced by %d: %v", hi-lo, current)
		}
	}
	for _, us := range current {
		for _, u := range us {
			seen[u]++
		}
	}
	for _, u := range units(configured) {
		if seen[u] != 1 {
			t.Fatalf("%v runs %d times", u, seen[u])
		}
		delete(seen, u)
	}
	if len(seen) > 0 {
		t.Fatalf("deleted units still run: %v", seen)
	}
}

func TestAGroupOfOneGetsAllAndLosesNothing(t *testing.T) {
	current := map[string][]Unit{"a": nil}
	settle(t, current, map[string]int{"x": 2})
	before := slices.Clone(current["a"])
	if moved := settle(t, current, map[string]int{"x": 2, "y": 3}); moved != 0 {
		t.Fatalf("adding a connector moved %d units", moved)
	}
	for _, u := range before {
		if !slices.Contains(current["a"], u) {
			t.Fatalf("%v was lost", u)
		}
	}
	balanced(t, current, map[string]int{"x": 2, "y": 3})
	settle(t, current, map[string]int{"y": 1})
	balanced(t, current, map[string]int{"y": 1})
}

func TestANewMemberTakesOnlyItsShare(t *testing.T) {
	cfg := map[string]int{"x": 30}
	current := map[string][]Unit{"a": nil, "b": nil}
	settle(t, current, cfg)
	current["c"] = nil
	if moved := settle(t, current, cfg); moved != 10 {
		t.Fatalf("a third member moved %d tasks, want 10", moved)
	}
	balanced(t, current, cfg)
}

func TestADuplicateStopsEverywhereFirst(t *testing.T) {
	u := Unit{"x", 0}
	plans, again := Compute(map[string][]Unit{"a": {u, {"x", -1}}, "b": {u}}, map[string]int{"x": 1})
	if !again || !slices.Contains(plans["a"].Revoke, u) || !slices.Contains(plans["b"].Revoke, u) {
		t.Fatalf("got %v", plans)
	}
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		current, cfg := map[string][]Unit{"m0": nil}, map[string]int{}
		for step := range 20 {
			switch r.IntN(4) {
			case 0:
				current[fmt.Sprintf("m%d", step)] = nil
			case 1:
				for m := range current {
					if len(current) > 1 {
						delete(current, m)
					}
					break
				}
			case 2:
				cfg[fmt.Sprintf("c%d", r.IntN(6))] = r.IntN(9)
			case 3:
				delete(cfg, fmt.Sprintf("c%d", r.IntN(6)))
			}
			settle(t, current, cfg)
			balanced(t, current, cfg)
		}
	}
}
