package levels

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Root is the logger every other one descends from.
const Root = "root"

// Limits of what a process takes (I2).
const (
	maxNames  = 1000
	maxLength = 256
)

// Trace, Fatal and Off are Java's levels that slog has no names for.
const (
	Trace = slog.LevelDebug - 4
	Fatal = slog.LevelError + 4
	Off   = slog.Level(1 << 20)
)

var names = map[string]slog.Level{
	"ALL": Trace, "TRACE": Trace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": Fatal, "OFF": Off,
}

// Parse reads a level by its name in Java's loggers, in any case.
func Parse(s string) (slog.Level, bool) {
	l, ok := names[strings.ToUpper(s)]
	return l, ok
}

// Name is a level's name in Java's loggers.
func Name(l slog.Level) string {
	switch {
	case l <= Trace:
		return "TRACE"
	case l >= Off:
		return "OFF"
	case l >= Fatal:
		return "FATAL"
	}
	return l.String()
}

// Level is a logger's level, and when it was changed; the zero time: not since the start.
type Level struct {
	slog.Level
	Changed time.Time
}

// Levels are the levels of a process's loggers. Safe for concurrent use.
type Levels struct {
	components []string
	mu         sync.Mutex                            // of changes
	own        atomic.Pointer[map[string]slog.Level] // levels that were given; never changed in place
	changed    map[string]time.Time                  // under mu
}

// New begins with the level of all loggers. components are the loggers that exist without being asked for; all others
// descend from one of them.
func New(root slog.Level, components ...string) *Levels {
	l := &Levels{components: components, changed: map[string]time.Time{}}
	l.own.Store(&map[string]slog.Level{Root: root})
	return l
}

// of is a logger's level in force (I1).
func (l *Levels) of(name string) slog.Level {
	own := *l.own.Load()
	for len(own) > 1 && name != "" {
		if v, ok := own[name]; ok {
			return v
		}
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return own[Root]
}

// canonical is a name as it is kept.
func canonical(name string) string {
	if strings.EqualFold(name, Root) {
		return Root
	}
	return name
}

// Known tells whether there is such a logger: a component or a descendant of one, or one that was given a level.
func (l *Levels) Known(name string) bool {
	name = canonical(name)
	if _, ok := (*l.own.Load())[name]; ok {
		return true
	}
	return slices.ContainsFunc(l.components, func(c string) bool { return within(name, c) })
}

func within(name, ancestor string) bool {
	return ancestor == Root || name == ancestor || strings.HasPrefix(name, ancestor+".")
}

// Get gives a logger's level in force.
func (l *Levels) Get(name string) Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = canonical(name)
	return Level{l.of(name), l.changed[name]}
}

// Own gives all levels that were given.
func (l *Levels) Own() map[string]Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]Level{}
	for name, v := range *l.own.Load() {
		out[name] = Level{v, l.changed[name]}
	}
	return out
}

// Set gives a level to a logger and to all its known descendants, and tells their names, sorted.
func (l *Levels) Set(name string, level slog.Level) ([]string, error) {
	name = canonical(name)
	if name == "" || len(name) > maxLength {
		return nil, fmt.Errorf("a logger's name has 1 to %d bytes, not %d", maxLength, len(name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := maps.Clone(*l.own.Load())
	if _, ok := own[name]; !ok && len(own) >= maxNames {
		return nil, errors.New("too many loggers have a level of their own: give one to a common ancestor, such as connector")
	}
	touched := map[string]bool{name: true}
	for _, c := range l.components {
		touched[c] = touched[c] || within(c, name)
	}
	for c := range own {
		touched[c] = touched[c] || within(c, name)
	}
	now := time.Now()
	var out []string
	for c, yes := range touched {
		if yes {
			own[c], l.changed[c] = level, now
			out = append(out, c)
		}
	}
	l.own.Store(&own)
	slices.Sort(out)
	return out, nil
}
