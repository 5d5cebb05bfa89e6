package host

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// SinkOptions open a sink task.
type SinkOptions struct {
	Connector    string
	Task         int
	Config       map[string]string
	RetryTimeout time.Duration // how long the plugin retries transient errors by itself; 0: not at all
}

// SinkEvent is what a sink's plugin says: one of the pointer types of this package that implement it.
type SinkEvent interface{ sinkEvent() }

// Assigned answers Assign: where to begin in each of its partitions.
type Assigned struct{ From connectapi.Offsets }

// Durable says below which offset everything is durable.
type Durable struct{ Offsets connectapi.Offsets }

// Failed names one record, as consumed, that could not be written. It comes before any Durable that passes it.
type Failed struct {
	Record connectapi.TopicPartition
	Offset int64
	Err    error // a *connectapi.Error
}

// Flushed answers Flush.
type Flushed struct{}

// Revoked answers Revoke and Lost.
type Revoked struct{ Partitions []connectapi.TopicPartition }

// Seek asks to go on from other offsets: Assign these partitions again, with them.
type Seek struct{ To connectapi.Offsets }

// CommitRequested asks for a Flush before the interval is over.
type CommitRequested struct{}

func (*Assigned) sinkEvent()        {}
func (*Durable) sinkEvent()         {}
func (*Failed) sinkEvent()          {}
func (*Flushed) sinkEvent()         {}
func (*Revoked) sinkEvent()         {}
func (*Seek) sinkEvent()            {}
func (*CommitRequested) sinkEvent() {}

// Sink is the stream of a sink task. Recv is for one goroutine, NewBatch, Append and Send for one other; the rest may run
// beside them.
type Sink struct {
	stream
	opts    SinkOptions
	events  chan SinkEvent
	opened  chan struct{}
	catalog *connectapi.Catalog
	nextID  uint64
	batch   connectpb.Frame // the one being sent
	guard   sendGuard
	slots   slots

	credit struct {
		sync.Mutex
		bytes   int
		granted chan struct{} // closed and replaced when credit comes
	}
	stopOnce sync.Once
}

// OpenSink opens a sink task and waits until the plugin has.
func (p *Process) OpenSink(ctx context.Context, o SinkOptions) (*Sink, error) {
	s := &Sink{opts: o, events: make(chan SinkEvent, 64), opened: make(chan struct{}), catalog: connectapi.NewCatalog()}
	s.credit.granted = make(chan struct{})
	shared := s.slots.offer(p.log)
	err := s.open(ctx, p, connectpb.Connector_Sink_FullMethodName, fmt.Sprintf("%s/%d", o.Connector, o.Task),
		&connectpb.ToSink{Msg: &connectpb.ToSink_Open{Open: &connectpb.Open{
			Connector: o.Connector, Task: uint32(o.Task),
			Config:         &connectpb.Config{Connector: o.Connector, Values: o.Config},
			RetryTimeoutMs: o.RetryTimeout.Milliseconds(), MaxMessageBytes: uint64(p.opts.MaxMessageBytes), Shared: shared,
		}}})
	if err != nil {
		s.slots.hide()
		return nil, err
	}
	go s.receive(func() *connectpb.Frame { return &connectpb.Frame{Msg: &connectpb.FromSink{}} }, s.handle)
	if err := s.waitOpened(ctx, s.opened); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Sink) handle(f *connectpb.Frame) error {
	switch m := f.Msg.(*connectpb.FromSink).Msg.(type) {
	case *connectpb.FromSink_Opened:
		select {
		case <-s.opened:
		default:
			close(s.opened)
		}
	case *connectpb.FromSink_Credit:
		if err := s.slots.grant(m.Credit.Slots); err != nil {
			return fmt.Errorf("the plugin of task %s broke the protocol: %w", s.name, err)
		}
		s.granted(int(m.Credit.Bytes))
	case *connectpb.FromSink_Durable:
		return s.event(&Durable{wire.ToOffsets(m.Durable.GetOf())})
	case *connectpb.FromSink_Failed:
		r := m.Failed.GetRecord()
		return s.event(&Failed{
			Record: connectapi.TopicPartition{Topic: r.GetTopic(), Partition: r.GetPartition()}, Offset: r.GetOffset(),
			Err: wire.ToError(m.Failed.GetWhy()),
		})
	case *connectpb.FromSink_Seek:
		return s.event(&Seek{wire.ToOffsets(m.Seek.GetOf())})
	case *connectpb.FromSink_Flushed:
		return s.event(&Flushed{})
	case *connectpb.FromSink_Failure:
		return wire.ToError(m.Failure)
	case *connectpb.FromSink_Report:
		s.setReport(m.Report)
	case *connectpb.FromSink_Assigned:
		return s.event(&Assigned{wire.ToOffsets(m.Assigned.GetOf())})
	case *connectpb.FromSink_Revoked:
		return s.event(&Revoked{wire.ToPartitions(m.Revoked)})
	case *connectpb.FromSink_Commit:
		return s.event(&CommitRequested{})
	case *connectpb.FromSink_Closed:
		return io.EOF
	}
	return nil
}

func (s *Sink) event(e SinkEvent) error {
	select {
	case s.events <- e:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// Recv returns the next event. Errors: io.EOF once the plugin has closed the task after Stop; a [*connectapi.Error] for
// the task's failure; an [*ExitError] if the process ended; ctx's.
func (s *Sink) Recv(ctx context.Context) (SinkEvent, error) {
	select {
	case e := <-s.events:
		return e, nil
	default:
	}
	select {
	case e := <-s.events:
		return e, nil
	case <-s.ended:
		select {
		case e := <-s.events: // came before the end
			return e, nil
		default:
			return nil, s.err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Sink) granted(n int) {
	s.credit.Lock()
	defer s.credit.Unlock()
	s.credit.bytes += n
	close(s.credit.granted)
	s.credit.granted = make(chan struct{})
}

// SinkBatch is a batch being filled for a sink.
type SinkBatch struct {
	s    *Sink
	b    *connectapi.Batch
	slot uint32 // of shared memory, in which it is filled; 0: none
}

// NewBatch returns an empty batch. It can be filled again after Send.
func (s *Sink) NewBatch() *SinkBatch {
	b := &SinkBatch{s: s, b: connectapi.NewBatch(s.catalog)}
	b.renew(4 << 10)
	return b
}

// renew takes the rows, and gives the batch other memory: a slot if one is free, else as much as the batch before took.
func (b *SinkBatch) renew(size int) (rows []byte) {
	var next []byte
	if b.slot, next = b.s.slots.take(); b.slot == 0 {
		next = *connectpb.Buffers.Get(cmp.Or(size, 4<<10))
	}
	return b.b.Detach(next)
}

// leastShared is the size from which a batch is shared: a smaller one is copied, so that its slot need not be granted again.
const leastShared = 16 << 10

// rows moves the batch's rows to a frame: a slot's name, or the rows themselves if they do not stand in it.
func (b *SinkBatch) rows(f *connectpb.Frame) {
	size := b.b.Size()
	slot := b.s.slots.memory(b.slot)
	switch {
	case size == 0:
		b.b.Reset()
	case slot == nil:
		f.Rows = b.renew(size)
	case &b.b.Encoded()[0] != &slot[0]: // it grew out of the slot
		f.Rows = b.b.Detach(slot)
	case size < leastShared:
		f.Rows = append((*connectpb.Buffers.Get(size))[:0], b.b.Encoded()...)
		b.b.Reset()
	default:
		f.Slot, f.Length = b.slot, uint32(size)
		b.s.slots.sent(b.slot)
		b.renew(size)
	}
}

// Len returns the number of rows.
func (b *SinkBatch) Len() int { return b.b.Len() }

// Size returns the bytes of the rows.
func (b *SinkBatch) Size() int { return b.b.Size() }

// Reset empties the batch.
func (b *SinkBatch) Reset() { b.b.Reset() }

// Append adds a row: its route's topic is what transforms made of it, Route.ReadFrom (if another) and Route.Partition are as
// consumed. millis is in milliseconds since 1970, or connectapi.NoTime. key and value are in root form under the route's
// schemas, nil for null; they are copied. An error says that the row alone is above the limit of a message; it was not added.
func (b *SinkBatch) Append(
	r *connectapi.Route, millis, offset int64, key, value []byte, headers ...connectapi.Header,
) error {
	size := len(key) + len(value)
	var h connectapi.Headers
	for _, x := range headers {
		h = h.AppendHeader(b.s.catalog, x.Name, x.Value)
		size += len(x.Value.Encoded()) + len(x.Name)
	}
	if limit := b.s.p.opts.MaxMessageBytes; size > limit {
		return &TooLargeError{Size: size, Limit: limit}
	}
	b.b.AppendConsumed(r, millis, offset, key, value, h)
	return nil
}

// Send sends the batch when the plugin's credit allows, and empties it. next are the offsets behind the batch, as consumed;
// with no rows in it, a batch still moves them (filtered records). Send batches of about 1 MiB: one above the limit of a
// message is a [*TooLargeError].
func (s *Sink) Send(ctx context.Context, b *SinkBatch, next connectapi.Offsets) error {
	size := b.b.Size()
	if size > s.p.opts.MaxMessageBytes {
		return fmt.Errorf("writing to task %s: %w", s.name, &TooLargeError{Size: size, Limit: s.p.opts.MaxMessageBytes})
	}
	if err := s.waitCredit(ctx, size); err != nil {
		return fmt.Errorf("writing to task %s: %w", s.name, err)
	}
	schemas, routes := s.catalog.Announce()
	for _, a := range schemas {
		if err := s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Schema{Schema: wire.Schema(a.ID, a.Schema)}}); err != nil {
			return err
		}
	}
	for _, a := range routes {
		if err := s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Route{Route: wire.Route(a)}}); err != nil {
			return err
		}
	}
	s.nextID++
	f := &s.batch
	*f = connectpb.Frame{
		Field: connectpb.SinkBatchField, IsBatch: true, ID: s.nextID, Count: uint32(b.b.Len()), Base: b.b.Base(),
		Next: wire.AppendNext(s.batch.Next[:0], next),
	}
	b.rows(f)
	s.guard.enter(ctx, s.cancel)
	defer s.guard.leave()
	return s.send(f)
}

func (s *Sink) waitCredit(ctx context.Context, n int) error {
	for {
		s.credit.Lock()
		if s.credit.bytes > 0 || n == 0 {
			s.credit.bytes -= n
			s.credit.Unlock()
			return nil
		}
		granted := s.credit.granted
		s.credit.Unlock()
		select {
		case <-granted:
		case <-s.ended:
			return s.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Sink) tell(m *connectpb.ToSink) error { return s.send(&connectpb.Frame{Msg: m}) }

// Assign gives partitions to the task, with the offsets it would begin at; answered by Assigned.
func (s *Sink) Assign(at connectapi.Offsets) error {
	return s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Assign{Assign: wire.Offsets(at)}})
}

// Revoke takes partitions away, after Flush(true); answered by Revoked.
func (s *Sink) Revoke(tps []connectapi.TopicPartition) error {
	return s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Revoke{Revoke: wire.Partitions(tps)}})
}

// Lost takes partitions away that another has already; answered by Revoked.
func (s *Sink) Lost(tps []connectapi.TopicPartition) error {
	return s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Lost{Lost: wire.Partitions(tps)}})
}

// Flush asks what is durable; all: nothing may stay behind. Answered by Durable and Flushed.
func (s *Sink) Flush(all bool) error {
	s.slots.trim()
	return s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Flush{Flush: &connectpb.Flush{All: all}}})
}

// Stop asks the plugin to close the task. Go on with Recv until it returns io.EOF.
func (s *Sink) Stop() error {
	var err error
	s.stopOnce.Do(func() { err = s.tell(&connectpb.ToSink{Msg: &connectpb.ToSink_Stop{Stop: &connectpb.Done{}}}) })
	return err
}

// Close aborts whatever of the stream is left and waits for its goroutine.
func (s *Sink) Close() {
	s.close()
	s.guard.stop()
	s.slots.hide()
}
