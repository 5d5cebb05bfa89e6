package kafka

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
)

// spliceFrom is the size from which record batches are sent from where they stand instead of copied into the answer.
const spliceFrom = 16 << 10

// segments is an encoded answer: buf with large pieces spliced in.
type segments struct {
	buf     []byte
	batches []spliced // not yet encoded
	pieces  []piece
	size    int // of all pieces
}

// spliced are the batches of one partition that are not in its RecordBatches.
type spliced struct {
	of     *kmsg.FetchResponseTopicPartition
	pieces []store.Piece
	size   int
}

// piece is bytes, or without any a range of the log, to be sent after the first at bytes of buf.
type piece struct {
	at   int
	b    []byte
	file *commitlog.Range
}

// bytes appends b, by reference if it is large. b must stay as it is until the answer is sent.
func (g *segments) bytes(b []byte) {
	if len(b) < spliceFrom {
		g.buf = append(g.buf, b...)
		return
	}
	g.pieces = append(g.pieces, piece{at: len(g.buf), b: b})
	g.size += len(b)
}

// encode makes an answer with size and header in dst's memory.
func encode(dst []byte, correlation int32, resp kmsg.Response, batches []spliced) segments {
	f, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return segments{buf: appendResponse(dst, correlation, resp)}
	}
	g := segments{buf: append(dst, 0, 0, 0, 0), batches: batches}
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
	if len(g.batches) > 0 && g.batches[0].of == p {
		g.length(g.batches[0].size, flexible)
		g.splice(g.batches[0].pieces)
		g.batches = g.batches[1:]
	} else {
		g.length(len(p.RecordBatches), flexible)
		g.bytes(p.RecordBatches)
	}
	g.tags(flexible)
}

func (g *segments) length(n int, flexible bool) {
	if flexible {
		g.buf = kbin.AppendUvarint(g.buf, uint32(n+1))
	} else {
		g.buf = kbin.AppendInt32(g.buf, int32(n))
	}
}

func (g *segments) splice(pieces []store.Piece) {
	for i := range pieces {
		if p := &pieces[i]; p.Bytes != nil {
			g.bytes(p.Bytes)
		} else {
			g.pieces = append(g.pieces, piece{at: len(g.buf), file: &p.Range})
			g.size += p.Range.Size()
		}
	}
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

// sending is an answer on its way out: every writeChunk bytes have a time of their own.
type sending struct {
	nc     net.Conn
	within time.Duration
	left   int // bytes that may still go before the next deadline
}

// send writes an answer.
func (g *segments) send(nc net.Conn, within time.Duration) error {
	out := sending{nc: nc, within: within}
	from := 0
	for i := range g.pieces {
		p := &g.pieces[i]
		head := g.buf[from:p.at]
		from = p.at
		var err error
		if p.file != nil {
			if err = out.write(head, nil); err == nil {
				err = out.file(p.file)
			}
		} else {
			err = out.write(head, p.b)
		}
		if err != nil {
			return err
		}
	}
	return out.write(g.buf[from:], nil)
}

// write sends a and b, the first piece of b together with a.
func (s *sending) write(a, b []byte) error {
	for len(a) > 0 || len(b) > 0 {
		n := min(len(a), writeChunk)
		m := min(len(b), writeChunk-n)
		err := s.deadline(n + m)
		if err != nil {
			return err
		}
		switch {
		case n > 0 && m > 0:
			two := net.Buffers{a[:n], b[:m]}
			_, err = two.WriteTo(s.nc)
		case n > 0:
			_, err = s.nc.Write(a[:n])
		default:
			_, err = s.nc.Write(b[:m])
		}
		if err != nil {
			return err
		}
		a, b = a[n:], b[m:]
	}
	return nil
}

// file sends a range of the log; the connection is a socket if there are any.
func (s *sending) file(r *commitlog.Range) error {
	for at := 0; at < r.Size(); {
		n := min(r.Size()-at, writeChunk)
		if err := s.deadline(n); err != nil {
			return err
		}
		if err := r.SendTo(s.nc.(*net.TCPConn), at, n); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// deadline begins a time when the last one's bytes are used up.
func (s *sending) deadline(n int) error {
	if s.left -= n; s.left >= 0 {
		return nil
	}
	s.left = writeChunk - n
	return s.nc.SetWriteDeadline(time.Now().Add(s.within))
}
