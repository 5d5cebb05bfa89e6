package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// KafkaTool makes a command that runs a class of Apache Kafka's clients and tools.
func KafkaTool(ctx context.Context, t testing.TB, class string, args ...string) *exec.Cmd {
	t.Helper()
	NeedServers(t)
	lib := kafkaLib(t)
	java, err := Lookup("java")
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, java, append([]string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", lib + "/*", class}, args...)...)
}

// kafkaLib is the folder of Apache Kafka's jars.
func kafkaLib(t testing.TB) string {
	t.Helper()
	lib := filepath.Join(Cache(), "kafka", "lib")
	if !fileExists(filepath.Join(Cache(), "kafka", ".ok")) {
		t.Fatalf("Apache Kafka's clients and tools are not in %s: run make deps", lib)
	}
	return lib
}

// Kcat runs kcat and gives its output.
func Kcat(t testing.TB, in []byte, args ...string) []byte {
	t.Helper()
	bin, err := Lookup("kcat")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	out, err := runWith(cmd, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runWith(cmd *exec.Cmd, in []byte) ([]byte, error) {
	cmd.Stdin = bytesReader(in)
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e, ok := err.(*exec.ExitError); ok { // what Output returns
			stderr = e.Stderr
		}
		return out, fmt.Errorf("running %s: %w: %s", filepath.Base(cmd.Path), err, stderr)
	}
	return out, nil
}
