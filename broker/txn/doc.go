// Package txn owns producer ids and transactional ids: it grants them, and fences every earlier holder of a
// transactional id by its epoch (KIP-98, KIP-360).
//
// It never touches records. The truth is frames of kind KindProducer (a block of ids is granted) and KindTxn (a
// transactional id's producer id and epoch); the index holds their payloads under PrefixTxn.
//
// Invariants:
//
//	I1  A producer id is given once, also across a crash: ids come from blocks, and a block is durable before its first
//	    id leaves.
//	I2  An epoch of a transactional id is durable before it leaves, and never goes back for the same producer id.
//	I3  One transactional id has one change under way; who asks meanwhile is told to try again.
//
// Lock order: the block's slot, then mu. Nothing waits for the log while mu is held.
package txn
