package queue

import (
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/penstockio/penstock/broker/batch"
)

var update = flag.Bool("update", false, "rewrite golden files")

func seq(t testing.TB, epoch int16, first int32, n int) batch.Batch {
	t.Helper()
	var bd batch.Builder
	bd.Producer(1, epoch, first)
	for range n {
		bd.Add(batch.Record{})
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestProducerGolden(t *testing.T) {
	var p Producer
	for i := range int32(7) {
		p.Add(seq(t, 3, i*2, 2), int64(i)*2+100, []int64{-1, 1_700_000_000_000}[i%2], 1_700_000_000_000)
	}
	open := p
	b := seq(t, 3, 14, 1)
	b[22] |= batch.TxnBit
	open.Add(b, 200, -1, 1_700_000_000_001)
	var marked Producer
	marked.Add(batch.NewMarker(1, 4, false, 0, 1), 300, -1, 1_700_000_000_002)
	got := ""
	for _, p := range []Producer{p, open, marked} {
		got += hex.EncodeToString(p.AppendTo(nil)) + "\n"
		if back, err := DecodeProducer(p.AppendTo(nil)); err != nil || back != p {
			t.Fatalf("%+v became %+v, %v", p, back, err)
		}
	}
	const path = "testdata/producer.hex"
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
		t.Fatalf("the format changed: %s was %s", got, want)
	}
	back, err := DecodeProducer(p.AppendTo(nil))
	if err != nil || back.N != Window || back.Batches[0].First != 4 || back.Epoch != 3 {
		t.Fatalf("%+v %v", back, err)
	}
	if _, err := DecodeProducer([]byte{9}); err == nil {
		t.Fatal("an unknown form was accepted")
	}
}

// TestWindowAgainstModel compares with a list of everything that was ever appended.
func TestWindowAgainstModel(t *testing.T) {
	var p Producer
	next := int32(0)
	for i := range 100 {
		n := 1 + i%3
		b := seq(t, 0, next, n)
		if dup, err := p.Check(1, b); dup != nil || err != nil {
			t.Fatal(i, dup, err)
		}
		p.Add(b, int64(next), -1, 5)
		next += int32(n)
		for back := range int32(20) {
			first := next - back
			for n := 1; n <= 3; n++ {
				dup, err := p.Check(1, seq(t, 0, first, n))
				known := false
				for _, s := range p.Batches[:p.N] {
					known = known || s.First == first && s.Last == first+int32(n)-1
				}
				switch {
				case known != (dup != nil):
					t.Fatalf("sequence %d+%d: duplicate %v, want %v", first, n, dup, known)
				case !known && (err == nil) != (first == next):
					t.Fatalf("sequence %d+%d after %d: %v", first, n, next, err)
				}
			}
		}
	}
	var se *SequenceError
	if _, err := p.Check(1, seq(t, 0, next+1, 1)); !errors.As(err, &se) || se.Want != next || se.Kind != OutOfOrder {
		t.Fatal(err)
	}
}

func TestTable(t *testing.T) {
	tb := NewTable()
	for i := range ID(5000) {
		tb.Put(i, State{Next: int64(i)}, Policy{RetentionMs: int64(i % 7)})
	}
	for i := range ID(5000) {
		if i%2 == 0 {
			tb.Remove(i)
		}
	}
	for i := ID(5000); i < 7000; i++ {
		tb.Put(i, State{Next: int64(i)}, Policy{RetentionMs: int64(i % 7)})
	}
	if tb.Len() != 4500 {
		t.Fatal(tb.Len())
	}
	for i := range ID(7000) {
		st, p, ok := tb.Get(i)
		if want := i >= 5000 || i%2 == 1; ok != want || ok && (st.Next != int64(i) || p.RetentionMs != int64(i%7)) {
			t.Fatal(i, st, p, ok)
		}
	}
	before, _, ok := tb.Give(1, 10)
	if !ok || before.Next != 1 {
		t.Fatal(before, ok)
	}
	if st, _, _ := tb.Get(1); st.Next != 11 {
		t.Fatal(st)
	}
	if !tb.Dropping(1) || tb.Dropping(1) {
		t.Fatal("a queue can be dropped once")
	}
	if _, _, ok := tb.Give(1, 1); ok {
		t.Fatal("a queue being dropped gave an offset")
	}
}

func TestManyPolicies(t *testing.T) {
	tb := NewTable()
	tb.Put(1, State{}, Policy{RetentionMs: 5})
	for i := range int64(200_000) {
		tb.SetPolicy(1, Policy{RetentionMs: i})
		if _, p, _ := tb.Get(1); p.RetentionMs != i {
			t.Fatal(i, p)
		}
	}
}

// TestIdleQueuesAreCheap holds the budget of a million queues: at most 120 bytes each.
func TestIdleQueuesAreCheap(t *testing.T) {
	if s := unsafe.Sizeof(State{}); s > 80 {
		t.Fatalf("a state takes %d bytes", s)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tb := NewTable()
	const n = 1_000_000
	for i := range ID(n) {
		tb.Put(i, State{}, Policy{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := (after.HeapAlloc - before.HeapAlloc) / n; per > 120 {
		t.Fatalf("%d bytes a queue", per)
	} else {
		t.Logf("%d bytes a queue", per)
	}
	runtime.KeepAlive(tb)
}

func FuzzProducer(f *testing.F) {
	var p Producer
	for i := range int32(3) {
		p.Add(seq(f, 3, i, 1), int64(i), -1, 7)
	}
	f.Add(p.AppendTo(nil))
	f.Fuzz(func(t *testing.T, v []byte) {
		p, err := DecodeProducer(v)
		if err != nil {
			return
		}
		if back, err := DecodeProducer(p.AppendTo(nil)); err != nil || back != p {
			t.Fatalf("%+v became %+v, %v", p, back, err)
		}
	})
}
