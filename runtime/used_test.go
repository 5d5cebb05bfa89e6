package runtime

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type usesSeen struct {
	forgotten atomic.Uint64
	told      []string
}

func (u *usesSeen) Forgotten() uint64 { return u.forgotten.Load() }
func (u *usesSeen) Used(connector string, task int, topic string) {
	u.told = append(u.told, fmt.Sprint(connector, task, topic))
}

func TestATopicIsToldOfOnce(t *testing.T) {
	seen := &usesSeen{}
	used := (&Runtime{cfg: Config{Uses: seen}}).usesOf("c", 1)
	for range 3 {
		used("a")
		used("b")
		used("b")
	}
	seen.forgotten.Add(1)
	used("b")
	if d := cmp.Diff([]string{"c1a", "c1b", "c1b"}, seen.told); d != "" {
		t.Error(d)
	}
	if n := testing.AllocsPerRun(100, func() { used("a"); used("b") }); n != 0 {
		t.Errorf("%v allocations for two records", n)
	}
	(&Runtime{}).usesOf("c", 1)("a") // nobody asks
}
