package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
)

// logger writes to stderr.
func logger(level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log.level %q must be debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch strings.ToLower(format) {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, opts)), nil
	}
	return nil, fmt.Errorf("log.format %q must be text or json", format)
}

// memoryLimit is the soft limit for the Go heap unless GOMEMLIMIT says otherwise: the index's cache and memtables live
// there, and the collector should work harder before the process grows.
const memoryLimit = 512 << 20

// collectAt lets the heap grow by less than half, not by as much again, before it is collected: most of it are large buffers without
// pointers, which cost a collection next to nothing.
const collectAt = 40

func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit)
	}
}
