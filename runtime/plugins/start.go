package plugins

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/penstockio/penstock/connect-api/host"
)

// socketPrefix begins the names of socket folders; the worker's pid follows. Short: a socket path has 108 bytes at most.
const socketPrefix = "pnstk-"

// launch is what may stand in <binary>.yaml beside a plugin.
type launch struct {
	Args []string          `yaml:"args"`
	Env  map[string]string `yaml:"env"`
}

// Guard makes plugins that are started from now on write nothing once this process has been silent for so long, or its
// lease has run out.
func (r *Registry) Guard(silence time.Duration, lease func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silence, r.lease = silence, lease
}

// Start starts a process of the plugin's binary. The caller stops it.
func (r *Registry) Start(ctx context.Context, p *Plugin, log *slog.Logger) (*host.Process, error) {
	return r.start(ctx, p.Path, log)
}

// start is the one place that starts a plugin (I1): limits and a sandbox would come in here.
func (r *Registry) start(ctx context.Context, path string, log *slog.Logger) (*host.Process, error) {
	l, err := launchOf(path)
	if err != nil {
		return nil, err
	}
	var env []string
	for k, v := range l.Env {
		env = append(env, k+"="+v)
	}
	r.mu.Lock()
	silence, lease := r.silence, r.lease
	r.mu.Unlock()
	return host.Start(ctx, host.Options{Path: path, Args: l.Args, Env: env, Dir: r.sockets, Log: log, Silence: silence, Lease: lease})
}

func launchOf(path string) (l launch, err error) {
	file := path + ".yaml"
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return l, nil
	}
	if err == nil {
		err = yaml.Unmarshal(b, &l)
	}
	if err != nil {
		return l, fmt.Errorf("reading the launch settings of a plugin, %s: %w", file, err)
	}
	return l, nil
}

// cleanSockets removes socket folders of workers that are gone.
func cleanSockets() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), socketPrefix+"*"))
	if err != nil {
		return
	}
	for _, d := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d), socketPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && n != os.Getpid() && syscall.Kill(n, 0) == syscall.ESRCH {
			_ = os.RemoveAll(d) // another user's folder cannot be removed, and need not be
		}
	}
}
