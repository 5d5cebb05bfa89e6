package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
	"github.com/penstockio/penstock/broker/txn"
)

// Parts are what the server stands on.
type Parts struct {
	Store  store.API
	Topics *topic.Registry
	Groups *group.Coordinator
	Txns   *txn.Coordinator
	Auth   Authorizer
}

// Server serves the Kafka protocol on any number of listeners and single connections.
type Server struct {
	cfg     Config
	st      store.API
	topics  *topic.Registry
	groups  *group.Coordinator
	txns    *txn.Coordinator
	auth    Authorizer
	log     *slog.Logger
	metrics *metrics
	answers memory // of Fetch answers under way

	drain     context.Context // ends when the server stops taking requests
	drainNow  context.CancelFunc
	conns     sync.WaitGroup
	mu        sync.Mutex
	open      map[*conn]struct{}
	listeners map[net.Listener]struct{}
	counts    map[string]int // connections by listener
	clamped   sync.Once
	misfits   sparing // lines about requests that can't be decoded
	panics    atomic.Int64
}

// ErrClosed is returned by Serve and ServeConn after Close.
var ErrClosed = errors.New("the Kafka server is closed")

// New makes a server; it serves nothing until Serve or ServeConn is called.
func New(cfg Config, p Parts, log *slog.Logger, reg prometheus.Registerer) *Server {
	if cfg.FetchBytes <= 0 {
		cfg.FetchBytes = defaultFetchBytes
	}
	s := &Server{
		cfg:       cfg,
		st:        p.Store,
		topics:    p.Topics,
		groups:    p.Groups,
		txns:      p.Txns,
		auth:      p.Auth,
		log:       log.With("component", "kafka"),
		answers:   memory{size: answerMemory, floor: answerFloor},
		open:      map[*conn]struct{}{},
		listeners: map[net.Listener]struct{}{},
		counts:    map[string]int{},
	}
	s.metrics = newMetrics(reg, s)
	s.drain, s.drainNow = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections of a listener until Close, or until accepting fails for good.
func (s *Server) Serve(ln net.Listener, name string, limits Limits) error {
	s.mu.Lock()
	if s.drain.Err() != nil {
		s.mu.Unlock()
		ln.Close()
		return ErrClosed
	}
	s.listeners[ln] = struct{}{}
	s.mu.Unlock()
	defer ln.Close()
	for backoff := 5 * time.Millisecond; ; {
		nc, err := ln.Accept()
		if s.drain.Err() != nil {
			if nc != nil {
				nc.Close()
			}
			return ErrClosed
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accepting on listener %s: %w", name, err)
			}
			s.log.Warn("accepting a connection failed; trying again", "listener", name, "in", backoff, "error", err)
			select { // out of file descriptors, most likely: others must get the time to close some
			case <-time.After(backoff):
			case <-s.drain.Done():
			}
			backoff = min(2*backoff, time.Second)
			continue
		}
		backoff = 5 * time.Millisecond
		if tc, ok := nc.(*net.TCPConn); ok {
			_ = tc.SetNoDelay(true)
		}
		session := &Session{Principal: "User:ANONYMOUS", Address: nc.RemoteAddr().String(), Listener: name}
		if err := s.ServeConn(nc, session, limits); err != nil {
			s.log.Warn("refusing a connection", "peer", session.Address, "error", err)
		}
	}
}

// ServeConn serves one connection in the background, for a session somebody else vouches for. It owns nc from then on,
// also when it returns an error.
func (s *Server) ServeConn(nc net.Conn, session *Session, limits Limits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drain.Err() != nil {
		nc.Close()
		return ErrClosed
	}
	if s.counts[session.Listener] >= limits.Connections {
		nc.Close()
		return fmt.Errorf("listener %s has %d connections, its limit", session.Listener, limits.Connections)
	}
	c := newConn(s, nc, session, limits)
	s.open[c] = struct{}{}
	s.counts[session.Listener]++
	s.metrics.connections.Inc()
	s.conns.Go(func() {
		c.run(s.drain)
		s.mu.Lock()
		delete(s.open, c)
		s.counts[session.Listener]--
		s.mu.Unlock()
		s.metrics.connections.Dec()
	})
	return nil
}

// Drain stops taking requests, answers those under way, and closes every connection: at once when ctx ends.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.drainNow()
	for ln := range s.listeners {
		ln.Close()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	n := len(s.open)
	for c := range s.open {
		c.nc.Close()
	}
	s.mu.Unlock()
	<-done
	return fmt.Errorf("draining connections: %d were cut: %w", n, context.Cause(ctx))
}

// throttle is the one place where a session is slowed down (I4). There are no quotas yet, so the time is always zero.
func (s *Server) throttle(_ *Session, _ int16, resp kmsg.Response) {
	if t, ok := resp.(kmsg.SetThrottleResponse); ok {
		t.SetThrottle(0)
	}
}

// Panics counts the requests whose handler panicked: each is a bug.
func (s *Server) Panics() int { return int(s.panics.Load()) }
