package compact

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstockio/penstock/broker/batch"
)

type rec struct{ key, value string } // "-": null

func null(s string) []byte {
	if s == "-" {
		return nil
	}
	return []byte(s)
}

func build(t testing.TB, bd *batch.Builder, base int64, recs ...rec) batch.Batch {
	t.Helper()
	for i, r := range recs {
		bd.Add(batch.Record{Time: 1000 + base + int64(i), Key: null(r.key), Value: null(r.value), Headers: []batch.Header{{Key: "h", Value: []byte("v")}, {Key: "n"}}})
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.SetBaseOffset(base)
	return b
}

func show(t testing.TB, b batch.Batch) string {
	t.Helper()
	var out []string
	if err := b.EachRaw(1<<20, func(r batch.Raw) error {
		k, v := string(r.Key), string(r.Value)
		if r.Key == nil {
			k = "-"
		}
		if r.Value == nil {
			v = "-"
		}
		out = append(out, fmt.Sprintf("%d:%s=%s@%d", b.BaseOffset()+int64(r.Delta), k, v, r.Time))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestClean(t *testing.T) {
	const now = 50_000
	data := []rec{{"a", "1"}, {"b", "2"}, {"a", "3"}}
	for _, c := range []struct {
		name    string
		b       func(t testing.TB) batch.Batch
		later   []rec // at offset 100 on, learned too
		aborted bool
		tomb    int64
		want    Outcome
		show    string
		horizon int64 // of the batch
	}{
		{
			name: "the last of each key", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, data...) },
			want: Changed, show: "11:b=2@1011 12:a=3@1012",
		},
		{
			name: "compressed", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{Codec: batch.Zstd}, 10, data...) },
			want: Changed, show: "11:b=2@1011 12:a=3@1012",
		},
		{name: "nothing superseded", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, data[1:]...) }, want: Same},
		{
			name: "all superseded", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, data...) },
			later: []rec{{"a", "x"}, {"b", "-"}}, want: Empty,
		},
		{name: "without a key", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, rec{"-", "1"}, rec{"-", "2"}) }, want: Same},
		{
			name: "an empty key is a key", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, rec{"", "1"}, rec{"", "2"}) },
			want: Changed, show: "11:=2@1011",
		},
		{name: "a tombstone stays for a while", b: func(t testing.TB) batch.Batch {
			return build(t, &batch.Builder{}, 10, rec{"a", "1"}, rec{"b", "-"}, rec{"c", "3"})
		}, tomb: 100, want: Changed, show: "10:a=1@1010 11:b=-@1011 12:c=3@1012", horizon: now + 100},
		{name: "a tombstone whose time is not over", b: func(t testing.TB) batch.Batch { return tombstone(t, now+1) }, tomb: 100, want: Same, horizon: now + 1},
		{name: "a tombstone whose time is over", b: func(t testing.TB) batch.Batch { return tombstone(t, now) }, want: Changed, show: "10:a=1@1010", horizon: now},
		{
			name: "a tombstone kept for ever", b: func(t testing.TB) batch.Batch { return build(t, &batch.Builder{}, 10, rec{"b", "-"}) },
			tomb: 1<<63 - 1, want: Changed, show: "10:b=-@1010", horizon: 1<<63 - 1,
		},
		{name: "an aborted transaction", b: func(t testing.TB) batch.Batch {
			return build(t, (&batch.Builder{Transactional: true}).Producer(7, 1, 5), 10, data...)
		}, aborted: true, want: Empty},
		{name: "a marker stays for a while", b: func(testing.TB) batch.Batch { return batch.NewMarker(7, 1, false, 0, 9) }, aborted: true, tomb: 1e6, want: Changed, horizon: now + 1e6},
		{name: "a marker whose time is over", b: func(t testing.TB) batch.Batch { return horizon(t, batch.NewMarker(7, 1, true, 0, 9), now) }, want: Empty},
		{name: "what can't be decompressed", b: func(t testing.TB) batch.Batch {
			b := build(t, &batch.Builder{Codec: batch.Gzip}, 10, data...)
			b[len(b)-10] ^= 0xff
			return b
		}, later: []rec{{"a", "x"}}, want: Same},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := NewKeys(1 << 20)
			b := c.b(t)
			if !c.aborted {
				k.Learn(b)
			}
			if len(c.later) > 0 {
				k.Learn(build(t, &batch.Builder{}, 100, c.later...))
			}
			before := slices.Clone(b)
			p := &Pass{Keys: k, Now: now, Tombstone: c.tomb}
			got, out, err := p.Clean(b, c.aborted)
			if err != nil || got != c.want {
				t.Fatalf("%d, %v, want %d", got, err, c.want)
			}
			if string(before) != string(b) {
				t.Fatal("the batch itself was changed")
			}
			if got == Same {
				out = b
			}
			if h, ok := out.Horizon(); ok != (c.horizon != 0) && c.want != Empty || ok && c.horizon != 0 && h != c.horizon {
				t.Fatalf("horizon %d, %v, want %d", h, ok, c.horizon)
			}
			if got == Same {
				return
			}
			if out.SumCRC() != out.CRC() || out.Size() != len(out) || out.BaseOffset() != b.BaseOffset() || out.LastDelta() != b.LastDelta() ||
				out.ProducerID() != b.ProducerID() || out.ProducerEpoch() != b.ProducerEpoch() || out.BaseSequence() != b.BaseSequence() ||
				out.Transactional() != b.Transactional() || out.Control() != b.Control() || out.Count() > 0 && out.Codec() != b.Codec() {
				t.Fatalf("%x became %x", b[:batch.HeaderSize], out[:batch.HeaderSize])
			}
			if c.show != "" && show(t, out) != c.show {
				t.Fatalf("%s, want %s", show(t, out), c.show)
			}
			if c.want == Empty && (out.Count() != 0 || len(out) != batch.HeaderSize) {
				t.Fatalf("%d records in %d bytes", out.Count(), len(out))
			}
		})
	}
}

func horizon(t testing.TB, b batch.Batch, at int64) batch.Batch {
	t.Helper()
	w := b.Rewrite(at)
	if err := b.EachRaw(1<<20, func(r batch.Raw) error { w.Keep(r); return nil }); err != nil {
		t.Fatal(err)
	}
	out, err := w.Batch()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tombstone(t testing.TB, at int64) batch.Batch {
	return horizon(t, build(t, &batch.Builder{}, 10, rec{"a", "1"}, rec{"b", "-"}), at)
}

// TestAppendTimeStays: timestamps of a queue that sets them itself do not change with what is taken away.
func TestAppendTimeStays(t *testing.T) {
	b := build(t, &batch.Builder{}, 10, rec{"a", "1"}, rec{"a", "2"}, rec{"b", "-"})
	b.SetAppendTime(77_777)
	k := NewKeys(1 << 20)
	k.Learn(b)
	_, out, err := (&Pass{Keys: k, Now: 1, Tombstone: 10}).Clean(b, false)
	if err != nil || show(t, out) != "11:a=2@77777 12:b=-@77777" {
		t.Fatal(show(t, out), err)
	}
}

// TestKeysAreBounded: what does not fit is said, and what fit is found.
func TestKeysAreBounded(t *testing.T) {
	k := NewKeys(0)
	n := 0
	for k.Learn(build(t, &batch.Builder{}, int64(n), rec{fmt.Sprint("key", n), "v"})) {
		n++
	}
	if n != k.Cap() || k.Len() != k.Cap() {
		t.Fatalf("%d keys fit, %d are counted, the capacity is %d", n, k.Len(), k.Cap())
	}
	for i := range n + 100 {
		off, ok := k.last([]byte(fmt.Sprint("key", i)))
		if ok != (i < n) || ok && off != int64(i) {
			t.Fatalf("key %d: %d, %v", i, off, ok)
		}
	}
	if !k.Learn(build(t, &batch.Builder{}, 5000, rec{"key0", "v"})) {
		t.Fatal("a key that is there did not fit")
	}
	k.Reset()
	if _, ok := k.last([]byte("key0")); ok || k.Len() != 0 {
		t.Fatal("it remembers")
	}
}

// TestPassesAgainstModel: random batches and passes with few keys at a time; in the end the last value of each key is
// left, and nothing that was not there.
func TestPassesAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var log []batch.Batch
		want := map[string]string{}
		off := int64(0)
		for range 60 {
			var recs []rec
			for range 1 + rng.IntN(4) {
				r := rec{fmt.Sprint("k", rng.IntN(100)), fmt.Sprint(off, len(recs))}
				if rng.IntN(6) == 0 {
					r.value = "-"
				}
				recs = append(recs, r)
				want[r.key] = r.value
			}
			log = append(log, build(t, &batch.Builder{Codec: batch.Codec(rng.IntN(5))}, off, recs...))
			off += int64(len(recs))
		}
		k := NewKeys(int64(rng.IntN(2)) << 20) // 48 keys, or all
		for done := 0; done < len(log); {
			k.Reset()
			end := done
			for end < len(log) && k.Learn(log[end]) {
				end++
			}
			p := &Pass{Keys: k, Now: int64(done), Tombstone: int64(rng.IntN(100))}
			var cleaned []batch.Batch
			kept := 0
			for i, b := range log[:end] {
				got, out, err := p.Clean(b, false)
				if err != nil {
					t.Fatal(err)
				}
				switch got {
				case Same:
					out = b
				case Empty:
					continue
				}
				cleaned = append(cleaned, out)
				if i < end {
					kept++
				}
			}
			log = append(cleaned, log[end:]...)
			done = kept
		}
		got := map[string]string{}
		for _, b := range log {
			if err := b.EachRaw(1<<20, func(r batch.Raw) error {
				got[string(r.Key)] = string(r.Value)
				if r.Value == nil {
					got[string(r.Key)] = "-"
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for key, v := range want {
			if g, ok := got[key]; g != v && (ok || v != "-") {
				t.Fatalf("round %d: %s = %q (%v), want %q", round, key, g, ok, v)
			}
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte(build(f, &batch.Builder{}, 0, rec{"a", "1"}, rec{"a", "-"}, rec{"-", "x"})))
	f.Add([]byte(build(f, &batch.Builder{Codec: batch.Snappy}, 0, rec{"a", "1"})))
	f.Add([]byte(tombstone(f, 5)))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) < batch.HeaderSize {
			return
		}
		b := batch.Batch(p)
		k := NewKeys(1 << 12)
		k.Learn(b)
		got, out, err := (&Pass{Keys: k, Now: 10, Tombstone: 5}).Clean(b, false)
		if err != nil || got != Changed {
			return
		}
		n := int32(0)
		if err := out.EachRaw(maxBody, func(r batch.Raw) error { n++; return nil }); err != nil || n != out.Count() {
			t.Fatalf("what is left can't be read: %v", err)
		}
	})
}
