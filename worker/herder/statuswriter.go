package herder

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/worker/topics"
)

// statusWriter writes states to their topic off the loop: in order per unit, the newest winning (I4). It writes only while
// this node has its place in the group: what waits when that is lost is dropped, since another node tells of the units then.
type statusWriter struct {
	store    *topics.Statuses
	workerID string
	lease    func() error
	log      *slog.Logger

	mu         sync.Mutex
	generation int32
	queue      []unit                  // in order of their first waiting change
	waiting    map[unit]*topics.Status // nil: forget
	writing    string                  // the connector whose state is being written
	out        bool                    // of the group: nothing may be written
	wake       chan struct{}

	writeTime time.Duration   // for one write
	closing   context.Context // ends with close
	close     context.CancelFunc
}

type unit struct {
	connector string
	task      int
	all       bool   // the connector and all its tasks: only to forget
	topic     string // one that the task uses: nothing else is told then
}

func newStatusWriter(store *topics.Statuses, workerID string, lease func() error, log *slog.Logger) *statusWriter {
	closing, close := context.WithCancel(context.Background())
	return &statusWriter{
		writeTime: writeStatusTime, closing: closing, close: close,
		store: store, workerID: workerID, lease: lease, log: log, out: true, waiting: map[unit]*topics.Status{}, wake: make(chan struct{}, 1),
	}
}

// joined tells that the node has its place, in this generation.
func (w *statusWriter) joined(g int32) {
	w.mu.Lock()
	w.generation, w.out = g, false
	w.mu.Unlock()
}

// lost tells that it has no place any more.
func (w *statusWriter) lost() {
	w.mu.Lock()
	w.out, w.queue = true, nil
	clear(w.waiting)
	w.mu.Unlock()
}

// put takes a change; it never blocks.
func (w *statusWriter) put(s runtime.Status) {
	w.mu.Lock()
	st := &topics.Status{State: string(s.State), WorkerID: w.workerID, Generation: w.generation, Attempts: s.Attempts, NextTry: s.NextTry}
	if s.Trace != "" {
		st.Trace = &s.Trace
	}
	w.enqueue(unit{connector: s.Connector, task: s.Task}, st)
	w.mu.Unlock()
}

// use takes a topic that a task uses; it never blocks.
func (w *statusWriter) use(connector string, task int, topic string) {
	w.mu.Lock()
	w.enqueue(unit{connector: connector, task: task, topic: topic}, nil)
	w.mu.Unlock()
}

func (w *statusWriter) forget(connector string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for u := range w.waiting {
		if u.connector == connector && !u.all {
			w.remove(u)
		}
	}
	w.enqueue(unit{connector: connector, all: true}, nil)
}

func (w *statusWriter) forgetTask(connector string, task int) {
	w.mu.Lock()
	w.enqueue(unit{connector: connector, task: task}, nil)
	w.mu.Unlock()
}

func (w *statusWriter) remove(u unit) {
	delete(w.waiting, u)
	for i := range w.queue {
		if w.queue[i] == u {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return
		}
	}
}

func (w *statusWriter) enqueue(u unit, st *topics.Status) {
	if w.out {
		return
	}
	if _, ok := w.waiting[u]; !ok {
		w.queue = append(w.queue, u)
	}
	w.waiting[u] = st
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// How long one write may take, and one after close: a node that stops does not wait for a broker that is away.
const (
	writeStatusTime  = 10 * time.Second
	lastWordTime     = 2 * time.Second
	writeStatusPause = time.Second // before one that failed is tried again
)

// run writes until close, then what is left, until a write fails.
func (w *statusWriter) run() {
	for {
		last := w.closing.Err() != nil // looked at before the queue, which gets nothing more then
		u, st, ok := w.next()
		switch {
		case !ok && last:
			return
		case !ok:
			select {
			case <-w.wake:
			case <-w.closing.Done():
			}
			continue
		case !w.mayWrite(u):
			continue
		}
		ctx, cancel := w.timed()
		err := w.write(ctx, u, st)
		cancel()
		switch {
		case err == nil:
		case w.closing.Err() != nil:
			w.giveUp(err)
		case hopeless(err):
			w.log.Warn("writing a state failed", "connector", u.connector, "task", u.task, "error", err)
		default:
			w.log.Warn("writing a state failed, trying again", "connector", u.connector, "task", u.task, "error", err)
			w.again(u, st)
			select {
			case <-time.After(writeStatusPause):
			case <-w.closing.Done():
			}
		}
	}
}

// hopeless tells of an answer of the broker that the next one will be like.
func hopeless(err error) bool {
	var refused *kerr.Error
	return errors.As(err, &refused) && !refused.Retriable
}

// again puts a change that was not written back to where it was: nobody else would tell of it.
func (w *statusWriter) again(u unit, st *topics.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, newer := w.waiting[u]; newer || w.out {
		return
	}
	w.queue = slices.Insert(w.queue, 0, u)
	w.waiting[u] = st
}

// timed gives the context of a write that begins now.
func (w *statusWriter) timed() (context.Context, context.CancelFunc) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), w.writeTime)
	unwatch := context.AfterFunc(w.closing, func() {
		late := time.NewTimer(time.Until(began.Add(lastWordTime)))
		defer late.Stop()
		select {
		case <-late.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { unwatch(); cancel() }
}

// giveUp drops what still waits when the node stops, the one that was written just now included.
func (w *statusWriter) giveUp(why error) {
	w.mu.Lock()
	left := len(w.queue) + 1
	w.queue = nil
	clear(w.waiting)
	w.mu.Unlock()
	w.log.Warn("states are not written, so that others take this worker's tasks over when its session is over", "states", left, "error", why)
}

// leasePause is the wait between two looks at a lease that has run out.
const leasePause = 20 * time.Millisecond

// mayWrite waits while the lease has run out and nobody knows yet what that means. False: the state is nobody's business any
// more, or a newer one waits.
func (w *statusWriter) mayWrite(u unit) bool {
	for {
		err := w.lease()
		w.mu.Lock()
		_, newer := w.waiting[u]
		out := w.out
		w.mu.Unlock()
		switch {
		case out || newer:
			return false
		case err == nil:
			return true
		case w.closing.Err() != nil:
			w.giveUp(err)
			return false
		}
		time.Sleep(leasePause)
	}
}

func (w *statusWriter) next() (u unit, st *topics.Status, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = ""
	if len(w.queue) == 0 {
		return u, nil, false
	}
	u = w.queue[0]
	w.writing = u.connector
	w.queue = w.queue[1:]
	st = w.waiting[u]
	delete(w.waiting, u)
	return u, st, true
}

// flushTime is how long states may take to be written before work goes to another worker.
const flushTime = 2 * time.Second

// flush waits until the states of these connectors are written: another worker will soon tell of them, and the last word
// must be its.
func (w *statusWriter) flush(names map[string]bool) {
	for deadline := time.Now().Add(flushTime); time.Now().Before(deadline); time.Sleep(leasePause / 10) {
		w.mu.Lock()
		busy := names[w.writing]
		for u := range w.waiting {
			busy = busy || names[u.connector]
		}
		w.mu.Unlock()
		if !busy {
			return
		}
	}
}

func (w *statusWriter) write(ctx context.Context, u unit, st *topics.Status) error {
	switch {
	case u.topic != "":
		err := w.store.PutUse(ctx, u.connector, u.task, u.topic)
		if err != nil {
			w.store.NotNoted()
		}
		return err
	case u.all:
		return w.store.Forget(ctx, u.connector)
	case st == nil:
		return w.store.Forget(ctx, u.connector, u.task)
	case u.task == runtime.ConnectorUnit:
		return w.store.PutConnector(ctx, u.connector, *st)
	}
	return w.store.PutTask(ctx, u.connector, u.task, *st)
}
