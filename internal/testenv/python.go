package testenv

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Python gives the interpreter of the cache's virtual environment, which must have the modules.
func Python(modules ...string) (string, error) {
	py := filepath.Join(Cache(), "venv", "bin", "python")
	for _, m := range modules {
		if out, err := exec.Command(py, "-c", "import "+m).CombinedOutput(); err != nil {
			return "", fmt.Errorf("Python's module %s is not in %s (run make deps): %w: %s", m, py, err, out)
		}
	}
	return py, nil
}
