package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/penstockio/penstock/broker/index"
)

func open(t *testing.T) *index.DB {
	t.Helper()
	db, err := index.Open(index.Options{Dir: t.TempDir(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func dump(t *testing.T, db *index.DB, p index.Prefix) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := EachKey(db, p, func(k, v []byte) error { out[string(k)] = string(v); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSnapshotIsRestoredKeyByKey(t *testing.T) {
	db := open(t)
	b := db.NewBatch()
	for i := range 5000 {
		for _, p := range []index.Prefix{index.PrefixTopic, index.PrefixGroup} {
			if err := b.Set(fmt.Appendf([]byte{byte(p)}, "%d", i), bytes.Repeat([]byte{byte(i)}, i%700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Commit(b); err != nil {
		t.Fatal(err)
	}
	at := db.Snapshot()
	var w bytes.Buffer
	err := errors.Join(WriteSnapshot(at, index.PrefixTopic, &w), at.Close())
	if err != nil {
		t.Fatal(err)
	}
	other := open(t)
	var batches []*index.Batch
	newBatch := func() *index.Batch { batches = append(batches, other.NewBatch()); return batches[len(batches)-1] }
	if err := ReadSnapshot(1, 1, index.PrefixTopic, bytes.NewReader(w.Bytes()), newBatch); err != nil {
		t.Fatal(err)
	}
	if len(batches) < 2 {
		t.Errorf("%d bytes went into %d batches", w.Len(), len(batches))
	}
	for _, b := range batches {
		if err := other.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	want, got := dump(t, db, index.PrefixTopic), dump(t, other, index.PrefixTopic)
	if len(want) != 5000 || len(got) != len(want) {
		t.Fatalf("%d keys became %d", len(want), len(got))
	}
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("key %q differs", k)
		}
	}
	if n := len(dump(t, other, index.PrefixGroup)); n != 0 {
		t.Errorf("%d keys of another prefix", n)
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	db := open(t)
	good := []byte{2, 1, 'm', 'k', 'v'}
	for name, b := range map[string][]byte{
		"cut in the value":  good[:4],
		"cut in the length": good[:1],
		"another prefix":    {2, 1, 'g', 'k', 'v'},
		"no key":            {0, 1, 'v'},
		"huge":              {0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 'm'},
	} {
		var batches []*index.Batch
		err := ReadSnapshot(1, 1, index.PrefixTopic, bytes.NewReader(b), func() *index.Batch {
			batches = append(batches, db.NewBatch())
			return batches[len(batches)-1]
		})
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
		for _, x := range batches {
			x.Close()
		}
	}
	if err := ReadSnapshot(2, 1, index.PrefixTopic, bytes.NewReader(good), db.NewBatch); err == nil {
		t.Error("a newer version was accepted")
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(AppendBytes(AppendString(AppendUint(nil, 1, 300), 2, "x"), 3, nil))
	f.Add(protowire.AppendFixed32(protowire.AppendTag(nil, 9, protowire.Fixed32Type), 1))
	f.Add([]byte{0x0a, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		var raw []byte
		if err := Walk(b, func(f Field) error { raw = append(raw, f.Raw...); return nil }); err == nil && !bytes.Equal(raw, b) {
			t.Fatal("the fields are not the message")
		}
	})
}
