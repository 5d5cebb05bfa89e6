// Command idle measures bin/penstock server doing nothing: the time from exec until /health answers 200, the resident
// memory five seconds later, and the CPU it used meanwhile. No plugin is in the plugin path.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"

	"github.com/penstockio/penstock/bench/process"
)

const runs = 5

func main() {
	var first, again, rss, cpu []float64
	for range runs {
		dir := testenv.TempDir("psidle")
		s, err := measure(dir)
		if err == nil {
			first = append(first, s.ready)
			s, err = measure(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "idle:", err)
			testenv.StopAll()
			os.Exit(1)
		}
		again, rss, cpu = append(again, s.ready), append(rss, s.rss), append(cpu, s.cpu)
	}
	testenv.StopAll()
	line := func(what, unit string, v []float64, bar string) {
		slices.Sort(v)
		fmt.Printf("%-34s median %7.1f %s (from %.1f to %.1f; bar %s)\n", what, v[len(v)/2], unit, v[0], v[len(v)-1], bar)
	}
	line("ready, new data directory", "ms", first, "1000")
	line("ready, second start", "ms", again, "1000")
	line("resident, 5 s after ready", "MB", rss, "100")
	line("CPU in those 5 s", "ms", cpu, "none")
}

type sample struct{ ready, rss, cpu float64 }

func measure(dir string) (s sample, err error) {
	rest := "127.0.0.1:" + strconv.Itoa(testenv.FreePort())
	empty := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return s, err
	}
	cmd := exec.Command(filepath.Join(testenv.Root(), "bin/penstock"), "server", "--data-dir", filepath.Join(dir, "data"), "--plugin-path", empty,
		"--rest-listen", rest, "--broker-listen", "127.0.0.1:"+strconv.Itoa(testenv.FreePort()), "--log-level", "warn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	client := &api.Client{Base: "http://" + rest}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := client.Health(ctx)
		cancel()
		if err == nil {
			break
		}
		if time.Since(begun) > 30*time.Second {
			return s, fmt.Errorf("not healthy within 30 s: %w", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	s.ready = float64(time.Since(begun).Microseconds()) / 1000
	before := process.CPU(cmd.Process.Pid)
	time.Sleep(5 * time.Second)
	s.cpu = float64((process.CPU(cmd.Process.Pid) - before).Microseconds()) / 1000
	s.rss, err = process.ResidentMB(cmd.Process.Pid)
	return s, err
}
