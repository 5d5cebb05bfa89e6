package txn

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		TransactionalID: "g-c-0", ProducerID: 4242, Epoch: 3, LastProducer: 17, LastEpoch: 2, TimeoutMs: 60000, State: Ongoing,
		Partitions: []Partition{{topic.ID{1, 2}, 3, 77}, {Topic: topic.ID{1, 2}, Queue: 74}}, Groups: []string{"g", "h"},
		Started: 1796000000000, Updated: 1796000000999,
	}
}

func TestRecordBytes(t *testing.T) {
	golden(t, "block.bin", encodeBlock(3000))
	golden(t, "txn.bin", sample().encode())
	gone := Record{TransactionalID: "g-c-0", LastProducer: -1, LastEpoch: -1, deleted: true}
	golden(t, "deleted.bin", gone.encode())
	if back, err := decodeRecord(gone.encode()); err != nil || !back.deleted {
		t.Error(back, err)
	}
	if end, err := decodeBlock(encodeBlock(3000)); err != nil || end != 3000 {
		t.Error(end, err)
	}
	back, err := decodeRecord(sample().encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), back, cmp.AllowUnexported(Record{})); d != "" {
		t.Error(d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().encode())
	f.Add(encodeBlock(1000))
	f.Add([]byte{recordVersion, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		if end, err := decodeBlock(b); err == nil && end <= 0 {
			t.Fatalf("a block that ends at %d", end)
		}
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil {
			t.Fatalf("what was decoded can't be read back: %v", err)
		}
		// Numbers out of range are cut to their field's size at the first reading.
		if d := cmp.Diff(r, again, cmp.AllowUnexported(Record{}), cmpopts.IgnoreFields(Record{}, "ProducerID", "Epoch", "LastProducer", "LastEpoch", "TimeoutMs", "Partitions"), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func open(t *testing.T, dir string) (*Coordinator, func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := store.Open(dir, store.Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20}, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	groups := group.New(st, group.Config{}, log, nil)
	c := New(st, groups, Config{MaxTimeoutMs: 900_000}, log, nil)
	if err := st.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	groups.Started(func(topic.ID) (string, bool) { return "t", true })
	c.Started()
	var once sync.Once
	end := func() {
		once.Do(func() {
			c.Close()
			groups.Close()
			if err := st.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return c, end
}

func TestProducerIDsAreGivenOnce(t *testing.T) {
	dir := t.TempDir()
	seen := map[int64]bool{}
	var mu sync.Mutex
	for range 3 {
		c, end := open(t, dir)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range BlockSize / 4 { // together two blocks
					id, err := c.NewProducerID(t.Context())
					mu.Lock()
					if err != nil || seen[id] {
						t.Errorf("id %d: %v", id, err)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		end()
	}
	if len(seen) != 3*2*BlockSize {
		t.Errorf("%d ids", len(seen))
	}
}

func TestEpochsRiseAndSurvive(t *testing.T) {
	dir := t.TempDir()
	c, end := open(t, dir)
	one, err := c.Init(t.Context(), "t", 1000, -1, -1)
	if err != nil || one.Epoch != 0 {
		t.Fatal(one, err)
	}
	two, err := c.Init(t.Context(), "t", 1000, one.ProducerID, one.Epoch)
	if err != nil || two.Epoch != 1 || two.ProducerID != one.ProducerID {
		t.Fatal(two, err)
	}
	if _, err := c.Init(t.Context(), "t", 1000, one.ProducerID, 7); !errors.Is(err, kerr.ProducerFenced) {
		t.Error(err)
	}
	end()
	c, _ = open(t, dir)
	if got, ok := c.Lookup("t"); !ok || got.Epoch != 1 || got.LastEpoch != 0 {
		t.Errorf("came back as %+v", got)
	}
	again, err := c.Init(t.Context(), "t", 1000, one.ProducerID, one.Epoch) // the answer to the second was lost
	if err != nil || again.Epoch != 1 {
		t.Errorf("a repeated request: %+v, %v", again, err)
	}
	for name, call := range map[string]func() error{
		"empty id":     func() error { _, err := c.Init(t.Context(), "", 1000, -1, -1); return err },
		"no timeout":   func() error { _, err := c.Init(t.Context(), "x", 0, -1, -1); return err },
		"long timeout": func() error { _, err := c.Init(t.Context(), "x", 900_001, -1, -1); return err },
		"unknown id":   func() error { _, err := c.Init(t.Context(), "x", 1000, 5, 0); return err },
	} {
		if call() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestUsedUpEpochGetsANewProducerID(t *testing.T) {
	c, _ := open(t, t.TempDir())
	one, err := c.Init(t.Context(), "t", 1000, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.ids["t"].rec.Epoch = MaxEpoch
	c.mu.Unlock()
	two, err := c.Init(t.Context(), "t", 1000, one.ProducerID, MaxEpoch)
	if err != nil || two.ProducerID == one.ProducerID || two.Epoch != 0 {
		t.Errorf("%+v, %v", two, err)
	}
}
