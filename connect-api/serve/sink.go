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

// sink is a sink task being driven. One goroutine receives and calls the task's methods; the handler waits for its end.
type sink struct {
	stream
	task    connectapi.SinkTask
	dir     *connectapi.Directory
	records connectapi.Records
	next    connectapi.Offsets // behind what was written
	feed    feed
	lent    lent
	owed    int  // bytes not granted again yet
	holds   bool // the task is a Committer

	workMu sync.Mutex // held while the task's methods run
	over   bool       // they may run no more

	sayMu  sync.Mutex
	unsaid connectapi.Offsets // durable, and the host not told yet
	saidAt time.Time
	timer  *time.Timer // tells the host soon
	soon   bool        // timer is running

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
		dir: connectapi.NewDirectory(), next: connectapi.Offsets{}, unsaid: connectapi.Offsets{},
	}
	t.timer = time.AfterFunc(time.Hour, func() { _ = t.sayDurable() }) // a broken stream shows elsewhere
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
	_, t.holds = t.task.(connectapi.Committer)
	err = t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Opened{Opened: &connectpb.Done{}}})
	if err == nil {
		t.owed = sinkCredit
		t.lent.open(t.open.Shared, t.log)
		err = t.grant()
	}
	if err == nil {
		err = t.work()
	}
	t.timer.Stop()
	if t.closeTask(t.task.Close) {
		t.lent.close()
	}
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

// work lets the task work until it ends or the stream or the process does.
func (t *sink) work() error {
	t.feed.init(&t.stream, func() *connectpb.Frame {
		return &connectpb.Frame{Field: connectpb.SinkBatchField, Msg: &connectpb.ToSink{}}
	})
	defer t.feed.close()
	ended := make(chan error, 1)
	go func() { ended <- t.loop() }() // if it waits for the host, it ends with the stream
	select {
	case err := <-ended:
		return err
	case <-t.ctx.Done():
	}
	t.workMu.Lock()
	defer t.workMu.Unlock()
	t.over = true
	return t.ctx.Err()
}

func (t *sink) loop() error {
	for {
		f := t.feed.next()
		if f == nil {
			return t.ctx.Err()
		}
		if err := t.step(f); err != nil {
			return err
		}
	}
}

func (t *sink) step(f *connectpb.Frame) error {
	t.workMu.Lock()
	defer t.workMu.Unlock()
	if t.over {
		f.Release()
		return t.ctx.Err()
	}
	return t.handle(f)
}

// grant gives the host what it is owed.
func (t *sink) grant() error {
	c := &connectpb.Credit{Bytes: uint64(t.owed), Slots: t.lent.owed}
	t.owed, t.lent.owed = 0, nil
	return t.tell(&connectpb.FromSink{Msg: &connectpb.FromSink_Credit{Credit: c}})
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
		if !t.ear.await(t.ctx) {
			f.Release()
			return t.ctx.Err()
		}
		return t.write(f)
	}
	switch f.Msg.(*connectpb.ToSink).Msg.(type) {
	case *connectpb.ToSink_Schema, *connectpb.ToSink_Route:
	default:
		if err := t.sayDurable(); err != nil {
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
	rows, err := t.lent.rows(f)
	if err != nil {
		return &taskFailure{err}
	}
	t.records.Reset(rows, int(f.Count), f.Base, t.dir, t.recordFailed)
	if f.Slot != 0 && !t.lent.copies {
		t.records.Lend()
	}
	if f.Count > 0 {
		err = t.retry(t.ctx, func() (err error) {
			defer guard(&err)
			return t.task.Write(t.ctx, &t.records)
		})
		if err == nil {
			err = t.records.Err()
		}
	}
	switch {
	case f.Slot != 0:
		t.lent.done(f.Slot, t.records.Retained())
	case t.records.Retained():
		f.Forget()
	default:
		f.Release()
	}
	if err != nil {
		return &taskFailure{err}
	}
	for _, n := range f.Next {
		t.next[connectapi.TopicPartition{Topic: n.Topic, Partition: n.Partition}] = n.Offset
	}
	if !t.holds {
		if err := t.durableUpTo(f.Next); err != nil {
			return err
		}
	}
	if t.owed += len(rows); t.owed >= sinkCredit/2 || t.lent.due() { // until then the host has the other half
		return t.grant()
	}
	return nil
}

// durablePause is the least time between two messages about what a plain sink has made durable.
const durablePause = 5 * time.Millisecond

// durableUpTo notes what a plain sink has made durable, and tells the host: what follows closely goes as one message, soon.
func (t *sink) durableUpTo(next []connectpb.NextOffset) error {
	t.sayMu.Lock()
	defer t.sayMu.Unlock()
	for _, n := range next {
		t.unsaid[connectapi.TopicPartition{Topic: n.Topic, Partition: n.Partition}] = n.Offset
	}
	if t.soon {
		return nil
	}
	if since := time.Since(t.saidAt); since < durablePause {
		t.soon = true
		t.timer.Reset(durablePause - since)
		return nil
	}
	return t.say()
}

// sayDurable tells the host now what it was not told yet.
func (t *sink) sayDurable() error {
	t.sayMu.Lock()
	defer t.sayMu.Unlock()
	t.soon = false
	return t.say()
}

func (t *sink) say() error {
	if len(t.unsaid) == 0 {
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
	if !t.ear.await(t.ctx) {
		return t.ctx.Err()
	}
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
		o = maps.Clone(o)
		maps.DeleteFunc(o, func(tp connectapi.TopicPartition, _ int64) bool { _, ours := t.next[tp]; return !ours })
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
