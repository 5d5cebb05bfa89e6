package store

import (
	"context"
	"io"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Safety is the mark an append waits for. On one node Durable is the same place as Synced.
type Safety uint8

// The marks of the log, in the order an entry passes them.
const (
	Buffered Safety = iota // accepted, offsets given
	Written                // handed to the operating system (acks=1)
	Synced                 // fdatasync returned
	Durable                // safe by the configured measure (acks=all)
)

// Entry is one thing to append: a record batch for a queue, or a machine's record.
type Entry struct {
	Kind    commitlog.Kind
	Queue   queue.ID
	Batch   batch.Batch // KindData only; its base offset and leader epoch are rewritten in place
	Payload []byte      // a machine's own record
	Frees   bool        // the append gives space back, so it may use what is kept for that on a full disk

	own  bool // a record of the store's own: only the store makes such entries
	drop bool // its queue takes nothing any more
}

// Appended says what became of one Data entry: the base offset it was given (for a duplicate: the original one),
// its append time (-1 when the queue keeps the producer's timestamps) and the queue's log start.
type Appended struct {
	BaseOffset int64
	AppendTime int64
	LogStart   int64
	Duplicate  bool
	Err        error // *queue.SequenceError, ErrNoQueue, …: this entry alone was refused, nothing of it was written
}

// Cursor is one place to read from. Committed limits the read to the last stable offset.
type Cursor struct {
	Queue     queue.ID
	Offset    int64
	MaxBytes  int
	Committed bool
	Files     bool // the reader can send batches from their files (Part.Pieces)
	Class     Reader
}

// Reader classes let the store choose between memory, read-ahead and fairness. Unused by the first version, wired through.
type Reader uint8

// Classes of readers.
const (
	Tail Reader = iota
	CatchUp
	Background
)

// Head is the state of a queue's ends.
type Head struct {
	LogStart      int64
	LastStable    int64 // smallest first offset of an open transaction, else HighWatermark
	HighWatermark int64 // end of what is durable: no reader sees more
	End           int64 // next offset to be given
	Epoch         int32 // leader epoch as clients see it
}

// Policy is what the store must know of a queue's settings.
type Policy = queue.Policy

// Span tells watchers that a queue became readable from From up to To (exclusive).
type Span struct {
	Queue    queue.ID
	From, To int64
}

// Part is the answer to one Cursor. Batches holds whole record batches end to end with base offsets and epochs set. If some
// are to be sent from their files, as the cursor allowed, Pieces holds all of them in order and Batches is nil.
type Part struct {
	Head
	Batches []byte
	Pieces  []Piece
	Aborted []Aborted
	Err     error // ErrNoQueue, *OffsetError (below the start or past the end), *commitlog.CorruptError
}

// Size is how many bytes of batches the part has, and Held how many of them are in memory.
func (p *Part) Size() (size, held int) {
	size, held = len(p.Batches), len(p.Batches)
	for i := range p.Pieces {
		size += p.Pieces[i].Size()
		held += len(p.Pieces[i].Bytes)
	}
	return size, held
}

// Piece is record batches in memory, or where there are no Bytes, one in its file.
type Piece struct {
	Bytes []byte
	Range commitlog.Range
}

// Size is that of the piece in bytes.
func (p *Piece) Size() int {
	if p.Bytes != nil {
		return len(p.Bytes)
	}
	return p.Range.Size()
}

// Aborted is one aborted transaction that overlaps a Part.
type Aborted struct{ ProducerID, FirstOffset int64 }

// Producer is what a queue knows of an idempotent producer.
type Producer struct {
	ID           int64
	Epoch        int16
	LastSequence int32 // -1 after a marker alone
	Updated      int64 // Unix ms
	Open         int64 // first offset of its open transaction, -1 without one
}

// Result answers a Read, one Part a Cursor in order. Release gives its memory back; no Part may be used after it.
type Result struct {
	Parts   []Part
	release func()
}

// Release gives the result's memory back to the store.
func (r *Result) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// Machine gives a kind of frame its meaning. Apply is called in log order, behind the sync and at replay; what it
// writes goes into the index together with the log position, so state and log cannot part. It reads no clock, only
// the frame's time, and never refuses.
type Machine interface {
	Version() uint8
	Load(db *index.DB) error // once, before the replay
	Apply(f commitlog.Frame, b *index.Batch) error
	Snapshot(at *index.Snapshot, w io.Writer) error
	// Restore puts back what Snapshot wrote. It must take every version there ever was: the log may not hold what came
	// before a snapshot any more.
	Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error
}

// API is what *Store offers to coordinators and front doors; it stands here so that they can be read without the store.
type API interface {
	// Append puts entries side by side into the log: after a crash all of them are there or none. Offsets are given,
	// and producers' sequences checked, in the order of calls. If one Data entry is refused the others are appended.
	// An append of data alone waits while memory for what is not yet durable is full; one with a machine's record never
	// does, so a machine may append under a lock its Apply takes.
	Append(s Safety, entries ...Entry) *Ticket
	Read(ctx context.Context, budget int, at ...Cursor) (*Result, error)
	// Wait returns when minBytes are readable at the cursors together, when one is no longer valid, or when ctx ends.
	Wait(ctx context.Context, minBytes int, at ...Cursor) error
	Watch(f func(advanced []Span))
	Head(q queue.ID) (Head, error)
	// OffsetAt finds the first record, in offset order, whose timestamp is at or after ms: exact to the record.
	OffsetAt(ctx context.Context, q queue.ID, ms int64) (offset, at int64, err error)
	// MaxTimestamp finds the record with the highest timestamp (ListOffsets -3).
	MaxTimestamp(ctx context.Context, q queue.ID) (offset, at int64, err error)
	// EpochEnd answers OffsetForLeaderEpoch: the largest epoch <= the one asked, and where it ended.
	EpochEnd(q queue.ID, epoch int32) (int32, int64, error)
	Size(q queue.ID) (bytes int64, err error)
	Open(q queue.ID, p Policy) error // a new queue, or a new policy; logged, durable when it returns
	Trim(q queue.ID, before int64) (logStart int64, err error)
	Drop(q queue.ID) error
	// Guard sets what is asked about each batch of an idempotent producer, other than a duplicate, before it is
	// appended: nothing comes between the answer and the append. f must be quick and must not call the store. Call it
	// before Start.
	Guard(f func(q queue.ID, b batch.Batch) error)
	// ExpireProducers forgets the idempotent producers, in all queues, that have no transaction open and have appended
	// nothing since a time, Unix ms, and counts them.
	ExpireProducers(ctx context.Context, before int64) (int, error)
	// Producers lists the idempotent producers a queue knows of, by id.
	Producers(q queue.ID) ([]Producer, error)
	Register(m Machine, p index.Prefix, kinds ...commitlog.Kind) // before Start
	Start(ctx context.Context) error                             // replay, then accept
	Health() error
	Close(ctx context.Context) error
}
