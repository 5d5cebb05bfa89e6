// Package store is log, index and queues as one: record batches and machines' records in, record batches out.
//
// It owns the data directory, the sequencer (offsets, producers' sequences), what is applied to the index, reading and
// waiting, and what becomes of bytes after they are written: snapshots, retention, compaction, the cold log, the removal of
// segments, and the tools that verify and repair. It knows no protocol and no topic.
//
// Invariants:
//
//	I1. Offsets of a queue are given once, in the order of appends, without gaps.
//	I2. Nothing is acknowledged as durable, and no reader sees it, before fdatasync covered it and the index holds it.
//	I3. The index is written from synced bytes only, so it is never ahead of the log.
//	I4. Live and at replay the same code applies frames: a rebuilt index equals the old one key by key. Where segments are
//	    gone two things may be smaller: an entry's running highest time, and the bounds of a share, both only hints.
//	I5. A duplicate is answered with what the original got, and only when the original is as safe as asked.
//	I6. An append that was refused has changed nothing: no offset, no sequence, no byte.
//	I7. All memory is bounded: the log's tail, producers' windows, results by their budget; waiters cost their callers.
//	I8. A segment is removed only when no entry of the index names it, that index is on disk, and (main log) a whole
//	    snapshot as of a later position is in the log.
//	I9. Only one goroutine moves batches and takes snapshots; the applier alone changes what the index says of them. The
//	    index names a copy only after the copy and its round's commit are synced.
//
// Locks, in the order they may be taken: the log's sequencer, waiters, the queue table, a round's tag.
package store
