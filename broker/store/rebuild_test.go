package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/internal/testenv"
)

// names is a machine that keeps the newest time of each name.
type names struct {
	version uint8
	loaded  int
	state   map[string]int64
}

func (n *names) Version() uint8 { return max(n.version, 1) }

func (n *names) Load(db *index.DB) error {
	n.loaded++
	n.state = map[string]int64{}
	from, to := index.PrefixRange(index.PrefixTopic)
	it, err := db.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		var v int64
		if _, err := fmt.Sscan(string(it.Value()), &v); err != nil {
			return errors.Join(err, it.Close())
		}
		n.state[string(it.Key()[1:])] = v
	}
	return it.Close()
}

func (n *names) Apply(f commitlog.Frame, b *index.Batch) error {
	n.state[string(f.Payload)] = f.Position
	return b.Set(append([]byte{byte(index.PrefixTopic)}, f.Payload...), fmt.Append(nil, f.Position))
}

func (n *names) Snapshot(at *index.Snapshot, w io.Writer) error {
	return machine.WriteSnapshot(at, index.PrefixTopic, w)
}

func (n *names) Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, 1, index.PrefixTopic, r, newBatch)
}

func startWith(t testing.TB, o Options, m *names) *Store {
	t.Helper()
	s, err := Open("/data", o, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Register(m, index.PrefixTopic, commitlog.KindTopic)
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// dump lists the whole index but the checkpoint, which also counts starts.
func dump(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	it, err := s.db.Iter([]byte{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[0] != byte(index.PrefixCheckpoint) {
			all[hex.EncodeToString(it.Key())] = hex.EncodeToString(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRebuiltIndexIsEqual: random load with everything the log can hold, over restarts; then the index is deleted.
func TestRebuiltIndexIsEqual(t *testing.T) {
	seed := testenv.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	o.FlushLogBytes = 64 << 10
	seqs := map[queue.ID]int32{}
	type txnKey struct {
		q  queue.ID
		id int64
	}
	epochs, txnSeqs := map[txnKey]int16{}, map[txnKey]int32{}
	live := map[queue.ID]bool{}
	nextQueue := queue.ID(1)
	s := startWith(t, o, &names{})
	for step := range 1500 {
		q := queue.ID(rng.IntN(int(nextQueue)))
		switch k := rng.IntN(100); {
		case k < 5:
			open(t, s, Policy{AppendTime: rng.IntN(2) == 0, RetentionMs: -1, RetentionBytes: rng.Int64N(1 << 30), Compact: k == 1}, nextQueue)
			live[nextQueue] = true
			nextQueue++
		case k < 7 && live[q]:
			if err := s.Drop(q); err != nil {
				t.Fatal(err)
			}
			delete(live, q)
		case k < 12 && live[q]:
			h := heads(t, s, q)
			if _, err := s.Trim(q, rng.Int64N(h+1)); err != nil {
				t.Fatal(err)
			}
		case k < 20:
			tk := s.Append(Written, Entry{Kind: commitlog.KindTopic, Payload: fmt.Appendf(nil, "name%d", rng.IntN(50))})
			<-tk.Done()
		case k < 35 && live[q]:
			key := txnKey{q, rng.Int64N(3)}
			if rng.IntN(4) == 0 { // fenced
				epochs[key]++
				txnSeqs[key] = 0
			}
			put(t, s, q, marker(int64(q)*10+1+key.id, epochs[key], rng.IntN(2) == 0))
		case k == 36:
			if _, err := s.ExpireProducers(context.Background(), time.Now().UnixMilli()-rng.Int64N(30)); err != nil {
				t.Fatal(err)
			}
			for key := range txnSeqs { // after a marker alone, a sequence begins at 0
				epochs[key]++
				txnSeqs[key] = 0
			}
		case k == 35:
			stop(t, s)
			s = startWith(t, o, &names{})
		case live[q]:
			var bd batch.Builder
			n := 1 + rng.IntN(4)
			for range n {
				bd.Add(batch.Record{Time: rng.Int64N(1e6), Key: []byte("k"), Value: make([]byte, rng.IntN(400))})
			}
			switch rng.IntN(4) {
			case 0, 1:
				bd.Producer(int64(q)*10, 0, seqs[q])
				seqs[q] += int32(n)
			case 2: // one of three transactional producers of the queue
				k := txnKey{q, rng.Int64N(3)}
				bd.Transactional = true
				bd.Producer(int64(q)*10+1+k.id, epochs[k], txnSeqs[k])
				txnSeqs[k] += int32(n)
			}
			b, err := bd.Build()
			if err != nil {
				t.Fatal(err)
			}
			es := []Entry{data(q, b)}
			if rng.IntN(3) == 0 {
				es = append(es, Entry{Kind: commitlog.KindTopic, Payload: []byte("with data")})
			}
			tk := s.Append(Safety(rng.IntN(4)), es...)
			if <-tk.Done(); tk.Err() != nil || tk.Results()[0].Err != nil {
				t.Fatal(step, tk.Err(), tk.Results()[0].Err)
			}
		}
	}
	stop(t, s)
	m := &names{}
	s = startWith(t, o, m)
	old, oldState := dump(t, s), maps.Clone(m.state)
	stop(t, s)
	x2 := vfs.NewMem()
	o.IndexFS = x2
	m = &names{}
	s = startWith(t, o, m)
	if got := dump(t, s); !maps.Equal(got, old) {
		for k, v := range old {
			if got[k] != v {
				t.Errorf("%s = %s, rebuilt %q", k, v, got[k])
			}
		}
		t.Fatalf("%d keys, rebuilt %d", len(old), len(got))
	}
	if !maps.Equal(m.state, oldState) {
		t.Fatalf("machine state %v, rebuilt %v", oldState, m.state)
	}
	var kinds []string
	for k := range old {
		if b, _ := hex.DecodeString(k[:2]); !slices.Contains(kinds, string(b)) {
			kinds = append(kinds, string(b))
		}
	}
	slices.Sort(kinds)
	if strings.Join(kinds, "") != "ehmpqsxy" {
		t.Fatalf("the load made keys under %q only", kinds)
	}
}

func TestNewerMachineRebuilds(t *testing.T) {
	o := memOptions(disk.NewMem(), vfs.NewMem())
	s := startWith(t, o, &names{})
	tk := s.Append(Durable, Entry{Kind: commitlog.KindTopic, Payload: []byte("a")})
	if <-tk.Done(); tk.Err() != nil {
		t.Fatal(tk.Err())
	}
	stop(t, s)
	m := &names{version: 2}
	s = startWith(t, o, m)
	if len(m.state) != 1 {
		t.Fatalf("state %v", m.state)
	}
	stop(t, s)
	// Without the machine its frames cannot be understood.
	s, err := Open("/data", o, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x(o).RemoveAll("/data/index"); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "kind 0x10") {
		t.Fatal(err)
	}
}

func x(o Options) vfs.FS { return o.IndexFS }

// TestTruncatedIndex cuts the files of the index, each kind in turn: the index is rebuilt, and nothing is missing.
func TestTruncatedIndex(t *testing.T) {
	o := memOptions(disk.NewMem(), vfs.NewMem())
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	for i := range 50 {
		put(t, s, 1, one(t, int64(i), fmt.Sprint(i)))
	}
	want := values(t, s, 1, 0)
	stop(t, s)
	for _, kind := range []string{".sst", "MANIFEST-", "OPTIONS-"} {
		names, err := o.IndexFS.List("/data/index")
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for _, name := range names {
			if !strings.Contains(name, kind) {
				continue
			}
			f, err := o.IndexFS.Create("/data/index/"+name, vfs.WriteCategoryUnspecified)
			if err == nil {
				_, err = f.Write([]byte("cut"))
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			cut++
		}
		if cut == 0 {
			t.Fatalf("the index has no file of kind %s among %v", kind, names)
		}
		s := start(t, "/data", o)
		if got := values(t, s, 1, 0); !slices.Equal(got, want) {
			t.Fatalf("%s: %d records, want %d", kind, len(got), len(want))
		}
		put(t, s, 1, one(t, 100, kind))
		want = values(t, s, 1, 0)
		stop(t, s)
	}
}

// TestIndexOfAnotherLog must not be believed.
func TestIndexOfAnotherLog(t *testing.T) {
	x := vfs.NewMem()
	s := start(t, "/data", memOptions(disk.NewMem(), x))
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "of another log"))
	stop(t, s)
	s = start(t, "/data", memOptions(disk.NewMem(), x))
	if _, err := s.Head(1); !errors.Is(err, ErrNoQueue) {
		t.Fatal(err)
	}
}

// TestCutBelowCheckpoint: the log lost what the index had seen. It starts, says so, and history counts on.
func TestCutBelowCheckpoint(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "a"))
	older := d.Clone()
	put(t, s, 1, one(t, 2, "b"))
	stop(t, s)
	s = start(t, "/data", memOptions(older, x))
	var e *StorageError
	if err := s.Health(); !errors.As(err, &e) || e.Reason != CutShort {
		t.Fatal(err)
	}
	if s.Meta().History != 1 {
		t.Fatalf("history %d", s.Meta().History)
	}
	if got := values(t, s, 1, 0); !slices.Equal(got, []string{"0=a"}) {
		t.Fatal(got)
	}
	if got := put(t, s, 1, one(t, 3, "c")); got != 1 {
		t.Fatal(got)
	}
}
