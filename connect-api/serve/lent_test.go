package serve

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/shared"
)

func TestLent(t *testing.T) {
	refuses := func(l *lent, f *connectpb.Frame) {
		t.Helper()
		if _, err := l.rows(f); err == nil || !strings.Contains(err.Error(), "the worker broke the protocol") {
			t.Fatalf("%+v: %v", f, err)
		}
	}
	var none lent
	none.open(nil, slog.Default())
	none.open(&connectpb.Shared{Path: "/nowhere", Slots: 2, SlotBytes: 4096}, slog.Default())
	if rows, err := none.rows(&connectpb.Frame{Rows: []byte("abc")}); err != nil || string(rows) != "abc" || none.due() || none.owed != nil {
		t.Fatalf("%q, %v, %+v", rows, err, none)
	}
	refuses(&none, &connectpb.Frame{Slot: 1, Length: 1})
	none.close()
	if runtime.GOOS != "linux" {
		return
	}

	host, err := shared.Create(4, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Hide()
	var l lent
	l.open(&connectpb.Shared{Path: host.Path(), Slots: 4, SlotBytes: uint32(host.SlotBytes())}, slog.Default())
	if len(l.owed) != 4 || !l.due() {
		t.Fatalf("the first credit is to grant %v", l.owed)
	}
	l.owed = nil
	for _, f := range []*connectpb.Frame{{Slot: 5, Length: 1}, {Slot: 1, Length: uint32(host.SlotBytes()) + 1}} {
		refuses(&l, f)
	}
	copy(host.Slot(2), "abcdef")
	f := &connectpb.Frame{Slot: 2, Length: 3}
	rows, err := l.rows(f)
	if err != nil || string(rows) != "abc" || cap(rows) != 3 {
		t.Fatalf("%q, %v", rows, err)
	}
	l.done(2, true) // kept: it never goes back, and what follows is copied
	if l.owed != nil {
		t.Fatalf("to be granted: %v", l.owed)
	}
	copy(host.Slot(3), "xyz")
	again, err := l.rows(&connectpb.Frame{Slot: 3, Length: 3})
	if err != nil {
		t.Fatal(err)
	}
	l.done(3, true)
	copy(host.Slot(3), "!!!")
	l.close()
	if string(again) != "xyz" || string(rows) != "abc" || len(l.owed) != 1 || l.owed[0] != 3 || l.due() {
		t.Fatalf("%q, %q, to be granted: %v", rows, again, l.owed)
	}
}
