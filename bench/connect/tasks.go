package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// tasksLines: three workers with many tasks that do nothing start; one is killed; one is started in its place.
func tasksLines(p plan, arms []*arm) error {
	f := newFigures(fmt.Sprintf("%d connectors of %d tasks on 3 workers", p.connectors, p.tasks),
		"start s", "its CPU s", "beyond session s", "its CPU s", "one back s", "idle CPU % of a core", "resident MB")
	for range p.rounds {
		for _, a := range arms {
			v, err := manyTasks(p, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			f.add(a.name, v)
		}
	}
	f.print()
	return nil
}

func manyTasks(p plan, a *arm) ([]float64, error) {
	dir := testenv.TempDir("psconnect")
	defer os.RemoveAll(dir)
	broker, addr, err := startBroker(dir)
	if err != nil {
		return nil, err
	}
	defer broker.end()
	g := a.group(dir, addr)
	defer func() { g.stop() }()
	total := p.connectors * p.tasks
	share := total/3 - p.connectors
	if err := g.three(); err != nil {
		return nil, err
	}
	for i := range p.connectors {
		cfg := map[string]string{
			"connector.class": g.source, "topic": "t", "tasks.max": strconv.Itoa(p.tasks), "partitions": strconv.Itoa(p.tasks), "idle": "true",
		}
		if err := g.workers[0].create("idle-"+strconv.Itoa(i), cfg); err != nil {
			return nil, err
		}
	}
	if _, err := g.awaitAll(total, 0); err != nil {
		return nil, err
	}
	g.stop()

	// All start together, with the connectors there are.
	at := time.Now()
	for range 3 {
		if _, err := g.start(); err != nil {
			return nil, err
		}
	}
	if err := g.workers[0].ready(); err != nil {
		return nil, err
	}
	if _, err := g.awaitAll(total, share); err != nil { // not yet when the first alone runs them all
		return nil, err
	}
	started, startCPU := time.Since(at), g.cpu()
	time.Sleep(5 * time.Second)
	c, idleAt := g.cpu(), time.Now()
	time.Sleep(5 * time.Second)
	idle := 100 * (g.cpu() - c).Seconds() / time.Since(idleAt).Seconds()
	resident := g.residentMB()

	// The last is killed: neither the leader for certain nor not.
	dead := g.workers[2]
	g.forget(dead)
	c, at = g.cpu(), time.Now()
	dead.signal(syscall.SIGKILL)
	if _, err := g.awaitAll(total, 0); err != nil {
		return nil, err
	}
	over, overCPU := time.Since(at)-session, g.cpu()-c

	at = time.Now()
	if _, err := g.start(); err != nil {
		return nil, err
	}
	if _, err := g.awaitAll(total, share); err != nil {
		return nil, err
	}
	back := time.Since(at)
	return []float64{started.Seconds(), startCPU.Seconds(), over.Seconds(), overCPU.Seconds(), back.Seconds(), idle, resident}, nil
}

// three starts three workers and waits until they serve.
func (g *group) three() error {
	for range 3 {
		if _, err := g.start(); err != nil {
			return err
		}
	}
	for _, w := range g.workers {
		if err := w.ready(); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a group may take to run all.
const patience = 10 * time.Minute

// awaitAll waits until so many tasks run on the workers there are, and on each of them at least share.
func (g *group) awaitAll(total, share int) (map[string]int, error) {
	var by map[string]int
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if by, err = g.workers[0].running(); err != nil {
			continue
		}
		n, least := 0, total
		for _, w := range g.workers {
			n += by[w.rest]
			least = min(least, by[w.rest])
		}
		if n == total && least >= share {
			return by, nil
		}
	}
	return nil, fmt.Errorf("%d tasks do not run within %v, but on the workers %v; %w", total, patience, by, err)
}
