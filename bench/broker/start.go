package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/penstockio/penstock/bench/process"
	"github.com/penstockio/penstock/internal/testenv"
)

// startLines measures how long a broker with much in its log takes to be ready, after a clean stop, after kill -9, and with
// its index deleted.
// START_GB sets how much; the default is 10.
func startLines(_ plan, _ *lineup) error {
	gb := 10
	if v := os.Getenv("START_GB"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("START_GB=%q: %w", v, err)
		}
		gb = n
	}
	dir := testenv.TempDir("psstart")
	s, err := startOursIn(dir)
	if err != nil {
		return err
	}
	x := &arm{name: ours, srv: s}
	topic := topicName()
	if _, err := x.topic(topic, 3); err != nil {
		return err
	}
	for written := 0; written < gb<<10; written += consumeMB {
		if _, err := fill(x, topic, 3, 1000); err != nil {
			return err
		}
	}
	fmt.Printf("\nstart with %d GB of log\n", gb)
	s.stop()
	for _, how := range []string{"clean stop", "kill -9", "deleted index"} {
		if how == "deleted index" {
			if err := os.RemoveAll(filepath.Join(dir, "data", "index")); err != nil {
				return err
			}
			dropCaches()
		}
		at := time.Now()
		if s, err = startOursIn(dir); err != nil {
			return err
		}
		switch how {
		case "clean stop":
			fmt.Printf("  ready after a %s: %.0f ms\n", how, ms(at))
			x.srv = s
			if _, err := fill(x, topic, 3, 1000); err != nil {
				return err
			}
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
			continue
		case "deleted index":
			fmt.Printf("  ready with the index deleted and a cold disk: %.1f s, %.1f s of CPU, resident %.0f MB\n", ms(at)/1000, process.CPU(s.pid()).Seconds(), residentMB(s.pid()))
			s.stop()
			continue
		}
		fmt.Printf("  ready after a %s right behind %d MB of writes: %.0f ms, resident %.0f MB\n", how, consumeMB, ms(at), residentMB(s.pid()))
		s.stop()
	}
	return os.RemoveAll(dir)
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }
