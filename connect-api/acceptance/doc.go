// Package acceptance proves a plugin binary, in whatever language it is written, by running it as a worker does: what it
// says of itself, what it finds wrong, that it reads, acknowledges, writes, commits, stops and resumes, also after it was
// killed, and that nothing of it is left behind.
//
// A connector's own test gives the binary and a way to make records:
//
//	func TestAcceptance(t *testing.T) {
//		acceptance.Run(t, acceptance.Source{Binary: binary, Connector: "lines", Config: …, Produce: …, Want: …})
//	}
//
// It owns the cases, and nothing of any connector. It needs no network and no broker.
package acceptance

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

// Suite is a [Source] or a [Sink].
type Suite interface{ run(t *testing.T) }

// Run proves a connector.
func Run(t *testing.T, s Suite) {
	t.Helper()
	s.run(t)
}

const (
	caseTimeout = 60 * time.Second
	stopTimeout = 15 * time.Second
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, binary string, env []string) *host.Process {
	t.Helper()
	return plugintest.Start(t, host.Options{Path: binary, Env: env})
}

// describe checks what a connector says of itself.
func describe(t *testing.T, binary string, env []string, connector string, sink bool) {
	p := start(t, binary, env)
	all, err := p.Describe(within(t, caseTimeout))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Of {
		if d.Name != connector {
			continue
		}
		if d.Sink != sink {
			t.Errorf("connector %s: is it a sink? it says %v", connector, d.Sink)
		}
		if d.Version == "" || d.Doc == "" {
			t.Errorf("connector %s has no version or no documentation", connector)
		}
		for _, k := range d.Config.Keys() {
			if k.Doc == "" {
				t.Errorf("connector %s: key %s has no documentation", connector, k.Name)
			}
			if strings.Contains(strings.ToLower(k.Name), "password") && k.Type.String() != "PASSWORD" {
				t.Errorf("connector %s: key %s is not of type PASSWORD", connector, k.Name)
			}
		}
		return
	}
	t.Fatalf("the binary has no connector %q", connector)
}

// findings checks that every required key is asked for, that the good configuration is, and that the wrong one is named.
func findings(t *testing.T, binary string, env []string, connector string, good, wrong map[string]string, key string) {
	ctx := within(t, caseTimeout)
	p := start(t, binary, env)
	all, err := p.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	errorsOf := func(config map[string]string) map[string][]string {
		v, err := p.Validate(ctx, connector, config)
		if err != nil {
			t.Fatalf("validating: %v", err)
		}
		out := map[string][]string{}
		for _, f := range v.Findings {
			if len(f.Errors) > 0 {
				out[f.Key] = f.Errors
			}
		}
		return out
	}
	missing := errorsOf(map[string]string{})
	for _, d := range all.Of {
		if d.Name != connector {
			continue
		}
		for _, k := range d.Config.Keys() {
			if k.Required && len(missing[k.Name]) == 0 {
				t.Errorf("no finding says that required key %s is missing", k.Name)
			}
		}
	}
	if bad := errorsOf(good); len(bad) > 0 {
		t.Errorf("the good configuration has findings: %v", bad)
	}
	if wrong != nil {
		if bad := errorsOf(wrong); len(bad[key]) == 0 {
			t.Errorf("no finding about %s: %v", key, bad)
		}
	}
	if _, err := p.Tasks(ctx, connector, good, 1, nil); err != nil {
		t.Errorf("tasks: %v", err)
	}
}

// noneLeft stops the process and checks that it, its children and its sockets are gone.
func noneLeft(t *testing.T, p *host.Process) {
	t.Helper()
	if err := p.Stop(within(t, stopTimeout)); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if err := syscall.Kill(-p.PID(), 0); err == nil {
		t.Errorf("processes of group %d are left", p.PID())
	}
}

// kill ends a process as a machine's failure would, and waits for its end.
func kill(t *testing.T, p *host.Process) {
	t.Helper()
	proc, err := os.FindProcess(p.PID())
	if err == nil {
		err = proc.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(stopTimeout):
		t.Fatal("the end of a killed process was not noticed")
	}
}
