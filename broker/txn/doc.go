// Package txn owns producer ids, transactional ids and their transactions: it grants ids, fences every earlier holder of a
// transactional id by its epoch, and decides how each transaction ends (KIP-98, KIP-360, KIP-588).
//
// It never looks into records; it writes only markers. The truth is frames of kind KindProducer (a block of ids is
// granted) and KindTxn (a transactional id's whole state); the index holds their payloads under PrefixTxn.
//
// A transaction ends in one append group: the decision, a marker for each partition, the offsets of each group. So all
// of it survives a crash or nothing does, and who was answered sees no window. Only a transaction too large for a group
// is split: first the decision, then the markers, then the end; after a crash, or when space ran out between, what was
// decided is finished.
//
// Invariants:
//
//	I1  A producer id is given once, also across a crash: ids come from blocks, and a block is durable before its first
//	    id leaves.
//	I2  An epoch of a transactional id is durable before it leaves, and never goes back for the same producer id.
//	I3  One transactional id has one change under way; who asks meanwhile is told to try again.
//	I4  A producer appends transactional data only while its partition is in its open transaction, and none with an older
//	    epoch: the gate is asked within the append, and closed before the end of a transaction is appended.
//	I5  A partition is in the log as part of the transaction before its first record is. It is answered when written: a
//	    killed process loses nothing of it. A power cut between the two leaves nothing of both, and the producer, whose
//	    record is refused, has to abort.
//	I6  Time runs on the monotonic clock; what is decided by it is a frame.
//
// Lock order: the block's slot, a transaction's mu, a group's, the sequencer, the gate. The coordinator's mu is taken
// last and alone. Nothing waits for the log under a lock.
package txn
