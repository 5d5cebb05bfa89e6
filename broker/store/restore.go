package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// found is a whole snapshot in the log.
type found struct {
	snapHead
	begin, end int64 // positions of its first and last frame
	size       int64
}

// snapScan finds whole snapshots among the frames of a log.
type snapScan struct {
	open *found
	crc  uint32
}

// frame gives a snapshot when its last frame comes. What does not hold is passed over, and said.
func (x *snapScan) frame(f commitlog.Frame) (*found, error) {
	switch f.Kind {
	case commitlog.KindSnapBegin:
		h, err := decodeSnapHead(f.Payload)
		if err != nil {
			return nil, err
		}
		x.open, x.crc = &found{snapHead: h, begin: f.Position}, 0
	case commitlog.KindSnapPart:
		id, _, data, err := decodePart(f.Payload)
		if err != nil {
			return nil, err
		}
		if x.open != nil && id == x.open.id {
			x.crc = crc32.Update(x.crc, castagnoli, data)
			x.open.size += int64(len(data))
		}
	case commitlog.KindSnapEnd:
		id, sum, size, err := decodeSnapEnd(f.Payload)
		if err != nil || x.open == nil || id != x.open.id {
			return nil, err
		}
		got := x.open
		x.open = nil
		if sum != x.crc || size != got.size {
			return nil, fmt.Errorf("the snapshot that begins at log position %d has %d bytes with the checksum %08x, its end says %d and %08x", got.begin, got.size, x.crc, size, sum)
		}
		got.end = f.Position
		return got, nil
	}
	return nil, nil
}

// newestSnapshot looks for the newest whole snapshot between two positions; nil if there is none.
func (s *Store) newestSnapshot(ctx context.Context, from, to int64) (best *found, err error) {
	var x snapScan
	err = s.log.ReplayTo(from, to, func(f commitlog.Frame, _ bool, _ int64) error {
		got, err := x.frame(f)
		if err != nil {
			s.l.Error("a snapshot in the log does not hold and is not used", "position", f.Position, "error", err)
		}
		if got != nil {
			best = got
		}
		return ctx.Err()
	})
	return best, err
}

// restore fills an empty index from the newest snapshot in the log and from what the segments before its position still
// hold (log-format L9). It gives the checkpoint the rest of the log is to be applied from.
func (s *Store) restore(ctx context.Context, rec commitlog.Recovery) (index.Checkpoint, error) {
	began := time.Now()
	snap, err := s.newestSnapshot(ctx, rec.Start, rec.End)
	if err != nil {
		return index.Checkpoint{}, err
	}
	if snap == nil || snap.position < rec.Start {
		return index.Checkpoint{}, fmt.Errorf(
			"rebuilding the index in %s: log segments before position %d are missing and no whole snapshot behind them says what they held; restore the index or the log from a copy",
			s.dir, rec.Start)
	}
	if err := s.restoreMachines(ctx, snap); err != nil {
		return index.Checkpoint{}, fmt.Errorf("restoring the snapshot at log position %d: %w", snap.begin, err)
	}
	if err := s.loadHeads(); err != nil {
		return index.Checkpoint{}, err
	}
	cp := index.Checkpoint{
		Position: snap.position, Epoch: snap.epoch, Time: snap.time,
		Snapshot: snap.position, SnapshotEnd: snap.end, SnapshotBytes: snap.size,
	}
	s.apply = newApplier(s, cp)
	a := s.apply
	a.restoring = true
	if err := a.restoreBatches(ctx, snap.position); err != nil {
		return index.Checkpoint{}, err
	}
	if a.timer != nil {
		a.timer.Stop() // the applier of the rest of the log has its own
	}
	s.l.Info("restored a snapshot from the log", "position", snap.position, "bytes", snap.size, "took", time.Since(began))
	return a.cp, nil
}

// restoreMachines puts every machine's keys back. Parts of one machine are together, and in the order of the head.
func (s *Store) restoreMachines(ctx context.Context, snap *found) error {
	r := &partReader{s: s, ctx: ctx, snap: snap}
	defer r.stop()
	r.start()
	for _, m := range snap.machines {
		o, ok := s.restorer(m.prefix)
		if !ok {
			return fmt.Errorf("it holds a machine %q, which this version does not know; use the version that wrote it, or a newer one", byte(m.prefix))
		}
		var open *index.Batch
		commit := func() error {
			if open == nil {
				return nil
			}
			b := open
			open = nil
			return s.db.Commit(b)
		}
		var failed error
		err := o.Restore(m.version, r.machine(m.prefix), func() *index.Batch {
			failed = errors.Join(failed, commit())
			open = s.db.NewBatch()
			return open
		})
		if err := errors.Join(err, failed, commit()); err != nil {
			return fmt.Errorf("machine %q: %w", byte(m.prefix), err)
		}
	}
	return r.rest()
}

// part is what the log's reader hands to the machines' reader.
type part struct {
	prefix index.Prefix
	data   []byte
}

// partReader streams a snapshot's parts out of the log.
type partReader struct {
	s     *Store
	ctx   context.Context
	snap  *found
	parts chan part
	quit  chan struct{}
	err   error // of the log; valid once parts is closed
	next  *part
	data  bytes.Reader
}

func (r *partReader) start() {
	r.parts, r.quit = make(chan part), make(chan struct{})
	go func() {
		defer close(r.parts)
		r.err = r.s.log.ReplayTo(r.snap.begin, r.snap.end, func(f commitlog.Frame, _ bool, _ int64) error {
			if f.Kind != commitlog.KindSnapPart {
				return r.ctx.Err()
			}
			id, p, data, err := decodePart(f.Payload)
			if err != nil || id != r.snap.id {
				return err
			}
			select {
			case r.parts <- part{p, bytes.Clone(data)}:
				return nil
			case <-r.quit:
				return ErrClosed
			}
		})
	}()
}

func (r *partReader) stop() {
	close(r.quit)
	for range r.parts {
		continue
	}
}

// peek gives the next part, nil at the end.
func (r *partReader) peek() (*part, error) {
	if r.next == nil {
		p, ok := <-r.parts
		if !ok {
			return nil, r.err
		}
		r.next = &p
	}
	return r.next, nil
}

// rest tells whether there is more than the machines took.
func (r *partReader) rest() error {
	p, err := r.peek()
	if err == nil && p != nil {
		err = fmt.Errorf("it has bytes left over for machine %q", byte(p.prefix))
	}
	return err
}

// machine reads the parts of one machine.
func (r *partReader) machine(p index.Prefix) io.Reader { return &machineReader{r, p} }

type machineReader struct {
	r      *partReader
	prefix index.Prefix
}

// Read implements io.Reader.
func (m *machineReader) Read(b []byte) (int, error) {
	for m.r.data.Len() == 0 {
		p, err := m.r.peek()
		if err != nil {
			return 0, err
		}
		if p == nil || p.prefix != m.prefix {
			return 0, io.EOF
		}
		m.r.data.Reset(p.data)
		m.r.next = nil
	}
	return m.r.data.Read(b)
}

// restoreBatches enters the batches of the segments before a snapshot's position: those at or above their queue's start,
// of queues that still exist. What queues keep in bytes is counted anew.
func (a *applier) restoreBatches(ctx context.Context, to int64) error {
	for _, q := range a.s.table.IDs() {
		h := a.head(q)
		h.st.Bytes, h.valid = 0, true
		if len(a.heads) >= replayCommit {
			if err := a.commit(); err != nil {
				return err
			}
		}
	}
	if err := a.commit(); err != nil {
		return err
	}
	running := map[queue.ID]int64{}
	err := a.s.log.ReplayTo(0, to, func(f commitlog.Frame, last bool, _ int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.Kind == commitlog.KindData {
			if err := a.restoreBatch(f, running); err != nil {
				return err
			}
		}
		if last && a.frames >= replayCommit {
			return a.commit()
		}
		return nil
	})
	if err == nil {
		err = a.commit()
	}
	return err
}

func (a *applier) restoreBatch(f commitlog.Frame, running map[queue.ID]int64) error {
	q, b := queue.ID(f.Queue), batch.Batch(f.Payload)
	h := a.head(q)
	if h == nil || b.LastOffset() < h.st.LogStart {
		return nil
	}
	a.frames++
	most, ok := running[q]
	if !ok {
		most = -1
	}
	running[q] = max(most, b.MaxTime())
	return a.enter(q, h, &index.Entry{
		Last: b.LastOffset(), Base: b.BaseOffset(), Position: f.Position, Size: len(b), Count: b.Count(), MaxTime: running[q],
	})
}

// enter writes the entry of a batch that is kept.
func (a *applier) enter(q queue.ID, h *headChange, e *index.Entry) error {
	h.st.Bytes += int64(e.Size)
	h.valid = true
	if err := a.keep(q, e); err != nil {
		return err
	}
	a.buf = index.AppendEntry(a.buf[:0], e)
	a.key = index.AppendBatchKey(a.key[:0], uint32(q), e.Last)
	return a.batch().Set(a.key, a.buf)
}

// raiseTimes makes the highest timestamps of entries rise along each queue again, where copies came between batches whose
// own were counted from less. f, if there is one, sees all entries.
func (a *applier) raiseTimes(f *holeFinder) error {
	it, err := a.s.db.Iter(index.PrefixRange(index.PrefixBatch))
	if err != nil {
		return err
	}
	var q uint32
	most, n := int64(-1), 0
	for ok := it.First(); ok; ok = it.Next() {
		at, last := index.BatchLast(it.Key())
		e, err := index.DecodeEntry(last, it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if f != nil {
			f.entry(queue.ID(at), &e)
		}
		if at != q {
			q, most = at, -1
		}
		if e.MaxTime >= most {
			most = e.MaxTime
			continue
		}
		e.MaxTime = most
		a.buf = index.AppendEntry(a.buf[:0], &e)
		if err := a.batch().Set(it.Key(), a.buf); err != nil {
			return errors.Join(err, it.Close())
		}
		if n++; n%replayCommit == 0 {
			if err := a.commit(); err != nil {
				return errors.Join(err, it.Close())
			}
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	return a.commit()
}
