package batch

import "encoding/binary"

// Types of transaction markers, as the key of a control record has them (KIP-98).
const (
	markerAbort   = 0
	markerCommit  = 1
	markerVersion = 0
	markerKey     = 4 // bytes: version and type
	markerValue   = 6 // bytes: version and coordinator epoch
)

// NewMarker makes the control batch that ends a producer's transaction in one queue; ms is its timestamp.
func NewMarker(producerID int64, epoch int16, commit bool, coordinatorEpoch int32, ms int64) Batch {
	var key [markerKey]byte
	var value [markerValue]byte
	binary.BigEndian.PutUint16(key[0:], markerVersion)
	binary.BigEndian.PutUint16(key[2:], markerAbort)
	if commit {
		binary.BigEndian.PutUint16(key[2:], markerCommit)
	}
	binary.BigEndian.PutUint16(value[0:], markerVersion)
	binary.BigEndian.PutUint32(value[2:], uint32(coordinatorEpoch))
	bd := Builder{Transactional: true, Control: true}
	bd.Producer(producerID, epoch, -1).Add(Record{Time: ms, Key: key[:], Value: value[:]})
	b, err := bd.Build()
	if err != nil {
		panic(err) // one record, not compressed: nothing in it can fail
	}
	return b
}

// Marker tells whether a control batch ends a transaction, and how. Other control records have types of their own.
func (b Batch) Marker() (commit, ok bool) {
	if !b.Control() || !b.Transactional() || b.Codec() != None {
		return false, false
	}
	body := b[HeaderSize:]
	skip := func() { // a varint
		_, n := binary.Varint(body)
		body = body[max(n, 0):]
	}
	skip() // length
	if len(body) == 0 {
		return false, false
	}
	body = body[1:] // attributes
	skip()          // timestamp delta
	skip()          // offset delta
	size, n := binary.Varint(body)
	if n <= 0 || size < markerKey || size > int64(len(body)-n) {
		return false, false
	}
	typ := binary.BigEndian.Uint16(body[n+2:])
	return typ == markerCommit, typ == markerCommit || typ == markerAbort
}
