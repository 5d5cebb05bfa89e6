package serve

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// sinkCredit is how many bytes of rows may be on the way to one task and in its memory.
const sinkCredit = 4 << 20

// sink is a sink task being driven. The handler calls the task's methods; one goroutine receives, so that the host is never
// held back while it has credit.
type sink struct {
	stream
	task    connectapi.SinkTask
	dir     *connectapi.Directory
	records connectapi.Records
	next    connectapi.Offsets // behind what was written
	in      chan *connectpb.Frame
	owed    int // bytes not granted again yet

	sayMu  sync.Mutex
	unsaid connectapi.Offsets // durable, and the host not told yet
	saidAt time.Time
	timer  *time.Timer // tells the host soon

	failMu sync.Mutex
	failed []*connectpb.Failed
}

// Sink drives one task.
func (s *server) Sink(raw connectpb.Connector_SinkServer) error {
	s.enter()
	defer s.leave()
	first := &connectpb.Frame{Msg: &connectpb.ToSink{}}
	if err := raw.RecvMsg(first); err != nil {
		return err
	}
	open := first.Msg.(*connectpb.ToSink).GetOpen()
	if open == nil {
		return status.Error(codes.InvalidArgument, "a stream begins with Open")
	}
	t := &sink{
		dir: connectapi.NewDirectory(), next: connectapi.Offsets{}, unsaid: connectapi.Offsets{}, in: make(chan *connectpb.Frame, 16),
	}
	t.timer = time.AfterFunc(time.Hour, func() { _ = t.sayDurable(true) }) // a broken stream shows elsewhere
	defer t.timer.Stop()
	if err := t.begin(s, raw, open); err != nil {
		return err
	}
	defer t.stop()
	if t.def.OpenSink == nil {
		return status.Errorf(codes.InvalidArgument, "connector %s is not a sink", t.def.Name)
	}
	return t.run()
}

func (t *sink) run() error {
	err := t.retry(t.ctx, func() (err error) {
		defer guard(&err)
		t.task, err = t.def.OpenSink(t.ctx, t.open.Config.GetValues(), t)
		return err
	})
	if err == nil && t.task == nil {
		err = fmt.Errorf("connector %s opened no task", t.def.Name)
	}
	if err != nil {
		return t.fail(err)
	}
	err = t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Opened{Opened: &connectpb.Done{}}})
	if err == nil {
		err = t.grant(sinkCredit)
	}
	go t.receive() // ends with the stream
	for err == nil {
		select {
		case f := <-t.in:
			err = t.handle(f)
		case <-t.ctx.Done():
			err = t.ctx.Err()
		}
	}
	t.timer.Stop()
	t.closeTask(t.task.Close)
	var own *taskFailure
	switch {
	case errors.Is(err, errStopped):
		return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Closed{Closed: &connectpb.Done{}}})
	case errors.As(err, &own):
		return t.fail(own.err)
	}
	return err
}

var errStopped = errors.New("stopped")

func (t *sink) fail(err error) error {
	if e := connectapi.AsError(err); e.Trace != "" {
		t.log.Error(e.Error(), "trace", e.Trace)
	}
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Failure{Failure: wire.Failure(err)}})
}

func (t *sink) receive() {
	defer t.stop()
	for {
		f := &connectpb.Frame{Field: connectpb.SinkBatchField, Msg: &connectpb.ToSink{}}
		if err := t.raw.RecvMsg(f); err != nil {
			return
		}
		select {
		case t.in <- f:
		case <-t.ctx.Done():
			f.Release()
			return
		}
	}
}

func (t *sink) grant(n int) error {
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Credit{Credit: &connectpb.Credit{Bytes: uint64(n)}}})
}

// Report tells the host what the task waits for; not more often than a person reads.
func (t *sink) Report(waitingFor string, metrics map[string]float64) {
	if !t.reportDue(waitingFor) {
		return
	}
	_ = t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Report{Report: report(waitingFor, metrics)}}) // a broken stream shows elsewhere
}

// RequestCommit asks the host for a flush.
func (t *sink) RequestCommit() {
	_ = t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Commit{Commit: &connectpb.Done{}}}) // a broken stream shows elsewhere
}

func (t *sink) handle(f *connectpb.Frame) error {
	if f.IsBatch {
		return t.write(f)
	}
	switch f.Msg.(*connectpb.ToSink).Msg.(type) {
	case *connectpb.ToSink_Schema, *connectpb.ToSink_Route:
	default:
		if err := t.sayDurable(true); err != nil {
			return err
		}
	}
	switch m := f.Msg.(*connectpb.ToSink).Msg.(type) {
	case *connectpb.ToSink_Schema:
		return wire.AddSchema(t.dir, m.Schema)
	case *connectpb.ToSink_Route:
		return wire.AddRoute(t.dir, m.Route)
	case *connectpb.ToSink_Assign:
		return t.assign(wire.ToOffsets(m.Assign.GetOf()))
	case *connectpb.ToSink_Revoke:
		return t.revoke(wire.ToPartitions(m.Revoke), false)
	case *connectpb.ToSink_Lost:
		return t.revoke(wire.ToPartitions(m.Lost), true)
	case *connectpb.ToSink_Flush:
		return t.flush(m.Flush.GetAll())
	case *connectpb.ToSink_Stop:
		return errStopped
	}
	return nil
}

// write hands a batch to the task, and tells the host what became of it.
func (t *sink) write(f *connectpb.Frame) error {
	size := len(f.Rows)
	t.records.Reset(f.Rows, int(f.Count), f.Base, t.dir, t.recordFailed)
	var err error
	if f.Count > 0 {
		err = t.retry(t.ctx, func() (err error) {
			defer guard(&err)
			return t.task.Write(t.ctx, &t.records)
		})
		if err == nil {
			err = t.records.Err()
		}
	}
	if t.records.Retained() {
		f.Forget()
	} else {
		f.Release()
	}
	if err != nil {
		return &taskFailure{err}
	}
	next := wire.ToOffsets(f.Next)
	maps.Copy(t.next, next)
	if _, holds := t.task.(connectapi.Committer); !holds {
		t.sayMu.Lock()
		maps.Copy(t.unsaid, next)
		t.sayMu.Unlock()
		if err := t.sayDurable(false); err != nil {
			return err
		}
	}
	if t.owed += size; t.owed >= sinkCredit/4 { // until then the host has the other three quarters
		n := t.owed
		t.owed = 0
		return t.grant(n)
	}
	return nil
}

// durablePause is the least time between two messages about what a plain sink has made durable.
const durablePause = 2 * time.Millisecond

// sayDurable tells the host what a plain sink has made durable; what follows closely goes as one message, soon.
func (t *sink) sayDurable(now bool) error {
	t.sayMu.Lock()
	defer t.sayMu.Unlock()
	if len(t.unsaid) == 0 {
		return nil
	}
	since := time.Since(t.saidAt)
	if !now && since < durablePause {
		t.timer.Reset(durablePause - since)
		return nil
	}
	t.saidAt = time.Now()
	err := t.durable(t.unsaid)
	clear(t.unsaid)
	return err
}

// recordFailed notes a failed record; a Committer may fail one from any goroutine, any time before the commit that passes it.
func (t *sink) recordFailed(r *connectapi.Record, err error) {
	if err == nil {
		err = errors.New("the connector gave no reason")
	}
	e := connectapi.AsError(err)
	if e.Kind == connectapi.System {
		e = &connectapi.Error{Kind: connectapi.Data, Err: err, Trace: e.Trace}
	}
	t.failMu.Lock()
	defer t.failMu.Unlock()
	t.failed = append(t.failed, &connectpb.Failed{
		Record: &connectpb.PartitionOffset{Topic: r.Original.Topic, Partition: r.Original.Partition, Offset: r.Original.Offset},
		Why:    wire.Failure(e),
	})
}

// durable sends failed records first, then the offsets that pass them.
func (t *sink) durable(o connectapi.Offsets) error {
	t.failMu.Lock()
	failed := t.failed
	t.failed = nil
	t.failMu.Unlock()
	for _, f := range failed {
		if err := t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Failed{Failed: f}}); err != nil {
			return err
		}
	}
	if len(o) == 0 {
		return nil
	}
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Durable{Durable: wire.Offsets(o)}})
}

func (t *sink) flush(all bool) error {
	o := t.next
	if c, ok := t.task.(connectapi.Committer); ok {
		err := t.retry(t.ctx, func() (err error) {
			defer guard(&err)
			o, err = c.Commit(t.ctx, all)
			return err
		})
		if err != nil {
			return &taskFailure{err}
		}
	}
	if err := t.durable(o); err != nil {
		return err
	}
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Flushed{Flushed: &connectpb.Done{}}})
}

func (t *sink) assign(at connectapi.Offsets) error {
	from := maps.Clone(at)
	if a, ok := t.task.(connectapi.Assigner); ok {
		var own connectapi.Offsets
		err := t.retry(t.ctx, func() (err error) {
			defer guard(&err)
			own, err = a.Assigned(t.ctx, at)
			return err
		})
		if err != nil {
			return &taskFailure{err}
		}
		for tp, o := range own {
			if _, ours := at[tp]; ours {
				from[tp] = o
			}
		}
	}
	maps.Copy(t.next, from)
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Assigned{Assigned: wire.Offsets(from)}})
}

func (t *sink) revoke(gone []connectapi.TopicPartition, lost bool) error {
	if a, ok := t.task.(connectapi.Assigner); ok {
		err := func() (err error) {
			defer guard(&err)
			return a.Revoked(t.ctx, gone, lost)
		}()
		if err != nil {
			return &taskFailure{err}
		}
	}
	for _, tp := range gone {
		delete(t.next, tp)
	}
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Revoked{Revoked: wire.Partitions(gone)}})
}
