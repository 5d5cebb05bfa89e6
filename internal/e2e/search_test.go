package e2e

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestSearchUnreachable points a sink at no Elasticsearch, and then loses one.
func TestSearchUnreachable(t *testing.T) {
	s := server(t, "elasticsearch", "file")
	url := fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort())
	cfg := config{
		"connector.class": "elasticsearch", "connection.url": url, "topics": "docs", "key.ignore": "true", "schema.ignore": "true",
		"value.converter": jsonConverter, "value.converter.schemas.enable": "false", "connection.username": "u", "connection.password": "s3cret-p4ssword",
	}
	a := post(t, s, "search", cfg)
	if a.code != 400 || !strings.Contains(a.body, "connection.url") && !strings.Contains(a.body, strings.TrimPrefix(url, "http://")) {
		t.Errorf("unreachable: %d %s", a.code, a.body)
	}
	if strings.Contains(a.body, "s3cret") || strings.Contains(s.Log(), "s3cret") {
		t.Error("the password is told")
	}
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "on\n")
	s.Create(t, "in", fileSource(in, "lines"))
	s.Create(t, "out", fileSink(out, "lines"))
	testenv.Eventually(t, 20*time.Second, "other connectors go on", func() bool { return readFile(t, out) == "on\n" })
}

// gate is a TCP proxy that can be closed.
type gate struct {
	to    string
	ln    net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
	shut  bool
	wg    sync.WaitGroup
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{to: to, ln: ln, conns: map[net.Conn]bool{}}
	g.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			g.wg.Go(func() { g.serve(c) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); g.set(true); g.wg.Wait() })
	return g
}

func (g *gate) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer up.Close()
	g.mu.Lock()
	shut := g.shut
	g.conns[c] = true
	g.mu.Unlock()
	if shut {
		return
	}
	done := make(chan struct{})
	g.wg.Go(func() { defer close(done); _, _ = io.Copy(up, c); _ = up.Close() })
	_, _ = io.Copy(c, up)
	_ = c.Close()
	<-done
}

// set closes or opens the gate; closing it breaks what runs through it.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if shut {
		for c := range g.conns {
			_ = c.Close()
		}
		clear(g.conns)
	}
}

// TestSearchComesBack breaks the way to Elasticsearch for a while: nothing is lost, nothing needs a hand.
func TestSearchComesBack(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	g := newGate(t, strings.TrimPrefix(es.URL, "http://"))
	s := server(t, "elasticsearch", "file")
	in := filepath.Join(s.Dir, "in")
	write(t, in, "")
	src := fileSource(in, "comesback")
	src["value.converter"], src["value.converter.schemas.enable"] = jsonConverter, "false"
	s.Create(t, "in", src)
	produce(t, s, value("comesback", `{"n":0}`))
	s.Create(t, "search", config{
		"connector.class": "elasticsearch", "connection.url": "http://" + g.ln.Addr().String(), "topics": "comesback", "key.ignore": "true", "schema.ignore": "true",
		"value.converter": jsonConverter, "value.converter.schemas.enable": "false",
	})
	count := func() string {
		if code, _, err := es.Do("POST", "/comesback/_refresh", ""); err != nil || code != 200 {
			return ""
		}
		_, body, err := es.Do("GET", "/comesback/_count", "")
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	has := func(n int) {
		t.Helper()
		testenv.Eventually(t, 60*time.Second, fmt.Sprintf("%d documents", n), func() bool { return strings.Contains(count(), fmt.Sprintf(`"count":%d,`, n)) })
	}
	has(1)
	g.set(true)
	for i := range 100 {
		produce(t, s, value("comesback", fmt.Sprintf(`{"n":%d}`, i+1)))
	}
	time.Sleep(2 * time.Second) // the outage
	if got := committed(t, s, "connect-search", "comesback"); got > 1 {
		t.Errorf("offset %d is committed during the outage", got)
	}
	g.set(false)
	has(101)
	awaitTask(t, s, "search", 30*time.Second, "RUNNING")
	testenv.Eventually(t, 20*time.Second, "everything is committed", func() bool { return committed(t, s, "connect-search", "comesback") == 101 })
}
