package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

const (
	batchAge     = 5 * time.Millisecond // a batch is closed at this age
	readGrace    = 10 * time.Second     // for Read to return when its ctx ends
	lastAckGrace = 30 * time.Second     // I3
)

// source is a source task being driven. Goroutines: the handler sends batches that read did not, receive takes what the host says, read calls
// Read, ack calls Ack.
type source struct {
	stream
	task     connectapi.SourceTask
	maxBatch int
	limit    int // of a message's rows
	topics   topics

	committed map[connectapi.Partition]connectapi.Offset

	out   outbox
	acks  acks
	stopC chan struct{} // closed when the host said stop
	once  sync.Once

	endMu     sync.Mutex
	readErr   error         // why reading ended
	readEnd   chan struct{} // closed when it has
	hangTimer *time.Timer
}

// Source drives one task.
func (s *server) Source(raw connectpb.Connector_SourceServer) error {
	s.enter()
	defer s.leave()
	first := &connectpb.Frame{Msg: &connectpb.ToSource{}}
	if err := raw.RecvMsg(first); err != nil {
		return err
	}
	open := first.Msg.(*connectpb.ToSource).GetOpen()
	if open == nil {
		return status.Error(codes.InvalidArgument, "a stream begins with Open")
	}
	t := &source{
		maxBatch: int(cmp.Or(min(open.MaxBatchBytes, uint64(s.maxMessage)), 1<<20)),
		limit:    int(cmp.Or(min(open.MaxMessageBytes, uint64(s.maxMessage)), uint64(s.maxMessage))),
		stopC:    make(chan struct{}), readEnd: make(chan struct{}),
	}
	if err := t.begin(s, raw, open); err != nil {
		return err
	}
	defer t.stop()
	if t.def.OpenSource == nil {
		return status.Errorf(codes.InvalidArgument, "connector %s is not a source", t.def.Name)
	}
	return t.run()
}

func (t *source) run() error {
	t.out.init(t.maxBatch)
	t.acks.init()
	t.topics.init(t)
	if err := t.openTask(); err != nil {
		return t.fail(err)
	}
	if err := t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Opened{Opened: &connectpb.Done{}}}); err != nil {
		t.closeTask(t.task.Close)
		return err
	}
	readCtx, stopReading := context.WithCancel(t.ctx)
	defer stopReading()
	var wg sync.WaitGroup
	wg.Go(t.ackLoop)
	go t.read(readCtx) // waited for by readEnd, with a deadline: Read may hang
	wg.Go(func() { defer stopReading(); <-either(t.stopC, t.ctx.Done()) })

	err := t.sendLoop()
	if err == nil {
		err = t.finish()
	}
	stopReading()
	failed := t.waitRead()
	t.stop()
	t.acks.close()
	wg.Wait()
	if failed == nil {
		t.closeTask(t.task.Close)
	}
	if err == nil {
		err = t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Closed{Closed: &connectpb.Done{}}})
	}
	var own *taskFailure
	if errors.As(err, &own) {
		return t.fail(own.err)
	}
	return err
}

// either closes when one of two does.
func either(a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		select {
		case <-a:
		case <-b:
		}
	}()
	return c
}

// taskFailure is the connector's own error, to be sent to the host.
type taskFailure struct{ err error }

func (e *taskFailure) Error() string { return e.err.Error() }

func (t *source) fail(err error) error {
	if e := connectapi.AsError(err); e.Trace != "" {
		t.log.Error(e.Error(), "trace", e.Trace)
	}
	return t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Failure{Failure: wire.Failure(err)}})
}

// openTask opens the connector's task while the host can already be heard: it may want to read topics.
func (t *source) openTask() (err error) {
	positions, err := wire.ToPositions(t.open.Committed)
	if err != nil {
		return err
	}
	t.committed = make(map[connectapi.Partition]connectapi.Offset, len(positions))
	for _, p := range positions {
		t.committed[p.Partition] = p.Offset
	}
	go t.receive() // ends with the stream
	err = t.retry(t.ctx, func() (err error) {
		defer guard(&err)
		t.task, err = t.def.OpenSource(t.ctx, t.open.Config.GetValues(), t)
		return err
	})
	if err == nil && t.task == nil {
		err = fmt.Errorf("connector %s opened no task", t.def.Name)
	}
	return err
}

// receive takes what the host says, until the stream ends.
func (t *source) receive() {
	defer t.stop()
	for {
		f := &connectpb.Frame{Msg: &connectpb.ToSource{}}
		if err := t.raw.RecvMsg(f); err != nil {
			return
		}
		switch m := f.Msg.(*connectpb.ToSource).Msg.(type) {
		case *connectpb.ToSource_Credit:
			t.out.grant(int(m.Credit.Bytes))
		case *connectpb.ToSource_Ack:
			t.acks.acked(m.Ack.Batch, wire.ToProduced(m.Ack.Produced))
		case *connectpb.ToSource_Stop:
			t.once.Do(func() { close(t.stopC) })
		case *connectpb.ToSource_Topic:
			t.topics.received(m.Topic)
		case *connectpb.ToSource_Schema:
			_ = wire.AddSchema(t.topics.dir, m.Schema) // a row that names it will say so
		case *connectpb.ToSource_Route:
			_ = wire.AddRoute(t.topics.dir, m.Route)
		}
	}
}

// Report tells the host what the task waits for; not more often than a person reads.
func (t *source) Report(waitingFor string, metrics map[string]float64) {
	if !t.reportDue(waitingFor) {
		return
	}
	_ = t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Report{Report: report(waitingFor, metrics)}}) // a broken stream shows elsewhere
}

// Committed returns the positions the task was opened with.
func (t *source) Committed() map[connectapi.Partition]connectapi.Offset { return t.committed }

// read calls Read until it fails or the task is to stop.
func (t *source) read(ctx context.Context) {
	defer close(t.readEnd)
	catalog := connectapi.NewCatalog()
	b := connectapi.NewBatch(catalog)
	b.SetLimit(t.maxBatch)
	idle := time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := t.retry(ctx, func() (err error) {
			defer guard(&err)
			return t.task.Read(ctx, b)
		})
		empty := b.Len() == 0 && len(b.Marks()) == 0
		if err == nil || !panicked(err) {
			if e := t.check(b); e != nil {
				err = e
			} else if t.out.add(ctx, b, catalog) {
				if _, _, e := t.sendDue(false); e != nil {
					return // the stream is broken: the sender meets the same
				}
			}
		}
		if err != nil {
			if ctx.Err() != nil && (errors.Is(err, context.Canceled) || connectapi.KindOf(err) == connectapi.Transient) {
				return
			}
			t.readErr = err
			return
		}
		if !empty || time.Since(began) > time.Millisecond {
			idle = time.Millisecond
			continue
		}
		// Read should have waited for data. It did not: do that for it.
		if !sleep(ctx, idle) {
			return
		}
		idle = min(2*idle, 100*time.Millisecond)
	}
}

func panicked(err error) bool {
	e := connectapi.AsError(err)
	return e != nil && e.Trace != ""
}

// check refuses a row that no message can hold.
func (t *source) check(b *connectapi.Batch) error {
	if b.Size() <= t.limit {
		return nil
	}
	r := connectapi.NewReader(b.Encoded())
	for i := 0; r.Len() > 0; i++ {
		from := r.Offset()
		r.SkipRow()
		if size := r.Offset() - from; size > t.limit {
			return connectapi.DataError(fmt.Errorf("record %d of the batch has %d bytes, above the limit of %d bytes a message between "+
				"worker and plugin: raise the limit, or leave such records out", i, size, t.limit))
		}
	}
	return nil
}

// waitRead waits for Read to return; an error says that it does not.
func (t *source) waitRead() error {
	timer := time.NewTimer(readGrace)
	defer timer.Stop()
	select {
	case <-t.readEnd:
		return nil
	case <-timer.C:
		t.log.Error(fmt.Sprintf("Read did not return within %v of the end of its context", readGrace))
		return errors.New("Read hangs")
	}
}

// finish sees the task through its end: failure, end of input, stop.
func (t *source) finish() error {
	if err := t.readErr; err != nil {
		if !errors.Is(err, io.EOF) {
			return &taskFailure{err}
		}
		if err := t.fail(err); err != nil {
			return err
		}
		select {
		case <-t.stopC:
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
	// I3: the last ack, or the deadline; a task that sent nothing waits for nothing.
	timer := time.NewTimer(lastAckGrace)
	defer timer.Stop()
	select {
	case <-t.acks.settled(t.out.lastID):
	case <-timer.C:
		t.log.Warn(fmt.Sprintf("closing the task without its last ack: it did not come within %v", lastAckGrace))
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
	return nil
}
