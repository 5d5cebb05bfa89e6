// Package index is the broker's derived state: one Pebble keyspace, a prefix an owner, the log position in every batch.
//
// It owns how Pebble is opened, flushed and closed, and the keys and values of queues. It is never the truth: it may be
// deleted and is then rebuilt from the log. It is written from synced bytes only.
//
// Invariants:
//
//	I1. Pebble's own log is off; every commit carries the checkpoint, so content and position cannot part.
//	I2. Close flushes first: without a log of its own Pebble would lose what is in memory.
//	I3. Integers in keys are big endian, so that byte order is number order.
//	I4. Every value begins with a form byte; an unknown form is refused.
package index
