package levels

import (
	"context"
	"log/slog"
	"slices"
)

// Key is the attribute that names a logger.
const Key = "logger"

// handler asks the levels what is wanted of its logger.
type handler struct {
	levels *Levels
	name   string
	base   slog.Handler // without attributes
	attrs  []slog.Attr  // behind the name
	out    slog.Handler // base with name and attributes
	groups bool         // attributes that come now belong to a group, and name nothing
}

// Handler makes the root logger's handler; out decides nothing about levels.
func (l *Levels) Handler(out slog.Handler) slog.Handler {
	return &handler{levels: l, name: Root, base: out, out: out}
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.levels.of(h.name)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error { return h.out.Handle(ctx, r) }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	if h.groups {
		c.out = h.out.WithAttrs(attrs)
		return &c
	}
	c.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		if a.Key == Key {
			c.name = a.Value.String()
		} else {
			c.attrs = append(c.attrs, a)
		}
	}
	c.out = h.base
	if c.name != Root {
		c.out = c.out.WithAttrs([]slog.Attr{slog.String(Key, c.name)})
	}
	c.out = c.out.WithAttrs(c.attrs)
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	c := *h
	c.out, c.groups = h.out.WithGroup(name), true
	return &c
}
