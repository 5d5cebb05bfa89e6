package connectpb

import (
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
)

// Frame is one message of a Source or Sink stream. If it holds a batch, its rows stand in a buffer of their own; else Msg
// is the message. To receive, set Field and Msg (to an empty message) first.
type Frame struct {
	Field protowire.Number
	Msg   pb.Message

	IsBatch   bool
	ID        uint64
	Count     uint32
	Base      int64
	Positions []*Position
	Next      []*PartitionOffset
	Rows      []byte

	buf mem.Buffer // received: what Rows point into
}

// Release gives back the memory of a received batch: its rows must not be touched afterwards.
func (f *Frame) Release() {
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
	inner := f.header(make([]byte, 0, 64))
	size := len(inner)
	if len(f.Rows) > 0 {
		size += protowire.SizeTag(batchRows) + protowire.SizeBytes(len(f.Rows))
	}
	head := make([]byte, 0, len(inner)+32)
	head = protowire.AppendTag(head, f.Field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	head = append(head, inner...)
	if len(f.Rows) == 0 {
		return mem.BufferSlice{mem.SliceBuffer(head)}, nil
	}
	head = protowire.AppendTag(head, batchRows, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(f.Rows)))
	rows := f.Rows
	f.Rows = nil // I2
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&rows, Buffers)}, nil
}

// header encodes a batch but for its rows.
func (f *Frame) header(b []byte) []byte {
	if f.ID != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchID, protowire.VarintType), f.ID)
	}
	if f.Count != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchCount, protowire.VarintType), uint64(f.Count))
	}
	if f.Base != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, batchBase, protowire.VarintType), uint64(f.Base))
	}
	for _, p := range f.Positions {
		b = appendMessage(b, batchPositions, p)
	}
	for _, p := range f.Next {
		b = appendMessage(b, batchNext, p)
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
	f.ID, f.Count, f.Base, f.Positions, f.Next = 0, 0, 0, nil, nil
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case typ == protowire.VarintType && num <= batchBase:
			var u uint64
			u, n = protowire.ConsumeVarint(b)
			switch num {
			case batchID:
				f.ID = u
			case batchCount:
				f.Count = uint32(u)
			case batchBase:
				f.Base = int64(u)
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
		p := new(PartitionOffset)
		f.Next = append(f.Next, p)
		return wrap(pb.Unmarshal(v, p))
	}
	return nil
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("reading a batch: %w", err)
	}
	return nil
}
