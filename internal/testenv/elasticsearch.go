package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Elasticsearch is a running server.
type Elasticsearch struct {
	URL string
	Dir string
	p   *process
}

var sharedElasticsearch struct {
	sync.Mutex
	s *Elasticsearch
}

// SharedElasticsearch gives the package's server.
func SharedElasticsearch(t testing.TB) *Elasticsearch {
	t.Helper()
	NeedServers(t)
	sharedElasticsearch.Lock()
	defer sharedElasticsearch.Unlock()
	if sharedElasticsearch.s == nil {
		s, err := StartElasticsearch("")
		if err != nil {
			t.Fatal(err)
		}
		OnStop(s.Stop)
		sharedElasticsearch.s = s
	}
	return sharedElasticsearch.s
}

// StartElasticsearch starts a server; extra lines go into elasticsearch.yml, env is added to the start script's
// (ES_USER, ES_TLS). The caller stops it.
func StartElasticsearch(extra string, env ...string) (*Elasticsearch, error) {
	cache := filepath.Join(Cache(), "elasticsearch")
	if ok, _ := filepath.Glob(filepath.Join(cache, "elasticsearch-*", ".ok")); len(ok) == 0 {
		return nil, fmt.Errorf("Elasticsearch is not in %s: run make deps", cache)
	}
	dir := TempDir("pses")
	port := FreePort()
	cmd := exec.Command("bash", filepath.Join(Root(), "internal/testenv/parts/elasticsearch/start.sh"), dir, strconv.Itoa(port))
	cmd.Env = append(os.Environ(), append([]string{"ES_CACHE=" + cache, "ES_EXTRA_YML=" + extra}, env...)...)
	p, err := start(filepath.Join(dir, "out.log"), cmd)
	if err != nil {
		return nil, err
	}
	s := &Elasticsearch{URL: "http://127.0.0.1:" + strconv.Itoa(port), Dir: dir, p: p}
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	err = p.await(ctx, "Elasticsearch", func() bool {
		code, _, err := s.Do("GET", "/_cluster/health?wait_for_status=yellow&timeout=1s", "")
		return err == nil && (code == 200 || code == 401)
	})
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the server.
func (s *Elasticsearch) Stop() { s.p.stop(10 * time.Second) }

// Do sends a request with a JSON body.
func (s *Elasticsearch) Do(method, path, body string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}
