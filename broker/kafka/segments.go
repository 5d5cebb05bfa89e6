package kafka

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// spliceFrom is the size from which record batches are sent from where they stand instead of copied into the answer.
const spliceFrom = 16 << 10

// segments is an encoded answer: buf with large pieces spliced in.
type segments struct {
	buf    []byte
	pieces []piece
	size   int // of all pieces
}

// piece is bytes to be sent after the first at bytes of buf.
type piece struct {
	at int
	b  []byte
}

// bytes appends b, by reference if it is large. b must stay as it is until the answer is sent.
func (g *segments) bytes(b []byte) {
	if len(b) < spliceFrom {
		g.buf = append(g.buf, b...)
		return
	}
	g.pieces = append(g.pieces, piece{len(g.buf), b})
	g.size += len(b)
}

// encode makes an answer with size and header in dst's memory.
func encode(dst []byte, correlation int32, resp kmsg.Response) segments {
	f, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return segments{buf: appendResponse(dst, correlation, resp)}
	}
	g := segments{buf: append(dst, 0, 0, 0, 0)}
	g.buf = binary.BigEndian.AppendUint32(g.buf, uint32(correlation))
	if f.IsFlexible() {
		g.buf = append(g.buf, 0)
	}
	g.fetch(f)
	binary.BigEndian.PutUint32(g.buf[len(dst):], uint32(len(g.buf)-len(dst)-4+g.size))
	return g
}

// fetch encodes a Fetch response as kmsg would, but for the batches, which are not copied. Tagged fields are ours to fill,
// and we fill none.
func (g *segments) fetch(f *kmsg.FetchResponse) {
	v, flexible := f.Version, f.IsFlexible()
	if v >= 1 {
		g.buf = kbin.AppendInt32(g.buf, f.ThrottleMillis)
	}
	if v >= 7 {
		g.buf = kbin.AppendInt32(kbin.AppendInt16(g.buf, f.ErrorCode), f.SessionID)
	}
	g.count(len(f.Topics), flexible)
	for i := range f.Topics {
		t := &f.Topics[i]
		switch {
		case v >= 13:
			g.buf = append(g.buf, t.TopicID[:]...)
		case flexible:
			g.buf = kbin.AppendCompactString(g.buf, t.Topic)
		default:
			g.buf = kbin.AppendString(g.buf, t.Topic)
		}
		g.count(len(t.Partitions), flexible)
		for j := range t.Partitions {
			g.partition(&t.Partitions[j], v, flexible)
		}
		g.tags(flexible)
	}
	g.tags(flexible)
}

func (g *segments) partition(p *kmsg.FetchResponseTopicPartition, v int16, flexible bool) {
	g.buf = kbin.AppendInt64(kbin.AppendInt16(kbin.AppendInt32(g.buf, p.Partition), p.ErrorCode), p.HighWatermark)
	if v >= 4 {
		g.buf = kbin.AppendInt64(g.buf, p.LastStableOffset)
	}
	if v >= 5 {
		g.buf = kbin.AppendInt64(g.buf, p.LogStartOffset)
	}
	if v >= 4 {
		g.count(len(p.AbortedTransactions), flexible)
		for _, a := range p.AbortedTransactions {
			g.buf = kbin.AppendInt64(kbin.AppendInt64(g.buf, a.ProducerID), a.FirstOffset)
			g.tags(flexible)
		}
	}
	if v >= 11 {
		g.buf = kbin.AppendInt32(g.buf, p.PreferredReadReplica)
	}
	if flexible {
		g.buf = kbin.AppendUvarint(g.buf, uint32(len(p.RecordBatches)+1))
	} else {
		g.buf = kbin.AppendInt32(g.buf, int32(len(p.RecordBatches)))
	}
	g.bytes(p.RecordBatches)
	g.tags(flexible)
}

func (g *segments) count(n int, flexible bool) {
	if flexible {
		g.buf = kbin.AppendCompactArrayLen(g.buf, n)
	} else {
		g.buf = kbin.AppendArrayLen(g.buf, n)
	}
}

// tags writes that there are no tagged fields.
func (g *segments) tags(flexible bool) {
	if flexible {
		g.buf = append(g.buf, 0)
	}
}

// writeChunk is how much of an answer one write, and one write deadline, covers.
const writeChunk = 256 << 10

// send writes an answer, each chunk within a time of its own.
func (g *segments) send(nc net.Conn, within time.Duration) error {
	from := 0
	for _, p := range g.pieces {
		head := g.buf[from:p.at]
		from = p.at
		for rest := p.b; len(rest) > 0; {
			n := min(len(rest), writeChunk)
			if err := writeOut(nc, within, head, rest[:n]); err != nil {
				return err
			}
			head, rest = nil, rest[n:]
		}
	}
	for rest := g.buf[from:]; len(rest) > 0; {
		n := min(len(rest), writeChunk)
		if err := writeOut(nc, within, rest[:n], nil); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func writeOut(nc net.Conn, within time.Duration, a, b []byte) error {
	if err := nc.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	var err error
	switch {
	case len(a) > 0 && len(b) > 0:
		two := net.Buffers{a, b}
		_, err = two.WriteTo(nc)
	case len(a) > 0:
		_, err = nc.Write(a)
	default:
		_, err = nc.Write(b)
	}
	return err
}
