package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
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

// freePair finds a port nobody listens on, and nobody on the one behind it either.
func freePair() int {
	for {
		port := FreePort()
		if ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1)); err == nil {
			_ = ln.Close()
			return port
		}
	}
}

// StartKafka starts a broker of Apache Kafka with extra settings, stopped when the test ends, and gives its address.
func StartKafka(t testing.TB, settings ...string) string {
	t.Helper()
	NeedServers(t)
	lib, dir := kafkaLib(t), t.TempDir()
	port := freePair() // the controller takes the second
	cmd := exec.Command("bash", filepath.Join(Root(), "internal/testenv/parts/kafka/start-broker.sh"), lib, dir, strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "KAFKA_EXTRA="+strings.Join(settings, "\n"), "KAFKA_HEAP=-Xms128m -Xmx512m")
	p, err := start(filepath.Join(dir, "log"), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	addr := "127.0.0.1:" + strconv.Itoa(port)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.await(ctx, "Apache Kafka", func() bool { return listens(addr) }); err != nil {
		t.Fatal(err)
	}
	return addr
}
