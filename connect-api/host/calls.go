package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// Descriptions is what a binary says about its connectors.
type Descriptions struct {
	Of        []Description
	DependsOn []string // folders whose change makes the answer stale
}

// Description describes one connector.
type Description struct {
	connectapi.Info
	Sink       bool // otherwise a source
	Config     *connectapi.ConfigDef
	Boundaries bool // its tasks mark transactions
}

// Validation is what a plugin finds about a configuration.
type Validation struct {
	Findings    []connectapi.Finding
	ExactlyOnce bool
}

// call makes one call with its deadline; an error is the plugin's own (a [*connectapi.Error]), an [*ExitError], or ctx's.
func call[T any](ctx context.Context, p *Process, what string, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.CallTimeout,
		fmt.Errorf("no answer within %v: %w", p.opts.CallTimeout, context.DeadlineExceeded))
	defer cancel()
	v, err := f(ctx)
	if err == nil {
		return v, nil
	}
	if e := wire.FromStatus(err); e != err { // identity: it was the plugin's own
		var own *connectapi.Error
		if errors.As(e, &own) && !p.soonGone() {
			return v, e
		}
		return v, e
	}
	return v, fmt.Errorf("asking plugin %s for %s: %w", p.opts.Path, what, p.explain(ctx, err))
}

func (p *Process) soonGone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Describe asks for the binary's connectors.
func (p *Process) Describe(ctx context.Context) (*Descriptions, error) {
	m, err := call(ctx, p, "its description", func(ctx context.Context) (*connectpb.Descriptions, error) {
		return p.api.Describe(ctx, &connectpb.DescribeRequest{})
	})
	if err != nil {
		return nil, err
	}
	out := &Descriptions{DependsOn: m.DependsOn}
	for _, d := range m.Of {
		def, err := wire.ToConfigDef(d.Config)
		if err != nil {
			return nil, fmt.Errorf("reading the description of connector %s of %s: %w", d.Name, p.opts.Path, err)
		}
		if d.Name == "" || d.Kind == connectpb.Description_UNKNOWN {
			return nil, fmt.Errorf("reading the description of a connector of %s: it has no name, or is neither source nor sink", p.opts.Path)
		}
		x := Description{
			Info: connectapi.Info{Name: d.Name, Version: d.Version, Doc: d.Doc, Aliases: d.Aliases, WantsProduced: d.WantsProduced},
			Sink: d.Kind == connectpb.Description_SINK, Config: def, Boundaries: d.TransactionBoundaries,
		}
		for _, m := range d.Metrics {
			x.Metrics = append(x.Metrics, connectapi.Metric{
				Name: m.Name, Unit: m.Unit, Help: m.Help, Counter: m.Kind == connectpb.Metric_COUNTER,
			})
		}
		out.Of = append(out.Of, x)
	}
	return out, nil
}

// Validate asks what is wrong with a configuration; the plugin may connect.
func (p *Process) Validate(ctx context.Context, connector string, config map[string]string) (*Validation, error) {
	m, err := call(ctx, p, "a validation", func(ctx context.Context) (*connectpb.Validation, error) {
		return p.api.Validate(ctx, &connectpb.Config{Connector: connector, Values: config})
	})
	if err != nil {
		return nil, err
	}
	return &Validation{Findings: wire.ToFindings(m.Findings), ExactlyOnce: m.ExactlyOnce}, nil
}

// Tasks asks for the configurations of at most max tasks.
func (p *Process) Tasks(
	ctx context.Context, connector string, config map[string]string, max int, committed []connectapi.Position,
) ([]map[string]string, error) {
	m, err := call(ctx, p, "tasks", func(ctx context.Context) (*connectpb.TasksReply, error) {
		return p.api.Tasks(ctx, &connectpb.TasksRequest{
			Config: &connectpb.Config{Connector: connector, Values: config}, Max: uint32(max), Committed: wire.Positions(committed),
		})
	})
	if err != nil {
		return nil, err
	}
	if len(m.Tasks) > max {
		return nil, fmt.Errorf("connector %s made %d tasks where %d are allowed", connector, len(m.Tasks), max)
	}
	out := make([]map[string]string, len(m.Tasks))
	for i, t := range m.Tasks {
		out[i] = t.Values
	}
	return out, nil
}

// Watch calls changed, from this goroutine, whenever the plugin asks for Tasks again. It returns nil at once if the
// connector has nothing to watch, ctx's error when it ends, or what broke the watch.
func (p *Process) Watch(ctx context.Context, connector string, config map[string]string, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := p.api.Watch(ctx, &connectpb.Config{Connector: connector, Values: config})
	for err == nil {
		if _, err = s.Recv(); err == nil {
			changed()
		}
	}
	if status.Code(err) == codes.Unimplemented || err == io.EOF && ctx.Err() == nil {
		return nil
	}
	if e := wire.FromStatus(err); e != err { // identity
		return e
	}
	return fmt.Errorf("watching connector %s: %w", connector, p.explain(ctx, err))
}

// Alter tells the plugin that a user edits source offsets; an error refuses. external: offsets kept outside were changed too.
func (p *Process) Alter(
	ctx context.Context, connector string, config map[string]string, to []connectapi.Position, dryRun bool,
) (external bool, err error) {
	m, err := call(ctx, p, "a change of offsets", func(ctx context.Context) (*connectpb.AlterReply, error) {
		return p.api.Alter(ctx, &connectpb.AlterRequest{
			Config: &connectpb.Config{Connector: connector, Values: config}, Positions: wire.Positions(to), DryRun: dryRun,
		})
	})
	if status.Code(err) == codes.Unimplemented {
		return false, nil
	}
	return m.GetExternal(), err
}

// Deleted tells the plugin that the connector was deleted.
func (p *Process) Deleted(ctx context.Context, connector string, config map[string]string) error {
	_, err := call(ctx, p, "cleaning up", func(ctx context.Context) (*connectpb.Done, error) {
		return p.api.Deleted(ctx, &connectpb.Config{Connector: connector, Values: config})
	})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}
