package queue

// ID names one queue of the store for ever: it is never reused, not even after the queue is dropped.
// Topics, partitions and generations map to IDs elsewhere; the store knows only these.
type ID uint32
