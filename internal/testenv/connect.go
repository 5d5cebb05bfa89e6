package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// JavaConnect is Apache Kafka's own Connect worker in distributed mode, with the FileStream connectors.
type JavaConnect struct {
	REST   string // http://host:port
	Dir    string // its folder: log
	broker string
	port   int
	p      *process
}

// NewJavaConnect makes a worker that is not started yet. It is stopped when the test ends.
func NewJavaConnect(t testing.TB, broker string) *JavaConnect {
	t.Helper()
	NeedServers(t)
	lib := kafkaLib(t)
	c := &JavaConnect{Dir: t.TempDir(), broker: broker, port: FreePort()}
	c.REST = "http://127.0.0.1:" + strconv.Itoa(c.port)
	plugin := filepath.Join(c.Dir, "plugins", "file")
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(lib, "connect-file-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("looking for the FileStream connectors in %s: %v, %v", lib, jars, err)
	}
	if err := os.Symlink(jars[0], filepath.Join(plugin, filepath.Base(jars[0]))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.p != nil {
			c.p.kill()
			if t.Failed() {
				t.Logf("Connect's log ends with:\n%s", c.p.tail())
			}
		}
	})
	return c
}

// Start starts the worker and waits until it answers.
func (c *JavaConnect) Start(t testing.TB) {
	t.Helper()
	script := filepath.Join(Root(), "internal/testenv/parts/kafka/start-connect.sh")
	cmd := exec.Command("bash", script, kafkaLib(t), c.Dir, c.broker, strconv.Itoa(c.port), filepath.Join(c.Dir, "plugins"))
	cmd.Env = append(os.Environ(), "CONNECT_EXTRA=offset.flush.interval.ms=1000")
	var err error
	if c.p, err = start(filepath.Join(c.Dir, "log"), cmd); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err = c.p.await(ctx, "Java's Connect", func() bool {
		code, _, err := c.Do("GET", "/connectors", nil)
		return err == nil && code == 200
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Stop ends it with SIGTERM: it commits, and leaves its group.
func (c *JavaConnect) Stop() { c.p.stop(time.Minute) }

// Kill ends it with SIGKILL.
func (c *JavaConnect) Kill() { c.p.kill() }

// Do sends a request with a JSON body.
func (c *JavaConnect) Do(method, path string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.REST+path, bytes.NewReader(b))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// Create posts a connector, as often as a rebalance asks for it, and waits until its task runs.
func (c *JavaConnect) Create(t testing.TB, name string, cfg map[string]string) {
	t.Helper()
	Eventually(t, time.Minute, "Java's Connect takes connector "+name, func() bool {
		code, said, err := c.Do("POST", "/connectors", map[string]any{"name": name, "config": cfg})
		if err == nil && code != 201 && code != 409 && code < 500 {
			t.Fatalf("creating %s: %d %s", name, code, said)
		}
		return err == nil && (code == 201 || code == 409 && bytes.Contains(said, []byte("already exists")))
	})
	Eventually(t, time.Minute, fmt.Sprintf("task 0 of %s runs", name), func() bool {
		code, said, err := c.Do("GET", "/connectors/"+name+"/tasks/0/status", nil)
		return err == nil && code == 200 && bytes.Contains(said, []byte(`"RUNNING"`))
	})
}
