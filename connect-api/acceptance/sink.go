package acceptance

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// Sink says how to prove a sink connector.
type Sink struct {
	Binary    string
	Env       []string
	Connector string
	Config    map[string]string
	Wrong     map[string]string // a wrong configuration; nil: none is tried
	WrongKey  string            // the key at fault in it

	// Record is record i, of topic "acceptance", partition 0, offset i; nil Key: string values "record <i>".
	Record func(i int) (key, value connectapi.Value)
	// Check fails unless records 0 to n-1 are all in the target, at least once.
	Check func(t *testing.T, n int)
}

const sinkTopic = "acceptance"

var sinkPartition = connectapi.TopicPartition{Topic: sinkTopic}

type sinkRun struct {
	Sink
	durable int64 // as the plugin says
	sent    int64
}

func (s Sink) run(t *testing.T) {
	r := &sinkRun{Sink: s}
	t.Run("Describe", func(t *testing.T) { describe(t, s.Binary, s.Env, s.Connector, true) })
	t.Run("ConfigFindings", func(t *testing.T) {
		findings(t, s.Binary, s.Env, s.Connector, s.Config, s.Wrong, s.WrongKey)
	})
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"WritesAndCommits", r.writes},
		{"ResumesBehindCommitted", r.writes},
		{"KilledBehindCommit", r.killed},
		{"RevokedAndAssignedAgain", r.revoked},
		{"StopsWhenIdle", r.stopsIdle},
	} {
		if !t.Run(c.name, c.run) {
			return
		}
	}
}

func (r *sinkRun) open(t *testing.T) (*host.Process, *host.Sink) {
	t.Helper()
	p := start(t, r.Binary, r.Env)
	ctx := within(t, caseTimeout)
	tasks, err := p.Tasks(ctx, r.Connector, r.Config, 1, nil)
	if err != nil || len(tasks) == 0 {
		t.Fatalf("tasks: %d, %v", len(tasks), err)
	}
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: r.Connector, Config: tasks[0], RetryTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r.assign(t, s)
	return p, s
}

func (r *sinkRun) assign(t *testing.T, s *host.Sink) {
	t.Helper()
	if err := s.Assign(connectapi.Offsets{sinkPartition: r.durable}); err != nil {
		t.Fatal(err)
	}
	r.until(t, s, func(e host.SinkEvent) bool {
		a, ok := e.(*host.Assigned)
		if !ok {
			return false
		}
		from, ok := a.From[sinkPartition]
		if !ok {
			t.Fatalf("assigned says nothing of %v: %v", sinkPartition, a.From)
		}
		r.sent = from
		return true
	})
}

// until receives events until one is the one waited for; failed records are a failure.
func (r *sinkRun) until(t *testing.T, s *host.Sink, done func(host.SinkEvent) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
	defer cancel()
	for {
		e, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *host.Durable:
			for tp, o := range e.Offsets {
				if tp != sinkPartition || o > r.sent || o < r.durable {
					t.Fatalf("offset %d of %v is said to be durable: sent up to %d, durable before %d", o, tp, r.sent, r.durable)
				}
				r.durable = o
			}
		case *host.Failed:
			t.Fatalf("record %d failed: %v", e.Offset, e.Err)
		}
		if done(e) {
			return
		}
	}
}

func (r *sinkRun) send(t *testing.T, s *host.Sink, n int) {
	t.Helper()
	b := s.NewBatch()
	for range n {
		key, value := connectapi.Value{}, connectapi.NewValue(connectapi.StringSchema, []byte(Text(int(r.sent))))
		if r.Record != nil {
			key, value = r.Record(int(r.sent))
		}
		route := &connectapi.Route{Topic: sinkTopic, Key: key.Schema(), Value: value.Schema()}
		if err := b.Append(route, 1_700_000_000_000, r.sent, key.Encoded(), value.Encoded()); err != nil {
			t.Fatal(err)
		}
		r.sent++
	}
	if err := s.Send(within(t, caseTimeout), b, connectapi.Offsets{sinkPartition: r.sent}); err != nil {
		t.Fatal(err)
	}
}

// Text is the value of record i, if a Sink gives no other.
func Text(i int) string { return "record " + string(appendInt(nil, i)) }

func appendInt(b []byte, i int) []byte {
	if i >= 10 {
		b = appendInt(b, i/10)
	}
	return append(b, byte('0'+i%10))
}

// flush asks for everything to be durable.
func (r *sinkRun) flush(t *testing.T, s *host.Sink) {
	t.Helper()
	if err := s.Flush(true); err != nil {
		t.Fatal(err)
	}
	r.until(t, s, func(e host.SinkEvent) bool { _, ok := e.(*host.Flushed); return ok })
	if r.durable != r.sent {
		t.Fatalf("after flush(all) offset %d is durable, %d was sent", r.durable, r.sent)
	}
}

func (r *sinkRun) stop(t *testing.T, s *host.Sink) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for {
		if _, err := s.Recv(ctx); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("stopping: %v", err)
		}
	}
}

func (r *sinkRun) writes(t *testing.T) {
	p, s := r.open(t)
	r.send(t, s, perCase)
	r.send(t, s, perCase)
	r.flush(t, s)
	r.Check(t, int(r.durable))
	r.stop(t, s)
	noneLeft(t, p)
	r.Check(t, int(r.durable))
}

// killed: what was said to be durable is there after a kill, and what was not comes again.
func (r *sinkRun) killed(t *testing.T) {
	p, s := r.open(t)
	r.send(t, s, perCase)
	r.flush(t, s)
	r.send(t, s, perCase)
	kill(t, p)
	r.Check(t, int(r.durable))
	p, s = r.open(t)
	r.send(t, s, perCase)
	r.flush(t, s)
	r.Check(t, int(r.durable))
	r.stop(t, s)
	noneLeft(t, p)
}

func (r *sinkRun) revoked(t *testing.T) {
	_, s := r.open(t)
	r.send(t, s, perCase)
	r.flush(t, s)
	if err := s.Revoke([]connectapi.TopicPartition{sinkPartition}); err != nil {
		t.Fatal(err)
	}
	r.until(t, s, func(e host.SinkEvent) bool { _, ok := e.(*host.Revoked); return ok })
	r.assign(t, s)
	r.send(t, s, perCase)
	r.flush(t, s)
	r.Check(t, int(r.durable))
	if err := s.Lost([]connectapi.TopicPartition{sinkPartition}); err != nil {
		t.Fatal(err)
	}
	r.until(t, s, func(e host.SinkEvent) bool { _, ok := e.(*host.Revoked); return ok })
	r.stop(t, s)
}

func (r *sinkRun) stopsIdle(t *testing.T) {
	p, s := r.open(t)
	r.stop(t, s)
	noneLeft(t, p)
}
