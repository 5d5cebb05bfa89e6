package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

func (s *Server) loggers(c *gin.Context) { answer(c, http.StatusOK, s.worker.Loggers()) }

func (s *Server) logger(c *gin.Context) {
	l, err := s.worker.Logger(param(c, "logger"))
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, l)
}

// setLogger changes a level here or, with scope=cluster, everywhere; any other scope is the worker's, as in Kafka Connect.
func (s *Server) setLogger(c *gin.Context) {
	var body api.Config
	if err := decode(c, &body); err != nil {
		failWith(c, err)
		return
	}
	level, given := body["level"]
	if !given {
		fail(c, http.StatusBadRequest, "Desired 'level' parameter was not specified in request.")
		return
	}
	if c.Query("scope") == "cluster" {
		if s.ready(c); c.IsAborted() {
			return
		}
		ctx, cancel := within(c, requestTimeout)
		defer cancel()
		if err := s.worker.SetLoggers(ctx, param(c, "logger"), level); err != nil {
			failWith(c, err)
			return
		}
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return
	}
	changed, err := s.worker.SetLogger(param(c, "logger"), level)
	if err != nil {
		failWith(c, err)
		return
	}
	answer(c, http.StatusOK, changed)
}
