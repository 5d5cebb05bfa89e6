package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
)

// rescan is how often folders are looked at.
const rescan = time.Second

// Pauses between tries to describe a file that failed.
const (
	firstRetry = 3 * time.Second
	lastRetry  = time.Minute
)

// Plugin is one connector a binary holds.
type Plugin struct {
	Path string
	host.Description
}

// Type is "source" or "sink".
func (p *Plugin) Type() string {
	if p.Sink {
		return "sink"
	}
	return "source"
}

// Registry knows the plugins of some folders. Safe for concurrent use.
type Registry struct {
	dirs    []string
	sockets string
	log     *slog.Logger

	scan  sync.Mutex // one look at a time
	mu    sync.Mutex
	files map[string]*file // by path
}

type file struct {
	size    int64
	mtime   time.Time
	plugins []*Plugin
	err     error
	busy    bool // being written: try again
	wait    time.Duration
	again   time.Time // when one that failed is tried again: its process may have been killed from outside
}

// New makes a registry over folders; missing ones are looked for again. It makes the socket folder, and removes those of
// workers that were killed.
func New(dirs []string, log *slog.Logger) (*Registry, error) {
	cleanSockets()
	sockets, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", socketPrefix, os.Getpid())) // MkdirTemp makes it 0700
	if err != nil {
		return nil, fmt.Errorf("making the folder for plugin sockets: %w", err)
	}
	return &Registry{dirs: dirs, sockets: sockets, log: log, files: map[string]*file{}}, nil
}

// Close removes the socket folder. Processes must have been stopped.
func (r *Registry) Close() error { return os.RemoveAll(r.sockets) }

// Run looks at the folders until ctx ends.
func (r *Registry) Run(ctx context.Context) {
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		r.Scan(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Scan looks at the folders now and describes what is new.
func (r *Registry) Scan(ctx context.Context) {
	r.scan.Lock()
	defer r.scan.Unlock()
	seen := map[string]bool{}
	for _, d := range r.dirs {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue // a folder may appear later; Find says which folders were looked at
		}
		for _, e := range entries {
			path := filepath.Join(d, e.Name())
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			seen[path] = true
			r.look(ctx, path, info)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range r.files {
		if !seen[path] {
			delete(r.files, path)
			r.log.Info("plugin removed", "path", path)
		}
	}
}

func (r *Registry) look(ctx context.Context, path string, info fs.FileInfo) {
	r.mu.Lock()
	known, ok := r.files[path]
	r.mu.Unlock()
	if ok && !known.busy && known.size == info.Size() && known.mtime.Equal(info.ModTime()) && (known.err == nil || time.Now().Before(known.again)) {
		return
	}
	f := &file{size: info.Size(), mtime: info.ModTime()}
	f.plugins, f.err = r.describe(ctx, path)
	if ctx.Err() != nil {
		return
	}
	f.busy = errors.Is(f.err, syscall.ETXTBSY)
	if f.wait = firstRetry; ok && known.err != nil {
		f.wait = min(2*known.wait, lastRetry)
	}
	f.again = time.Now().Add(f.wait)
	switch {
	case f.busy:
	case f.err != nil && ok && known.err != nil && known.err.Error() == f.err.Error(): // told already
	case f.err != nil:
		r.log.Warn("a file in plugin.path is no usable plugin", "path", path, "error", f.err)
	default:
		for _, p := range f.plugins {
			r.log.Info("plugin found", "path", path, "connector", p.Name, "type", p.Type(), "version", p.Version)
		}
	}
	r.mu.Lock()
	r.files[path] = f
	r.mu.Unlock()
}

func (r *Registry) describe(ctx context.Context, path string) ([]*Plugin, error) {
	p, err := r.start(ctx, path, r.log.With("plugin", filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Stop(ctx) }() // it was only asked; how it ended does not matter
	d, err := p.Describe(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*Plugin, 0, len(d.Of))
	for _, c := range d.Of {
		out = append(out, &Plugin{Path: path, Description: c})
	}
	return out, nil
}

// All lists the connectors, sinks before sources as Kafka Connect does, then by name.
func (r *Registry) All() []*Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*Plugin
	for _, f := range r.files {
		out = append(out, f.plugins...)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Sink != out[j].Sink {
			return out[i].Sink
		}
		return out[i].Name < out[j].Name || out[i].Name == out[j].Name && out[i].Path < out[j].Path
	})
	return out
}

// UnknownClassError tells that no plugin holds a class.
type UnknownClassError struct {
	Class    string
	Known    []string // names that exist, nearest first
	Dirs     []string
	Problems []string // files that could not be described
}

func (e *UnknownClassError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Failed to find any class that implements Connector and which name matches %s.", e.Class)
	if len(e.Known) > 0 {
		fmt.Fprintf(&b, " Available connectors are: %s.", strings.Join(e.Known, ", "))
	} else {
		fmt.Fprintf(&b, " No plugin was found in plugin.path (%s): put its binary there.", strings.Join(e.Dirs, ", "))
	}
	for _, p := range e.Problems {
		fmt.Fprintf(&b, " Unusable: %s.", p)
	}
	return b.String()
}

// Find gives the connector of a class: our name, an alias a plugin declares, or a Java class name. When it is not known
// the folders are looked at once more.
func (r *Registry) Find(ctx context.Context, class string) (*Plugin, error) {
	if p := r.find(class); p != nil {
		return p, nil
	}
	r.Scan(ctx)
	if p := r.find(class); p != nil {
		return p, nil
	}
	e := &UnknownClassError{Class: class, Dirs: r.dirs, Problems: r.Problems()}
	for _, p := range r.All() {
		e.Known = append(e.Known, p.Name)
	}
	slices.SortStableFunc(e.Known, func(a, b string) int { return distance(class, a) - distance(class, b) })
	return nil, e
}

func (r *Registry) find(class string) *Plugin {
	name := canonical(class)
	for _, p := range r.All() {
		if p.Name == class || p.Name == name || slices.Contains(p.Aliases, class) || slices.ContainsFunc(p.Aliases, func(a string) bool {
			return simpleName(a) == class || strings.TrimSuffix(simpleName(a), "Connector") == class
		}) {
			return p
		}
	}
	return nil
}

// Problems lists files that could not be described, each with why.
func (r *Registry) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for path, f := range r.files {
		if f.err != nil && !f.busy {
			out = append(out, fmt.Sprintf("%s: %v", path, f.err))
		}
	}
	sort.Strings(out)
	return out
}

// distance is how many edits lead from a to b, for "did you mean".
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost = min(prev, row[j], row[j+1]) + 1
			}
			prev, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Known gives the connector of a class without looking at the folders; nil when it is not known.
func (r *Registry) Known(class string) *Plugin { return r.find(class) }
