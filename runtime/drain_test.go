package runtime

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// stuckSource gives a runner of a source whose task holds a row that it may not write.
func stuckSource(s *stage) (*Runner, map[string]string) {
	var unsure atomic.Bool
	asked := make(chan struct{}, 1)
	s.rt.cfg.Lease = func() error {
		if !unsure.Load() {
			return nil
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		return errors.New("the coordinator is silent")
	}
	file := filepath.Join(s.t.TempDir(), "in.txt")
	appendLines(s.t, file, "one")
	cfg := fileSource(file)
	r := s.rt.Runner("src", s.callbacks())
	s.run(r, cfg)
	s.lines(1)
	unsure.Store(true)
	appendLines(s.t, file, "two")
	s.until("the task asks for its lease", func() bool { return len(asked) > 0 })
	return r, cfg
}

// stuckSink gives a runner of a sink whose task has written what it gets no answer for when it commits.
func stuckSink(s *stage) (*Runner, map[string]string) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	s.t.Cleanup(func() { close(answer) })
	s.cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		select {
		case asked <- struct{}{}:
		default:
		}
		s.cluster.SleepControl(func() { <-answer })
		return nil, nil, false
	})
	from, to := filepath.Join(s.t.TempDir(), "in.txt"), filepath.Join(s.t.TempDir(), "out.txt")
	appendLines(s.t, from, "one")
	src := s.rt.Runner("src", s.callbacks())
	s.run(src, fileSource(from))
	s.lines(1)
	src.Close()
	s.mu.Lock()
	s.tasks, s.states = nil, nil
	s.mu.Unlock()
	cfg := map[string]string{"name": "snk", "connector.class": "FileStreamSink", "file": to, "topics": "lines"}
	r := s.rt.Runner("snk", s.callbacks())
	s.run(r, cfg)
	s.until("the sink commits", func() bool { return len(asked) > 0 })
	return r, cfg
}

// TestTasksOfALostPlaceAreCutOff: a task that cannot drain has its drain time, but not when the node lost its place.
func TestTasksOfALostPlaceAreCutOff(t *testing.T) {
	for name, stuck := range map[string]func(*stage) (*Runner, map[string]string){"source": stuckSource, "sink": stuckSink} {
		for _, lost := range []bool{false, true} {
			which := "/stopped"
			if lost {
				which = "/lost"
			}
			t.Run(name+which, func(t *testing.T) {
				s := newStage(t)
				s.rt.cfg.Drain = 3 * time.Second
				if lost {
					s.rt.cfg.Drain = 10 * time.Minute
				}
				r, cfg := stuck(s)
				defer r.Close()
				began := time.Now()
				r.Set(Desired{Config: cfg, Target: Started, Lost: lost})
				settled := make(chan struct{})
				go func() { defer close(settled); r.Settled() }()
				select {
				case <-settled:
				case <-time.After(20 * time.Second): // a commit without an answer is given up after 40
					t.Fatal("the task still drains after 20 s")
				}
				if took := time.Since(began); !lost && took < s.rt.cfg.Drain {
					t.Fatalf("the task had %v to drain, not %v", took, s.rt.cfg.Drain)
				}
			})
		}
	}
}

// TestASinkThatJoinsStops: one whose group waits for somebody else before it answers does not wait with it.
func TestASinkThatJoinsStops(t *testing.T) {
	s := newStage(t)
	s.rt.cfg.Drain = time.Second
	cfg := map[string]string{"name": "snk", "connector.class": "FileStreamSink", "file": filepath.Join(t.TempDir(), "out.txt"), "topics": "lines"}
	r := s.rt.Runner("snk", s.callbacks())
	defer r.Close()
	s.run(r, cfg)
	joins, answer := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(answer) })
	s.cluster.ControlKey(int16(kmsg.Heartbeat), func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = kerr.RebalanceInProgress.Code
		return resp, nil, true
	})
	s.cluster.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		select {
		case joins <- struct{}{}:
		default:
		}
		s.cluster.SleepControl(func() { <-answer })
		return nil, nil, false
	})
	s.until("the sink joins again", func() bool { return len(joins) > 0 })
	r.Set(Desired{Config: cfg, Target: Started})
	settled := make(chan struct{})
	go func() { defer close(settled); r.Settled() }()
	select {
	case <-settled:
	case <-time.After(20 * time.Second): // the client gives a request up after 40
		t.Fatal("the task waits for its group")
	}
}
