package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of a request (I3).
const (
	maxBody        = 8 << 20
	requestTimeout = 90 * time.Second // Kafka Connect's
	healthTimeout  = 10 * time.Second
)

// Server is the HTTP server of a node.
type Server struct {
	worker    Worker // nil on a monitor
	check     func(context.Context) (started bool, err error)
	opts      Options
	peers     *http.Client // calls other workers
	log       *slog.Logger
	endpoints []endpoint
}

// endpoint is a listener and what serves it.
type endpoint struct {
	*http.Server
	ln net.Listener
}

// Listen opens listeners: a list, parted by commas, of host:port or http://host:port, where an empty host means every interface.
func Listen(addresses string) ([]net.Listener, error) {
	var out []net.Listener
	for address := range strings.SplitSeq(addresses, ",") {
		ln, err := listen(strings.TrimSpace(address))
		if err != nil {
			for _, ln := range out {
				_ = ln.Close() // never served
			}
			return nil, err
		}
		out = append(out, ln)
	}
	return out, nil
}

func listen(address string) (net.Listener, error) {
	addr := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")
	if strings.HasPrefix(addr, "https://") {
		return nil, fmt.Errorf("listeners: %s: https is not served yet; put a proxy in front, or use http", address)
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("opening the REST listener on %s: the port is in use by another process: stop it, or choose another with --rest-listen", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the REST listener (listeners=%s): %w", address, err)
	}
	return ln, nil
}

// New makes a server on open listeners; Serve starts it.
func New(lns []net.Listener, w Worker, metrics prometheus.Gatherer, log *slog.Logger, opts Options) *Server {
	s := &Server{worker: w, check: w.Health, opts: opts, log: log, peers: newPeers()}
	e := s.engine()
	s.monitor(e, metrics)
	s.routes(e)
	s.listen(lns, e)
	admin := e
	if opts.Admin != nil {
		admin = s.engine()
		s.listen(opts.Admin, admin)
	}
	s.admin(admin)
	return s
}

// NewMonitor makes a server that tells health and metrics alone, for a node without a worker. check says why the node
// can't do all its work, nil if it can.
func NewMonitor(lns []net.Listener, check func() error, metrics prometheus.Gatherer, log *slog.Logger, opts Options) *Server {
	s := &Server{check: func(context.Context) (bool, error) { return true, check() }, opts: opts, log: log}
	e := s.engine()
	s.monitor(e, metrics)
	s.listen(lns, e)
	return s
}

// engine makes what every interface has: errors in one shape, and names with slashes.
func (s *Server) engine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseRawPath, e.UnescapePathValues = true, false // names may hold an encoded slash; see param
	e.RedirectTrailingSlash, e.HandleMethodNotAllowed = false, true
	e.Use(s.recover)
	e.NoRoute(func(c *gin.Context) { fail(c, http.StatusNotFound, "HTTP 404 Not Found") })
	e.NoMethod(func(c *gin.Context) { fail(c, http.StatusMethodNotAllowed, "HTTP 405 Method Not Allowed") })
	return e
}

func (s *Server) monitor(e *gin.Engine, metrics prometheus.Gatherer) {
	e.GET("/metrics", gin.WrapH(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)})))
	e.GET("/health", s.health)
	e.GET("/health/ready", s.health)
	e.GET("/health/live", s.live)
}

// listen serves e on listeners, within limits (I3) and guarded.
func (s *Server) listen(lns []net.Listener, e *gin.Engine) {
	for _, ln := range lns {
		s.endpoints = append(s.endpoints, endpoint{&http.Server{
			Handler:           s.guard(ln, trimSlash(e)),
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       requestTimeout,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		}, ln})
	}
}

// Serve answers requests until Shutdown, or until it fails on one listener.
func (s *Server) Serve() error {
	ended := make(chan error, len(s.endpoints))
	for _, e := range s.endpoints {
		go func() {
			err := e.Serve(e.ln)
			if errors.Is(err, http.ErrServerClosed) {
				ended <- nil
				return
			}
			ended <- fmt.Errorf("serving REST on %s: %w", e.ln.Addr(), err)
		}()
	}
	for range s.endpoints {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// Shutdown lets requests in progress end, until ctx does; then it cuts them off, which is no failure: one may wait for another
// worker that does not answer.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	for _, e := range s.endpoints {
		one := e.Shutdown(ctx)
		if errors.Is(one, context.DeadlineExceeded) {
			s.log.Warn("calls of the REST interface did not end in time and are cut off")
			one = e.Close()
		}
		err = errors.Join(err, one)
	}
	if s.peers != nil {
		s.peers.CloseIdleConnections()
	}
	return err
}

// admin are calls for whoever runs the node; they work before it is ready.
func (s *Server) admin(e *gin.Engine) {
	e.GET("/admin/loggers", s.loggers)
	e.GET("/admin/loggers/:logger", s.logger)
	e.PUT("/admin/loggers/:logger", s.setLogger)
}

func (s *Server) routes(root *gin.Engine) {
	e := root.Group("", s.ready)
	e.GET("/", s.root)
	e.GET("/connectors", s.list)
	leader := s.forwarded(func(ctx context.Context, _ *gin.Context) (string, error) { return s.worker.Leader(ctx) })
	owner := s.forwarded(s.owner)
	e.POST("/connectors", leader(s.create))
	c := e.Group("/connectors/:name")
	c.GET("", s.info)
	c.DELETE("", leader(s.remove))
	c.GET("/config", s.config)
	c.PUT("/config", leader(s.putConfig))
	c.PATCH("/config", leader(s.patchConfig))
	c.GET("/status", s.status)
	c.GET("/tasks", s.tasks)
	c.POST("/tasks", s.signed(s.worker.PutTasks))
	c.PUT("/fence", s.signed(s.worker.Fence))
	c.GET("/tasks-config", s.tasksConfig)
	c.GET("/offsets", s.offsets)
	c.GET("/topics", s.topics)
	c.PUT("/topics/reset", s.accepted(s.worker.ResetTopics))
	c.POST("/restart", owner(s.restart))
	c.PUT("/pause", s.accepted(s.worker.Pause))
	c.PUT("/resume", s.accepted(s.worker.Resume))
	c.PUT("/stop", leader(s.stop))
	c.GET("/tasks/:task/status", s.taskStatus)
	c.POST("/tasks/:task/restart", owner(s.restartTask))
	e.GET("/connector-plugins", s.plugins)
	e.GET("/connector-plugins/:class/config", s.pluginConfig)
	e.PUT("/connector-plugins/:class/config/validate", s.validate)
}
