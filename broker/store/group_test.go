package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/internal/testenv"
)

// TestGroupsSurviveTogether crashes the disk under groups of two batches and a machine's record: after each start all
// three have the same number, and readers never see one queue ahead of what the group allows.
func TestGroupsSurviveTogether(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	d, x := disk.NewMem(), vfs.NewCrashableMem()
	n := 0
	for range 20 {
		o := memOptions(d, x)
		o.FlushLogBytes = 50 << 10
		m := &names{}
		s := startWith(t, o, m)
		open(t, s, forever, 1, 2)
		a, b := len(values(t, s, 1, 0)), len(values(t, s, 2, 0))
		if a != b || a != len(m.state) || a < n {
			t.Fatalf("%d and %d batches, %d records, %d acknowledged", a, b, len(m.state), n)
		}
		n = a
		stopAt := n + 20 + rng.IntN(60)
		last := make(chan struct{})
		for i := n; i < stopAt+20; i++ {
			v := fmt.Sprint(i)
			tk := s.Append(Durable, data(1, one(t, 1, v)),
				Entry{Kind: commitlog.KindTopic, Payload: []byte(v)}, data(2, one(t, 1, v+string(make([]byte, rng.IntN(9000))))))
			if i == stopAt {
				tk.OnDone(func() { close(last) })
			}
		}
		<-last
		n = stopAt + 1
		x2 := x.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
		d2 := d.Crash(rng)
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		d, x = d2, x2
	}
}
