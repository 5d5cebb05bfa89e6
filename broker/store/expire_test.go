package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// TestIdleProducersExpire: those without an open transaction that have appended nothing since, also when a restart or a
// rebuild comes right after.
func TestIdleProducersExpire(t *testing.T) {
	for _, mode := range []string{"running", "restarted", "rebuilt"} {
		t.Run(mode, func(t *testing.T) {
			d, x := disk.NewMem(), vfs.NewMem()
			now := time.UnixMilli(1_000_000)
			o := memOptions(d, x)
			o.Now = func() time.Time { return now }
			s := start(t, "/data", o)
			open(t, s, forever, 1, 2)
			const many = expirePage + expireChunk/2 // more than a page
			tk := make([]*Ticket, many)
			for i := range tk {
				tk[i] = s.Append(Durable, data(2, sequenced(t, int64(100+i), 0, 0, 1)))
			}
			put(t, s, 1, sequenced(t, 1, 0, 0, 1))
			put(t, s, 1, tx(t, 2, 0, 0, 1))
			now = now.Add(time.Hour)
			put(t, s, 1, sequenced(t, 3, 0, 0, 1))
			for _, tk := range tk {
				if <-tk.Done(); tk.Err() != nil {
					t.Fatal(tk.Err())
				}
			}
			if n, err := s.ExpireProducers(context.Background(), now.UnixMilli()); err != nil || n != many+1 {
				t.Fatalf("%d expired, want %d: %v", n, many+1, err)
			}
			if mode != "running" {
				stop(t, s)
				if mode == "rebuilt" {
					o.IndexFS = vfs.NewMem()
				}
				s = start(t, "/data", o)
			}
			ps, err := s.Producers(1)
			if err != nil || len(ps) != 2 || ps[0].ID != 2 || ps[0].Open != 1 || ps[1].ID != 3 {
				t.Fatalf("%+v %v", ps, err)
			}
			if ps, err := s.Producers(2); err != nil || len(ps) != 0 {
				t.Fatal(len(ps), err)
			}
			for _, c := range []struct {
				pid    int64
				first  int32
				refuse bool
			}{{1, 9, false}, {1, 11, true}, {3, 9, true}} {
				_, err := try(t, s, 1, sequenced(t, c.pid, 0, c.first, 1))
				var se *queue.SequenceError
				if errors.As(err, &se) != c.refuse {
					t.Fatalf("producer %d, sequence %d: %v", c.pid, c.first, err)
				}
			}
			if n, err := s.ExpireProducers(context.Background(), now.UnixMilli()); err != nil || n != 0 {
				t.Fatal(n, err)
			}
		})
	}
}

func FuzzExpired(f *testing.F) {
	f.Add(appendField(appendField([]byte{recordVersion}, fieldExpired, 7), fieldExpired, 1<<40))
	f.Add([]byte{recordVersion, 0x1a, 2, 'h', 'i'}) // a field of a later version
	f.Fuzz(func(t *testing.T, p []byte) {
		ids, err := expiredIDs(p)
		if err == nil && len(ids) > len(p)/2 {
			t.Fatal(ids)
		}
	})
}
