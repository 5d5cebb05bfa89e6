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

// atOnce is how many files are asked for their description at the same time.
const atOnce = 4

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

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	asked  sync.WaitGroup
	turns  chan struct{} // bounds how many are asked at once

	mu      sync.Mutex
	closed  bool
	files   map[string]*file // by path
	asking  map[string]bool  // by path; true while nothing is known of the file yet, not when it is only tried again
	silence time.Duration
	lease   func() error
	news    chan struct{} // closed, and made anew, when a file was described
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
	ctx, cancel := context.WithCancel(context.Background())
	return &Registry{
		dirs: dirs, sockets: sockets, log: log, ctx: ctx, cancel: cancel, turns: make(chan struct{}, atOnce),
		files: map[string]*file{}, asking: map[string]bool{}, news: make(chan struct{}),
	}, nil
}

// Close ends what is being asked and removes the socket folder. Processes that were started must have been stopped.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.asked.Wait()
	return os.RemoveAll(r.sockets)
}

// Run looks at the folders until ctx ends.
func (r *Registry) Run(ctx context.Context) {
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		r.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Scan looks at the folders now and waits until all files that are new have been asked.
func (r *Registry) Scan(ctx context.Context) {
	r.look()
	r.await(ctx, func() bool { return false })
}

// await returns when found says so, when nothing new is being asked any more, or when ctx ends.
func (r *Registry) await(ctx context.Context, found func() bool) {
	for {
		r.mu.Lock()
		news, pending := r.news, false
		for _, fresh := range r.asking {
			pending = pending || fresh
		}
		r.mu.Unlock()
		if found() || !pending {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// look begins to ask the files that are new, were changed, or are due for another try. It does not wait for their answers:
// one that hangs delays no other.
func (r *Registry) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
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
			r.ask(path, info)
		}
	}
	for path := range r.files {
		if !seen[path] {
			delete(r.files, path)
			r.log.Info("plugin removed", "path", path)
		}
	}
}

// ask needs the lock.
func (r *Registry) ask(path string, info fs.FileInfo) {
	known, ok := r.files[path]
	same := ok && known.size == info.Size() && known.mtime.Equal(info.ModTime())
	_, busy := r.asking[path]
	if busy || r.closed || same && !known.busy && (known.err == nil || time.Now().Before(known.again)) {
		return
	}
	r.asking[path] = !same
	r.asked.Go(func() {
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-r.ctx.Done():
			return
		}
		f := &file{size: info.Size(), mtime: info.ModTime()}
		f.plugins, f.err = r.describe(r.ctx, path)
		if r.ctx.Err() == nil {
			r.publish(path, f, known)
		}
	})
}

// publish makes known what a file said; before is what was known of it, or nil.
func (r *Registry) publish(path string, f, before *file) {
	f.busy = errors.Is(f.err, syscall.ETXTBSY)
	failed := before != nil && before.err != nil
	if f.wait = firstRetry; failed {
		f.wait = min(2*before.wait, lastRetry)
	}
	f.again = time.Now().Add(f.wait)
	switch {
	case f.busy:
	case f.err != nil && failed && before.err.Error() == f.err.Error(): // told already
	case f.err != nil:
		r.log.Warn("a file in plugin.path is no usable plugin", "path", path, "error", f.err)
	default:
		for _, p := range f.plugins {
			r.log.Info("plugin found", "path", path, "connector", p.Name, "type", p.Type(), "version", p.Version)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = f
	delete(r.asking, path)
	close(r.news)
	r.news = make(chan struct{})
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
	Problems []Problem // files that could not be described
}

// Problem is a file that could not be described, and why.
type Problem struct {
	Path string
	Err  error
}

// mayHold guesses by the file's name whether it would be the plugin of a class.
func (p Problem) mayHold(class string) bool {
	file := strings.ToLower(strings.TrimPrefix(filepath.Base(p.Path), "penstock-connector-"))
	return strings.Contains(file, strings.ToLower(canonical(class))) || len(file) > 2 && strings.Contains(strings.ToLower(class), file)
}

// shortList is how many unusable files an error names.
const shortList = 3

func (e *UnknownClassError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Failed to find any class that implements Connector and which name matches %s.", e.Class)
	if len(e.Known) > 0 {
		fmt.Fprintf(&b, " Available connectors are: %s.", strings.Join(e.Known, ", "))
	} else {
		fmt.Fprintf(&b, " No plugin was found in plugin.path (%s): put its binary there.", strings.Join(e.Dirs, ", "))
	}
	var others []string
	for _, p := range e.Problems {
		if len(e.Problems) == 1 || p.mayHold(e.Class) {
			fmt.Fprintf(&b, " Unusable: %s: %v.", p.Path, p.Err)
		} else {
			others = append(others, filepath.Base(p.Path))
		}
	}
	if n := len(others) - shortList; n > 0 {
		others = append(others[:shortList], fmt.Sprintf("%d more", n))
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, " Unusable files (the log says why): %s.", strings.Join(others, ", "))
	}
	return b.String()
}

// Find gives the connector of a class: our name, an alias a plugin declares, or a Java class name. When it is not known
// the folders are looked at once more.
func (r *Registry) Find(ctx context.Context, class string) (*Plugin, error) {
	p := r.find(class)
	if p != nil {
		return p, nil
	}
	r.look()
	r.await(ctx, func() bool { p = r.find(class); return p != nil })
	if p != nil {
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

// Problems lists files that could not be described, by path.
func (r *Registry) Problems() []Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Problem
	for path, f := range r.files {
		if f.err != nil && !f.busy {
			out = append(out, Problem{Path: path, Err: f.err})
		}
	}
	slices.SortFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
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
