package store

import (
	"context"
	"slices"
	"sync"

	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// waiters are the calls of Wait in progress, by queue: an idle queue has no entry.
type waiters struct {
	mu     sync.Mutex
	m      map[queue.ID][]waiting
	closed bool
}

// waiting is a waiter at one queue: a cursor at committed data counts only what is stable.
type waiting struct {
	*waiter
	committed bool
}

// stableSpan is how far a queue's last stable offset moved.
type stableSpan struct {
	q        queue.ID
	from, to int64
}

type waiter struct {
	need  int64 // bytes still missing; guarded by waiters.mu
	ready chan struct{}
	fired bool
}

func (w *waiters) init() { w.m = map[queue.ID][]waiting{} }

func (w *waiter) fire() {
	if !w.fired {
		w.fired = true
		close(w.ready)
	}
}

// advanced counts new bytes. The lock is held.
func (w *waiters) advanced(spans []Span, bytes []int64) {
	if len(w.m) == 0 {
		return
	}
	for i := range spans {
		for _, x := range w.m[spans[i].Queue] {
			if x.committed {
				continue
			}
			if x.need -= bytes[i]; x.need <= 0 {
				x.fire()
			}
		}
	}
}

// stable counts bytes that became stable, for cursors at committed data. A transaction that ends frees what was appended
// long before, so the index says how much it is, as far as anybody needs. The lock is held.
func (w *waiters) stable(db *index.DB, moved []stableSpan) {
	if len(w.m) == 0 {
		return
	}
	var sc scan
	defer sc.release()
	for _, m := range moved {
		need := int64(0)
		for _, x := range w.m[m.q] {
			if x.committed {
				need = max(need, x.need)
			}
		}
		if need <= 0 {
			continue
		}
		n, err := bytesUpTo(&sc, db, m.q, m.from, m.to, need)
		for _, x := range w.m[m.q] {
			if !x.committed {
				continue
			}
			if x.need -= n; x.need <= 0 || err != nil { // the read that follows meets the error, too
				x.fire()
			}
		}
	}
}

// changed wakes who waits at a queue that was trimmed or dropped. The lock is held.
func (w *waiters) changed(q queue.ID) {
	for _, x := range w.m[q] {
		x.fire()
	}
}

func (w *waiters) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, list := range w.m {
		for _, x := range list {
			x.fire()
		}
	}
}

// Wait implements API. It returns nil when there is something to read or a cursor has become invalid (Read says which),
// ctx's error when that ends first, and ErrClosed.
func (s *Store) Wait(ctx context.Context, minBytes int, at ...Cursor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter{need: max(int64(minBytes), 1), ready: make(chan struct{})}
	ends, ok, closed := s.register(w, at)
	if closed {
		return ErrClosed
	}
	defer s.unregister(w, at)
	if !ok {
		return nil
	}
	have, err := s.readable(at, ends, max(int64(minBytes), 1))
	if err != nil {
		return err
	}
	s.wait.mu.Lock()
	if w.need -= have; w.need <= 0 {
		w.fire()
	}
	s.wait.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.wait.mu.Lock()
	defer s.wait.mu.Unlock()
	if s.wait.closed {
		return ErrClosed
	}
	return nil
}

// register enters a waiter at each queue and gives the ends as of then; ok is false if a cursor is invalid.
func (s *Store) register(w *waiter, at []Cursor) (ends []int64, ok, closed bool) {
	s.wait.mu.Lock()
	defer s.wait.mu.Unlock()
	if s.wait.closed {
		return nil, false, true
	}
	ends, ok = make([]int64, len(at)), true
	for i, c := range at {
		st, stable, there := s.table.Stable(c.Queue)
		if !there || c.Offset < st.LogStart || c.Offset > st.Next {
			ok = false
		}
		if ends[i] = st.High; c.Committed {
			ends[i] = stable
		}
		s.wait.m[c.Queue] = append(s.wait.m[c.Queue], waiting{w, c.Committed})
	}
	return ends, ok, false
}

func (s *Store) unregister(w *waiter, at []Cursor) {
	s.wait.mu.Lock()
	defer s.wait.mu.Unlock()
	for _, c := range at {
		list := s.wait.m[c.Queue]
		list = slices.DeleteFunc(list, func(x waiting) bool { return x.waiter == w })
		if len(list) == 0 {
			delete(s.wait.m, c.Queue)
		} else {
			s.wait.m[c.Queue] = list
		}
	}
}

// readable adds up the sizes of batches between cursors and ends, as far as enough.
func (s *Store) readable(at []Cursor, ends []int64, enough int64) (int64, error) {
	var have int64
	var sc scan
	defer sc.release()
	for i, c := range at {
		if c.Offset >= ends[i] {
			continue
		}
		n, err := bytesUpTo(&sc, s.db, c.Queue, c.Offset, ends[i], enough-have)
		if have += n; err != nil || have >= enough {
			return have, err
		}
	}
	return have, nil
}

// bytesUpTo adds up the sizes of a queue's batches between two offsets, as far as enough.
func bytesUpTo(sc *scan, db *index.DB, q queue.ID, from, to, enough int64) (have int64, err error) {
	for ok, err := sc.seek(db, q, from); ; ok, err = sc.next() {
		if err != nil || !ok || sc.e.Base >= to {
			return have, err
		}
		if sc.e.Count > 0 { // else its records were compacted away, and it is not served
			have += int64(sc.e.Size)
		}
		if have >= enough {
			return have, nil
		}
	}
}

// Watch implements API: f is called once a sync round with the queues that advanced, from the store's goroutine. It
// must not block (so must not append data, see Ticket.OnDone) and not keep the slice.
func (s *Store) Watch(f func(advanced []Span)) {
	s.watch.Lock()
	defer s.watch.Unlock()
	s.watch.f = append(s.watch.f, f)
}

func (s *Store) tell(spans []Span) {
	s.watch.Lock()
	defer s.watch.Unlock()
	for _, f := range s.watch.f {
		f(spans)
	}
}

// Waiting counts the calls of Wait in progress that wait for something.
func (s *Store) Waiting() int {
	s.wait.mu.Lock()
	defer s.wait.mu.Unlock()
	all := map[*waiter]bool{}
	for _, list := range s.wait.m {
		for _, w := range list {
			all[w.waiter] = true
		}
	}
	return len(all)
}
