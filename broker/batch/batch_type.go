package batch

// Batch is one RecordBatch v2 (KIP-98), header and records, as it came off the wire and as it is stored and served.
// Accessors assume at least HeaderSize bytes; Check proves that.
type Batch []byte

// HeaderSize is the size of a RecordBatch v2 header: everything before the records.
const HeaderSize = 61
