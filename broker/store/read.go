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
	if err := ctx.Err(); err != nil {
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
		buf, p.Err = s.fill(&sc, buf, c, limit, budget)
		spans[i].to = len(buf)
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
	st, _, ok := s.table.Get(c.Queue)
	if !ok {
		return Part{Head: Head{LogStart: -1, LastStable: -1, HighWatermark: -1, End: -1}, Err: ErrNoQueue}
	}
	p := Part{Head: headOf(&st)}
	if c.Offset < st.LogStart || c.Offset > st.Next {
		p.Err = &OffsetError{Queue: c.Queue, Offset: c.Offset, LogStart: st.LogStart, End: st.High}
	}
	return p
}

func headOf(st *queue.State) Head {
	// No transactions yet: everything durable is stable.
	return Head{LogStart: st.LogStart, LastStable: st.High, HighWatermark: st.High, End: st.Next, Epoch: st.Epoch}
}

// fill appends batches of one cursor to buf.
func (s *Store) fill(sc *scan, buf []byte, c Cursor, limit int64, budget int) ([]byte, error) {
	start := len(buf)
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
		s.m.readBatches.Inc()
	}
	if err != nil && len(buf) > start {
		return buf, nil // the reader gets what is whole, and the error with its next call
	}
	return buf, err
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
