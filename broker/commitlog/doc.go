// Package commitlog is the one log all queues share: segment files, frames, group commit, checksums, recovery,
// positional reads and the tail in memory.
//
// The main log and the cold log are two logs of this kind, told apart by their segments' headers.
//
// It owns the bytes of the log directory and the writer epoch's place in them. It knows no queue's state, gives no
// offsets and writes no index; whoever appends holds its lock between Begin and End, so that lock is the sequencer.
//
// Invariants:
//
//	I1. written >= synced >= durable, and none ever goes back while the log is open.
//	I2. A group lies in one segment and is cut only as a whole.
//	I3. Space is reserved before anything is placed: an append refused for space has changed nothing.
//	I4. After a failed write or sync nothing is written, synced or acknowledged any more (an fsync is never retried).
//	I5. Recovery removes only bytes no frame ever stated as synced, and keeps what it removes under lost/.
//	I6. Bytes of a round reach the disk before the first byte of the next round is written.
//	I7. A segment that is sealed ends with its footer and a pad; only sealed segments are removed. Positions never move, so
//	    the log may have gaps, and who finds none of its segments at a place gets ErrGone.
//	I8. What is read from a file is checked. What is sent from one unread was written, or read and checked, within the last
//	    five minutes, and no read of ours of its segment had to wait for the disk since. Pages that were evicted and that
//	    another process brought back in that time are not looked at: damage in them is sent until then.
package commitlog
