package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

func sequenced(t testing.TB, pid int64, epoch int16, first int32, n int) batch.Batch {
	t.Helper()
	var bd batch.Builder
	bd.Producer(pid, epoch, first)
	for range n {
		bd.Add(batch.Record{Time: 1, Value: []byte("v")})
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestIdempotence walks through what a producer can send; a restart in between must change nothing.
func TestIdempotence(t *testing.T) {
	const ok, dup, order, fenced = 0, 1, 2, 3
	steps := []struct {
		what  string
		epoch int16
		first int32
		n     int
		want  int
		base  int64
	}{
		{"any first sequence is accepted", 3, 10, 5, ok, 0},
		{"a gap is not", 3, 16, 1, order, 0},
		{"the next one", 3, 15, 1, ok, 5},
		{"its retry", 3, 15, 1, dup, 5},
		{"the first one's retry", 3, 10, 5, dup, 0},
		{"same start, other length", 3, 15, 2, order, 0},
		{"third", 3, 16, 1, ok, 6},
		{"fourth", 3, 17, 1, ok, 7},
		{"fifth", 3, 18, 1, ok, 8},
		{"the first is still remembered", 3, 10, 5, dup, 0},
		{"sixth", 3, 19, 1, ok, 9},
		{"the first is not any more", 3, 10, 5, order, 0},
		{"the second is", 3, 15, 1, dup, 5},
		{"an older epoch", 2, 20, 1, fenced, 0},
		{"a new epoch must begin at 0", 4, 20, 1, order, 0},
		{"as it does here", 4, 0, 2, ok, 10},
		{"the old epoch is fenced", 3, 20, 1, fenced, 0},
		{"the window was cleared: what looks like its sixth", 4, 19, 1, order, 0},
		{"retry in the new epoch", 4, 0, 2, dup, 10},
	}
	for _, restart := range []bool{false, true} {
		d, x := disk.NewMem(), vfs.NewMem()
		s := start(t, "/data", memOptions(d, x))
		open(t, s, forever, 1)
		for i, st := range steps {
			if restart {
				stop(t, s)
				if i%2 == 1 {
					x = vfs.NewMem() // from the log alone
				}
				s = start(t, "/data", memOptions(d, x))
			}
			tk := s.Append(Durable, data(1, sequenced(t, 9, st.epoch, st.first, st.n)))
			if <-tk.Done(); tk.Err() != nil {
				t.Fatal(tk.Err())
			}
			r := tk.Results()[0]
			got := ok
			var se *queue.SequenceError
			switch {
			case errors.As(r.Err, &se) && se.Kind == queue.FencedEpoch:
				got = fenced
			case errors.As(r.Err, &se):
				got = order
			case r.Duplicate:
				got = dup
			}
			if got != st.want || (got <= dup && r.BaseOffset != st.base) {
				t.Fatalf("restart %v, step %q: got %d at %d (%v), want %d at %d", restart, st.what, got, r.BaseOffset, r.Err, st.want, st.base)
			}
		}
	}
}

func TestSequenceWraps(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	for i, first := range []int32{1<<31 - 2, 1, 3} { // 2147483646, 2147483647, 0 | 1, 2 | 3
		n := []int{3, 2, 1}[i]
		tk := s.Append(Durable, data(1, sequenced(t, 9, 0, first, n)))
		if <-tk.Done(); tk.Err() != nil || tk.Results()[0].Err != nil {
			t.Fatal(first, tk.Err(), tk.Results()[0].Err)
		}
	}
}

// TestRefusedEntryLeavesOthers: one entry's refusal neither stops the others nor leaves a trace.
func TestRefusedEntryLeavesOthers(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	tk := s.Append(Durable,
		data(1, sequenced(t, 9, 0, 0, 1)),
		data(1, sequenced(t, 9, 0, 5, 1)), // a gap
		data(1, sequenced(t, 9, 0, 1, 1)),
		data(1, sequenced(t, 9, 0, 0, 1)), // retry of the first, in the same request
	)
	if <-tk.Done(); tk.Err() != nil {
		t.Fatal(tk.Err())
	}
	r := tk.Results()
	if r[0].BaseOffset != 0 || r[1].Err == nil || r[2].BaseOffset != 1 || !r[3].Duplicate || r[3].BaseOffset != 0 {
		t.Fatalf("%+v", r)
	}
	if got := values(t, s, 1, 0); len(got) != 2 {
		t.Fatal(got)
	}
}
