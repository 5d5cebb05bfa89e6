package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/bench/process"
)

// cpuOf is the CPU time processes have used.
func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		sum += process.CPU(pid)
	}
	return sum
}

// cpu is what a group's workers and their plugins have used; processes that ended meanwhile are not in it.
func (g *group) cpu() (sum time.Duration) {
	for _, w := range g.workers {
		sum += cpuOf(w.pids())
	}
	return sum
}

// residentMB is what they hold. Pages that processes share count in each: that is against us, with our processes of one binary.
func (g *group) residentMB() (sum float64) {
	for _, w := range g.workers {
		for _, pid := range w.pids() {
			mb, _ := process.ResidentMB(pid) // 0 of one that is gone
			sum += mb
		}
	}
	return sum
}

// reach waits until a broker answers.
func reach(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		err := cl.Ping(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// figures are a line's values by arm; a run gives one of each column.
type figures struct {
	title   string
	columns []string
	arms    []string
	got     map[string][][]float64
}

func newFigures(title string, columns ...string) *figures {
	return &figures{title: title, columns: columns, got: map[string][][]float64{}}
}

func (f *figures) add(arm string, values []float64) {
	if _, ok := f.got[arm]; !ok {
		f.arms = append(f.arms, arm)
	}
	f.got[arm] = append(f.got[arm], values)
}

func (f *figures) median(arm string, column int) float64 {
	var v []float64
	for _, run := range f.got[arm] {
		v = append(v, run[column])
	}
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// print writes each arm's medians, and behind each how ours compares: ours divided by the arm's.
func (f *figures) print() {
	fmt.Printf("\n%s\n  %-16s", f.title, "")
	for _, c := range f.columns {
		fmt.Printf(" %28s", c+" (ours/it)")
	}
	fmt.Println()
	for _, a := range f.arms {
		fmt.Printf("  %-16s", a)
		for i := range f.columns {
			v := f.median(a, i)
			fmt.Printf(" %28s", fmt.Sprintf("%.4g (%.3f)", v, f.median(ours, i)/v))
		}
		fmt.Println()
	}
}
