package batch

import (
	"encoding/hex"
	"os"
	"testing"
)

func TestMarkerGolden(t *testing.T) {
	got := ""
	for _, commit := range []bool{false, true} {
		m := NewMarker(1234, 5, commit, 7, 1_700_000_000_000)
		got += hex.EncodeToString(m) + "\n"
		b, err := Check(m, Rules{Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := b.Marker(); c != commit || !ok {
			t.Errorf("a marker with commit=%t is read as %t, %t", commit, c, ok)
		}
		if b.ProducerID() != 1234 || b.ProducerEpoch() != 5 || b.BaseSequence() != -1 || b.Count() != 1 || !b.Control() || !b.Transactional() {
			t.Errorf("%x", m)
		}
		if _, err := Check(m, Rules{Txn: true}); err == nil {
			t.Error("a client may write a marker")
		}
	}
	const path = "testdata/markers.hex"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("the bytes changed: %s were %s", got, want)
	}
}

// TestOtherControlRecords are no markers, and neither is data.
func TestOtherControlRecords(t *testing.T) {
	for name, bd := range map[string]*Builder{
		"a leader change":  (&Builder{Transactional: true, Control: true}).Producer(1, 0, -1).Add(Record{Key: []byte{0, 0, 0, 2}}),
		"a key too short":  (&Builder{Transactional: true, Control: true}).Producer(1, 0, -1).Add(Record{Key: []byte{0, 0, 1}}),
		"without a key":    (&Builder{Transactional: true, Control: true}).Producer(1, 0, -1).Add(Record{}),
		"not a producer's": (&Builder{Control: true}).Add(Record{Key: []byte{0, 0, 0, 1}}),
		"data":             (&Builder{Transactional: true}).Producer(1, 0, 0).Add(Record{Key: []byte{0, 0, 0, 1}}),
	} {
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := b.Marker(); ok {
			t.Errorf("%s is taken for a marker", name)
		}
	}
}

func FuzzMarker(f *testing.F) {
	f.Add([]byte(NewMarker(1, 0, true, 0, 1))[HeaderSize:])
	f.Add([]byte(NewMarker(1, 0, false, 0, 1))[HeaderSize:])
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, body []byte) {
		b := append(Batch(nil), NewMarker(1, 0, true, 0, 1)[:HeaderSize]...)
		b = append(b, body...)
		b.Marker() // must not panic
	})
}
