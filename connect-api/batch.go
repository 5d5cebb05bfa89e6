package connectapi

import (
	"encoding/binary"
	"time"
)

// Batch is filled by a source. It is the SDK's and is reused: nothing of it may be kept beyond Read. Filling allocates
// nothing per record (I3). Not safe for use by several goroutines.
type Batch struct {
	rows    []byte
	count   int
	base    int64
	marks   []Mark
	catalog *Catalog
	row     Row
	limit   int
	fixed   bool // the base was set

	bytesTopic string // the route of the last Append
	bytesRoute *Route
	byTopic    map[string]*Route
}

// NewBatch returns an empty batch whose routes are named by the catalog. Source authors need it for tests alone.
func NewBatch(c *Catalog) *Batch {
	b := &Batch{catalog: c, byTopic: map[string]*Route{}}
	b.row.b = b
	return b
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.count }

// Size returns the bytes of the rows.
func (b *Batch) Size() int { return len(b.rows) }

// Full says whether the batch has reached the size at which the SDK sends it; more fits, but only makes it larger.
func (b *Batch) Full() bool { return b.limit > 0 && len(b.rows) >= b.limit }

// Append adds a row of bytes as they are: key and value have the schema of optional bytes; nil is null.
func (b *Batch) Append(topic string, key, value []byte) {
	r := b.bytesRoute
	if r == nil || b.bytesTopic != topic {
		if r = b.byTopic[topic]; r == nil {
			r = NewRoute(topic, OptionalBytesSchema, OptionalBytesSchema)
			b.byTopic[topic] = r
		}
		b.bytesTopic, b.bytesRoute = topic, r
	}
	b.AppendEncoded(r, NoTime, key, value, Headers{})
}

// AppendEncoded adds a row whose key and value are encoded already, in root form under the route's schemas; nil is null.
// The time is in milliseconds since 1970, or [NoTime].
func (b *Batch) AppendEncoded(r *Route, millis int64, key, value []byte, headers Headers) {
	b.AppendConsumed(r, millis, 0, key, value, headers)
}

// AppendConsumed is AppendEncoded with the offset at which the row was consumed, for the worker's way to a sink.
func (b *Batch) AppendConsumed(r *Route, millis, offset int64, key, value []byte, headers Headers) {
	if b.count == 0 && !b.fixed {
		b.base = max(millis, 0)
	}
	b.rows = appendRow(b.rows, b.catalog.Route(r), millis-b.base, offset, key, value, headers)
	b.count++
}

// appendRow adds a row: a length, then its parts.
func appendRow(dst []byte, route uint32, delta, offset int64, key, value []byte, h Headers) []byte {
	n := sizeUvarint(uint64(route)) + sizeUvarint(zigzag(delta)) + sizeUvarint(uint64(offset)) + sizeBlob(key) +
		sizeBlob(value) + sizeUvarint(uint64(h.count)) + len(h.encoded)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, uint64(route))
	dst = AppendInt(dst, delta)
	dst = binary.AppendUvarint(dst, uint64(offset))
	dst = AppendBlob(dst, key)
	dst = AppendBlob(dst, value)
	dst = binary.AppendUvarint(dst, uint64(h.count))
	return append(dst, h.encoded...)
}

func sizeBlob(b []byte) int {
	if b == nil {
		return 1
	}
	return sizeUvarint(uint64(len(b))+1) + len(b)
}

// Add adds a row of Go values: tagged structs or Connect values; a nil key or value is null. An error leaves the batch as
// it was (I4).
func (b *Batch) Add(r *Route, key, value any) error {
	row := b.Begin(r, time.Time{})
	row.Key.Any(key)
	row.Value.Any(value)
	return row.End()
}

// Begin starts a row to be filled field by field and ended with [Row.End]; the zero time is none. There is one row at a
// time: Begin forgets one that was not ended.
func (b *Batch) Begin(r *Route, at time.Time) *Row {
	w := &b.row
	w.route, w.millis = r, millis(at)
	w.Key.Reset(r.Key)
	w.Value.Reset(r.Value)
	w.headers = w.headers[:0]
	w.count, w.err = 0, nil
	return w
}

// Position says: go on from o once all rows before it are durable. The empty offset forgets the partition.
func (b *Batch) Position(p Partition, o Offset) {
	b.marks = append(b.marks, Mark{Rows: b.count, Partition: p, Offset: o})
}

// AckOnly says: tell me when all rows before it are durable; nothing is stored. For queues that are acknowledged at their end.
func (b *Batch) AckOnly(p Partition, o Offset) {
	b.marks = append(b.marks, Mark{Rows: b.count, Partition: p, Offset: o, AckOnly: true})
}

// BeginTransaction marks that the rows that follow belong together.
func (b *Batch) BeginTransaction() { b.mark(BeginMark) }

// CommitTransaction marks the end of a transaction.
func (b *Batch) CommitTransaction() { b.mark(CommitMark) }

// AbortTransaction marks that the rows since BeginTransaction are void.
func (b *Batch) AbortTransaction() { b.mark(AbortMark) }

func (b *Batch) mark(t Transaction) {
	b.marks = append(b.marks, Mark{Rows: b.count, Transaction: t})
}

// What follows is for the SDK.

// Reset empties the batch.
func (b *Batch) Reset() {
	b.rows, b.count, b.marks = b.rows[:0], 0, b.marks[:0]
}

// SetLimit sets the size at which Full says so; 0: never.
func (b *Batch) SetLimit(bytes int) { b.limit = bytes }

// SetBase sets the time, in milliseconds, from which the times of rows to come count, so that batches can be merged;
// otherwise it is the first row's. Only for an empty batch.
func (b *Batch) SetBase(millis int64) { b.base, b.fixed = millis, true }

// Base returns the time, in milliseconds, from which the rows' times count.
func (b *Batch) Base() int64 { return b.base }

// Encoded returns the rows' bytes, valid until Reset.
func (b *Batch) Encoded() []byte { return b.rows }

// Marks returns positions and transaction marks in order, valid until Reset.
func (b *Batch) Marks() []Mark { return b.marks }

// Detach hands over the rows' memory and goes on, empty, with next.
func (b *Batch) Detach(next []byte) []byte {
	rows := b.rows
	b.rows = next[:0]
	b.Reset()
	return rows
}

// Merge moves all of o behind b. The two must share a catalog. It returns false, and does nothing, if their times do not
// count from the same base.
func (b *Batch) Merge(o *Batch) bool {
	switch {
	case b.count == 0 && len(b.marks) == 0:
		b.rows, o.rows = o.rows, b.rows
		b.marks, o.marks = o.marks, b.marks
		b.base, b.count = o.base, o.count
	case b.count > 0 && o.count > 0 && b.base != o.base:
		return false
	default:
		if b.count == 0 {
			b.base = o.base
		}
		for _, m := range o.marks {
			m.Rows += b.count
			b.marks = append(b.marks, m)
		}
		b.rows = append(b.rows, o.rows...)
		b.count += o.count
	}
	o.Reset()
	return true
}
