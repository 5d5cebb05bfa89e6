// Package compact decides what stays of the batches of a compacted queue: the last record of each key, tombstones and
// markers for a while, and everything it does not understand.
//
// It is pure: batches in, batches out. It knows no log, no index and no queue; who calls it reads, writes and chooses the
// range.
//
// Invariants:
//
//	I1. Offsets never move: a batch keeps its base offset, last offset delta, producer and sequence numbers, and each
//	    record its own offset delta and timestamp.
//	I2. A record goes only when a later record of its key was learned, its transaction was aborted, or it is a tombstone
//	    whose time is over. Records of aborted transactions are never learned.
//	I3. A tombstone's or marker's time begins when a pass first meets it, and that pass has removed everything older of
//	    its key before it.
//	I4. Memory is bounded by what NewKeys was given, and one batch.
package compact
