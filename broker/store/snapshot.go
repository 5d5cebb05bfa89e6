package store

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/machine"
)

// A snapshot in the log (log-format L9) is a begin frame, parts, and an end frame, with other frames between them. It
// holds every machine's keys and the queues' own, all as of one log position, so that the segments before that position
// are needed for their batches alone.
//
// Each payload is a version byte and a protobuf message with these fields.
const (
	fieldSnapID       = 1 // of all three, fixed, 8 bytes
	fieldSnapPosition = 2 // begin: the log position it stands for
	fieldSnapEpoch    = 3 // begin: writer epoch there
	fieldSnapTime     = 4 // begin: time of the last frame before it
	fieldSnapMachine  = 5 // begin, one for each: 1 prefix, 2 version, in the order of the parts
	fieldSnapPrefix   = 2 // part: the machine's prefix
	fieldSnapBytes    = 3 // part: some of its bytes
	fieldSnapCRC      = 2 // end: CRC-32C over the bytes of all parts
	fieldSnapSize     = 3 // end: how many they are
)

// queuesPrefix stands for the queues' own keys in snapshots: they come as one more machine.
const queuesPrefix = index.PrefixHead

// queuesVersion is the version of the queues' keys. It grows with every change of their values' forms, and Restore then
// brings the older ones into the new form: the segments that would give them are gone.
const queuesVersion = 1

// queueKeys are the prefixes of the queues' own state. Batches and shares are not among them: they come from the
// segments' frames.
var queueKeys = []index.Prefix{index.PrefixHead, index.PrefixProducer, index.PrefixEpoch, index.PrefixAborted, index.PrefixOpen}

const snapPartBytes = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapMachine is a machine named by a snapshot.
type snapMachine struct {
	prefix  index.Prefix
	version uint8
}

// snapHead is the content of a begin frame.
type snapHead struct {
	id       uint64
	position int64
	epoch    uint32
	time     int64
	machines []snapMachine
}

func (h *snapHead) encode() []byte {
	b := appendNumber([]byte{recordVersion}, h.id)
	b = appendField(b, fieldSnapPosition, uint64(h.position))
	b = appendField(b, fieldSnapEpoch, uint64(h.epoch))
	b = appendField(b, fieldSnapTime, uint64(h.time))
	for _, m := range h.machines {
		b = appendMessage(b, fieldSnapMachine, uint64(m.prefix), uint64(m.version))
	}
	return b
}

func decodeSnapHead(payload []byte) (snapHead, error) {
	var h snapHead
	err := eachField(payload, func(num protowire.Number, v uint64, m []byte) error {
		switch num {
		case fieldSnapID:
			h.id = v
		case fieldSnapPosition:
			h.position = int64(v)
		case fieldSnapEpoch:
			h.epoch = uint32(v)
		case fieldSnapTime:
			h.time = int64(v)
		case fieldSnapMachine:
			var x snapMachine
			err := eachProto(m, func(num protowire.Number, v uint64, _ []byte) error {
				switch num {
				case 1:
					x.prefix = index.Prefix(v)
				case 2:
					x.version = uint8(v)
				}
				return nil
			})
			h.machines = append(h.machines, x)
			return err
		}
		return nil
	})
	if err == nil && h.position < 0 {
		err = fmt.Errorf("position %d makes no sense", h.position)
	}
	if err != nil {
		return h, fmt.Errorf("decoding the begin of a snapshot: %w", err)
	}
	return h, nil
}

func encodePart(id uint64, p index.Prefix, data []byte) []byte {
	b := appendNumber(make([]byte, 1, 32+len(data)), id)
	b[0] = recordVersion
	b = appendField(b, fieldSnapPrefix, uint64(p))
	return protowire.AppendBytes(protowire.AppendTag(b, fieldSnapBytes, protowire.BytesType), data)
}

func decodePart(payload []byte) (id uint64, p index.Prefix, data []byte, err error) {
	err = eachField(payload, func(num protowire.Number, v uint64, m []byte) error {
		switch num {
		case fieldSnapID:
			id = v
		case fieldSnapPrefix:
			p = index.Prefix(v)
		case fieldSnapBytes:
			data = m
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("decoding a part of a snapshot: %w", err)
	}
	return id, p, data, err
}

func encodeSnapEnd(id uint64, crc uint32, size int64) []byte {
	b := appendNumber([]byte{recordVersion}, id)
	b = appendField(b, fieldSnapCRC, uint64(crc))
	return appendField(b, fieldSnapSize, uint64(size))
}

func decodeSnapEnd(payload []byte) (id uint64, crc uint32, size int64, err error) {
	err = eachField(payload, func(num protowire.Number, v uint64, _ []byte) error {
		switch num {
		case fieldSnapID:
			id = v
		case fieldSnapCRC:
			crc = uint32(v)
		case fieldSnapSize:
			size = int64(v)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("decoding the end of a snapshot: %w", err)
	}
	return id, crc, size, err
}

// queuesMachine is the queues' own keys as a machine.
type queuesMachine struct{}

func (queuesMachine) Snapshot(at *index.Snapshot, w io.Writer) error {
	for _, p := range queueKeys {
		if err := machine.WriteSnapshot(at, p, w); err != nil {
			return err
		}
	}
	return nil
}

func (queuesMachine) Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, queuesVersion, queuesPrefix, r, newBatch, queueKeys...)
}

// Snapshot writes the state of all machines and queues into the log, as of a position the log has reached, and waits
// until it is durable. It takes memory for one part at a time, and writes no faster than maintenance may.
func (s *Store) Snapshot(ctx context.Context) error {
	at := s.db.Snapshot()
	err := s.writeSnapshot(ctx, at)
	if err = errors.Join(err, at.Close()); err != nil {
		return fmt.Errorf("writing a snapshot into the log: %w", err)
	}
	s.m.snapshots.Inc()
	return nil
}

func (s *Store) writeSnapshot(ctx context.Context, at *index.Snapshot) error {
	v, err := at.Get(index.CheckpointKey())
	if err != nil {
		return err
	}
	cp, err := index.DecodeCheckpoint(v)
	if err != nil {
		return err
	}
	h := snapHead{
		position: cp.Position, epoch: cp.Epoch, time: cp.Time,
		machines: []snapMachine{{queuesPrefix, queuesVersion}},
	}
	for _, o := range s.owners {
		h.machines = append(h.machines, snapMachine{o.prefix, o.m.Version()})
	}
	h.id = uint64(s.log.Durable())<<8 | s.snapCount.Add(1)&0xff // differs from that of a snapshot which was cut short
	w := &snapWriter{s: s, ctx: ctx, id: h.id, prefix: queuesPrefix, buf: make([]byte, 0, snapPartBytes)}
	if err := w.put(commitlog.KindSnapBegin, h.encode()); err != nil {
		return err
	}
	err = queuesMachine{}.Snapshot(at, w)
	for i := 0; err == nil && i < len(s.owners); i++ {
		if err = w.flush(); err == nil {
			w.prefix = s.owners[i].prefix
			err = s.owners[i].m.Snapshot(at, w)
		}
	}
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return err
	}
	t := &Ticket{}
	if err := s.putOne(t, commitlog.KindSnapEnd, encodeSnapEnd(h.id, w.crc, w.size)); err != nil {
		return err
	}
	select {
	case <-t.Done():
		return t.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// putOne places one frame of the store's own, between others, and waits for memory like clients' data does.
func (s *Store) putOne(t *Ticket, k commitlog.Kind, payload []byte) error {
	if err := s.enter(commitlog.ForSnapshots, commitlog.FrameSize(len(payload)), true); err != nil {
		return err
	}
	s.log.Put(k, 0, payload, false)
	g := s.roundTag()
	s.log.End()
	if t != nil {
		g.attach(t, Durable)
	}
	return nil
}

// snapWriter cuts a machine's bytes into parts.
type snapWriter struct {
	s      *Store
	ctx    context.Context
	id     uint64
	prefix index.Prefix
	buf    []byte
	crc    uint32
	size   int64
}

func (w *snapWriter) put(k commitlog.Kind, payload []byte) error {
	if err := w.s.pace.take(w.ctx, len(payload)); err != nil {
		return err
	}
	return w.s.putOne(nil, k, payload)
}

// Write implements io.Writer.
func (w *snapWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), snapPartBytes-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p, n = p[k:], n+k
		if len(w.buf) == snapPartBytes {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *snapWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	w.crc = crc32.Update(w.crc, castagnoli, w.buf)
	w.size += int64(len(w.buf))
	err := w.put(commitlog.KindSnapPart, encodePart(w.id, w.prefix, w.buf))
	w.buf = w.buf[:0]
	return err
}

// snapshotFrame takes note of whole snapshots; what they hold is applied already.
func (a *applier) snapshotFrame(f commitlog.Frame) error {
	switch f.Kind {
	case commitlog.KindSnapBegin:
		h, err := decodeSnapHead(f.Payload)
		if err != nil {
			return fmt.Errorf("at log position %d: %w", f.Position, err)
		}
		a.snapshot.id, a.snapshot.position = h.id, h.position
	case commitlog.KindSnapEnd:
		id, _, size, err := decodeSnapEnd(f.Payload)
		if err != nil {
			return fmt.Errorf("at log position %d: %w", f.Position, err)
		}
		if id == a.snapshot.id && id != 0 {
			a.cp.Snapshot, a.cp.SnapshotEnd, a.cp.SnapshotBytes = a.snapshot.position, f.Position, size
			a.s.snapshotted.Store(&lastSnapshot{a.snapshot.position, f.Position, size})
			a.snapshot.id = 0
		}
	}
	return nil
}

// lastSnapshot is the newest whole snapshot in the log.
type lastSnapshot struct{ position, end, size int64 }

// restorer finds the registered machine of a prefix.
func (s *Store) restorer(p index.Prefix) (restorer, bool) {
	if p == queuesPrefix {
		return queuesMachine{}, true
	}
	for _, o := range s.owners {
		if o.prefix == p {
			return o.m, true
		}
	}
	return nil, false
}

type restorer interface {
	Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error
}
