package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

// A call whose answer was lost, since the worker that was asked died or ceased to lead, may have been done or not. It is made
// again, and an answer that only says that it was done already is put right.

// errLost is what such a call ends with.
var errLost = errors.New("the answer was lost")

// errMoved ends a call to a worker that is not the right one any more.
var errMoved = errors.New("another worker took over meanwhile")

// doubtKey of a request's context tells that an answer to the call was lost.
const doubtKey = "penstock.doubt"

// doubtful tells that an answer to a repeated call may be due to the first: it exists already, or does not any more.
func doubtful(c *gin.Context, status int) bool {
	return c.GetBool(doubtKey) && (c.Request.Method == http.MethodPost && status == http.StatusConflict || c.Request.Method == http.MethodDelete && status == http.StatusNotFound)
}

// resolve answers such a call: as if the first had been answered, when what was asked is so.
func (s *Server) resolve(ctx context.Context, c *gin.Context, body []byte, e *api.Error) {
	c.Set(doubtKey, false)
	if c.Request.Method == http.MethodDelete {
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return
	}
	if info, ok := s.asAsked(ctx, body); ok {
		c.Header("Location", s.location(c, info.Name))
		answer(c, http.StatusCreated, info)
		return
	}
	failWith(c, e)
}

// asAsked tells whether a connector is configured as a request to make it says.
func (s *Server) asAsked(ctx context.Context, body []byte) (api.ConnectorInfo, bool) {
	var r api.CreateRequest
	if json.Unmarshal(body, &r) != nil || s.worker.CatchUp(ctx) != nil {
		return api.ConnectorInfo{}, false
	}
	want := maps.Clone(map[string]string(r.Config))
	if want == nil {
		return api.ConnectorInfo{}, false
	}
	want["name"] = strings.TrimSpace(r.Name)
	info, err := s.worker.Info(want["name"])
	return info, err == nil && maps.Equal(info.Config, want)
}

// whileThere gives a context that ends when another worker than peer is the right one. stop ends the watch.
func whileThere(ctx context.Context, peer string, now func(context.Context) (string, error)) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(forwardPause)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if is, err := now(watched); err == nil && is != peer {
					cancel(errMoved)
					return
				}
			case <-watched.Done():
				return
			}
		}
	})
	return watched, func() { cancel(nil); wg.Wait() }
}
