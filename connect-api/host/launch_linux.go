package host

import (
	"syscall"
)

// processAttributes: a process group of its own, so that a terminal's signals and a kill reach the right processes, and a
// death signal.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
