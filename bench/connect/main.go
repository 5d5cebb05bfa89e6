// Command connect measures a group of Penstock's workers beside the same group of Apache Kafka Connect's, both on a broker
// of ours and with trivial connectors: how long many tasks take to start, and to start elsewhere when a worker is killed; and
// records a second, CPU a record and memory, from a source to a topic and from a topic to a sink, plugin processes included.
//
// Arms alternate inside a round, ours runs twice a round where runs are short (the A/A control); medians are printed.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

type plan struct {
	rounds     int
	only, arms string
	warm       time.Duration
	window     time.Duration
	connectors int
	tasks      int
	size       int
}

// sizes are those of the records of flows.
func (p plan) sizes() []int {
	if p.size > 0 {
		return []int{p.size}
	}
	return []int{100, 1000}
}

func main() {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 2, "rounds; medians are printed")
	flag.StringVar(&p.only, "only", "", "only this section: tasks, source or sink")
	flag.StringVar(&p.arms, "arms", "", "only arms whose name contains this, to profile one")
	flag.DurationVar(&p.warm, "warm", 12*time.Second, "how long a flow runs before it is measured (Java compiles)")
	flag.DurationVar(&p.window, "window", 6*time.Second, "how long it is measured")
	flag.IntVar(&p.connectors, "connectors", 10, "connectors of the tasks section")
	flag.IntVar(&p.tasks, "tasks", 100, "tasks of each")
	flag.IntVar(&p.size, "size", 0, "only records of so many bytes (source, sink)")
	flag.Parse()
	err := run(p)
	testenv.StopAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "connect:", err)
		os.Exit(1)
	}
}

func run(p plan) error {
	jar, err := compileJava()
	if err != nil {
		return err
	}
	arms := []*arm{{name: ours, group: oursGroup}, {name: java, group: javaGroup(jar)}, {name: oursAgain, group: oursGroup}}
	if p.arms != "" {
		kept := arms[:0]
		for _, a := range arms {
			if strings.Contains(a.name, p.arms) {
				kept = append(kept, a)
			}
		}
		arms = kept
	}
	for _, s := range []struct {
		name string
		run  func(plan, []*arm) error
	}{{"tasks", tasksLines}, {"source", sourceLines}, {"sink", sinkLines}} {
		if p.only == "" || p.only == s.name {
			if err := s.run(p, arms); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}
