package worker

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/worker/levels"
	"github.com/penstockio/penstock/worker/topics"
)

// Components are the loggers of a node, beside which each connector has one of its own, "connector." and its name.
var Components = []string{
	"broker", "connector", "kafka", "rest", "runtime", "worker", "worker.group", "worker.herder", "worker.topics",
}

func (w *Worker) logger(name string) *slog.Logger { return w.opts.Log.With(levels.Key, name) }

// changed is told of every change of the config topic. What concerns no connector is done here.
func (w *Worker) changed(c topics.Change) {
	if c.Kind != topics.LoggerSet {
		w.Changed(c)
		return
	}
	level, ok := levels.Parse(c.Level)
	if !ok || !w.opts.Levels.Known(c.Logger) {
		w.log.Debug("a level that was asked for means nothing here", "name", c.Logger, "level", c.Level) // a Java worker's
		return
	}
	if _, err := w.setLevel(c.Logger, level); err != nil {
		w.log.Warn("a level that was asked for cannot be set", "name", c.Logger, "level", c.Level, "error", err)
	}
}

func (w *Worker) setLevel(name string, level slog.Level) ([]string, error) {
	w.log.Info("a logger's level changes, and that of its descendants", "name", name, "level", levels.Name(level))
	return w.opts.Levels.Set(name, level)
}

// Loggers gives the loggers with a level of their own.
func (w *Worker) Loggers() map[string]api.LoggerLevel {
	out := map[string]api.LoggerLevel{}
	for name, l := range w.opts.Levels.Own() {
		out[name] = shown(l)
	}
	return out
}

// Logger gives a logger's level in force.
func (w *Worker) Logger(name string) (api.LoggerLevel, error) {
	if !w.opts.Levels.Known(name) {
		return api.LoggerLevel{}, api.Errorf(http.StatusNotFound, "Logger %s not found.", name)
	}
	return shown(w.opts.Levels.Get(name)), nil
}

func shown(l levels.Level) api.LoggerLevel {
	out := api.LoggerLevel{Level: levels.Name(l.Level)}
	if !l.Changed.IsZero() {
		ms := l.Changed.UnixMilli()
		out.Modified = &ms
	}
	return out
}

func parseLevel(level string) (slog.Level, error) {
	l, ok := levels.Parse(level)
	if !ok {
		return 0, api.Errorf(http.StatusNotFound, "invalid log level '%s': TRACE, DEBUG, INFO, WARN, ERROR, FATAL and OFF are known.", level)
	}
	return l, nil
}

// SetLogger changes a level on this worker until it ends, and tells which loggers that concerns.
func (w *Worker) SetLogger(name, level string) ([]string, error) {
	l, err := parseLevel(level)
	if err != nil {
		return nil, err
	}
	changed, err := w.setLevel(name, l)
	if err != nil {
		return nil, api.Errorf(http.StatusBadRequest, "Logger %s: %v", name, err)
	}
	return changed, nil
}

// SetLoggers asks every worker that runs for a level.
func (w *Worker) SetLoggers(ctx context.Context, name, level string) error {
	if _, err := parseLevel(level); err != nil {
		return err
	}
	return w.PutLogger(ctx, name, level)
}
