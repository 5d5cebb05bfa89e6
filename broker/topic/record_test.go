package topic

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
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

func sample() *Record {
	return &Record{
		ID:         ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		Name:       "orders",
		Ranges:     []Range{{Count: 4, Queue: 17}, {First: 4, Count: 2, Queue: 300, Epoch: 1}},
		ReadCount:  6,
		WriteCount: 6,
		Settings:   map[string]string{"cleanup.policy": "compact", "a.future.setting": "x"},
		Created:    1796000000000,
	}
}

func TestRecordBytes(t *testing.T) {
	gone := sample()
	gone.Deleted = true
	for name, r := range map[string]*Record{"topic.bin": sample(), "deleted.bin": gone} {
		b := r.encode()
		golden(t, name, b)
		back, err := decodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, back, cmpopts.IgnoreUnexported(Record{})); d != "" {
			t.Error(d)
		}
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	b := sample().encode()
	b = protowire.AppendTag(b, 99, protowire.BytesType)
	b = protowire.AppendString(b, "from the future")
	b = protowire.AppendTag(b, 100, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, 7)
	r, err := decodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.encode(), b) {
		t.Error("a field of a later version was lost")
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(sample().encode())
	f.Add([]byte{})
	f.Add([]byte{recordVersion, 0x0a, 0xff})
	f.Add([]byte{recordVersion + 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil {
			t.Fatalf("what was decoded can't be read back: %v", err)
		}
		if d := cmp.Diff(r, again, cmp.AllowUnexported(Record{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "A-z_0.9", strings.Repeat("x", MaxName), "..."} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "a b", "ä", "a/b", "a\x00", strings.Repeat("x", MaxName+1)} {
		if CheckName(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestKeysAcceptTheirDefaults(t *testing.T) {
	for i, k := range Keys {
		if i > 0 && Keys[i-1].Name >= k.Name {
			t.Errorf("%s stands after %s", k.Name, Keys[i-1].Name)
		}
		if k.Doc == "" {
			t.Errorf("%s has no documentation", k.Name)
		}
		if err := k.Check(k.Default); err != nil && k.Default != "" {
			t.Errorf("its own default: %v", err)
		}
	}
	for name, value := range map[string]string{
		"cleanup.policy": "compact,nonsense", "retention.ms": "-2", "max.message.bytes": "x", "min.cleanable.dirty.ratio": "1.5",
		"preallocate": "yes", "message.timestamp.type": "createtime", "segment.bytes": "99999999999", "unknown": "1",
	} {
		if CheckSetting(name, value) == nil {
			t.Errorf("%s=%s was accepted", name, value)
		}
	}
}

func TestQueueOfPartition(t *testing.T) {
	tp := &Topic{Record: *sample()}
	for p, want := range map[int32]uint32{0: 17, 3: 20, 4: 300, 5: 301} {
		if q, ok := tp.Queue(p); !ok || uint32(q) != want {
			t.Errorf("partition %d: queue %d, want %d", p, q, want)
		}
	}
	for _, p := range []int32{-1, 6} {
		if _, ok := tp.Queue(p); ok {
			t.Errorf("partition %d has a queue", p)
		}
	}
}
