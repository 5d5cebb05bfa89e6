package shared_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api/internal/shared"
)

func TestBothEndsSeeTheSame(t *testing.T) {
	ours, err := shared.Create(3, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Hide()
	if ours.Slots() != 3 || ours.SlotBytes()%os.Getpagesize() != 0 || ours.SlotBytes() < 10_000 {
		t.Fatalf("%d slots of %d bytes", ours.Slots(), ours.SlotBytes())
	}
	theirs, err := shared.Open(ours.Path(), 3, ours.SlotBytes())
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(3) {
		copy(ours.Slot(n+1), bytes.Repeat([]byte{byte('a' + n)}, ours.SlotBytes()))
	}
	for n := range uint32(3) {
		if s := theirs.Slot(n + 1); len(s) != ours.SlotBytes() || cap(s) != len(s) || bytes.Count(s, []byte{byte('a' + n)}) != len(s) {
			t.Fatalf("slot %d: %d bytes, %q...", n+1, len(s), s[:3])
		}
	}
	for _, n := range []uint32{0, 4, 1 << 31} {
		if ours.Slot(n) != nil || theirs.Slot(n) != nil || (*shared.Memory)(nil).Slot(n) != nil {
			t.Fatalf("there is a slot %d", n)
		}
	}
	if err := ours.Discard(2); err != nil {
		t.Fatal(err)
	}
	if theirs.Slot(2)[0] != 0 || theirs.Slot(1)[0] != 'a' || theirs.Slot(3)[0] != 'c' {
		t.Fatal("another slot than 2 was discarded")
	}
	if err := os.Truncate(ours.Path(), 0); err == nil { // I1
		t.Fatal("the file could be cut")
	}
	path := ours.Path()
	if err := ours.Hide(); err != nil {
		t.Fatal(err)
	}
	if m, err := shared.Open(path, 3, ours.SlotBytes()); err == nil {
		t.Fatalf("opened %v when it was hidden", m)
	}
	ours.Slot(2)[1] = 'z'
	if theirs.Slot(2)[1] != 'z' {
		t.Fatal("hiding has parted the ends")
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if theirs.Slot(1) != nil || theirs.Close() != nil {
		t.Fatal("there are slots after Close, or a second one fails")
	}
}

func TestOpenRefusesWhatIsNotIt(t *testing.T) {
	m, err := shared.Create(2, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Hide()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 2*m.SlotBytes()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path   string
		slots, bytes int
		says         string
	}{
		{"nothing there", file + "x", 2, m.SlotBytes(), "no such file"},
		{"an ordinary file", file, 2, m.SlotBytes(), "it is none"},
		{"fewer slots", m.Path(), 1, m.SlotBytes(), "are not 1 sealed slots"},
		{"more slots", m.Path(), 3, m.SlotBytes(), "are not 3 sealed slots"},
		{"no slots", m.Path(), 0, m.SlotBytes(), "0 slots"},
		{"negative", m.Path(), 2, -1, "-1 bytes"},
		{"too large", m.Path(), 1 << 20, 1 << 30, "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := shared.Open(c.path, c.slots, c.bytes); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
		})
	}
	if _, err := shared.Create(1<<20, 1<<30); err == nil {
		t.Fatal("made more than may be")
	}
}
