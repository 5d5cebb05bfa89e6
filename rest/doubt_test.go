package rest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/penstockio/penstock/rest/api"
)

// moving is a worker whose leader changes: first is asked first, then another one, or with none this worker itself.
type moving struct {
	*node
	mu      *sync.Mutex
	leaders []string
	has     map[string]api.Config
}

func (m *moving) Leader(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leaders[0], nil
}

// next makes the next leader lead.
func (m *moving) next() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.leaders) > 1 {
		m.leaders = m.leaders[1:]
	}
}

func (m *moving) Info(name string) (api.ConnectorInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cfg, ok := m.has[name]; ok {
		return api.ConnectorInfo{Name: name, Config: cfg, Tasks: []api.TaskID{}}, nil
	}
	return api.ConnectorInfo{}, api.Errorf(404, "Connector %s not found", name)
}

func (m *moving) Create(_ context.Context, r api.CreateRequest) (api.ConnectorInfo, error) {
	if _, err := m.Info(r.Name); err == nil {
		return api.ConnectorInfo{}, api.Errorf(409, "Connector %s already exists", r.Name)
	}
	m.mu.Lock()
	m.has[r.Name] = maps.Clone(r.Config)
	m.has[r.Name]["name"] = r.Name
	m.mu.Unlock()
	return m.Info(r.Name)
}

func (m *moving) Delete(_ context.Context, name string) error {
	if _, err := m.Info(name); err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.has, name)
	m.mu.Unlock()
	return nil
}

// TestALeaderDiesUnderACall: the leader dies, or hangs and is replaced, before or after it did what was asked; the call is
// answered as if it had not, by the next leader or by this worker that leads now.
func TestALeaderDiesUnderACall(t *testing.T) {
	const create, remove = `{"name":"x","config":{"a":"1"}}`, ""
	asked := api.Config{"a": "1", "name": "x"}
	for name, tc := range map[string]struct {
		method, path, body string
		hangs              bool
		before, after      map[string]api.Config // before the call, and when the next leader is asked
		status             int
		says               string
	}{
		"created":                    {"POST", "/connectors", create, false, nil, map[string]api.Config{"x": asked}, 201, `"a":"1"`},
		"not created":                {"POST", "/connectors", create, false, nil, nil, 201, `"a":"1"`},
		"created by somebody else":   {"POST", "/connectors", create, false, nil, map[string]api.Config{"x": {"a": "2", "name": "x"}}, 409, "already exists"},
		"created by one that hangs":  {"POST", "/connectors", create, true, nil, map[string]api.Config{"x": asked}, 201, `"a":"1"`},
		"deleted":                    {"DELETE", "/connectors/x", remove, false, map[string]api.Config{"x": asked}, nil, 204, ""},
		"not deleted":                {"DELETE", "/connectors/x", remove, false, map[string]api.Config{"x": asked}, map[string]api.Config{"x": asked}, 204, ""},
		"not deleted by one it left": {"DELETE", "/connectors/x", remove, true, map[string]api.Config{"x": asked}, map[string]api.Config{"x": asked}, 204, ""},
		"not replaced":               {"PUT", "/connectors/x/config", `{"a":"1"}`, true, map[string]api.Config{"x": asked}, nil, 201, `"a":"1"`},
	} {
		for where, self := range map[string]bool{"here": true, "elsewhere": false} {
			t.Run(name+" "+where, func(t *testing.T) {
				w := &moving{node: &node{ready: true}, mu: new(sync.Mutex), has: map[string]api.Config{}}
				maps.Copy(w.has, tc.before)
				next := ""
				if !self {
					leader := &moving{node: &node{ready: true}, mu: w.mu, leaders: []string{""}, has: w.has}
					next = peerOf(t, func(rw http.ResponseWriter, r *http.Request) {
						r.Host = "localhost"
						server(t, leader).ServeHTTP(rw, r)
					})
				}
				w.leaders = []string{peerOf(t, func(_ http.ResponseWriter, r *http.Request) {
					w.mu.Lock()
					clear(w.has)
					maps.Copy(w.has, tc.after)
					w.mu.Unlock()
					w.next()
					if tc.hangs {
						_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is noticed behind the body
						<-r.Context().Done()
					}
					panic(http.ErrAbortHandler)
				}), next}
				rec := httptest.NewRecorder()
				server(t, w).ServeHTTP(rec, httptest.NewRequest(tc.method, "http://localhost"+tc.path, strings.NewReader(tc.body)))
				if rec.Code != tc.status || !strings.Contains(rec.Body.String(), tc.says) {
					t.Errorf("%d %s, want %d with %s", rec.Code, rec.Body, tc.status, tc.says)
				}
				if want := "http://localhost/connectors/x"; rec.Code == 201 && rec.Header().Get("Location") != want {
					t.Errorf("Location is %q", rec.Header().Get("Location"))
				}
				if tc.method == "DELETE" && len(w.has) > 0 {
					t.Error("it is still there")
				}
			})
		}
	}
}
