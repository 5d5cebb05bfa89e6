package host

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
)

func TestSlots(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("no memory is shared here")
		return
	}
	var s slots
	if n, _ := s.take(); n != 0 {
		t.Fatalf("slot %d before there is memory", n)
	}
	s.trim()
	s.hide()
	if offer := s.offer(slog.Default()); offer == nil || offer.Slots != slotCount || offer.SlotBytes < slotBytes {
		t.Fatalf("offer: %v", offer)
	}
	defer s.hide()
	if n, _ := s.take(); n != 0 {
		t.Fatalf("slot %d before the plugin has granted any", n)
	}
	if err := s.grant([]uint32{1, 2, slotCount}); err != nil {
		t.Fatal(err)
	}
	n, b := s.take()
	if n != slotCount || len(b) != 0 || cap(b) < slotBytes || cap(b) != len(s.memory(n)) {
		t.Fatalf("took slot %d with %d of %d bytes", n, len(b), cap(b))
	}
	for _, bad := range []uint32{0, 1, n, slotCount + 1, 1 << 31} { // not there, free, being filled
		if err := s.grant([]uint32{bad}); err == nil || !strings.Contains(err.Error(), "was not its own") {
			t.Fatalf("slot %d was granted: %v", bad, err)
		}
	}
	s.memory(n)[5] = 'x'
	s.sent(n)
	s.trim() // something was sent
	s.trim() // nothing since, but the slot is the plugin's
	if s.memory(n)[5] != 'x' {
		t.Fatal("a slot that the plugin reads was discarded")
	}
	if err := s.grant([]uint32{n}); err != nil {
		t.Fatal(err)
	}
	s.trim()
	if s.memory(n)[5] != 0 || s.dirty[n] {
		t.Fatal("a free slot was kept although nothing is sent")
	}
	if again, _ := s.take(); again != n {
		t.Fatalf("took slot %d, not %d, which came back last", again, n)
	}
}
