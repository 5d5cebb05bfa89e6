// Command broker measures the bundled broker beside Apache Kafka on the same machine, with the same clients: throughput,
// CPU of the broker's process a record, latency from produce to consume, memory, and time to start.
//
// Arms alternate inside a round, ours runs twice a round (the A/A control), and what is printed are medians over the rounds.
// KLITE=/path/to/klite adds that broker (github.com/klaudworks/klite, which is not served as a module).
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

type plan struct {
	rounds int
	window time.Duration // measured, after a warm-up
	only   string
	lines  string
}

func (p plan) wants(what string) bool { return p.only == "" || strings.Contains(what, p.only) }

func main() {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 3, "rounds a line; medians are printed")
	flag.DurationVar(&p.window, "window", 2500*time.Millisecond, "how long each run is measured")
	flag.StringVar(&p.only, "only", "", "only sections whose name contains this: produce, client, consume, latency, start")
	flag.StringVar(&p.lines, "lines", "", "only lines of throughput whose title contains this")
	floor := flag.String("floor", "", "internal: be the floor, listening at this address")
	ours := flag.String("arms", "", "only arms whose name contains this, to profile one")
	flag.Parse()
	if *floor != "" {
		runFloor(*floor, flag.Arg(0))
		return
	}
	runtime.GOMAXPROCS(max(2, runtime.NumCPU()))
	err := run(p, *ours)
	testenv.StopAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "broker:", err)
		os.Exit(1)
	}
}

func run(p plan, only string) error {
	arms, err := startArms(only)
	if err != nil {
		return err
	}
	defer arms.stop()
	for _, section := range []struct {
		name string
		run  func(plan, *lineup) error
	}{
		{"produce", produceLines},
		{"client", clientLines},
		{"consume", consumeLines},
		{"latency", latencyLines},
		{"start", startLines},
	} {
		if !p.wants(section.name) {
			continue
		}
		if err := section.run(p, arms); err != nil {
			return fmt.Errorf("%s: %w", section.name, err)
		}
	}
	return nil
}
