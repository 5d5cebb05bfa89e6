package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

// How long a call waits for a group that is just sorting itself out, and between two looks.
const (
	forwardPatience = 60 * time.Second
	forwardPause    = 200 * time.Millisecond
)

// conflict is what is answered when the group did not settle meanwhile; clients know the literal.
const conflict = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"

// forwardKey is the query parameter by which calls between workers count their hops, as Kafka Connect's do: absent, then
// true, then false; a fourth worker is never asked.
const forwardKey = "forward"

// newPeers makes the client for other workers. Its calls end with the contexts they are given.
func newPeers() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, ResponseHeaderTimeout: requestTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// route names the worker that must answer a call; empty: this one.
type route func(context.Context, *gin.Context) (string, error)

// forwarded makes a handler's calls be answered by the worker that to names. While the group changes nobody may be named, or
// one that is gone: then the call waits and looks again, within forwardPatience, instead of failing.
func (s *Server) forwarded(to route) func(gin.HandlerFunc) gin.HandlerFunc {
	return func(handle gin.HandlerFunc) gin.HandlerFunc {
		return func(c *gin.Context) {
			body, err := body(c)
			if err != nil {
				failWith(c, err)
				return
			}
			ctx, cancel := context.WithTimeout(c.Request.Context(), forwardPatience)
			defer cancel()
			tick := time.NewTicker(forwardPause)
			defer tick.Stop()
			for {
				peer, err := to(ctx, c)
				if err == nil && peer == "" {
					if err = s.here(ctx, c, handle, body); err == nil {
						return
					}
				}
				if err == nil && peer != "" {
					if err = s.passOn(ctx, c, peer, to, body); err == nil {
						return
					}
				}
				if errors.Is(err, errLost) {
					c.Set(doubtKey, true)
				}
				var final *api.Error
				if errors.As(err, &final) {
					failWith(c, final)
					return
				}
				if c.Query(forwardKey) != "" { // whoever asked first waits and asks again
					fail(c, http.StatusConflict, conflict+": "+err.Error())
					return
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					if c.GetBool(doubtKey) {
						fail(c, http.StatusInternalServerError, "No worker answered; the operation may still take effect: "+err.Error())
						return
					}
					fail(c, http.StatusConflict, conflict+": "+err.Error())
					return
				}
			}
		}
	}
}

// Keys of a request's context: that a handler may leave a conflict with a change of the group unanswered, and the conflict.
const (
	patientKey   = "penstock.patient"
	unsettledKey = "penstock.unsettled"
)

// here has this worker answer. An error means that its place in the group changed meanwhile, and nothing was done.
func (s *Server) here(ctx context.Context, c *gin.Context, handle gin.HandlerFunc, body []byte) error {
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	c.Set(patientKey, c.Query(forwardKey) == "")
	c.Set(unsettledKey, nil)
	handle(c)
	e, ok := c.MustGet(unsettledKey).(*api.Error)
	if !ok {
		return nil
	}
	if !strings.HasPrefix(e.Message, conflict) {
		s.resolve(ctx, c, body, e)
		return nil
	}
	return errors.New(strings.TrimPrefix(e.Message, conflict+": "))
}

// again tells of a call that it may be made a second time though the first may have been done: the worker that was asked is
// gone. It ends as it would have with the first alone.
func again(c *gin.Context) bool {
	return c.Request.Method == http.MethodPut || c.Request.Method == http.MethodPatch || strings.HasSuffix(c.FullPath(), "/restart")
}

// passOn has another worker answer, the one that to names. An error means that the call did nothing there or may be made again.
func (s *Server) passOn(ctx context.Context, c *gin.Context, peer string, to route, body []byte) error {
	hop, ok := map[string]string{"": "true", "true": "false"}[c.Query(forwardKey)]
	if !ok {
		return errors.New("the call was passed on twice already")
	}
	q := c.Request.URL.Query()
	q.Set(forwardKey, hop)
	address := strings.TrimSuffix(peer, "/") + c.Request.URL.EscapedPath() + "?" + q.Encode()
	first := c.Query(forwardKey) == "" // whoever asked first may ask again
	ask := ctx
	if first {
		watched, stop := whileThere(ctx, peer, func(ctx context.Context) (string, error) { return to(ctx, c) })
		defer stop()
		ask = watched
	}
	req, err := http.NewRequestWithContext(ask, c.Request.Method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range []string{"Content-Type", "Authorization"} {
		if v := c.GetHeader(h); v != "" {
			req.Header.Set(h, v)
		}
	}
	resp, err := s.peers.Do(req)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" || again(c) && ctx.Err() == nil {
			return err
		}
		if first && ctx.Err() == nil {
			return fmt.Errorf("%w: asking %s: %w", errLost, peer, err)
		}
		fail(c, http.StatusInternalServerError, "Forwarding the request to "+peer+" failed; the operation may still take effect: "+err.Error())
		return nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil && again(c) && ctx.Err() == nil {
		return err
	}
	if err != nil && first && ctx.Err() == nil {
		return fmt.Errorf("%w: reading the answer of %s: %w", errLost, peer, err)
	}
	if err != nil {
		fail(c, http.StatusInternalServerError, "Reading the answer of "+peer+" failed; the operation may still take effect: "+err.Error())
		return nil
	}
	if unsettled(resp.StatusCode, b) {
		return errors.New(peer + " answered: " + string(b))
	}
	if doubtful(c, resp.StatusCode) {
		e := api.Errorf(resp.StatusCode, "%s", b)
		if json.Unmarshal(b, e) != nil {
			e.ErrorCode = resp.StatusCode
		}
		s.resolve(ctx, c, body, e)
		return nil
	}
	if resp.StatusCode < 300 {
		if err := s.worker.CatchUp(ctx); err != nil { // the write is done; what is read here may lag
			s.log.Warn("reading what another worker wrote failed", "error", err)
		}
	}
	if at, err := url.Parse(resp.Header.Get("Location")); err == nil && at.Path != "" {
		c.Header("Location", "http://"+c.Request.Host+at.EscapedPath())
	}
	if len(b) == 0 {
		c.Status(resp.StatusCode)
		c.Writer.WriteHeaderNow()
		return nil
	}
	c.Data(resp.StatusCode, "application/json", b)
	return nil
}

// unsettled tells an answer of a worker whose place in the group is just changing: nothing was done.
func unsettled(status int, body []byte) bool {
	return status == http.StatusConflict && bytes.Contains(body, []byte(conflict)) || status == http.StatusServiceUnavailable
}

// signed is a call between workers, whose body is signed as it is.
func (s *Server) signed(do func(context.Context, string, http.Header, []byte) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		body, err := body(c)
		if err != nil {
			failWith(c, err)
			return
		}
		s.empty(c, http.StatusNoContent, func(ctx context.Context, name string) error { return do(ctx, name, c.Request.Header, body) })
	}
}

// owner names who must answer a restart: the leader if it concerns more than one unit, else the unit's owner.
func (s *Server) owner(ctx context.Context, c *gin.Context) (string, error) {
	name := param(c, "name")
	id := api.TaskID{Connector: name, Task: -1}
	if n := c.Param("task"); n != "" {
		task, err := strconv.Atoi(param(c, "task"))
		if err != nil {
			return "", nil // the handler says what is wrong
		}
		id.Task = task
	} else if q := c.Request.URL.Query(); q.Get("includeTasks") == "true" || q.Get("onlyFailed") == "true" {
		return s.worker.Leader(ctx)
	}
	tasks, err := s.worker.Tasks(name)
	if err != nil || id.Task >= len(tasks) || id.Task < -1 {
		return "", nil // as above
	}
	return s.worker.Owner(ctx, id)
}
