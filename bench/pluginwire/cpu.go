package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns the CPU time that this process and a plugin's have used so far, to the nanosecond: /proc's ticks of 10 ms are too
// coarse for short rounds.
func cpu(pid int) time.Duration {
	return clock(unix.CLOCK_PROCESS_CPUTIME_ID) + clock(processClock(pid))
}

// processClock is the CPU clock of another process, as clock_getcpuclockid(3) makes it: the complement of the pid above three
// bits that say which clock (2: time on a CPU, user and system).
func processClock(pid int) int32 { return int32(^pid)<<3 | 2 }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic(fmt.Sprintf("reading CPU clock %d: %v", id, err))
	}
	return time.Duration(ts.Nano())
}
