package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/penstockio/penstock/bench/process"
)

// residentMB is 0 for a process that is gone.
func residentMB(pid int) float64 {
	mb, _ := process.ResidentMB(pid)
	return mb
}

// sample is what one run gave.
type sample struct {
	rate     float64 // records a second
	cpu      float64 // µs of the broker a record
	rss      float64 // MB
	p50, p99 float64 // ms
}

// table collects samples of one line by arm.
type table struct {
	title string
	arms  []string
	got   map[string][]sample
}

func newTable(title string) *table { return &table{title: title, got: map[string][]sample{}} }

func (t *table) add(arm string, s sample) {
	if _, ok := t.got[arm]; !ok {
		t.arms = append(t.arms, arm)
	}
	t.got[arm] = append(t.got[arm], s)
}

func median(s []sample, f func(sample) float64) float64 {
	v := make([]float64, len(s))
	for i := range s {
		v[i] = f(s[i])
	}
	slices.Sort(v)
	if len(v) == 0 {
		return math.NaN()
	}
	return v[len(v)/2]
}

// column is one figure of a table.
type column struct {
	name, format string
	of           func(sample) float64
}

var (
	rateColumn = column{"records/s", "%.0f", func(s sample) float64 { return s.rate }}
	cpuColumn  = column{"broker µs/record", "%.3f", func(s sample) float64 { return s.cpu }}
	rssColumn  = column{"resident MB", "%.0f", func(s sample) float64 { return s.rss }}
	p50Column  = column{"p50 ms", "%.2f", func(s sample) float64 { return s.p50 }}
	p99Column  = column{"p99 ms", "%.2f", func(s sample) float64 { return s.p99 }}
)

// print writes each arm's median, and behind it how ours compares: ours divided by the arm's.
func (t *table) print(columns ...column) {
	if len(t.arms) == 0 {
		return
	}
	fmt.Printf("\n%s\n  %-18s", t.title, "")
	for _, c := range columns {
		fmt.Printf(" %24s", c.name+" (ours/it)")
	}
	fmt.Println()
	for _, a := range t.arms {
		fmt.Printf("  %-18s", a)
		for _, c := range columns {
			v, mine := median(t.got[a], c.of), median(t.got[ours], c.of)
			fmt.Printf(" %24s", fmt.Sprintf(c.format+" (%.2f)", v, mine/v))
		}
		fmt.Println()
	}
}
