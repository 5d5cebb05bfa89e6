package index

// Prefix is the first byte of an owner's keys. Owners never touch keys outside their prefixes.
type Prefix byte

// The prefixes of the first format. T, k, d, L, O, u and r are reserved (log-format X6).
const (
	PrefixCheckpoint Prefix = 'C' // one key: position applied, writer epoch, format, machines' versions
	PrefixBatch      Prefix = 'q' // queue, last offset -> place of a batch
	PrefixHead       Prefix = 'h' // queue -> log start, next offset, epoch, …
	PrefixProducer   Prefix = 'p' // queue, producer id -> epoch and last five batches
	PrefixAborted    Prefix = 'x' // queue, marker offset -> aborted transaction
	PrefixOpen       Prefix = 'y' // queue, first offset -> producer of an open transaction
	PrefixEpoch      Prefix = 'e' // queue, leader epoch -> start offset
	PrefixSegment    Prefix = 's' // store, segment, queue -> what of the queue lives there
	PrefixTopic      Prefix = 'm' // broker/topic
	PrefixGroup      Prefix = 'g' // broker/group
	PrefixOffset     Prefix = 'o' // broker/group
	PrefixTxn        Prefix = 't' // broker/txn
)
