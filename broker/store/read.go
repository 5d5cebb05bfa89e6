package store

import (
	"context"
	"errors"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/buffer"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// A result begins in a small buffer and moves once into one as large as it may become, up to largeBuffer.
const (
	smallBuffer = 64 << 10
	largeBuffer = 4 << 20
)

var results = buffer.NewPool(16 << 20)

// lead stands before the first batch of a result: there the log reads the batch's frame header to.
var lead [commitlog.HeaderSize]byte

// reading is one Read under way.
type reading struct {
	s      *Store
	sc     scan
	buf    []byte // lead, and the batches that are in memory
	files  int    // bytes of batches that stay in their files
	first  int    // where the present cursor's part of placed begins
	placed []placed
}

// placed is a stretch of buf, or without one a batch in its file.
type placed struct {
	from, to int
	file     commitlog.Range
}

func (p *placed) inFile() bool { return p.to == 0 }

// size is how much was read.
func (r *reading) size() int { return len(r.buf) - len(lead) + r.files }

// back forgets what was read since there were n bytes in buf and k places.
func (r *reading) back(n, k int) {
	for i := range r.placed[k:] {
		if p := &r.placed[k+i]; p.inFile() {
			r.files -= p.file.Size()
			p.file.Release()
		}
	}
	r.buf, r.placed = r.buf[:n], r.placed[:k]
}

func (r *reading) release() {
	r.back(0, 0)
	results.Give(r.buf)
}

// fillIn gives a part what was placed for it.
func (r *reading) fillIn(p *Part, placed []placed) {
	if len(placed) == 0 {
		return
	}
	if len(placed) == 1 && !placed[0].inFile() {
		p.Batches = r.buf[placed[0].from:placed[0].to:placed[0].to]
		return
	}
	p.Pieces = make([]Piece, len(placed))
	for i := range placed {
		if at := &placed[i]; at.inFile() {
			p.Pieces[i].Range = at.file
		} else {
			p.Pieces[i].Bytes = r.buf[at.from:at.to:at.to]
		}
	}
}

// Read implements API. Cursors are served in order; the first batch found is returned even if it is larger than the
// limits, so that readers cannot get stuck (KIP-74).
func (s *Store) Read(ctx context.Context, budget int, at ...Cursor) (*Result, error) {
	err := ctx.Err()
	if err != nil {
		return nil, err
	}
	res := &Result{Parts: make([]Part, len(at))}
	for i, c := range at { // all ends before the index is looked at: it holds at least that much
		res.Parts[i] = s.begin(c)
	}
	ends := make([]int, len(at)) // where each cursor's part of placed ends
	r := &reading{s: s, buf: append(results.Take(smallBuffer), lead[:]...)}
	defer r.sc.release()
	for i, c := range at {
		p := &res.Parts[i]
		r.first, ends[i] = len(r.placed), len(r.placed)
		limit := p.HighWatermark
		if c.Committed {
			limit = p.LastStable
		}
		if p.Err != nil || c.Offset >= limit || r.size() > 0 && r.size() >= budget {
			continue
		}
		if ctx.Err() != nil {
			continue // what was read so far is an answer
		}
		var end int64
		n := len(r.buf)
		end, p.Err = r.fill(c, limit, budget)
		if c.Committed && end > c.Offset {
			if p.Aborted, err = s.aborted(c.Queue, c.Offset, end); err != nil {
				p.Err = err
				r.back(n, r.first)
			}
		}
		ends[i] = len(r.placed)
	}
	from := 0
	for i, to := range ends { // buf moves no more
		r.fillIn(&res.Parts[i], r.placed[from:to])
		from = to
	}
	s.m.readBytes.Add(float64(r.size()))
	res.release = r.release
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

// goneTries bounds how often a reader looks up again what was moved while it read.
const goneTries = 5

// fill adds batches of one cursor and tells where they end, -1 without one.
func (r *reading) fill(c Cursor, limit int64, budget int) (int64, error) {
	s, sc, start, from, end := r.s, &r.sc, r.size(), c.Offset, int64(-1)
	ok, err := sc.seek(s.db, c.Queue, from)
	for tries := 0; ok && err == nil; {
		e := &sc.e
		if e.Last >= limit || r.size() > 0 && (r.size()+e.Size > budget || r.size()-start+e.Size > c.MaxBytes) {
			break
		}
		var got bool
		got, err = r.add(c, e, budget)
		if errors.Is(err, commitlog.ErrGone) && tries < goneTries { // it was moved after it was looked up
			tries++
			sc.release()
			ok, err = sc.seek(s.db, c.Queue, from)
			continue
		}
		if got {
			end = e.Last + 1
			s.m.readBatches.Inc()
		}
		if err == nil {
			from = e.Last + 1
			ok, err = sc.next()
		}
	}
	if errors.Is(err, commitlog.ErrGone) { // looked up again and again it is still there, and its segment is not
		err = &commitlog.CorruptError{File: s.dir, Position: sc.e.Position, Reason: "no segment holds it"}
	}
	s.damaged(err, &sc.e)
	if err != nil && r.size() > start {
		return end, nil // the reader gets what is whole, and the error with its next call
	}
	return end, err
}

// add takes one batch, unless it holds nothing for the cursor.
func (r *reading) add(c Cursor, e *index.Entry, budget int) (bool, error) {
	if c.Files && e.Store == index.StoreMain && int64(e.Count) == e.Last-e.Base+1 {
		if f, ok := r.s.log.Range(e.Position, e.Size); ok {
			r.placed = append(r.placed, placed{file: f})
			r.files += e.Size
			return true, nil
		}
	}
	n := len(r.buf)
	if need := n + commitlog.HeaderSize + e.Size; need > cap(r.buf) {
		r.buf = enlarge(r.buf, need, budget)
	}
	buf, err := r.s.readBatch(r.buf, c.Queue, e)
	if err != nil || !holds(buf[n:], e, c.Offset) {
		return false, err
	}
	if err := r.s.address(buf[n:], c.Queue, e); err != nil {
		return false, err
	}
	r.buf = buf
	if k := len(r.placed) - 1; k >= r.first && !r.placed[k].inFile() {
		r.placed[k].to = len(buf)
	} else {
		r.placed = append(r.placed, placed{from: n, to: len(buf)})
	}
	return true, nil
}

// readBatch appends a batch from wherever it stands.
func (s *Store) readBatch(dst []byte, q queue.ID, e *index.Entry) ([]byte, error) {
	log := s.log
	if e.Store == index.StoreCold {
		log = s.cold
	}
	return log.ReadBatch(dst, uint32(q), e.Position, e.Size)
}

// holds tells whether a batch has a record at or above an offset. Compaction leaves batches with few records or none: a
// client that gets only records below the offset it asked for would ask for the same for ever.
func holds(b batch.Batch, e *index.Entry, offset int64) bool {
	if e.Count == 0 {
		return false
	}
	if int64(e.Count) == e.Last-e.Base+1 || offset <= e.Base {
		return true
	}
	found := false
	if err := b.Walk(func(m batch.Meta) error {
		if found = e.Base+int64(m.OffsetDelta) >= offset; found {
			return batch.ErrStop
		}
		return nil
	}); err != nil {
		return true // whoever asked sees what is wrong with it
	}
	return found
}

// enlarge moves a result into a buffer of at least need bytes.
func enlarge(buf []byte, need, budget int) []byte {
	size := min(budget+commitlog.HeaderSize, largeBuffer)
	if size <= cap(buf) {
		size = 2 * cap(buf)
	}
	return results.Grow(buf, max(need, size))
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
