package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// stream is what tasks of both kinds share.
type stream struct {
	raw  grpc.ServerStream
	ctx  context.Context // ends with the stream, and with the process
	stop context.CancelFunc
	open *connectpb.Open
	log  *slog.Logger
	def  *connectapi.Definition
	ear  *ear

	mu sync.Mutex // sending: gRPC allows one sender

	reportMu   sync.Mutex
	reported   string
	reportedAt time.Time
}

// reportEvery bounds how often the same is reported.
const reportEvery = 500 * time.Millisecond

// reportDue says whether a report is worth a message: another reason to wait, or some time after the last.
func (s *stream) reportDue(waitingFor string) bool {
	s.reportMu.Lock()
	defer s.reportMu.Unlock()
	now := time.Now()
	if waitingFor == s.reported && now.Sub(s.reportedAt) < reportEvery {
		return false
	}
	s.reported, s.reportedAt = waitingFor, now
	return true
}

func (s *stream) send(f *connectpb.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.SendMsg(f)
}

func (s *stream) tell(m proto.Message) error { return s.send(&connectpb.Frame{Msg: m}) }

// begin reads Open.
func (s *stream) begin(srv *server, raw grpc.ServerStream, open *connectpb.Open) (err error) {
	s.raw, s.open, s.ear = raw, open, &srv.ear
	ctx, cancel := context.WithCancel(raw.Context())
	release := context.AfterFunc(srv.ctx, cancel)
	s.ctx, s.stop = ctx, func() { cancel(); release() }
	if s.def, err = srv.find(&connectpb.Config{Connector: open.GetConnector()}); err != nil {
		return err
	}
	s.log = srv.log.With("connector_class", s.def.Name, "task", open.Task)
	return nil
}

// Log is the task's logger.
func (s *stream) Log() *slog.Logger { return s.log }

func report(waitingFor string, metrics map[string]float64) *connectpb.Report {
	return &connectpb.Report{WaitingFor: waitingFor, Metrics: metrics}
}

// retry calls f again while its errors are transient, for at most the time the host allows.
func (s *stream) retry(ctx context.Context, f func() error) error {
	var since time.Time
	backoff := 100 * time.Millisecond
	for {
		err := f()
		e := connectapi.AsError(err)
		if e == nil || e.Kind != connectapi.Transient {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		wait := e.After
		if wait <= 0 {
			wait, backoff = backoff, min(2*backoff, 10*time.Second)
		}
		limit := time.Duration(s.open.RetryTimeoutMs) * time.Millisecond
		if time.Since(since)+wait > limit {
			return err
		}
		s.log.Warn("trying again", "after", wait.String(), "error", err.Error())
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const closeGrace = 10 * time.Second

// closeTask calls a task's Close with a deadline of its own: the stream may be gone already. It returns whether Close did.
func (s *stream) closeTask(close func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeGrace)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- func() (err error) { defer guard(&err); return close(ctx) }()
	}()
	select {
	case err := <-done:
		if err != nil {
			s.log.Warn("closing the task", "error", err.Error())
		}
		return true
	case <-ctx.Done():
		s.log.Error(fmt.Sprintf("closing the task took more than %v", closeGrace))
		return false
	}
}
