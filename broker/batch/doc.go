// Package batch is RecordBatch v2 (KIP-98) as bytes: check it, patch it in place, walk its records, build one.
//
// It keeps batches as they came, compressed or not, and never recompresses one. It knows no queue and no log.
//
// Invariants:
//
//	I1. After Check succeeds every accessor is in bounds and the CRC holds.
//	I2. SetBaseOffset and SetLeaderEpoch never touch bytes the CRC covers; SetAppendTime redoes the CRC.
//	I3. No decoder allocates by a number it read, but for what the bytes at hand can hold; decompression streams.
package batch
