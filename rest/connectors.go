package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

func (s *Server) list(c *gin.Context) {
	expand, present := c.GetQueryArray("expand")
	names := s.worker.Connectors()
	if !present {
		answer(c, http.StatusOK, names)
		return
	}
	out := map[string]api.Expanded{}
	for _, n := range names {
		var e api.Expanded
		missing := false
		for _, what := range expand {
			switch what {
			case "status":
				st, err := s.worker.Status(n)
				missing = missing || err != nil
				e.Status = &st
			case "info":
				info, err := s.worker.Info(n)
				missing = missing || err != nil
				e.Info = &info
			}
		}
		if !missing {
			out[n] = e
		}
	}
	answer(c, http.StatusOK, out)
}

func (s *Server) create(c *gin.Context) {
	var r api.CreateRequest
	if err := decode(c, &r); err != nil {
		failWith(c, err)
		return
	}
	r.Name = strings.TrimSpace(r.Name)
	if r.Config == nil {
		fail(c, http.StatusBadRequest, `the request has no "config" object`)
		return
	}
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	info, err := s.worker.Create(ctx, r)
	if err != nil {
		failWith(c, err)
		return
	}
	c.Header("Location", s.location(c, info.Name))
	answer(c, http.StatusCreated, info)
}

func (s *Server) location(c *gin.Context, name string) string {
	return "http://" + c.Request.Host + "/connectors/" + url.PathEscape(name)
}

func (s *Server) info(c *gin.Context) {
	info, err := s.worker.Info(param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, info)
}

func (s *Server) config(c *gin.Context) {
	info, err := s.worker.Info(param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, info.Config)
}

func (s *Server) putConfig(c *gin.Context) {
	var cfg api.Config
	if err := decode(c, &cfg); err != nil {
		failWith(c, err)
		return
	}
	if cfg == nil {
		fail(c, http.StatusBadRequest, "the body must be the configuration, a flat JSON object")
		return
	}
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	info, created, err := s.worker.PutConfig(ctx, param(c, "name"), cfg)
	switch {
	case err != nil:
		failWith(c, err)
	case created:
		c.Header("Location", s.location(c, info.Name))
		answer(c, http.StatusCreated, info)
	default:
		answer(c, http.StatusOK, info)
	}
}

func (s *Server) patchConfig(c *gin.Context) {
	var p api.Patch
	if err := decode(c, &p); err != nil {
		failWith(c, err)
		return
	}
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	info, err := s.worker.PatchConfig(ctx, param(c, "name"), p)
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, info)
}

func (s *Server) remove(c *gin.Context) { s.empty(c, http.StatusNoContent, s.worker.Delete) }
func (s *Server) stop(c *gin.Context)   { s.empty(c, http.StatusNoContent, s.worker.Stop) }

func (s *Server) accepted(f func(context.Context, string) error) gin.HandlerFunc {
	return func(c *gin.Context) { s.empty(c, http.StatusAccepted, f) }
}

func (s *Server) empty(c *gin.Context, status int, f func(context.Context, string) error) {
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	if err := f(ctx, param(c, "name")); err != nil {
		failWith(c, err)
		return
	}
	c.Status(status)
	c.Writer.WriteHeaderNow()
}

func (s *Server) status(c *gin.Context) {
	st, err := s.worker.Status(param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, st)
}

func (s *Server) tasks(c *gin.Context) {
	ts, err := s.worker.Tasks(param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, ts)
}

func (s *Server) tasksConfig(c *gin.Context) {
	ts, err := s.worker.Tasks(param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	out := map[string]map[string]string{}
	for _, t := range ts {
		out[t.ID.String()] = t.Config
	}
	answer(c, http.StatusOK, out)
}

func (s *Server) offsets(c *gin.Context) {
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	o, err := s.worker.Offsets(ctx, param(c, "name"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, o)
}

func (s *Server) topics(c *gin.Context) {
	name := param(c, "name")
	topics, err := s.worker.Topics(name)
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, map[string]api.TopicsInfo{name: {Topics: topics}})
}

func (s *Server) restart(c *gin.Context) {
	includeTasks, err1 := flag(c, "includeTasks")
	onlyFailed, err2 := flag(c, "onlyFailed")
	for _, err := range []error{err1, err2} {
		if err != nil {
			failWith(c, err)
			return
		}
	}
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	st, err := s.worker.Restart(ctx, param(c, "name"), includeTasks, onlyFailed)
	switch {
	case err != nil:
		failWith(c, err)
	case st != nil:
		answer(c, http.StatusAccepted, st)
	default:
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
	}
}

func flag(c *gin.Context, name string) (bool, error) {
	v := c.DefaultQuery(name, "false")
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, api.Errorf(http.StatusBadRequest, "query parameter %s=%s must be true or false", name, v)
	}
	return b, nil
}

func (s *Server) task(c *gin.Context) (api.TaskID, bool) {
	n, err := strconv.Atoi(param(c, "task"))
	if err != nil {
		fail(c, http.StatusNotFound, "HTTP 404 Not Found")
		return api.TaskID{}, false
	}
	return api.TaskID{Connector: param(c, "name"), Task: n}, true
}

func (s *Server) taskStatus(c *gin.Context) {
	id, ok := s.task(c)
	if !ok {
		return
	}
	st, err := s.worker.Status(id.Connector)
	if err != nil {
		failWith(c, err)
		return
	}
	for _, t := range st.Tasks {
		if t.ID == id.Task {
			answer(c, http.StatusOK, t)
			return
		}
	}
	fail(c, http.StatusNotFound, "No status found for task "+id.String())
}

func (s *Server) restartTask(c *gin.Context) {
	id, ok := s.task(c)
	if !ok {
		return
	}
	s.empty(c, http.StatusNoContent, func(ctx context.Context, _ string) error { return s.worker.RestartTask(ctx, id) })
}
