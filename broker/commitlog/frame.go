package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/penstockio/penstock/broker/batch"
)

// HeaderSize is the size of a frame's header without extensions.
const HeaderSize = 40

// Flags of a frame.
const (
	FlagMore      = 0x01 // more of this group follows
	FlagZstd      = 0x02 // the payload is compressed; machines only, not written yet
	FlagEncrypted = 0x04 // the payload is encrypted; not written yet
)

const (
	frameMagic = 0xB7
	frameAlign = 8
)

// Where the header's fields stand, big endian. The header CRC covers everything of the header but itself, extensions
// included, and of a record batch the first bytes that its own CRC does not cover.
const (
	fhMagic    = 0
	fhLength   = 1 // header length / 8: more than 5 means that extension TLVs follow
	fhKind     = 2
	fhFlags    = 3
	fhPayload  = 4
	fhCRC      = 8
	fhEpoch    = 12
	fhPosition = 16
	fhQueue    = 24
	fhPayCRC   = 28
	fhTime     = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FrameSize is the room a frame with a payload of n bytes takes in the log.
func FrameSize(n int) int64 { return align(HeaderSize + int64(n)) }

func align(n int64) int64 { return (n + frameAlign - 1) &^ (frameAlign - 1) }

// header is a frame's header as decoded.
type header struct {
	kind       Kind
	flags      byte
	length     int // of the header
	payload    int
	epoch      uint32
	position   int64
	queue      uint32
	payloadCRC uint32
	time       int64
}

// size is the room of the frame, gap included.
func (h *header) size() int64 { return align(int64(h.length) + int64(h.payload)) }

// putHeader writes the 40 bytes of h before its payload; dst and payload do not overlap.
func putHeader(dst []byte, h *header, payload []byte) {
	dst[fhMagic], dst[fhLength], dst[fhKind], dst[fhFlags] = frameMagic, HeaderSize/8, byte(h.kind), h.flags
	binary.BigEndian.PutUint32(dst[fhPayload:], uint32(h.payload))
	binary.BigEndian.PutUint32(dst[fhEpoch:], h.epoch)
	binary.BigEndian.PutUint64(dst[fhPosition:], uint64(h.position))
	binary.BigEndian.PutUint32(dst[fhQueue:], h.queue)
	binary.BigEndian.PutUint64(dst[fhTime:], uint64(h.time))
	binary.BigEndian.PutUint32(dst[fhPayCRC:], h.payloadCRC)
	binary.BigEndian.PutUint32(dst[fhCRC:], headerCRC(dst[:HeaderSize], h.kind, payload))
}

func headerCRC(head []byte, k Kind, payload []byte) uint32 {
	c := crc32.Update(0, castagnoli, head[:fhCRC])
	c = crc32.Update(c, castagnoli, head[fhEpoch:])
	if k == KindData && len(payload) >= batch.Uncovered {
		c = crc32.Update(c, castagnoli, payload[:batch.Uncovered])
	}
	return c
}

// zeroCRC is the CRC of n zeros, a pad's payload.
func zeroCRC(n int64) uint32 {
	var c uint32
	for n > 0 {
		k := min(n, int64(len(zeros)))
		c = crc32.Update(c, castagnoli, zeros[:k])
		n -= k
	}
	return c
}

var zeros [64 << 10]byte

var errNoFrame = errors.New("no frame begins here")

// parseHeader decodes a header of at least HeaderSize bytes and checks only what can be seen without the rest.
func parseHeader(b []byte, position int64) (header, error) {
	if b[fhMagic] != frameMagic || b[fhLength] < HeaderSize/8 {
		return header{}, errNoFrame
	}
	h := header{
		kind: Kind(b[fhKind]), flags: b[fhFlags], length: int(b[fhLength]) * 8,
		payload:  int(binary.BigEndian.Uint32(b[fhPayload:])),
		epoch:    binary.BigEndian.Uint32(b[fhEpoch:]),
		position: int64(binary.BigEndian.Uint64(b[fhPosition:])),
		queue:    binary.BigEndian.Uint32(b[fhQueue:]), payloadCRC: binary.BigEndian.Uint32(b[fhPayCRC:]),
		time: int64(binary.BigEndian.Uint64(b[fhTime:])),
	}
	if h.position != position {
		return h, fmt.Errorf("it names itself position %d", h.position)
	}
	return h, nil
}

// verify checks both CRCs of a whole frame: head is its header with extensions.
func (h *header) verify(head, payload []byte) error {
	if c := headerCRC(head, h.kind, payload); c != binary.BigEndian.Uint32(head[fhCRC:]) {
		return errors.New("its header CRC does not hold")
	}
	if h.kind == KindData {
		b := batch.Batch(payload)
		if len(b) < batch.HeaderSize || b.Size() != len(b) {
			return errors.New("its record batch has another length than its frame")
		}
		if b.SumCRC() != b.CRC() {
			return errors.New("the CRC of its record batch does not hold")
		}
		return nil
	}
	if crcOf(payload) != h.payloadCRC {
		return errors.New("its payload CRC does not hold")
	}
	return nil
}

// known tells what of an intact frame this version does not understand: "" when it may be used or skipped.
func (h *header) unknown() string {
	switch {
	case h.flags&^(FlagMore|FlagZstd|FlagEncrypted) != 0:
		return fmt.Sprintf("a frame with flags 0x%02x", h.flags)
	case h.flags&(FlagZstd|FlagEncrypted) != 0:
		return fmt.Sprintf("a compressed or encrypted frame (flags 0x%02x)", h.flags)
	case h.kind == KindLink, h.kind == KindPunch:
		return fmt.Sprintf("a frame of kind 0x%02x (link or punch, reserved)", byte(h.kind))
	case !h.kind.Skippable() && !known[h.kind]:
		return fmt.Sprintf("a frame of kind 0x%02x", byte(h.kind))
	}
	return ""
}

var known = map[Kind]bool{
	KindPad: true, KindEpoch: true, KindData: true, KindLogStart: true, KindQueue: true, KindExpired: true, KindTopic: true, KindConfig: true,
	KindGroup: true, KindOffset: true, KindProducer: true, KindTxn: true, KindSynced: true, KindClosed: true, KindFooter: true,
	KindRound: true, KindCopied: true, KindCommit: true, KindSnapBegin: true, KindSnapPart: true, KindSnapEnd: true,
}

func crcOf(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }
