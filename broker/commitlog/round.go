package commitlog

import (
	"encoding/binary"

	"github.com/penstockio/penstock/broker/batch"
)

// Placed is a frame as it was placed into a round; its payload is in the log's memory until the round is released.
type Placed struct {
	Frame
	More bool // more of its group follows
}

// Round is what one sync covers. Frames holds what was appended, not the log's own synced and pad frames.
type Round struct {
	Start, End int64
	Frames     []Placed
	Tag        any // the appender's, who sets it between Begin and End

	seg    *segment
	pieces []piece
	synced []byte // the opening synced frame, completed just before it is written
	size   int64  // memory accounted to it
}

type piece struct {
	pos int64
	buf []byte
}

// seal ends the open round: the next frame begins another.
func (l *Log) seal() { l.open = nil }

// ensureRound opens a round, with its synced frame if wanted.
func (l *Log) ensureRound(synced bool) *Round {
	if l.open != nil {
		return l.open
	}
	r := &Round{Start: l.end, End: l.end, seg: l.cur}
	l.open = r
	l.queue = append(l.queue, r)
	if synced {
		r.synced = l.take(r, FrameSize(syncedSize))
		clear(r.synced)
		h := header{kind: KindSynced, payload: syncedSize, epoch: l.epoch, position: r.Start, time: l.lastTime}
		putHeader(r.synced, &h, nil)
	}
	return r
}

// take gives the next n bytes of the log in memory.
func (l *Log) take(r *Round, n int64) []byte {
	b := l.tail.grow(l.end, n)
	if k := len(r.pieces) - 1; k >= 0 {
		if p := &r.pieces[k]; p.pos+int64(len(p.buf)) == l.end && cap(p.buf)-len(p.buf) >= len(b) &&
			&p.buf[:len(p.buf)+1][len(p.buf)] == &b[0] {
			p.buf = p.buf[:len(p.buf)+len(b)]
			b = b[:n:n]
			l.account(r, n)
			return b
		}
	}
	r.pieces = append(r.pieces, piece{l.end, b})
	l.account(r, n)
	return b[:n:n]
}

func (l *Log) account(r *Round, n int64) {
	l.end += n
	r.End = l.end
	r.size += n
	l.inflight += n
}

// Now is the append time of the frames being placed, Unix ms: one for all between Begin and End, and never going back.
// Only between Begin and End.
func (l *Log) Now() int64 { return l.lastTime }

// Patch is what the sequencer writes into the stored copy of a record batch.
type Patch struct {
	BaseOffset  int64
	LeaderEpoch int32
	AppendTime  bool // make the append time every record's timestamp
}

// PutBatch places a record batch with its patch; see Put.
func (l *Log) PutBatch(queue uint32, b batch.Batch, p Patch, more bool) *Placed {
	return l.put(KindData, queue, b, more, &p)
}

// Put places one frame; the sum of sizes may not pass what Begin reserved. Only between Begin and End.
func (l *Log) Put(k Kind, queue uint32, payload []byte, more bool) *Placed {
	return l.put(k, queue, payload, more, nil)
}

func (l *Log) put(k Kind, queue uint32, payload []byte, more bool, patch *Patch) *Placed {
	r := l.ensureRound(true)
	pos, n := l.end, FrameSize(len(payload))
	b := l.take(r, n)
	stored := b[HeaderSize:][:len(payload):len(payload)]
	copy(stored, payload)
	clear(b[HeaderSize+len(payload):])
	if patch != nil {
		b := batch.Batch(stored)
		b.SetBaseOffset(patch.BaseOffset)
		b.SetLeaderEpoch(patch.LeaderEpoch)
		if patch.AppendTime {
			b.SetAppendTime(l.Now())
		}
	}
	h := header{kind: k, payload: len(payload), epoch: l.epoch, position: pos, queue: queue, time: l.Now()}
	if more {
		h.flags = FlagMore
	}
	if k != KindData {
		h.payloadCRC = crcOf(stored)
	}
	l.foot.note(k, queue, stored)
	putHeader(b, &h, stored)
	r.Frames = append(r.Frames, Placed{
		Frame: Frame{Kind: k, Queue: queue, Position: pos, Epoch: l.epoch, Time: h.time, Payload: stored}, More: more,
	})
	return &r.Frames[len(r.Frames)-1]
}

// Current is the round that takes frames, or the last one not yet taken by the writer, or nil. Only between Begin and End.
func (l *Log) Current() *Round {
	if k := len(l.queue); k > 0 {
		return l.queue[k-1]
	}
	return nil
}

// Position is where the next frame goes. Only between Begin and End.
func (l *Log) Position() int64 { return l.end }

// stamp completes the opening frame of a round: when it is written everything before it has been synced.
func (r *Round) stamp(synced int64) {
	if r.synced == nil {
		return
	}
	payload := r.synced[HeaderSize:]
	binary.BigEndian.PutUint64(payload, uint64(synced))
	h, err := parseHeader(r.synced, r.Start)
	if err != nil {
		panic(err) // it was made by ensureRound
	}
	h.payloadCRC = crcOf(payload)
	putHeader(r.synced, &h, payload)
}

// Seal ends the round that takes frames: the next frame begins another. Only between Begin and End.
func (l *Log) Seal() { l.seal() }
