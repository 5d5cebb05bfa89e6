package connectpb

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

var update = flag.Bool("update", false, "rewrite golden files")

func sample() (*Frame, *Batch) {
	offset := `{"n":1}`
	f := &Frame{
		Field: SourceBatchField, IsBatch: true, ID: 7, Count: 2, Base: 1000,
		Positions: []*Position{{Rows: 1, Partition: `{"p":1}`, Offset: &offset}, {Rows: 2, Transaction: Position_COMMIT}},
		Next:      []NextOffset{{Topic: "t", Partition: 1, Offset: 5}, {}, {Topic: "u", Partition: -1, Offset: -2}},
		Rows:      append(make([]byte, 0, 4096), 8, 1, 2, 0, 0, 3, 'h', 'i', 0),
	}
	next := []*PartitionOffset{{Topic: "t", Partition: 1, Offset: 5}, {}, {Topic: "u", Partition: -1, Offset: -2}}
	return f, &Batch{Id: 7, Count: 2, BaseTimestamp: 1000, Positions: f.Positions, Next: next, Rows: bytes.Clone(f.Rows)}
}

// I1: a frame's bytes are those of the message.
func TestFrameIsTheMessage(t *testing.T) {
	f, batch := sample()
	out, err := Codec{}.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	raw := out.Materialize()
	out.Free()
	got := &FromSource{}
	if err := proto.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	want := &FromSource{Msg: &FromSource_Batch{Batch: batch}}
	if !proto.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	const path = "testdata/frame.golden"
	text := hex.EncodeToString(raw) + "\n"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if golden, err := os.ReadFile(path); err != nil || string(golden) != text {
		t.Fatalf("%s differs: %s, %v", path, text, err)
	}

	// And back, from an ordinary encoder, in one buffer and in many.
	raw, err = proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{len(raw), 5, 1, len(raw), 5, 1} {
		var in mem.BufferSlice
		for rest := raw; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			in = append(in, mem.SliceBuffer(rest[:min(n, len(rest))]))
		}
		back := &Frame{Field: SourceBatchField, Msg: &FromSource{}, Later: i >= 3}
		if err := (Codec{}).Unmarshal(in, back); err != nil {
			t.Fatal(err)
		}
		if later := n != 1 && i >= 3; later != (back.Rows == nil) || back.Held() < len(batch.Rows) {
			t.Fatalf("in pieces of %d: %+v", n, back) // a head in pieces is put together at once
		}
		if err := back.Open(); err != nil {
			t.Fatal(err)
		}
		if !back.IsBatch || back.ID != 7 || back.Count != 2 || back.Base != 1000 || len(back.Positions) != 2 ||
			!proto.Equal(back.Positions[0], batch.Positions[0]) || !slices.Equal(back.Next, f.Next) || !bytes.Equal(back.Rows, batch.Rows) {
			t.Fatalf("%+v", back)
		}
		back.Release()

		// A frame is used again: nothing of the batch before it may show.
		again := mem.BufferSlice{mem.SliceBuffer{byte(SinkBatchField)<<3 | 2, 6, byte(batchNext)<<3 | 2, 4, 0x0a, 2, 'u', 'u'}}
		back.Field = SinkBatchField
		if err := (Codec{}).Unmarshal(again, back); err != nil {
			t.Fatal(err)
		}
		if err := back.Open(); err != nil {
			t.Fatal(err)
		}
		if back.ID != 0 || back.Positions != nil || back.Rows != nil || !slices.Equal(back.Next, []NextOffset{{Topic: "uu"}}) {
			t.Fatalf("used again: %+v", back)
		}
	}
}

// A batch whose rows stand in shared memory.
func TestFrameWithASlotIsTheMessage(t *testing.T) {
	f := &Frame{Field: SinkBatchField, IsBatch: true, ID: 9, Count: 3, Base: 5, Next: []NextOffset{{Topic: "t", Offset: 8}}, Slot: 32, Length: 70_000}
	want := &ToSink{Msg: &ToSink_Batch{Batch: &Batch{
		Id: 9, Count: 3, BaseTimestamp: 5, Next: []*PartitionOffset{{Topic: "t", Offset: 8}}, Slot: 32, Length: 70_000,
	}}}
	out, err := Codec{}.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	got := &ToSink{}
	if err := proto.Unmarshal(out.Materialize(), got); err != nil || !proto.Equal(got, want) {
		t.Fatalf("got %v, want %v, %v", got, want, err)
	}
	back := &Frame{Field: SinkBatchField, Msg: &ToSink{}}
	if err := (Codec{}).Unmarshal(out, back); err != nil {
		t.Fatal(err)
	}
	if !back.IsBatch || back.ID != 9 || back.Count != 3 || back.Slot != 32 || back.Length != 70_000 || back.Rows != nil {
		t.Fatalf("%+v", back)
	}
	if out, err = (Codec{}).Marshal(&Frame{Field: SinkBatchField, IsBatch: true, ID: 10, Count: 1, Rows: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	if err := (Codec{}).Unmarshal(out, back); err != nil || back.Slot != 0 || back.Length != 0 || len(back.Rows) != 1 {
		t.Fatalf("used again: %+v, %v", back, err)
	}
	back.Release()
}

func TestOtherMessagesPass(t *testing.T) {
	m := &FromSource{Msg: &FromSource_Report{Report: &Report{WaitingFor: "x", Metrics: map[string]float64{"a": 1}}}}
	out, err := Codec{}.Marshal(&Frame{Msg: m})
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{Field: SourceBatchField, Msg: &FromSource{}}
	if err := (Codec{}).Unmarshal(out, f); err != nil {
		t.Fatal(err)
	}
	if f.IsBatch || !proto.Equal(f.Msg, m) {
		t.Fatalf("%v", f.Msg)
	}
	plain := &DescribeRequest{}
	if out, err = (Codec{}).Marshal(plain); err != nil {
		t.Fatal(err)
	}
	if err := (Codec{}).Unmarshal(out, plain); err != nil {
		t.Fatal(err)
	}
}

func TestPoolGivesWhatFits(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 1 << 20, 1<<20 + 1, 9 << 20} {
		b := Buffers.Get(n)
		if len(*b) != n {
			t.Fatalf("asked for %d, got %d", n, len(*b))
		}
		grown := append(*b, make([]byte, 700)...) // odd capacities go back into a class they can serve
		Buffers.Put(&grown)
		if again := Buffers.Get(n); len(*again) != n {
			t.Fatalf("asked for %d, got %d", n, len(*again))
		}
	}
}

func FuzzFrame(f *testing.F) {
	s, _ := sample()
	out, err := Codec{}.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(out.Materialize())
	f.Add([]byte{0x22, 0})
	f.Add([]byte{0x0a, 0})
	f.Add([]byte{0x22, 4, 0x38, 3, 0x40, 9}) // a slot
	f.Fuzz(func(t *testing.T, data []byte) {
		ordinary := &FromSource{}
		fine := proto.Unmarshal(data, ordinary) == nil
		got := &Frame{Field: SourceBatchField, Msg: &FromSource{}}
		err := Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, got)
		if !fine && err == nil && !got.IsBatch {
			t.Fatal("took what an ordinary decoder refuses")
		}
		later := &Frame{Field: SourceBatchField, Msg: &FromSource{}, Later: true}
		laterErr := Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, later)
		if laterErr == nil {
			laterErr = later.Open()
		}
		if (laterErr == nil) != (err == nil) || err == nil && (later.IsBatch != got.IsBatch || later.ID != got.ID || !bytes.Equal(later.Rows, got.Rows)) {
			t.Fatalf("later: %+v, %v; at once: %+v, %v", later, laterErr, got, err)
		}
		later.Release()
		if b := ordinary.GetBatch(); fine && err == nil && b != nil && got.IsBatch && len(b.Next) == len(got.Next) {
			for i, n := range b.Next {
				if g := got.Next[i]; g.Topic != n.Topic || g.Partition != n.Partition || g.Offset != n.Offset {
					t.Fatalf("next offset %d is %v, to an ordinary decoder %v", i, g, n)
				}
			}
		}
		if b := ordinary.GetBatch(); fine && err == nil && b != nil && got.IsBatch && len(data) < 40 {
			if b.Slot != got.Slot || b.Length != got.Length {
				t.Fatalf("slot %d, %d; to an ordinary decoder %d, %d", got.Slot, got.Length, b.Slot, b.Length)
			}
			if len(b.Rows) < len(got.Rows) {
				t.Fatalf("%d bytes of rows, an ordinary decoder has %d", len(got.Rows), len(b.Rows))
			}
		}
		got.Release()
	})
}
