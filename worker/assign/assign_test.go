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

func settle(t *testing.T, current map[string][]Unit, configured map[string]Work) (moved int) {
	t.Helper()
	for round := 0; ; round++ {
		if round > 5 {
			t.Fatalf("no end of rounds: %v", current)
		}
		plans, again := Compute(current, configured, nil)
		for _, p := range plans {
			moved += len(p.Revoke)
		}
		apply(t, current, plans)
		if !again {
			return moved
		}
	}
}

func balanced(t *testing.T, current map[string][]Unit, configured map[string]Work) {
	t.Helper()
	seen := map[Unit]int{}
	for kind := range 2 {
		lo, hi := 1<<30, 0
		for _, us := range current {
			n := 0
			for _, u := range us {
				if (u.Task == ConnectorUnit) == (kind == 0) {
					n++
				}
			}
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
	settle(t, current, map[string]Work{"x": {Tasks: 2}})
	before := slices.Clone(current["a"])
	if moved := settle(t, current, map[string]Work{"x": {Tasks: 2}, "y": {Tasks: 3}}); moved != 0 {
		t.Fatalf("adding a connector moved %d units", moved)
	}
	for _, u := range before {
		if !slices.Contains(current["a"], u) {
			t.Fatalf("%v was lost", u)
		}
	}
	balanced(t, current, map[string]Work{"x": {Tasks: 2}, "y": {Tasks: 3}})
	settle(t, current, map[string]Work{"y": {Tasks: 1}})
	balanced(t, current, map[string]Work{"y": {Tasks: 1}})
}

func TestANewMemberTakesOnlyItsShare(t *testing.T) {
	cfg := map[string]Work{"x": {Tasks: 30}}
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
	plans, again := Compute(map[string][]Unit{"a": {u, {"x", -1}}, "b": {u}}, map[string]Work{"x": {Tasks: 1}}, nil)
	if !again || !slices.Contains(plans["a"].Revoke, u) || !slices.Contains(plans["b"].Revoke, u) {
		t.Fatalf("got %v", plans)
	}
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		current, cfg := map[string][]Unit{"m0": nil}, map[string]Work{}
		for step := range 20 {
			switch r.IntN(4) {
			case 0:
				current[fmt.Sprintf("m%d", step)] = nil
			case 1:
				if len(current) > 1 {
					delete(current, names(current)[r.IntN(len(current))])
				}
			case 2:
				cfg[fmt.Sprintf("c%d", r.IntN(6))] = Work{Tasks: r.IntN(9)}
			case 3:
				delete(cfg, fmt.Sprintf("c%d", r.IntN(6)))
			}
			settle(t, current, cfg)
			balanced(t, current, cfg)
		}
	}
}

func names(current map[string][]Unit) []string {
	out := make([]string, 0, len(current))
	for m := range current {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

// level checks that no move of one task brings two members closer, and that everything runs once.
func level(t *testing.T, current map[string][]Unit, configured map[string]Work) {
	t.Helper()
	load := map[string]int{}
	seen := map[Unit]int{}
	for m, us := range current {
		for _, u := range us {
			seen[u]++
			if u.Task != ConnectorUnit {
				load[m] += weight(configured, u)
			}
		}
	}
	for from, us := range current {
		for _, u := range us {
			for to := range current {
				if u.Task != ConnectorUnit && weight(configured, u) < load[from]-load[to] {
					t.Fatalf("moving %v (weight %d) from %s (%d) to %s (%d) would help", u, weight(configured, u), from, load[from], to, load[to])
				}
			}
		}
	}
	for _, u := range units(configured) {
		if seen[u] != 1 {
			t.Fatalf("%v runs %d times", u, seen[u])
		}
	}
}

func TestRandomHistoriesWithWeights(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		current, cfg := map[string][]Unit{"m0": nil}, map[string]Work{}
		for step := range 20 {
			switch r.IntN(5) {
			case 0:
				current[fmt.Sprintf("m%d", step)] = nil
			case 1:
				if len(current) > 1 {
					delete(current, names(current)[r.IntN(len(current))])
				}
			case 2, 3:
				cfg[fmt.Sprintf("c%d", r.IntN(6))] = Work{Tasks: r.IntN(9), Weight: r.IntN(12)}
			case 4:
				delete(cfg, fmt.Sprintf("c%d", r.IntN(6)))
			}
			settle(t, current, cfg)
			level(t, current, cfg)
		}
	}
}

func TestHeavyTasksAreSpread(t *testing.T) {
	cfg := map[string]Work{"heavy": {Tasks: 2, Weight: 10}, "light": {Tasks: 20}}
	current := map[string][]Unit{"a": nil, "b": nil}
	settle(t, current, cfg)
	for m, us := range current {
		heavy, light := 0, 0
		for _, u := range us {
			switch {
			case u.Task == ConnectorUnit:
			case u.Connector == "heavy":
				heavy++
			default:
				light++
			}
		}
		if heavy != 1 || light != 10 {
			t.Fatalf("%s has %d heavy and %d light tasks", m, heavy, light)
		}
	}
}

// TestARollingRestart restarts each of three workers once: each task leaves its worker once and comes home once, no other moves.
func TestARollingRestart(t *testing.T) {
	for _, cfg := range []map[string]Work{{"x": {Tasks: 30}}, {"a": {Tasks: 7}, "b": {Tasks: 11}, "c": {Tasks: 12}}} {
		current := map[string][]Unit{"w1": nil, "w2": nil, "w3": nil}
		settle(t, current, cfg)
		home := owners(current)
		moves := map[Unit]int{}
		step := func() {
			before := owners(current)
			settle(t, current, cfg)
			for u, m := range owners(current) {
				if before[u] != m {
					moves[u]++
				}
			}
		}
		for _, m := range []string{"w1", "w2", "w3"} {
			delete(current, m)
			step()
			current[m] = nil
			step()
		}
		for _, u := range units(cfg) {
			if moves[u] != 2 {
				t.Errorf("%v moved %d times, want 2: away and home", u, moves[u])
			}
			if m := owners(current)[u]; m != home[u] {
				t.Errorf("%v ended on %s, not at home on %s", u, m, home[u])
			}
		}
	}
}

func owners(current map[string][]Unit) map[Unit]string {
	out := map[Unit]string{}
	for m, us := range current {
		for _, u := range us {
			out[u] = m
		}
	}
	return out
}

func TestWorkIsKeptForWhoIsExpectedBack(t *testing.T) {
	cfg := map[string]Work{"x": {Tasks: 9}}
	current := map[string][]Unit{"a": nil, "b": nil, "c": nil}
	settle(t, current, cfg)
	of := slices.Clone(current["c"])
	delete(current, "c")
	kept := map[Unit]string{}
	for _, u := range of {
		kept[u] = ""
	}
	plans, again := Compute(current, cfg, kept)
	if again || len(plans["a"].Add)+len(plans["b"].Add) > 0 {
		t.Fatalf("what is kept was given away: %v", plans)
	}
	current["c2"] = nil
	for _, u := range of {
		kept[u] = "c2"
	}
	plans, again = Compute(current, cfg, kept)
	sortUnits(of)
	if again || !slices.Equal(plans["c2"].Add, of) {
		t.Fatalf("who came back got %v, not its own %v", plans["c2"], of)
	}
}
