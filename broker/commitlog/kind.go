package commitlog

// Kind says what a frame's payload is. With bit 7 set, a reader that does not know the kind may skip the frame;
// with bit 7 clear it must refuse to start, naming kind and position (log-format L3).
type Kind uint8

// The kinds of frames. Numbers are for ever.
const (
	KindPad      Kind = 0x01 // filler up to the segment's end or a sync boundary
	KindEpoch    Kind = 0x02 // first frame after each open
	KindData     Kind = 0x03 // one RecordBatch v2, as it is served
	KindLogStart Kind = 0x04 // (queue, new start, cause)
	KindQueue    Kind = 0x05 // a queue is opened, its policy changed, or it is dropped
	KindLink     Kind = 0x06 // reserved: one stored record in several queues
	KindPunch    Kind = 0x07 // reserved: one batch declared dead while older ones of its queue live
	KindRound    Kind = 0x08 // cold log: a round begins, and what it replaces
	KindCopied   Kind = 0x09 // cold log: a batch moved or compacted, and which queues and offsets it stands for
	KindCommit   Kind = 0x0a // cold log: the round is whole
	KindExpired  Kind = 0x0b // producers a queue forgets
	KindTopic    Kind = 0x10 // broker/topic: a topic record, or its deletion
	KindConfig   Kind = 0x11 // broker/topic: broker-wide dynamic settings
	KindGroup    Kind = 0x12 // broker/group: group metadata, or its deletion
	KindOffset   Kind = 0x13 // broker/group: committed offsets
	KindProducer Kind = 0x14 // broker/txn: a block of producer ids
	KindTxn      Kind = 0x15 // broker/txn: a transactional id and its transaction
	KindSynced   Kind = 0x80 // opens a round: the position synced when it was written
	KindClosed   Kind = 0x81 // the last frame of a clean stop
	KindFooter   Kind = 0x82 // summary of a sealed segment

	KindSnapBegin Kind = 0x83 // a snapshot of all machines begins: its id, log position and machines
	KindSnapPart  Kind = 0x84 // some bytes of one machine
	KindSnapEnd   Kind = 0x85 // the snapshot is whole: its checksum and size
)

// Skippable tells whether a reader that does not know the kind may pass over it.
func (k Kind) Skippable() bool { return k&0x80 != 0 }

// Frame is one entry of the log as a machine sees it. Payload is valid only during the call it is handed to.
type Frame struct {
	Kind     Kind
	Queue    uint32
	Position int64  // where the frame begins, in bytes of the log
	Epoch    uint32 // writer epoch
	Time     int64  // append time, Unix ms; never goes back within a log
	Payload  []byte
}
