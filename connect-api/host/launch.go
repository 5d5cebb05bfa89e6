package host

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts processes from one goroutine locked to its thread for the life of the worker: on Linux a child's parent
// death signal comes when the *thread* that forked it ends (I1).
var launcher = struct {
	once sync.Once
	jobs chan func()
}{jobs: make(chan func())}

// launch starts cmd.
func launch(cmd *exec.Cmd) error {
	launcher.once.Do(func() { go runLauncher() })
	done := make(chan error, 1)
	launcher.jobs <- func() { done <- cmd.Start() }
	return <-done
}

func runLauncher() {
	runtime.LockOSThread() // never unlocked
	for job := range launcher.jobs {
		job()
	}
}
