package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
)

// TestLargestMessage: the smallest segments allowed for message.max.bytes take a message of that size, again and again,
// also when it is larger than the memory for the log's end.
func TestLargestMessage(t *testing.T) {
	o := memOptions(disk.NewMem(), vfs.NewMem())
	o.SegmentBytes, o.MaxMessageBytes = 8<<20, 2<<20
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	b := one(t, 1, string(make([]byte, 2<<20-batch.HeaderSize-20)))
	if len(b) > o.MaxMessageBytes || len(b) < o.MaxMessageBytes-40 {
		t.Fatal(len(b))
	}
	for i := range int64(10) {
		if got := put(t, s, 1, b); got != i {
			t.Fatal(got)
		}
	}
	if got := values(t, s, 1, 0); len(got) != 10 {
		t.Fatal(len(got))
	}
	tk := s.Append(Durable, data(1, b), data(1, b))
	if <-tk.Done(); !errors.Is(tk.Err(), ErrTooLarge) {
		t.Fatal(tk.Err())
	}
	if h := heads(t, s, 1); h != 10 {
		t.Fatalf("a refused group moved the end to %d", h)
	}
}
