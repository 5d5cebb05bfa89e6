package store

import (
	"context"
	"sync"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Result buffers go back to the pool unless they grew beyond this.
const (
	startBuffer = 64 << 10
	keepBuffer  = 4 << 20
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, startBuffer); return &b }}

// Read implements API. Cursors are served in order; the first batch found is returned even if it is larger than the
// limits, so that readers cannot get stuck (KIP-74).
func (s *Store) Read(ctx context.Context, budget int, at ...Cursor) (*Result, error) {
	err := ctx.Err()
	if err != nil {
		return nil, err
	}
	res := &Result{Parts: make([]Part, len(at))}
	type span struct{ from, to int }
	spans := make([]span, len(at))
	for i, c := range at { // all ends before the index is looked at: it holds at least that much
		res.Parts[i] = s.begin(c)
	}
	bp := buffers.Get().(*[]byte)
	buf := (*bp)[:0]
	var sc scan
	defer sc.release()
	for i, c := range at {
		p := &res.Parts[i]
		spans[i] = span{len(buf), len(buf)}
		limit := p.HighWatermark
		if c.Committed {
			limit = p.LastStable
		}
		if p.Err != nil || c.Offset >= limit {
			continue
		}
		if err := ctx.Err(); err != nil {
			break // what was read so far is an answer
		}
		if len(buf) >= budget && len(buf) > 0 {
			continue
		}
		var end int64
		buf, end, p.Err = s.fill(&sc, buf, c, limit, budget)
		spans[i].to = len(buf)
		if c.Committed && end > c.Offset {
			if p.Aborted, err = s.aborted(c.Queue, c.Offset, end); err != nil {
				p.Err, spans[i].to = err, spans[i].from
				buf = buf[:spans[i].from]
			}
		}
	}
	for i := range spans {
		res.Parts[i].Batches = buf[spans[i].from:spans[i].to:spans[i].to]
	}
	s.m.readBytes.Add(float64(len(buf)))
	res.release = func() {
		if cap(buf) <= keepBuffer {
			*bp = buf[:0]
			buffers.Put(bp)
		}
	}
	return res, nil
}

// begin answers what needs no batch: the queue's ends, or why the cursor is invalid.
func (s *Store) begin(c Cursor) Part {
	st, stable, ok := s.table.Stable(c.Queue)
	if !ok {
		return Part{Head: Head{LogStart: -1, LastStable: -1, HighWatermark: -1, End: -1}, Err: ErrNoQueue}
	}
	p := Part{Head: headOf(&st, stable)}
	if c.Offset < st.LogStart || c.Offset > st.Next {
		p.Err = &OffsetError{Queue: c.Queue, Offset: c.Offset, LogStart: st.LogStart, End: st.High}
	}
	return p
}

func headOf(st *queue.State, stable int64) Head {
	return Head{LogStart: st.LogStart, LastStable: stable, HighWatermark: st.High, End: st.Next, Epoch: st.Epoch}
}

// aborted lists the aborted transactions among the offsets of one cursor's batches.
func (s *Store) aborted(q queue.ID, from, to int64) ([]Aborted, error) {
	if st, _, _ := s.table.Get(q); !st.Aborts {
		return nil, nil
	}
	return s.abortedIn(q, from, to)
}

// fill appends batches of one cursor to buf and tells where they end, -1 without one.
func (s *Store) fill(sc *scan, buf []byte, c Cursor, limit int64, budget int) ([]byte, int64, error) {
	start, end := len(buf), int64(-1)
	ok, err := sc.seek(s.db, c.Queue, c.Offset)
	for ; ok && err == nil; ok, err = sc.next() {
		e := &sc.e
		if e.Last >= limit {
			break
		}
		if len(buf) > 0 && (len(buf)+e.Size > budget || len(buf)-start+e.Size > c.MaxBytes) {
			break
		}
		n := len(buf)
		if buf, err = s.log.ReadBatch(buf, uint32(c.Queue), e.Position, e.Size); err != nil {
			break
		}
		if err = s.address(buf[n:], c.Queue, e); err != nil {
			buf = buf[:n]
			break
		}
		end = e.Last + 1
		s.m.readBatches.Inc()
	}
	if err != nil && len(buf) > start {
		return buf, end, nil // the reader gets what is whole, and the error with its next call
	}
	return buf, end, err
}

// address writes base offset and leader epoch, which the index knows, into the copy of a batch.
func (s *Store) address(b batch.Batch, q queue.ID, e *index.Entry) error {
	b.SetBaseOffset(e.Base)
	epoch, err := s.epochAt(q, e.Base)
	if err != nil {
		return err
	}
	b.SetLeaderEpoch(epoch)
	return nil
}

// epochAt is the leader epoch an offset was given under.
func (s *Store) epochAt(q queue.ID, offset int64) (int32, error) {
	st, _, _ := s.table.Get(q)
	if st.Epoch == 0 {
		return 0, nil
	}
	epochs, err := s.epochs(q)
	if err != nil {
		return 0, err
	}
	at := int32(0)
	for _, e := range epochs {
		if e.start <= offset {
			at = e.epoch
		}
	}
	return at, nil
}
