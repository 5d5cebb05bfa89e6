// Package disk is the file system as the broker uses it: a handful of operations on whole files and byte ranges, so
// that tests can put a failing or crashing disk underneath.
//
// It owns no policy: it never retries, never logs and never decides what an error means beyond MayHeal.
//
// Invariants:
//
//	I1. A file that Create made and SyncDir covered survives a crash with every byte that SyncData covered.
//	I2. WriteAtomic leaves either the old or the new content, never a mixture, also over a crash.
package disk
