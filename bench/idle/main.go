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
	"strings"
	"syscall"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"
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
	before := cpuMillis(cmd.Process.Pid)
	time.Sleep(5 * time.Second)
	s.cpu = cpuMillis(cmd.Process.Pid) - before
	s.rss, err = residentMB(cmd.Process.Pid)
	return s, err
}

// cpuMillis reads user and system time; a tick is 10 ms.
func cpuMillis(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) * 10
}

func residentMB(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}
