package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// tx builds a transactional batch of n records.
func tx(t testing.TB, pid int64, epoch int16, first int32, n int) batch.Batch {
	t.Helper()
	bd := batch.Builder{Transactional: true}
	bd.Producer(pid, epoch, first)
	for i := range n {
		bd.Add(batch.Record{Time: 1, Value: fmt.Appendf(nil, "%d/%d", pid, int(first)+i)})
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func marker(pid int64, epoch int16, commit bool) batch.Batch {
	return batch.NewMarker(pid, epoch, commit, 0, 1)
}

// try appends one batch durably and gives its offset or why it was refused.
func try(t testing.TB, s *Store, q queue.ID, b batch.Batch) (int64, error) {
	t.Helper()
	tk := s.Append(Durable, data(q, b))
	if <-tk.Done(); tk.Err() != nil {
		t.Fatal(tk.Err())
	}
	return tk.Results()[0].BaseOffset, tk.Results()[0].Err
}

// committed reads what a reader of committed data sees, with the client's part done: aborted and control batches fall out.
func committed(t testing.TB, s *Store, q queue.ID, from int64, maxBytes int) []string {
	t.Helper()
	var out []string
	for {
		res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: q, Offset: from, MaxBytes: maxBytes, Committed: true})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Parts[0]
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		if !slices.IsSortedFunc(p.Aborted, func(a, b Aborted) int { return int(a.FirstOffset - b.FirstOffset) }) {
			t.Fatalf("aborted transactions out of order: %v", p.Aborted)
		}
		aborted, list := map[int64]bool{}, p.Aborted
		done := len(p.Batches) == 0
		for rest := p.Batches; len(rest) > 0; {
			b := batch.Batch(rest[:batch.Batch(rest).Size()])
			rest = rest[len(b):]
			from = b.LastOffset() + 1
			for len(list) > 0 && list[0].FirstOffset <= b.LastOffset() { // as every client does it
				aborted[list[0].ProducerID] = true
				list = list[1:]
			}
			if b.Control() {
				delete(aborted, b.ProducerID())
				continue
			}
			if b.Transactional() && aborted[b.ProducerID()] {
				continue
			}
			recs, err := b.Records(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range recs {
				out = append(out, fmt.Sprintf("%d=%s", b.BaseOffset()+int64(i), r.Value))
			}
		}
		res.Release()
		if done {
			return out
		}
	}
}

// TestTransactionsInAQueue walks through interleaved transactions; what readers see is the same after restarts, with and
// without the index.
func TestTransactionsInAQueue(t *testing.T) {
	steps := []struct {
		what   string
		b      func(t testing.TB) batch.Batch
		err    queue.Kind // 0: accepted
		stable int64
		want   []string
	}{
		{"a record outside of transactions", func(t testing.TB) batch.Batch { return one(t, 1, "plain") }, 0, 1, []string{"0=plain"}},
		{"transaction of 7 opens", func(t testing.TB) batch.Batch { return tx(t, 7, 0, 0, 2) }, 0, 1, []string{"0=plain"}},
		{"plain data behind it is not stable", func(t testing.TB) batch.Batch { return one(t, 1, "behind") }, 0, 1, []string{"0=plain"}},
		{"transaction of 8 opens", func(t testing.TB) batch.Batch { return tx(t, 8, 0, 0, 1) }, 0, 1, []string{"0=plain"}},
		{"7 goes on", func(t testing.TB) batch.Batch { return tx(t, 7, 0, 2, 1) }, 0, 1, []string{"0=plain"}},
		{"7 may not leave its transaction", func(t testing.TB) batch.Batch { return sequenced(t, 7, 0, 3, 1) }, queue.InTransaction, 1, []string{"0=plain"}},
		{"8 aborts", func(testing.TB) batch.Batch { return marker(8, 0, false) }, 0, 1, []string{"0=plain"}},
		{"7 commits", func(testing.TB) batch.Batch { return marker(7, 0, true) }, 0, 8, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"7 goes on in its next transaction", func(t testing.TB) batch.Batch { return tx(t, 7, 0, 3, 1) }, 0, 8, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"7 is fenced by an abort with a higher epoch", func(testing.TB) batch.Batch { return marker(7, 1, false) }, 0, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"its old epoch is refused", func(t testing.TB) batch.Batch { return tx(t, 7, 0, 4, 1) }, queue.FencedEpoch, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"also in a marker", func(testing.TB) batch.Batch { return marker(7, 0, true) }, queue.FencedEpoch, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"the new epoch begins at 0", func(t testing.TB) batch.Batch { return tx(t, 7, 1, 4, 1) }, queue.OutOfOrder, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"as it does here", func(t testing.TB) batch.Batch { return tx(t, 7, 1, 0, 1) }, 0, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"a marker of who wrote nothing", func(testing.TB) batch.Batch { return marker(9, 3, false) }, 0, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"fences all the same", func(t testing.TB) batch.Batch { return tx(t, 9, 2, 0, 1) }, queue.FencedEpoch, 10, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2"}},
		{"7 commits again", func(testing.TB) batch.Batch { return marker(7, 1, true) }, 0, 13, []string{"0=plain", "1=7/0", "2=7/1", "3=behind", "5=7/2", "10=7/0"}},
	}
	for _, mode := range []string{"running", "restarts", "rebuilds"} {
		t.Run(mode, func(t *testing.T) {
			d, x := disk.NewMem(), vfs.NewMem()
			s := start(t, "/data", memOptions(d, x))
			open(t, s, forever, 1)
			for _, st := range steps {
				if mode != "running" {
					stop(t, s)
					if mode == "rebuilds" {
						x = vfs.NewMem()
					}
					s = start(t, "/data", memOptions(d, x))
				}
				_, err := try(t, s, 1, st.b(t))
				var se *queue.SequenceError
				if errors.As(err, &se) != (st.err != 0) || st.err != 0 && se.Kind != st.err {
					t.Fatalf("%s: %v", st.what, err)
				}
				h, err := s.Head(1)
				if err != nil || h.LastStable != st.stable {
					t.Fatalf("%s: last stable offset %d, want %d (%v)", st.what, h.LastStable, st.stable, err)
				}
				for _, maxBytes := range []int{1, 300, 1 << 20} {
					if got := committed(t, s, 1, 0, maxBytes); !slices.Equal(got, st.want) {
						t.Fatalf("%s, %d bytes at a time: committed %v, want %v", st.what, maxBytes, got, st.want)
					}
				}
			}
			if got := len(values(t, s, 1, 0)); got != 13 {
				t.Fatalf("%d records without regard to transactions", got)
			}
			ps, err := s.Producers(1)
			if err != nil || len(ps) != 3 || ps[0].ID != 7 || ps[0].Epoch != 1 || ps[0].Open != -1 || ps[2].LastSequence != -1 {
				t.Fatalf("producers %+v, %v", ps, err)
			}
		})
	}
}

// TestTrimBelowAnOpenTransaction: the last stable offset never lies below the log start, and aborted transactions that
// are gone are forgotten.
func TestTrimBelowAnOpenTransaction(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	for _, b := range []batch.Batch{tx(t, 7, 0, 0, 3), marker(7, 0, false), tx(t, 7, 0, 3, 3), one(t, 1, "a", "b")} {
		put(t, s, 1, b)
	}
	if _, err := s.Trim(1, 5); err != nil {
		t.Fatal(err)
	}
	h, err := s.Head(1)
	if err != nil || h.LogStart != 5 || h.LastStable != 5 || h.HighWatermark != 9 {
		t.Fatalf("%+v %v", h, err)
	}
	if got, err := s.abortedIn(1, 0, 9); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	put(t, s, 1, marker(7, 0, true))
	if got := committed(t, s, 1, 5, 1<<20); !slices.Equal(got, []string{"4=7/3", "5=7/4", "6=7/5", "7=a", "8=b"}) {
		t.Fatal(got)
	}
	if err := s.Drop(1); err != nil {
		t.Fatal(err)
	}
	if n := len(s.apply.open); n != 0 {
		t.Fatalf("%d queues with open transactions are left", n)
	}
}

// TestWaitForCommittedData: a cursor at committed data sleeps through what is not stable, and counts it when it becomes so.
func TestWaitForCommittedData(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1, 2)
	wait := func(min int, c Cursor) chan error {
		ch := make(chan error, 1)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		go func() { defer cancel(); ch <- s.Wait(ctx, min, c) }()
		for { // until it waits
			s.wait.mu.Lock()
			n := len(s.wait.m[c.Queue])
			s.wait.mu.Unlock()
			if n > 0 || len(ch) > 0 {
				return ch
			}
			time.Sleep(time.Millisecond)
		}
	}
	first := tx(t, 7, 0, 0, 1)
	one1 := wait(1, Cursor{Queue: 1, Offset: 0, Committed: true})
	put(t, s, 1, first)
	put(t, s, 1, one(t, 1, "behind"))
	select {
	case err := <-one1:
		t.Fatalf("an open transaction woke a reader of committed data: %v", err)
	default: // put returned after waiters were told
	}
	all := wait(len(first)+1, Cursor{Queue: 1, Offset: 0, Committed: true})
	much := wait(1<<20, Cursor{Queue: 1, Offset: 0, Committed: true})
	put(t, s, 1, marker(7, 0, true))
	for _, ch := range []chan error{one1, all} {
		if err := <-ch; err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-much:
		t.Fatalf("a few bytes woke who wants a megabyte: %v", err)
	default:
	}
	// Without a transaction both kinds of readers count alike.
	plain, stable := wait(300, Cursor{Queue: 2}), wait(300, Cursor{Queue: 2, Committed: true})
	for i := 0; len(plain) == 0; i++ {
		put(t, s, 2, one(t, 1, "x"))
	}
	if err := errors.Join(<-plain, <-stable); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(1); err != nil {
		t.Fatal(err)
	}
	if err := <-much; err != nil {
		t.Fatal(err)
	}
}

// TestGuardIsAskedWithinTheAppend: about data, and neither about duplicates nor about markers.
func TestGuardIsAskedWithinTheAppend(t *testing.T) {
	s, err := Open("/data", memOptions(disk.NewMem(), vfs.NewMem()), quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	asked := 0
	var answer error
	s.Guard(func(q queue.ID, b batch.Batch) error {
		if asked++; q != 1 || b.ProducerID() != 7 {
			t.Errorf("asked about producer %d in queue %d", b.ProducerID(), q)
		}
		return answer
	})
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, s)
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "no producer"))
	put(t, s, 1, tx(t, 7, 0, 0, 1))
	put(t, s, 1, tx(t, 7, 0, 0, 1)) // duplicate
	put(t, s, 1, marker(7, 0, true))
	answer = no
	if _, err := try(t, s, 1, tx(t, 7, 0, 1, 1)); !errors.Is(err, no) {
		t.Fatal(err)
	}
	answer = nil
	if off, err := try(t, s, 1, tx(t, 7, 0, 1, 1)); err != nil || off != 3 {
		t.Fatal(off, err) // the refused one left no trace
	}
	if asked != 3 {
		t.Fatalf("asked %d times", asked)
	}
}
