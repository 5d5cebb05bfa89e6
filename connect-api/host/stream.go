package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// Report is what a task last said of itself.
type Report struct {
	At         time.Time // zero: nothing yet
	WaitingFor string    // why nothing moves; empty: nothing
	Metrics    map[string]float64
}

// stream is what the streams of sources and sinks share: sending under a lock, one goroutine that receives, the end.
type stream struct {
	p      *Process
	name   string // "connector/task", for errors
	raw    grpc.ClientStream
	cancel context.CancelCauseFunc
	ctx    context.Context

	mu     sync.Mutex // sending: gRPC allows one sender
	report atomic.Pointer[Report]

	ended chan struct{} // closed when the receiving goroutine is gone
	err   error         // valid once ended is closed; io.EOF after closed
}

var errClosed = errors.New("the stream was closed")

// open starts a stream and sends Open. The stream's life is not ctx's, but the process's and Close's.
func (s *stream) open(ctx context.Context, p *Process, method, name string, first proto.Message) error {
	s.p, s.name, s.ended = p, name, make(chan struct{})
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	raw, err := p.conn.NewStream(s.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		s.cancel(errClosed)
		return fmt.Errorf("opening task %s: %w", name, p.explain(ctx, err))
	}
	s.raw = raw
	if err := s.send(&connectpb.Frame{Msg: first}); err != nil {
		s.cancel(errClosed)
		return fmt.Errorf("opening task %s: %w", name, err)
	}
	return nil
}

func (s *stream) send(f *connectpb.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.raw.SendMsg(f); err != nil {
		return fmt.Errorf("writing to task %s: %w", s.name, s.cause(err))
	}
	return nil
}

// receive runs handle for every message until the stream ends; it is the stream's one goroutine.
func (s *stream) receive(next func() *connectpb.Frame, handle func(*connectpb.Frame) error) {
	defer close(s.ended)
	defer func() { // a send that comes too late tells the plugin's reason
		if s.err == io.EOF { //nolint:errorlint // the value itself, from handle
			s.cancel(errClosed)
		} else {
			s.cancel(s.err)
		}
	}()
	for {
		f := next()
		err := s.raw.RecvMsg(f)
		if err == nil {
			err = handle(f)
		} else {
			err = s.cause(err)
		}
		if err != nil {
			s.err = err
			return
		}
	}
}

// cause says why a stream broke.
func (s *stream) cause(err error) error {
	if c := context.Cause(s.ctx); c != nil {
		return c
	}
	if e := wire.FromStatus(err); e != err { // identity
		return e
	}
	if status.Code(err) == codes.ResourceExhausted {
		return fmt.Errorf("a message above the limit of %d bytes between worker and plugin: raise the limit, or make records smaller: %w",
			s.p.opts.MaxMessageBytes, err)
	}
	if err == io.EOF { // gRPC's: the stream ended without closed
		err = errEarly
	}
	return s.p.explain(s.ctx, err)
}

var errEarly = status.Error(codes.Unavailable, "the plugin ended the stream without closing it")

// waitOpened waits for the first answer.
func (s *stream) waitOpened(ctx context.Context, opened <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.p.opts.CallTimeout,
		fmt.Errorf("no answer within %v: %w", s.p.opts.CallTimeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case <-opened:
		return nil
	case <-s.ended:
		return fmt.Errorf("opening task %s: %w", s.name, s.err)
	case <-ctx.Done():
		s.close()
		return fmt.Errorf("opening task %s: %w", s.name, context.Cause(ctx))
	}
}

// close aborts what is left and waits for the goroutine.
func (s *stream) close() {
	s.cancel(errClosed)
	<-s.ended
}

// Report returns what the task last said of itself.
func (s *stream) Report() Report {
	if r := s.report.Load(); r != nil {
		return *r
	}
	return Report{}
}

func (s *stream) setReport(m *connectpb.Report) {
	s.report.Store(&Report{At: time.Now(), WaitingFor: m.WaitingFor, Metrics: m.Metrics})
}

// Done is closed when nothing more comes.
func (s *stream) Done() <-chan struct{} { return s.ended }
