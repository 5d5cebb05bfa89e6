package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// server answers the worker.
type server struct {
	connectpb.UnimplementedConnectorServer
	ctx        context.Context // ends when the process should
	defs       map[string]*connectapi.Definition
	order      []*connectapi.Definition
	maxMessage int
	log        *slog.Logger
	ear        ear

	mu    sync.Mutex
	tasks int
	idle  chan struct{} // closed when no task runs, and replaced
}

func newServer(ctx context.Context, defs []*connectapi.Definition, maxMessage int) *server {
	s := &server{
		ctx: ctx, defs: map[string]*connectapi.Definition{}, order: defs, maxMessage: maxMessage,
		log: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, d := range defs {
		s.defs[d.Name] = d
	}
	s.ear.init(silence())
	return s
}

func (s *server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks++; s.tasks == 1 {
		s.idle = make(chan struct{})
	}
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks--; s.tasks == 0 {
		close(s.idle)
	}
}

// wait waits for tasks to close, so long.
func (s *server) wait(most time.Duration) {
	s.mu.Lock()
	idle, n := s.idle, s.tasks
	s.mu.Unlock()
	if n == 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// guard turns a panic of a connector's code into an error with its trace (I4).
func guard(err *error) {
	if r := recover(); r != nil {
		*err = &connectapi.Error{
			Kind: connectapi.System, Err: fmt.Errorf("the connector panicked: %v", r), Trace: string(debug.Stack()),
		}
	}
}

func (s *server) find(c *connectpb.Config) (*connectapi.Definition, error) {
	d, ok := s.defs[c.GetConnector()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "this plugin has no connector %q", c.GetConnector())
	}
	return d, nil
}

// Describe lists the connectors.
func (s *server) Describe(context.Context, *connectpb.DescribeRequest) (*connectpb.Descriptions, error) {
	out := &connectpb.Descriptions{}
	for _, d := range s.order {
		out.Of = append(out.Of, wire.Description(d))
	}
	return out, nil
}

// Validate gives the findings of the definition and, if values are what it demands, of the connector.
func (s *server) Validate(ctx context.Context, c *connectpb.Config) (_ *connectpb.Validation, err error) {
	d, err := s.find(c)
	if err != nil {
		return nil, err
	}
	findings := d.Config.Findings(c.Values)
	broken := false
	for _, f := range findings {
		broken = broken || len(f.Errors) > 0
	}
	if !broken && d.Validate != nil {
		own, err := s.validate(ctx, d, c.Values)
		if err != nil {
			return nil, wire.Status(err)
		}
		findings = append(findings, own...)
	}
	exactly := false
	if !broken && d.ExactlyOnce != nil {
		if exactly, err = s.promise(d, c.Values); err != nil {
			return nil, wire.Status(err)
		}
	}
	return &connectpb.Validation{Findings: wire.Findings(findings), ExactlyOnce: exactly}, nil
}

func (s *server) promise(d *connectapi.Definition, v map[string]string) (yes bool, err error) {
	defer guard(&err)
	return d.ExactlyOnce(v), nil
}

func (s *server) validate(ctx context.Context, d *connectapi.Definition, v map[string]string) (_ []connectapi.Finding, err error) {
	defer guard(&err)
	return d.Validate(ctx, v)
}

// Tasks splits the work.
func (s *server) Tasks(ctx context.Context, r *connectpb.TasksRequest) (_ *connectpb.TasksReply, err error) {
	d, err := s.find(r.Config)
	if err != nil {
		return nil, err
	}
	values := r.Config.GetValues()
	all := []map[string]string{values}
	if d.Tasks != nil {
		all, err = s.split(ctx, d, values, int(r.Max))
		if err != nil {
			return nil, wire.Status(err)
		}
	}
	out := &connectpb.TasksReply{}
	for _, t := range all {
		out.Tasks = append(out.Tasks, &connectpb.Config{Connector: d.Name, Values: t})
	}
	return out, nil
}

func (s *server) split(ctx context.Context, d *connectapi.Definition, v map[string]string, most int) (_ []map[string]string, err error) {
	defer guard(&err)
	return d.Tasks(ctx, v, most)
}

// Watch runs until the host has enough.
func (s *server) Watch(c *connectpb.Config, out connectpb.Connector_WatchServer) (err error) {
	d, err := s.find(c)
	if err != nil {
		return err
	}
	if d.Watch == nil {
		return status.Errorf(codes.Unimplemented, "connector %s has nothing to watch", d.Name)
	}
	ctx, cancel := context.WithCancel(out.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var mu sync.Mutex
	err = func() (err error) {
		defer guard(&err)
		return d.Watch(ctx, c.Values, func() {
			mu.Lock()
			defer mu.Unlock()
			if out.Send(&connectpb.Changed{}) != nil {
				cancel()
			}
		})
	}()
	if ctx.Err() != nil {
		return nil
	}
	return wire.Status(err)
}

// Alter hands an edit of offsets to the connector.
func (s *server) Alter(ctx context.Context, r *connectpb.AlterRequest) (_ *connectpb.AlterReply, err error) {
	d, err := s.find(r.Config)
	if err != nil {
		return nil, err
	}
	if d.Alter == nil {
		return &connectpb.AlterReply{}, nil
	}
	to, err := wire.ToPositions(r.Positions)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	external, err := func() (_ bool, err error) {
		defer guard(&err)
		return d.Alter(ctx, r.Config.GetValues(), to, r.DryRun)
	}()
	if err != nil {
		return nil, wire.Status(err)
	}
	return &connectpb.AlterReply{External: external}, nil
}

// Deleted tells the connector.
func (s *server) Deleted(ctx context.Context, c *connectpb.Config) (_ *connectpb.Done, err error) {
	d, err := s.find(c)
	if err != nil {
		return nil, err
	}
	if d.Deleted == nil {
		return &connectpb.Done{}, nil
	}
	err = func() (err error) {
		defer guard(&err)
		return d.Deleted(ctx, c.Values)
	}()
	if err != nil {
		return nil, wire.Status(err)
	}
	return &connectpb.Done{}, nil
}
