package connectpb

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Open decodes a batch that was received with Later. Putting its pieces together is most of what receiving costs, and leaves
// the rows in the cache of the CPU that did it: so it is done by who walks the rows, not by who only hands them on.
func (f *Frame) Open() error {
	if f.raw == nil {
		return nil
	}
	raw := f.raw
	f.raw = nil
	defer raw.Free()
	return f.unmarshal(raw)
}

// Held returns the bytes of memory that a received batch takes.
func (f *Frame) Held() int { return f.raw.Len() + len(f.Rows) }

// alone says whether a message is one field of bytes and nothing else.
func alone(data mem.BufferSlice, field protowire.Number) bool {
	if len(data) == 0 {
		return false
	}
	first := data[0].ReadOnlyData()
	num, typ, n := protowire.ConsumeTag(first)
	if n < 0 || num != field || typ != protowire.BytesType {
		return false
	}
	size, m := protowire.ConsumeVarint(first[n:])
	return m > 0 && uint64(data.Len()-n-m) == size
}
