package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/penstockio/penstock/worker"
	"github.com/penstockio/penstock/worker/levels"
)

// logger writes to stderr, at levels that can be changed.
func logger(level, format string) (*slog.Logger, *levels.Levels, error) {
	l, ok := levels.Parse(level)
	if !ok {
		return nil, nil, fmt.Errorf("log.level %q must be trace, debug, info, warn, error or off", level)
	}
	all := levels.New(l, worker.Components...)
	opts := &slog.HandlerOptions{Level: levels.Trace, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if v, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey {
			a.Value = slog.StringValue(levels.Name(v))
		}
		return a
	}}
	switch strings.ToLower(format) {
	case "text":
		return slog.New(all.Handler(slog.NewTextHandler(os.Stderr, opts))), all, nil
	case "json":
		return slog.New(all.Handler(slog.NewJSONHandler(os.Stderr, opts))), all, nil
	}
	return nil, nil, fmt.Errorf("log.format %q must be text or json", format)
}
