package group

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstockio/penstock/broker/topic"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got % x, want % x", name, got, want)
	}
}

func sample() *group {
	g := newGroup(nil, "orders-group")
	g.generation, g.protocol, g.stateSince = 7, "range", 1796000000000
	g.add(&member{
		id: "m1", clientID: "c", host: "/127.0.0.1", session: 45 * time.Second, rebalance: time.Minute, protocolType: "consumer",
		protocols: []Protocol{{"range", []byte{1, 2}}, {"sticky", []byte{}}}, assignment: []byte{3},
	})
	g.add(&member{id: "m2", instance: "i", memory: true, session: time.Second, rebalance: time.Second, protocolType: "consumer", protocols: []Protocol{{"range", []byte{9}}}, assignment: []byte{}})
	return g
}

func TestGroupBytes(t *testing.T) {
	g := sample()
	golden(t, "group.bin", g.encode(false))
	golden(t, "deleted.bin", g.encode(true))
	back, deleted, err := decodeGroup(g.encode(false))
	if err != nil || deleted {
		t.Fatal(deleted, err)
	}
	if !bytes.Equal(back.encode(false), g.encode(false)) || back.leader != "m1" || back.state != Stable || back.static["i"] != "m2" {
		t.Errorf("came back as %+v", back)
	}
	if d := cmp.Diff(g.members, back.members, cmp.AllowUnexported(member{}), cmpopts.IgnoreFields(member{}, "timer", "timerSeq", "join", "sync")); d != "" {
		t.Error(d)
	}
}

func offsetsSample() []OffsetEntry {
	return []OffsetEntry{
		{Topic: topic.ID{1}, Partition: 3, Offset: Offset{Offset: 1 << 40, LeaderEpoch: 2, Metadata: "m"}},
		{Topic: topic.ID{2}, Partition: 0, Offset: Offset{Offset: 0, LeaderEpoch: -1}},
		{Topic: topic.ID{2}, Partition: 1, Offset: Offset{LeaderEpoch: -1}, deleted: true},
	}
}

func TestOffsetBytes(t *testing.T) {
	b := encodeOffsets("g", 1796000000000, offsetsSample())
	golden(t, "offsets.bin", b)
	want := commitRecord{group: "g", at: 1796000000000, entries: offsetsSample(), producer: -1}
	back, err := decodeOffsets(b)
	if d := cmp.Diff(want, back, cmp.AllowUnexported(commitRecord{}, OffsetEntry{})); d != "" || err != nil {
		t.Error(d, err)
	}
	for name, fate := range map[string]fate{"staged.bin": waiting, "txn-committed.bin": confirmed, "txn-aborted.bin": aborted} {
		rec := commitRecord{group: "g", at: 1796000000000, entries: offsetsSample(), producer: 1234, fate: fate}
		golden(t, name, rec.encode())
		back, err := decodeOffsets(rec.encode())
		if d := cmp.Diff(rec, back, cmp.AllowUnexported(commitRecord{}, OffsetEntry{})); d != "" || err != nil {
			t.Error(d, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().encode(false))
	f.Add(sample().encode(true))
	f.Add(encodeOffsets("g", 1, offsetsSample()))
	staged := commitRecord{group: "g", at: 1, entries: offsetsSample(), producer: 7, fate: confirmed}
	f.Add(staged.encode())
	f.Add([]byte{recordVersion, 0x4a, 0x02, 0x0a, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, deleted, err := decodeGroup(b); err == nil && !deleted {
			again, _, err := decodeGroup(g.encode(false))
			if err != nil {
				t.Fatalf("what was decoded can't be read back: %v", err)
			}
			if !bytes.Equal(again.encode(false), g.encode(false)) {
				t.Fatal("a second round differs")
			}
		}
		if r, err := decodeOffsets(b); err == nil {
			again, err := decodeOffsets(r.encode())
			if err != nil || len(again.entries) != len(r.entries) || again.producer != r.producer || again.fate != r.fate {
				t.Fatalf("%+v became %+v: %v", r, again, err)
			}
		}
	})
}
