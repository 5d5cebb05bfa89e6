package rest

import (
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/gin-gonic/gin"
)

// guard refuses browsers of other origins (I2) and, on a loopback listener, host names that are not loopback: a page
// that rebinds its name to 127.0.0.1 must not reach an interface without authentication.
func (s *Server) guard(ln net.Listener, next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	loopback := false
	if a, ok := ln.Addr().(*net.TCPAddr); ok {
		loopback = a.IP.IsLoopback()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.opts.begin(w)
		if loopback && !loopbackHost(r.Host) {
			writeError(w, http.StatusForbidden, "this interface listens on a loopback address and answers loopback host names only, not "+r.Host)
			return
		}
		allowed, answered := s.opts.origin(w, r)
		if answered {
			return
		}
		if err := cross.Check(r); err != nil && !allowed {
			writeError(w, http.StatusForbidden, "refused, since a browser sent it from another origin: "+err.Error())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// trimSlash makes paths work with and without a trailing slash, as clients of Kafka Connect use both.
func trimSlash(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/") {
			r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
			r.URL.RawPath = strings.TrimSuffix(r.URL.RawPath, "/")
		}
		next.ServeHTTP(w, r)
	})
}

// param gives a path parameter decoded. gin hands out the raw form only when the path was sent in one.
func param(c *gin.Context, name string) string {
	v := c.Param(name)
	if c.Request.URL.RawPath == "" {
		return v
	}
	if d, err := url.PathUnescape(v); err == nil {
		return d
	}
	return v
}

// ready keeps calls away from a worker that has not read its topics yet; health and metrics answer at once.
func (s *Server) ready(c *gin.Context) {
	if s.worker.Ready() {
		return
	}
	c.Header("Retry-After", "1")
	fail(c, http.StatusServiceUnavailable, "Worker is still starting up; GET /health tells how far it is.")
}

func (s *Server) recover(c *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a REST handler panicked", "method", c.Request.Method, "path", c.Request.URL.Path, "panic", p, "stack", string(debug.Stack()))
			fail(c, http.StatusInternalServerError, "internal error; the log has the details")
		}
	}()
	c.Next()
}
