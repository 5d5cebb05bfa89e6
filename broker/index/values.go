package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// Forms of values (I4). Forms 2 (extent) and 3 (link) of batches are reserved and refused by name.
const (
	formBatch  = 1
	formExtent = 2
	formLink   = 3
	formV1     = 1 // of every other value
)

// Format is the version of keys and values; another one is rebuilt from the log.
const Format = 3

// Stores a place can name. The tier is reserved and refused by name.
const (
	StoreMain = 0
	StoreCold = 1
)

// Bits of the optional fields of a batch entry. Only the count is written by this version.
const (
	optLabel = 1 << iota
	optCount
	optEpoch
	optTime
	optTag
)

// Entry is where a batch stands.
type Entry struct {
	Last     int64 // from the key
	Base     int64
	Store    uint8 // StoreMain or StoreCold
	Position int64 // of its frame in that store's log
	Size     int   // of the batch
	MaxTime  int64 // the highest timestamp of the queue up to and with this batch
	Count    int32 // records; last - base + 1 unless records were compacted away
}

// AppendEntry encodes an entry's value.
func AppendEntry(b []byte, e *Entry) []byte {
	b = append(b, formBatch)
	b = binary.AppendUvarint(b, uint64(e.Last-e.Base))
	b = binary.AppendUvarint(b, uint64(e.Store))
	b = binary.AppendUvarint(b, uint64(e.Position))
	b = binary.AppendUvarint(b, uint64(e.Size))
	b = binary.AppendVarint(b, e.MaxTime)
	if int64(e.Count) == e.Last-e.Base+1 {
		return append(b, 0)
	}
	b = append(b, optCount)
	return binary.AppendUvarint(b, uint64(e.Count))
}

// DecodeEntry is the reverse; last comes from the key.
func DecodeEntry(last int64, v []byte) (Entry, error) {
	d := decoder{b: v}
	switch form := d.byte(); form {
	case formBatch:
	case formExtent, formLink:
		return Entry{}, fmt.Errorf("decoding a batch entry: form %d (extent or link) is not supported by this version", form)
	default:
		return Entry{}, fmt.Errorf("decoding a batch entry: form %d is not known", form)
	}
	e := Entry{Last: last, Base: last - int64(d.uvarint())}
	store := d.uvarint()
	if store > StoreCold && d.err == nil {
		return Entry{}, fmt.Errorf("decoding a batch entry: store %d (2 is the tier) is not supported by this version", store)
	}
	e.Store = uint8(store)
	e.Position, e.Size, e.MaxTime = int64(d.uvarint()), int(d.uvarint()), d.varint()
	opt := d.byte()
	if opt&^optCount != 0 && d.err == nil {
		return Entry{}, fmt.Errorf("decoding a batch entry: optional fields %#x are not supported by this version", opt)
	}
	e.Count = int32(e.Last - e.Base + 1)
	if opt&optCount != 0 {
		e.Count = int32(d.uvarint())
	}
	if d.err == nil && (e.Base < 0 || e.Base > e.Last || e.Position < 0 || e.Size <= 0) {
		d.err = errors.New("its values make no sense")
	}
	return e, d.end("a batch entry")
}

// Head is a queue's durable state.
type Head struct {
	LogStart   int64
	Next       int64
	LocalStart int64 // the first offset kept on this node (ListOffsets -4, KIP-405)
	TierEnd    int64 // the last offset in a tier, -1 without one (ListOffsets -5)
	Epoch      int32
	Bytes      int64
	MaxTime    int64 // the highest timestamp ever, and the offset of its batch's last record
	MaxTimeAt  int64
	AppendTime bool
	Compact    bool
	Delete     bool
	Aborts     bool // there were aborted transactions
	RetainMs   int64
	RetainSize int64
	Cleaned    int64 // compaction has been through everything below
	MinLag     int64 // of the policy: compaction's lags and how long tombstones stay, ms
	MaxLag     int64
	Tombstone  int64
	Dirty      int32 // min.cleanable.dirty.ratio in thousandths
}

const (
	headAppendTime = 1 << iota
	headCompact
	headDelete
	headAborts
)

// AppendHead encodes a head's value.
func AppendHead(b []byte, h *Head) []byte {
	b = append(b, formV1)
	b = binary.AppendUvarint(b, uint64(h.LogStart))
	b = binary.AppendUvarint(b, uint64(h.Next))
	b = binary.AppendUvarint(b, uint64(h.LocalStart))
	b = binary.AppendVarint(b, h.TierEnd)
	b = binary.AppendUvarint(b, uint64(h.Epoch))
	b = binary.AppendUvarint(b, uint64(h.Bytes))
	b = binary.AppendVarint(b, h.MaxTime)
	b = binary.AppendVarint(b, h.MaxTimeAt)
	b = append(b, bit(h.AppendTime, headAppendTime)|bit(h.Compact, headCompact)|bit(h.Delete, headDelete)|bit(h.Aborts, headAborts))
	b = binary.AppendVarint(b, h.RetainMs)
	b = binary.AppendVarint(b, h.RetainSize)
	b = binary.AppendUvarint(b, uint64(h.Cleaned))
	b = binary.AppendUvarint(b, uint64(h.MinLag))
	b = binary.AppendUvarint(b, uint64(h.MaxLag))
	b = binary.AppendUvarint(b, uint64(h.Tombstone))
	return binary.AppendUvarint(b, uint64(h.Dirty))
}

func bit(on bool, b byte) byte {
	if on {
		return b
	}
	return 0
}

// DecodeHead is the reverse.
func DecodeHead(v []byte) (Head, error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return Head{}, fmt.Errorf("decoding a queue head: form %d is not known", f)
	}
	h := Head{
		LogStart: int64(d.uvarint()), Next: int64(d.uvarint()), LocalStart: int64(d.uvarint()), TierEnd: d.varint(),
		Epoch: int32(d.uvarint()), Bytes: int64(d.uvarint()), MaxTime: d.varint(), MaxTimeAt: d.varint(),
	}
	flags := d.byte()
	h.AppendTime, h.Compact, h.Delete = flags&headAppendTime != 0, flags&headCompact != 0, flags&headDelete != 0
	h.Aborts = flags&headAborts != 0
	h.RetainMs, h.RetainSize = d.varint(), d.varint()
	h.Cleaned, h.MinLag, h.MaxLag, h.Tombstone = int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint())
	h.Dirty = int32(d.uvarint())
	if d.err == nil && (h.LogStart < 0 || h.Next < h.LogStart) {
		d.err = errors.New("its values make no sense")
	}
	return h, d.end("a queue head")
}

// AppendEpochStart encodes where a leader epoch began.
func AppendEpochStart(b []byte, start int64) []byte {
	return binary.AppendUvarint(append(b, formV1), uint64(start))
}

// DecodeEpochStart is the reverse.
func DecodeEpochStart(v []byte) (int64, error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return 0, fmt.Errorf("decoding an epoch's start: form %d is not known", f)
	}
	return int64(d.uvarint()), d.end("an epoch's start")
}

// Checkpoint says up to where the log has been applied, and by which code.
type Checkpoint struct {
	LogUUID  [16]byte
	History  uint32
	Position int64
	Epoch    uint32 // writer epoch at the position
	Time     int64  // of the last frame before it
	Closed   bool   // the last frame was that of a clean stop
	Cold     int64  // position of the cold log up to which its rounds have been applied

	Snapshot      int64 // the log position the newest whole snapshot in the log stands for, 0 without one
	SnapshotEnd   int64 // and where its last frame stands
	SnapshotBytes int64
	Format        uint64
	Machines      map[Prefix]uint8 // version of each machine
}

// AppendCheckpoint encodes a checkpoint.
func AppendCheckpoint(b []byte, c *Checkpoint) []byte {
	b = append(b, formV1)
	b = binary.AppendUvarint(b, c.Format)
	b = append(b, c.LogUUID[:]...)
	b = binary.AppendUvarint(b, uint64(c.History))
	b = binary.AppendUvarint(b, uint64(c.Position))
	b = binary.AppendUvarint(b, uint64(c.Epoch))
	b = binary.AppendVarint(b, c.Time)
	b = append(b, bit(c.Closed, 1))
	b = binary.AppendUvarint(b, uint64(c.Cold))
	b = binary.AppendUvarint(b, uint64(c.Snapshot))
	b = binary.AppendUvarint(b, uint64(c.SnapshotEnd))
	b = binary.AppendUvarint(b, uint64(c.SnapshotBytes))
	b = binary.AppendUvarint(b, uint64(len(c.Machines)))
	prefixes := make([]int, 0, len(c.Machines))
	for p := range c.Machines {
		prefixes = append(prefixes, int(p))
	}
	sort.Ints(prefixes)
	for _, p := range prefixes {
		b = append(b, byte(p), c.Machines[Prefix(p)])
	}
	return b
}

// DecodeCheckpoint is the reverse.
func DecodeCheckpoint(v []byte) (Checkpoint, error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return Checkpoint{}, fmt.Errorf("decoding the checkpoint: form %d is not known", f)
	}
	c := Checkpoint{Format: d.uvarint(), Machines: map[Prefix]uint8{}}
	copy(c.LogUUID[:], d.take(16))
	c.History, c.Position, c.Epoch = uint32(d.uvarint()), int64(d.uvarint()), uint32(d.uvarint())
	c.Time, c.Closed, c.Cold = d.varint(), d.byte()&1 != 0, int64(d.uvarint())
	c.Snapshot, c.SnapshotEnd, c.SnapshotBytes = int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint())
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		p := Prefix(d.byte())
		c.Machines[p] = d.byte()
	}
	return c, d.end("the checkpoint")
}

// decoder reads a value front to back and remembers the first error.
type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("it is too short")

func (d *decoder) take(n int) []byte {
	if d.err != nil || len(d.b) < n {
		d.fail(errShort)
		return make([]byte, n)
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) end(what string) error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes are left over", len(d.b))
	}
	if d.err != nil {
		return fmt.Errorf("decoding %s: %w", what, d.err)
	}
	return nil
}
