//go:build !linux

package host

import (
	"syscall"
)

// processAttributes: a process group of its own. There is no death signal here: a plugin leaves when its connection or its
// parent goes away.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
