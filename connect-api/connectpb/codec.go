package connectpb

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	pb "google.golang.org/protobuf/proto"
)

// Fields of FromSource and ToSink that hold a batch.
const (
	SourceBatchField protowire.Number = 4
	SinkBatchField   protowire.Number = 7
)

const (
	batchID        protowire.Number = 1
	batchCount     protowire.Number = 2
	batchBase      protowire.Number = 3
	batchRows      protowire.Number = 4
	batchPositions protowire.Number = 5
	batchNext      protowire.Number = 6
	batchSlot      protowire.Number = 7
	batchLength    protowire.Number = 8
)

// Frame is one message of a Source or Sink stream. If it holds a batch, its rows stand in a buffer of their own; else Msg
// is the message. To receive, set Field and Msg (to an empty message) first, and Later if the goroutine that receives is not the
// one that uses the batch.
type Frame struct {
	Field protowire.Number
	Msg   pb.Message
	Later bool // a batch is received as it came, for Open

	IsBatch   bool
	ID        uint64
	Count     uint32
	Base      int64
	Positions []*Position
	Next      []NextOffset
	Rows      []byte
	Slot      uint32 // where in shared memory the rows stand; 0: Rows are they
	Length    uint32 // of the rows in the slot

	buf mem.Buffer      // received: what Rows point into
	raw mem.BufferSlice // received: the message, until Open
}

// NextOffset is a PartitionOffset as every batch to a sink has it: no message of its own. A Frame that receives again keeps the
// topic's memory if it is the same.
type NextOffset struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Release gives back the memory of a received batch: its rows must not be touched afterwards.
func (f *Frame) Release() {
	f.raw.Free()
	f.raw = nil
	if f.buf != nil {
		f.buf.Free()
		f.buf = nil
	}
	f.Rows = nil
}

// Forget leaves the memory of a received batch to the garbage collector, for rows that are kept.
func (f *Frame) Forget() { f.buf, f.Rows = nil, nil }

// Codec is the gRPC codec of both ends. It handles ordinary messages as grpc's own does.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name returns "proto": the bytes are (I1).
func (Codec) Name() string { return proto.Name }

// Marshal encodes a *Frame or any protobuf message.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*Frame)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Marshal(v)
	}
	if !f.IsBatch {
		return encoding.GetCodecV2(proto.Name).Marshal(f.Msg)
	}
	head := f.head()
	if len(f.Rows) == 0 {
		return mem.BufferSlice{mem.SliceBuffer(head)}, nil
	}
	rows := f.Rows
	f.Rows = nil // I2
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&rows, Buffers)}, nil
}

// headRoom is what the outer tag and length, and the tag and length of the rows, take at most.
const headRoom = 4 * binary.MaxVarintLen64

// head encodes a batch up to its rows: the fields before them are written behind some room, into which the outer tag and length
// go once the length is known.
func (f *Frame) head() []byte {
	b := f.fields(make([]byte, headRoom, 2*headRoom+32))
	if len(f.Rows) > 0 {
		b = protowire.AppendTag(b, batchRows, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(f.Rows)))
	}
	size := len(b) - headRoom + len(f.Rows)
	from := headRoom - protowire.SizeTag(f.Field) - protowire.SizeVarint(uint64(size))
	outer := protowire.AppendTag(b[from:from], f.Field, protowire.BytesType)
	protowire.AppendVarint(outer, uint64(size))
	return b[from:]
}

// fields encodes a batch but for its rows.
func (f *Frame) fields(b []byte) []byte {
	if f.ID != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchID, protowire.VarintType), f.ID)
	}
	if f.Count != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchCount, protowire.VarintType), uint64(f.Count))
	}
	if f.Base != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchBase, protowire.VarintType), uint64(f.Base))
	}
	if f.Slot != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchSlot, protowire.VarintType), uint64(f.Slot))
	}
	if f.Length != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchLength, protowire.VarintType), uint64(f.Length))
	}
	for _, p := range f.Positions {
		b = appendMessage(b, batchPositions, p)
	}
	for i := range f.Next {
		b = f.Next[i].append(b)
	}
	return b
}

func appendMessage(b []byte, field protowire.Number, m pb.Message) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(pb.Size(m)))
	b, _ = pb.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, m) // fails only on missing required fields: there are none
	return b
}

// Unmarshal decodes into a *Frame or any protobuf message.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*Frame)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	f.raw = nil
	if f.Later && alone(data, f.Field) {
		data.Ref()
		f.IsBatch, f.raw, f.Rows = true, data, nil
		return nil
	}
	return f.unmarshal(data)
}

func (f *Frame) unmarshal(data mem.BufferSlice) error {
	buf := data.MaterializeToBuffer(Buffers)
	raw := buf.ReadOnlyData()
	f.IsBatch, f.Rows = false, nil
	batch, err := find(raw, f.Field)
	if err == nil && batch == nil {
		err = pb.Unmarshal(raw, f.Msg)
	} else if err == nil {
		err = f.parse(batch)
	}
	if err != nil || len(f.Rows) == 0 {
		buf.Free()
		return err
	}
	f.buf = buf
	return nil
}

// find returns the bytes of a field of the message, nil if it is not there.
func find(raw []byte, field protowire.Number) ([]byte, error) {
	var found []byte
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		raw = raw[n:]
		if num == field && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(raw)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			found, raw = v[:len(v):len(v)], raw[n:]
			if found == nil {
				found = []byte{}
			}
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, raw); n < 0 {
			return nil, protowire.ParseError(n)
		}
		raw = raw[n:]
	}
	return found, nil
}

func (f *Frame) parse(b []byte) error {
	f.IsBatch = true
	f.ID, f.Count, f.Base, f.Positions, f.Next, f.Slot, f.Length = 0, 0, 0, nil, f.Next[:0], 0, 0
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case typ == protowire.VarintType && (num <= batchBase || num == batchSlot || num == batchLength):
			var u uint64
			u, n = protowire.ConsumeVarint(b)
			switch num {
			case batchID:
				f.ID = u
			case batchCount:
				f.Count = uint32(u)
			case batchBase:
				f.Base = int64(u)
			case batchSlot:
				f.Slot = uint32(u)
			case batchLength:
				f.Length = uint32(u)
			}
		case typ == protowire.BytesType && num >= batchRows && num <= batchNext:
			var v []byte
			if v, n = protowire.ConsumeBytes(b); n >= 0 {
				if err := f.part(num, v); err != nil {
					return err
				}
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}

func (f *Frame) part(num protowire.Number, v []byte) error {
	switch num {
	case batchRows:
		f.Rows = v[:len(v):len(v)]
	case batchPositions:
		p := new(Position)
		f.Positions = append(f.Positions, p)
		return wrap(pb.Unmarshal(v, p))
	case batchNext:
		if len(f.Next) < cap(f.Next) {
			f.Next = f.Next[:len(f.Next)+1]
		} else {
			f.Next = append(f.Next, NextOffset{})
		}
		return wrap(f.Next[len(f.Next)-1].parse(v))
	}
	return nil
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("reading a batch: %w", err)
	}
	return nil
}
