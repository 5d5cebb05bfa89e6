// Package process reads what other processes have used: CPU time and resident memory. Every program under bench measures with
// it; it starts and judges nothing.
package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time a process has been on a CPU, user and system, to the nanosecond: /proc's ticks of 10 ms are too coarse for
// short runs. It is read from the clock clock_getcpuclockid(3) makes: the complement of the pid above three bits that say which
// clock. A process that is gone has 0.
func CPU(pid int) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid)<<3|2, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ResidentMB is a process's resident memory; pages shared with others count in each.
func ResidentMB(pid int) (float64, error) {
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
