package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// SourceOptions open a source task.
type SourceOptions struct {
	Connector     string
	Task          int
	Config        map[string]string
	Committed     []connectapi.Position
	MaxBatchBytes int           // at which the plugin closes a batch; 0: 1 MiB
	Credit        int           // bytes of rows that may be on the way and in memory (I4); 0: 4 MiB
	RetryTimeout  time.Duration // how long the plugin retries transient errors by itself; 0: not at all
	AckAgain      time.Duration // after which the last ack is sent again to an idle stream; 0: 5 s

	// ReadTopic answers the plugin's wish to read a topic of bytes from its start: it writes records to w until the end (or,
	// with follow, until ctx ends) and returns. It runs in a goroutine of its own. Nil: such a wish is an error.
	ReadTopic func(ctx context.Context, topic string, follow bool, w *TopicWriter) error
}

// batchQueue is how many batches may wait for Recv; their bytes are bounded by the credit (I4).
const batchQueue = 32

// Source is the stream of a source task. Recv is for one goroutine; Ack, Stop and Report may run beside it.
type Source struct {
	stream
	opts    SourceOptions
	dir     *connectapi.Directory
	batches chan *SourceBatch
	opened  chan struct{}
	lastID  uint64        // of Recv
	in      *SourceBatch  // what is received into
	spare   proto.Message // that a batch left as it was, for the next
	topics  topics

	credit struct {
		sync.Mutex
		owed, out int // bytes of rows released but not granted again; bytes of memory of batches not released
	}
	acks     ackState
	stopOnce sync.Once
}

// SourceBatch is a batch of a source's rows. Its methods are for one goroutine at a time.
type SourceBatch struct {
	ID        uint64
	Count     int
	Positions []connectapi.Mark // in order of rows
	size      int               // of its rows; -1: released
	held      int               // bytes of memory
	frame     connectpb.Frame
	s         *Source
	failure   error
}

// Size returns the bytes of the rows.
func (b *SourceBatch) Size() int { return b.size }

// Rows begins at the first row. The bytes of keys, values and headers are valid until Release.
func (b *SourceBatch) Rows() connectapi.Rows {
	return connectapi.NewRows(b.frame.Rows, b.frame.Base, b.s.dir)
}

// Release gives the batch's memory back and grants its bytes to the plugin again. Not releasing starves the plugin.
func (b *SourceBatch) Release() {
	if b.size >= 0 {
		b.frame.Release()
		b.s.release(b)
		b.size = -1
	}
}

// OpenSource opens a source task and waits until the plugin has.
func (p *Process) OpenSource(ctx context.Context, o SourceOptions) (*Source, error) {
	o.MaxBatchBytes = cmp.Or(o.MaxBatchBytes, 1<<20)
	o.Credit = cmp.Or(o.Credit, 4<<20)
	o.AckAgain = cmp.Or(o.AckAgain, 5*time.Second)
	s := &Source{
		opts: o, dir: connectapi.NewDirectory(), batches: make(chan *SourceBatch, batchQueue), opened: make(chan struct{}),
	}
	err := s.open(ctx, p, connectpb.Connector_Source_FullMethodName, fmt.Sprintf("%s/%d", o.Connector, o.Task),
		&connectpb.ToSource{Msg: &connectpb.ToSource_Open{Open: &connectpb.Open{
			Connector: o.Connector, Task: uint32(o.Task),
			Config:        &connectpb.Config{Connector: o.Connector, Values: o.Config},
			MaxBatchBytes: uint64(o.MaxBatchBytes), RetryTimeoutMs: o.RetryTimeout.Milliseconds(),
			Committed: wire.Positions(o.Committed), MaxMessageBytes: uint64(p.opts.MaxMessageBytes),
		}}})
	if err != nil {
		return nil, err
	}
	s.topics.init(s)
	go s.receive(s.next, s.handle)
	if err := s.waitOpened(ctx, s.opened); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.grant(o.Credit); err != nil {
		s.Close()
		return nil, err
	}
	s.acks.start(o.AckAgain, s.sendAckAgain)
	return s, nil
}

// next gives the receiving goroutine what to receive into: the batch itself, and a message that batches leave as it is.
func (s *Source) next() *connectpb.Frame {
	m := s.spare
	if s.spare = nil; m == nil {
		m = &connectpb.FromSource{}
	}
	s.in = &SourceBatch{s: s, frame: connectpb.Frame{Field: connectpb.SourceBatchField, Msg: m, Later: true}}
	return &s.in.frame
}

func (s *Source) handle(f *connectpb.Frame) error {
	if f.IsBatch {
		return s.batch(f)
	}
	switch m := f.Msg.(*connectpb.FromSource).Msg.(type) {
	case *connectpb.FromSource_Opened:
		select {
		case <-s.opened:
		default:
			close(s.opened)
		}
	case *connectpb.FromSource_Schema:
		return s.wrong(wire.AddSchema(s.dir, m.Schema))
	case *connectpb.FromSource_Route:
		return s.wrong(wire.AddRoute(s.dir, m.Route))
	case *connectpb.FromSource_Report:
		s.setReport(m.Report)
	case *connectpb.FromSource_Failure:
		err := wire.ToError(m.Failure)
		if !errors.Is(err, io.EOF) {
			return err
		}
		return s.hand(&SourceBatch{failure: err, size: -1})
	case *connectpb.FromSource_Read:
		s.topics.request(m.Read)
	case *connectpb.FromSource_Credit:
		s.topics.grant(int(m.Credit.Bytes))
	case *connectpb.FromSource_Closed:
		return io.EOF
	}
	return nil
}

// wrong marks an error as the plugin's breach of the protocol.
func (s *stream) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("task %s broke the protocol: %w", s.name, err)
}

// batch takes a batch into memory. It is decoded in Recv.
func (s *Source) batch(f *connectpb.Frame) error {
	b := s.in
	b.held = f.Held()
	s.spare, f.Msg = f.Msg, nil // from hand on, the batch is Recv's
	s.credit.Lock()
	s.credit.out += b.held
	over := s.credit.out > s.opts.Credit+max(s.p.opts.MaxMessageBytes, s.opts.MaxBatchBytes)
	s.credit.Unlock()
	if over {
		f.Release()
		return s.wrong(fmt.Errorf("it sent more than its credit of %d bytes", s.opts.Credit))
	}
	return s.hand(b)
}

// openBatch decodes a batch; one that cannot be ends the stream.
func (s *Source) openBatch(b *SourceBatch) error {
	f := &b.frame
	err := f.Open()
	if err == nil && f.ID != s.lastID+1 {
		err = fmt.Errorf("batch %d came after %d", f.ID, s.lastID)
	}
	if err == nil {
		if b.Positions, err = wire.ToMarks(f.Positions, f.Count); err != nil {
			err = fmt.Errorf("batch %d: %w", f.ID, err)
		}
	}
	if err != nil {
		f.Release()
		err = s.wrong(err)
		s.cancel(err)
		return err
	}
	s.lastID = f.ID
	b.ID, b.Count, b.size = f.ID, int(f.Count), len(f.Rows)
	return nil
}

// hand gives a batch to Recv, which credit keeps from being far behind.
func (s *Source) hand(b *SourceBatch) error {
	select {
	case s.batches <- b:
		return nil
	case <-s.ctx.Done():
		b.frame.Release()
		return context.Cause(s.ctx)
	}
}

// Recv returns the next batch. Errors: io.EOF once the plugin has closed the task after Stop; a [*connectapi.Error] for the
// task's failure (of kind EndOfInput: nothing more will come, but acks still go and Stop is due); an [*ExitError] if the
// process ended; ctx's.
func (s *Source) Recv(ctx context.Context) (*SourceBatch, error) {
	select {
	case b := <-s.batches:
		return s.ready(b)
	default:
	}
	select {
	case b := <-s.batches:
		return s.ready(b)
	case <-s.ended:
		select {
		case b := <-s.batches: // came before the end
			return s.ready(b)
		default:
			return nil, s.err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Source) ready(b *SourceBatch) (*SourceBatch, error) {
	if b.failure != nil {
		return nil, b.failure
	}
	if err := s.openBatch(b); err != nil {
		return nil, err
	}
	return b, nil
}

func (s *Source) grant(n int) error {
	return s.send(&connectpb.Frame{Msg: &connectpb.ToSource{Msg: &connectpb.ToSource_Credit{Credit: &connectpb.Credit{Bytes: uint64(n)}}}})
}

// release grants again when half of the credit is owed: not a message for every batch. Until then the plugin has the other
// half, less what is out.
func (s *Source) release(b *SourceBatch) {
	s.credit.Lock()
	s.credit.out -= b.held
	s.credit.owed += b.size
	give := 0
	if s.credit.owed >= s.opts.Credit/2 {
		give, s.credit.owed = s.credit.owed, 0
	}
	s.credit.Unlock()
	if give > 0 {
		_ = s.grant(give) // a broken stream shows in Recv
	}
}

// Stop asks the plugin to read no more. Go on with Recv and Ack until Recv returns io.EOF.
func (s *Source) Stop() error {
	var err error
	s.stopOnce.Do(func() {
		err = s.send(&connectpb.Frame{Msg: &connectpb.ToSource{Msg: &connectpb.ToSource_Stop{Stop: &connectpb.Done{}}}})
	})
	return err
}

// Close aborts whatever of the stream is left and waits for its goroutines.
func (s *Source) Close() {
	s.close()
	s.acks.stop()
	s.topics.wait()
	for {
		select {
		case b := <-s.batches:
			b.frame.Release()
		default:
			return
		}
	}
}
