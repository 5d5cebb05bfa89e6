package host

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// watch kills a process that runs but does not answer any more: stopped, stuck in the kernel, or its server deadlocked. Its
// streams would wait for ever, and look like ones with nothing to do. A task that is slow or stuck while the server answers is
// not its business. Any answer counts, an error too.
func (p *Process) watch() {
	health := grpc_health_v1.NewHealthClient(p.conn)
	pause := p.opts.AnswerTimeout / 4
	if p.opts.Silence > 0 {
		pause = min(pause, p.opts.Silence/5)
	}
	every := time.NewTicker(pause)
	defer every.Stop()
	silent := 0
	for {
		select {
		case <-p.exited:
			return
		case <-p.stopping:
			return
		case <-every.C:
		}
		if p.opts.Lease != nil && p.opts.Lease() != nil {
			continue // the plugin is to hear nothing
		}
		// Two halves, not one whole: after a suspend of this worker itself the clock alone has run out, and the second is answered.
		ctx, cancel := context.WithTimeout(context.Background(), p.opts.AnswerTimeout/2)
		_, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			silent = 0
			continue
		}
		if silent++; silent == 2 {
			p.hung.Store(true)
			p.log.Error("the plugin's process does not answer any more and is killed", "pid", p.PID(), "after", p.opts.AnswerTimeout)
			_ = killGroup(p.PID())
			return
		}
	}
}

// ending tells how the process ended.
func (p *Process) ending() string {
	if p.hung.Load() {
		return fmt.Sprintf("it had not answered for %v and was killed", p.opts.AnswerTimeout)
	}
	return p.status
}
