package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstockio/penstock/worker/peer"
)

// peerOf is another worker that answers with f.
func peerOf(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// TestWritesGoToTheLeader: a follower passes every write on, with the path and body as they came, and answers what the
// leader answered; what it then shows includes the write.
func TestWritesGoToTheLeader(t *testing.T) {
	type call struct{ method, uri, body string }
	var got call
	leader := peerOf(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = call{r.Method, r.RequestURI, string(b)}
		w.Header().Set("Location", "http://leader:1/connectors/x%2Fy")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"name":"x/y"}`)
	})
	for _, tc := range []struct{ method, path, body, uri string }{
		{"POST", "/connectors", `{"name":"x/y"}`, "/connectors?forward=true"},
		{"PUT", "/connectors/a%2Fb%20c/config", `{}`, "/connectors/a%2Fb%20c/config?forward=true"},
		{"PATCH", "/connectors/a%2Fb%20c/config?forward=true", `{}`, "/connectors/a%2Fb%20c/config?forward=false"},
		{"DELETE", "/connectors/a%2Fb%20c", "", "/connectors/a%2Fb%20c?forward=true"},
		{"PUT", "/connectors/a%2Fb%20c/stop", "", "/connectors/a%2Fb%20c/stop?forward=true"},
		{"POST", "/connectors/a%2Fb%20c/restart?includeTasks=true", "", "/connectors/a%2Fb%20c/restart?forward=true&includeTasks=true"},
	} {
		n := &node{ready: true, leader: leader}
		rec := httptest.NewRecorder()
		server(t, n).ServeHTTP(rec, httptest.NewRequest(tc.method, "http://localhost:8083"+tc.path, strings.NewReader(tc.body)))
		if want := (call{tc.method, tc.uri, tc.body}); got != want {
			t.Errorf("%s %s: the leader got %+v, want %+v", tc.method, tc.path, got, want)
		}
		if rec.Code != 201 || rec.Header().Get("Location") != "http://localhost:8083/connectors/x%2Fy" || !n.caughtUp {
			t.Errorf("%s %s: %d, Location %s, caught up %v", tc.method, tc.path, rec.Code, rec.Header().Get("Location"), n.caughtUp)
		}
	}
}

// TestAFollowerWaitsForTheGroup: while the leader is not known, or is one that was, a write waits; it fails only when that
// lasts, and at once where the error is final.
func TestAFollowerWaitsForTheGroup(t *testing.T) {
	var asked atomic.Int32
	leader := peerOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			writeError(w, http.StatusConflict, conflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	n := &node{ready: true, leader: leader}
	rec := httptest.NewRecorder()
	server(t, n).ServeHTTP(rec, httptest.NewRequest("DELETE", "http://localhost"+escaped, nil))
	if rec.Code != 204 || asked.Load() != 3 {
		t.Errorf("%d %s after %d calls", rec.Code, rec.Body, asked.Load())
	}

	// Nor does one who thought that it leads answer before that is settled, unless another worker asked.
	for query, status := range map[string]int{"": 204, "?forward=true": 409} {
		rec := httptest.NewRecorder()
		server(t, &node{ready: true, moving: 2}).ServeHTTP(rec, httptest.NewRequest("DELETE", "http://localhost"+escaped+query, nil))
		if rec.Code != status {
			t.Errorf("a leader that was, asked with %q: %d %s", query, rec.Code, rec.Body)
		}
	}

	begun := time.Now()
	for name, tc := range map[string]struct {
		n      node
		query  string
		status int
	}{
		"unknown, asked by another worker": {node{ready: true, unknown: errors.New("a rebalance")}, "?forward=true", 409},
		"a third hop":                      {node{ready: true, leader: leader}, "?forward=false", 409},
		"nobody listens, second hop":       {node{ready: true, leader: "http://127.0.0.1:1/"}, "?forward=true", 409},
	} {
		rec := httptest.NewRecorder()
		server(t, &tc.n).ServeHTTP(rec, httptest.NewRequest("DELETE", "http://localhost"+escaped+tc.query, nil))
		if rec.Code != tc.status || !strings.Contains(rec.Body.String(), "conflicting operation") {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("calls between workers waited %v", took)
	}
}

// TestCallsBetweenWorkersAreSigned: they are refused without the group's key.
func TestCallsBetweenWorkersAreSigned(t *testing.T) {
	key := peer.Default.NewKey(time.Now())
	body := `[{"a":"b"}]`
	for name, tc := range map[string]struct {
		key    peer.Key
		sign   func(*http.Request)
		status int
	}{
		"signed":   {key, func(r *http.Request) { peer.Default.Sign(key, r.Header, []byte(body)) }, 204},
		"unsigned": {key, func(*http.Request) {}, 400},
		"another algorithm": {key, func(r *http.Request) {
			peer.Default.Sign(key, r.Header, []byte(body))
			r.Header.Set(peer.AlgorithmHeader, "HmacMD5")
		}, 400},
		"another key":  {key, func(r *http.Request) { peer.Default.Sign(peer.Default.NewKey(time.Now()), r.Header, []byte(body)) }, 403},
		"another body": {key, func(r *http.Request) { peer.Default.Sign(key, r.Header, []byte("[]")) }, 403},
		"no key yet":   {peer.Key{}, func(r *http.Request) { peer.Default.Sign(key, r.Header, []byte(body)) }, 503},
	} {
		for method, verb := range map[string]string{"POST": "/tasks", "PUT": "/fence"} {
			r := httptest.NewRequest(method, "http://localhost"+escaped+verb, strings.NewReader(body))
			tc.sign(r)
			rec := httptest.NewRecorder()
			server(t, &node{ready: true, key: tc.key}).ServeHTTP(rec, r)
			if rec.Code != tc.status {
				t.Errorf("%s, %s: %d %s, want %d", verb, name, rec.Code, rec.Body, tc.status)
			}
		}
	}
}

// TestABodyThatIsTooLargeIsToldTheLimit, also where the call would be passed on, or is signed.
func TestABodyThatIsTooLargeIsToldTheLimit(t *testing.T) {
	for _, call := range []struct{ method, path string }{
		{"POST", "/connectors"}, {"PUT", "/connectors/x/config"}, {"POST", "/connectors/x/tasks"}, {"PUT", "/connector-plugins/x/config/validate"},
	} {
		rec := httptest.NewRecorder()
		body := strings.NewReader(strings.Repeat(" ", maxBody+1))
		server(t, &node{ready: true}).ServeHTTP(rec, httptest.NewRequest(call.method, "http://localhost:8083"+call.path, body))
		if rec.Code != http.StatusRequestEntityTooLarge || !strings.Contains(rec.Body.String(), "larger than 8388608 bytes") {
			t.Errorf("%s %s: %d %s", call.method, call.path, rec.Code, rec.Body)
		}
	}
}
