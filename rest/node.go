package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

func (s *Server) root(c *gin.Context) { answer(c, http.StatusOK, s.worker.ServerInfo()) }

// live answers as long as the process serves requests: an orchestrator restarts it when this fails.
func (s *Server) live(c *gin.Context) {
	answer(c, http.StatusOK, api.Health{Status: "healthy", Message: "The process is alive."})
}

func (s *Server) health(c *gin.Context) {
	ctx, cancel := within(c, healthTimeout)
	defer cancel()
	started, err := s.check(ctx)
	switch {
	case err == nil:
		message := "Worker has completed startup and is ready to handle requests."
		if s.worker == nil {
			message = "The broker serves requests."
		}
		answer(c, http.StatusOK, api.Health{Status: "healthy", Message: message})
	case !started:
		answer(c, http.StatusServiceUnavailable, api.Health{Status: "starting", Message: err.Error()})
	default:
		answer(c, http.StatusInternalServerError, api.Health{Status: "unhealthy", Message: err.Error()})
	}
}

func (s *Server) plugins(c *gin.Context) {
	only := true
	if _, given := c.GetQuery("connectorsOnly"); given {
		var err error
		if only, err = flag(c, "connectorsOnly"); err != nil {
			failWith(c, err)
			return
		}
	}
	answer(c, http.StatusOK, s.worker.Plugins(only))
}

func (s *Server) pluginConfig(c *gin.Context) {
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	keys, err := s.worker.PluginConfig(ctx, param(c, "class"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, keys)
}

func (s *Server) validate(c *gin.Context) {
	var cfg api.Config
	if err := decode(c, &cfg); err != nil {
		failWith(c, err)
		return
	}
	ctx, cancel := within(c, requestTimeout)
	defer cancel()
	infos, err := s.worker.Validate(ctx, param(c, "class"), cfg)
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, infos)
}
