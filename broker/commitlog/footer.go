package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/batch"
)

// FooterEntry is what a sealed segment holds of one queue, as it was written.
type FooterEntry struct {
	Queue       uint32
	Batches     uint32
	Bytes       int64
	First, Last int64 // offsets
	MaxTime     int64
}

// A footer's payload is a version byte, three bytes of zero, the number of entries, and the entries in the order in
// which queues first appear in the segment. Later versions may make entries longer: their size follows the version.
const (
	footerVersion = 1
	footerHeader  = 8
	footerEntry   = 40
)

// footer sums up the segment being written. Its room grows as queues appear, so a segment is sealed early when the rest
// is needed for it.
type footer struct {
	entries []FooterEntry
	at      map[uint32]int // queue -> index in entries
	unknown bool           // the segment's earlier frames could not be read: it gets no footer
}

func (f *footer) reset() {
	f.entries, f.unknown = f.entries[:0], false
	if f.at == nil || len(f.at) > 4096 {
		f.at, f.entries = map[uint32]int{}, nil
	}
	clear(f.at)
}

// size is the room of the footer's frame.
func (f *footer) size() int64 { return FrameSize(footerHeader + footerEntry*len(f.entries)) }

// room is what must stay free behind a group of n bytes: for a footer with a queue more for each batch the group may
// hold, for the synced frame of its round and for a pad.
func (f *footer) room(n int64) int64 {
	return f.size() + n/FrameSize(batch.HeaderSize)*footerEntry + FrameSize(syncedSize) + HeaderSize
}

// note counts a frame's batch.
func (f *footer) note(k Kind, queue uint32, payload []byte) {
	b := batch.Batch(payload)
	switch k {
	case KindData:
	case KindCopied:
		c, err := DecodeCopied(payload)
		if err != nil {
			return
		}
		b = c.Batch
	default:
		return
	}
	i, ok := f.at[queue]
	if !ok {
		i = len(f.entries)
		f.at[queue] = i
		f.entries = append(f.entries, FooterEntry{Queue: queue, First: b.BaseOffset(), MaxTime: b.MaxTime()})
	}
	e := &f.entries[i]
	e.Batches++
	e.Bytes += int64(len(b))
	e.Last = max(e.Last, b.LastOffset())
	e.First = min(e.First, b.BaseOffset())
	e.MaxTime = max(e.MaxTime, b.MaxTime())
}

func (f *footer) encode() []byte {
	b := make([]byte, footerHeader, footerHeader+footerEntry*len(f.entries))
	b[0], b[1] = footerVersion, footerEntry
	binary.BigEndian.PutUint32(b[4:], uint32(len(f.entries)))
	for i := range f.entries {
		e := &f.entries[i]
		b = binary.BigEndian.AppendUint32(b, e.Queue)
		b = binary.BigEndian.AppendUint32(b, e.Batches)
		for _, v := range []int64{e.Bytes, e.First, e.Last, e.MaxTime} {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
	}
	return b
}

// DecodeFooter reads a footer's payload.
func DecodeFooter(b []byte) ([]FooterEntry, error) {
	if len(b) < footerHeader || b[0] == 0 || b[1] < footerEntry {
		return nil, errors.New("decoding a footer: its header makes no sense")
	}
	size, n := int(b[1]), int(binary.BigEndian.Uint32(b[4:]))
	if b = b[footerHeader:]; len(b) != n*size {
		return nil, fmt.Errorf("decoding a footer: %d entries of %d bytes are not in %d bytes", n, size, len(b))
	}
	out := make([]FooterEntry, 0, n)
	for ; len(b) > 0; b = b[size:] {
		num := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
		out = append(out, FooterEntry{
			Queue: binary.BigEndian.Uint32(b), Batches: binary.BigEndian.Uint32(b[4:]),
			Bytes: num(8), First: num(16), Last: num(24), MaxTime: num(32),
		})
	}
	return out, nil
}

// resumeFooter sums up what a segment that is written on holds already.
func (l *Log) resumeFooter(end int64) error {
	l.foot.reset()
	sc := &scanner{fs: l.fs}
	sc.enter(l.cur)
	for pos := l.cur.first; pos < end; {
		h, payload, err := sc.frame(pos)
		if errors.As(err, new(invalid)) { // damage below the scan's start never stops a start
			l.foot.unknown = true
			return nil
		}
		if err != nil {
			return err
		}
		l.foot.note(h.kind, h.queue, payload)
		pos += h.size()
	}
	return nil
}
