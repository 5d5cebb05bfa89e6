package batch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
)

var update = flag.Bool("update", false, "rewrite golden files")

func build(t testing.TB, bd *Builder) Batch {
	t.Helper()
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sample(c Codec) *Builder {
	bd := &Builder{Codec: c}
	bd.Producer(77, 2, 40)
	bd.Add(Record{Time: 1_700_000_000_000, Key: []byte("k1"), Value: []byte("v1"), Headers: []Header{{"h", []byte("x")}, {"n", nil}}})
	bd.Add(Record{Time: 1_700_000_000_500, Key: []byte("k2")})
	bd.Add(Record{Time: 1_699_999_999_000, Value: []byte(strings.Repeat("long ", 100))})
	return bd
}

func TestGolden(t *testing.T) {
	got := hex.Dump(build(t, sample(None)))
	const path = "testdata/batch.hex"
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
		t.Fatalf("the bytes changed:\n%s\nwas:\n%s", got, want)
	}
}

func TestAccessors(t *testing.T) {
	b := build(t, sample(Zstd))
	b.SetBaseOffset(1000)
	b.SetLeaderEpoch(5)
	got := []any{
		b.BaseOffset(), b.LastOffset(), b.LeaderEpoch(), b.Magic(), b.Codec(), b.Count(), b.LastDelta(), b.BaseTime(), b.MaxTime(),
		b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.LastSequence(), b.Size(), b.Transactional(), b.Control(), b.AppendTime(), b.SumCRC(),
	}
	want := []any{
		int64(1000), int64(1002), int32(5), int8(2), Zstd, int32(3), int32(2), int64(1_700_000_000_000), int64(1_700_000_000_500),
		int64(77), int16(2), int32(40), int32(42), len(b), false, false, false, b.CRC(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\nwant %v", got, want)
	}
	b.SetAppendTime(99)
	if !b.AppendTime() || b.MaxTime() != 99 || b.CRC() != b.SumCRC() || b.Codec() != Zstd {
		t.Fatalf("append time %v %d", b.AppendTime(), b.MaxTime())
	}
	if err := b.Walk(func(m Meta) error {
		if m.Time != 99 {
			return fmt.Errorf("time %d", m.Time)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// framed wraps raw records in Java's snappy framing.
func framed(t testing.TB) Batch {
	t.Helper()
	plain := build(t, sample(None))
	body := append([]byte{}, xerialMagic...)
	body = append(body, 0, 0, 0, 1, 0, 0, 0, 1)
	for rest := []byte(plain[HeaderSize:]); len(rest) > 0; {
		n := min(100, len(rest))
		block := snappy.Encode(nil, rest[:n])
		body = binary.BigEndian.AppendUint32(body, uint32(len(block)))
		body = append(body, block...)
		rest = rest[n:]
	}
	return reseal(append(append(Batch{}, plain[:HeaderSize]...), body...), func(b Batch) { b[atAttributes+1] |= byte(Snappy) })
}

// reseal changes a batch and makes length and CRC fit again.
func reseal(b Batch, change func(Batch)) Batch {
	b = append(Batch{}, b...)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-lengthFrom))
	change(b)
	binary.BigEndian.PutUint32(b[atCRC:], b.SumCRC())
	return b
}

func TestEveryCodec(t *testing.T) {
	all := map[string]Batch{"xerial": framed(t)}
	for c := None; c <= Zstd; c++ {
		all[c.String()] = build(t, sample(c))
	}
	plain, err := all["none"].Records(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			if _, err := Check(b, Rules{}); err != nil {
				t.Fatal(err)
			}
			got, err := b.Records(1 << 20)
			if err != nil || !reflect.DeepEqual(got, plain) {
				t.Fatalf("%+v\nwant %+v\n%v", got, plain, err)
			}
			var keys []bool
			if err := b.Walk(func(m Meta) error { keys = append(keys, m.HasKey); return nil }); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(keys, []bool{true, true, false}) {
				t.Fatal(keys)
			}
			var e *Error
			if _, err := Check(b, Rules{Compacted: true}); !errors.As(err, &e) || e.Code != CodeInvalidRecord || e.Record != 2 {
				t.Fatalf("a record without a key in a compacted queue: %v", err)
			}
			n := 0
			if err := b.Walk(func(Meta) error { n++; return ErrStop }); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	good := build(t, sample(None))
	set := func(at int, v ...byte) func(Batch) { return func(b Batch) { copy(b[at:], v) } }
	cases := []struct {
		name string
		b    []byte
		r    Rules
		code int16
	}{
		{"good", good, Rules{}, 0},
		{"leader epoch is not looked at", reseal(good, set(atEpoch, 0, 0, 0, 9)), Rules{}, 0},
		{"null", nil, Rules{}, CodeCorruptMessage},
		{"short", good[:60], Rules{}, CodeCorruptMessage},
		{"truncated", good[:len(good)-1], Rules{}, CodeCorruptMessage},
		{"two batches", append(append([]byte{}, good...), good...), Rules{}, CodeInvalidRecord},
		{"old magic", reseal(good, set(atMagic, 1)), Rules{}, CodeInvalidRecord},
		{"old magic, short", append(make([]byte, 16), 0), Rules{}, CodeInvalidRecord},
		{"base offset", reseal(good, set(atBaseOffset+7, 1)), Rules{}, CodeInvalidRecord},
		{"too large", good, Rules{MaxBytes: len(good) - 1}, CodeMessageTooLarge},
		{"large enough", good, Rules{MaxBytes: len(good)}, 0},
		{"crc", append(append([]byte{}, good[:len(good)-1]...), 0xff), Rules{}, CodeCorruptMessage},
		{"codec 5", reseal(good, set(atAttributes+1, 5)), Rules{}, CodeUnsupportedCodec},
		{"zstd in an old request", build(t, sample(Zstd)), Rules{NoZstd: true}, CodeUnsupportedCodec},
		{"count 0", reseal(good, set(atCount, 0, 0, 0, 0)), Rules{}, CodeInvalidRecord},
		{"count too high", reseal(good, set(atCount, 0, 0, 0, 4)), Rules{}, CodeInvalidRecord},
		{"both too high", reseal(good, func(b Batch) { b[atCount+3], b[atLastDelta+3] = 4, 3 }), Rules{}, CodeCorruptMessage},
		{"both too low", reseal(good, func(b Batch) { b[atCount+3], b[atLastDelta+3] = 2, 1 }), Rules{}, CodeInvalidRecord},
		{"negative delta", reseal(good, func(b Batch) {
			copy(b[atLastDelta:], []byte{255, 255, 255, 255})
			copy(b[atCount:], []byte{0, 0, 0, 0})
		}), Rules{}, CodeInvalidRecord},
		{"absurd count", reseal(good, func(b Batch) {
			copy(b[atLastDelta:], []byte{127, 255, 255, 254})
			copy(b[atCount:], []byte{127, 255, 255, 255})
		}), Rules{}, CodeCorruptMessage},
		{"control", reseal(good, set(atAttributes+1, ControlBit)), Rules{}, CodeInvalidRecord},
		{"control of our own", reseal(good, set(atAttributes+1, ControlBit)), Rules{Trusted: true}, 0},
		{"no sequence", reseal(good, set(atBaseSeq, 255, 255, 255, 255)), Rules{}, CodeInvalidRecord},
		{"transaction without id", reseal(good, set(atAttributes+1, TxnBit)), Rules{}, CodeInvalidTxnState},
		{"transaction", reseal(good, set(atAttributes+1, TxnBit)), Rules{Txn: true}, 0},
		{"transaction without producer", reseal(good, func(b Batch) {
			b[atAttributes+1] |= TxnBit
			copy(b[atProducerID:], bytes.Repeat([]byte{255}, 8))
		}), Rules{Txn: true}, CodeInvalidProducerID},
		{"append time", reseal(good, set(atAttributes+1, AppendTimeBit)), Rules{}, CodeInvalidTimestamp},
		{"append time where it is the queue's", reseal(good, set(atAttributes+1, AppendTimeBit)), Rules{AppendTime: true}, 0},
		{"from the future", good, Rules{LatestTime: 1_700_000_000_499}, CodeInvalidTimestamp},
		{"records end early", reseal(good[:len(good)-5], func(Batch) {}), Rules{}, CodeCorruptMessage},
		{"bytes behind the records", reseal(append(append(Batch{}, good...), 0), func(Batch) {}), Rules{}, CodeInvalidRecord},
		{"offset delta", reseal(good, set(HeaderSize+3, 4)), Rules{}, CodeInvalidRecord},
		{"lies about gzip", reseal(good, set(atAttributes+1, byte(Gzip))), Rules{Compacted: true}, CodeCorruptMessage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Check(c.b, c.r)
			var e *Error
			switch {
			case c.code == 0 && err != nil:
				t.Fatal(err)
			case c.code != 0 && (!errors.As(err, &e) || e.Code != c.code):
				t.Fatalf("%v, want code %d", err, c.code)
			}
		})
	}
}

// TestBombs: batches that claim or hold far more than their size must not cost memory.
func TestBombs(t *testing.T) {
	lie := binary.AppendUvarint(nil, 1<<31)
	raw := reseal(append(append(Batch{}, build(t, sample(None))[:HeaderSize]...), lie...), func(b Batch) { b[atAttributes+1] |= byte(Snappy) })
	var e *Error
	if err := raw.Walk(func(Meta) error { return nil }); !errors.As(err, &e) || e.Code != CodeCorruptMessage {
		t.Fatal(err)
	}
	bd := &Builder{Codec: Zstd}
	bd.Add(Record{Key: []byte("k"), Value: make([]byte, 64<<20)})
	bomb := build(t, bd)
	if len(bomb) > 64<<10 {
		t.Fatalf("%d bytes", len(bomb))
	}
	if _, err := bomb.Records(1 << 20); !errors.As(err, &e) || e.Code != CodeMessageTooLarge {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, func() {
		if err := bomb.Walk(func(Meta) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}); n > 5000 {
		t.Fatalf("%v allocations", n)
	}
}

func TestSequencesWrap(t *testing.T) {
	for _, c := range []struct{ seq, n, want int32 }{{0, 1, 1}, {1<<31 - 1, 1, 0}, {1<<31 - 2, 4, 2}} {
		if got := AddSequence(c.seq, c.n); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.seq, c.n, got, c.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for c := None; c <= Zstd; c++ {
		f.Add([]byte(build(f, sample(c))))
	}
	f.Add([]byte(framed(f)))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) >= HeaderSize { // let changed bytes past the CRC
			p = append([]byte{}, p...)
			binary.BigEndian.PutUint32(p[atCRC:], Batch(p).SumCRC())
		}
		b, err := Check(p, Rules{Compacted: true})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code == 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		n := 0
		if err := b.Walk(func(Meta) error { n++; return nil }); err != nil || n != int(b.Count()) {
			t.Fatal(n, err)
		}
		_, _ = b.Records(1 << 20)
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		bd := &Builder{Codec: c}
		for i := range 100 {
			bd.Add(Record{Time: int64(i), Key: fmt.Append(nil, i), Value: []byte(strings.Repeat("value ", 20))})
		}
		bt := build(b, bd)
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bt)))
			for range b.N {
				if _, err := Check(bt, Rules{Compacted: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
