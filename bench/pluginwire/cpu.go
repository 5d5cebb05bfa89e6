package main

import (
	"os"
	"time"

	"github.com/penstockio/penstock/bench/process"
)

// cpu is the CPU time that this process and a plugin's have used so far.
func cpu(pid int) time.Duration { return process.CPU(os.Getpid()) + process.CPU(pid) }
