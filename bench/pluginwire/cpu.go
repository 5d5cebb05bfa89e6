package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns the CPU time that this process and a plugin's have used so far.
func cpu(pid int) time.Duration {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		panic(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		panic(err)
	}
	return time.Duration(ru.Utime.Nano()+ru.Stime.Nano()) + ofStat(stat)
}

// tick is the kernel's USER_HZ, 100 on every Linux Go runs on.
const tick = 10 * time.Millisecond

// ofStat reads utime and stime, fields 14 and 15 of /proc/<pid>/stat.
func ofStat(stat []byte) time.Duration {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * tick
}
