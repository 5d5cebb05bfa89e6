package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/worker/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a Worker that knows one connector, "a/b c".
type node struct {
	ready   bool
	started bool
	sick    error
	got     api.CreateRequest

	leader   string
	unknown  error
	caughtUp bool
	moving   int // so many writes find that this node has just ceased to lead
	key      peer.Key
}

const known = "a/b c"

func (n *node) ServerInfo() api.ServerInfo {
	return api.ServerInfo{Version: "4.0.0", Commit: "c", KafkaClusterID: "k", Penstock: "1"}
}
func (n *node) Leader(context.Context) (string, error)            { return n.leader, n.unknown }
func (n *node) Owner(context.Context, api.TaskID) (string, error) { return n.leader, n.unknown }
func (n *node) CatchUp(context.Context) error                     { n.caughtUp = true; return nil }
func (n *node) PutTasks(_ context.Context, _ string, h http.Header, body []byte) error {
	return peer.Default.Verify(n.key, n.key.Secret != nil, h, body)
}

func (n *node) Fence(ctx context.Context, name string, h http.Header, body []byte) error {
	return n.PutTasks(ctx, name, h, body)
}

func (n *node) Ready() bool                          { return n.ready }
func (n *node) Health(context.Context) (bool, error) { return n.started, n.sick }
func (n *node) Connectors() []string                 { return []string{known, "no-status"} }
func (n *node) Plugins(bool) []api.PluginInfo        { return []api.PluginInfo{{Class: "x", Type: "sink"}} }

func (n *node) Topics(name string) ([]string, error) {
	if name == known {
		return []string{"a"}, nil
	}
	return []string{}, nil
}
func (n *node) ResetTopics(context.Context, string) error { return nil }

func (n *node) Loggers() map[string]api.LoggerLevel {
	return map[string]api.LoggerLevel{"root": {Level: "INFO"}}
}

func (n *node) Logger(name string) (api.LoggerLevel, error) {
	if name != "worker.a/b" {
		return api.LoggerLevel{}, api.Errorf(404, "Logger %s not found.", name)
	}
	ms := int64(5)
	return api.LoggerLevel{Level: "DEBUG", Modified: &ms}, nil
}

func (n *node) SetLogger(name, level string) ([]string, error) {
	if level == "loud" {
		return nil, api.Errorf(404, "invalid log level '%s'", level)
	}
	return []string{name, level}, nil
}

func (n *node) SetLoggers(_ context.Context, name, level string) error {
	_, err := n.SetLogger(name, level)
	return err
}

func (n *node) Tasks(name string) ([]api.TaskInfo, error) {
	_, err := n.Info(name)
	return []api.TaskInfo{}, err
}

func (n *node) Info(name string) (api.ConnectorInfo, error) {
	if name != known && name != "no-status" {
		return api.ConnectorInfo{}, api.Errorf(404, "Connector %s not found", name)
	}
	return api.ConnectorInfo{Name: name, Config: map[string]string{"html": "<&>"}, Tasks: []api.TaskID{}, Type: "sink"}, nil
}

func (n *node) Status(name string) (api.StateInfo, error) {
	if name != known {
		return api.StateInfo{}, api.Errorf(404, "No status found for connector %s", name)
	}
	return api.StateInfo{Name: name, Connector: api.ConnectorState{State: api.Running}, Tasks: []api.TaskState{{ID: 0, State: api.Failed, Trace: "why"}}, Type: "sink"}, nil
}

func (n *node) Offsets(context.Context, string) (api.OffsetsInfo, error) {
	return api.OffsetsInfo{}, nil
}

func (n *node) Create(_ context.Context, r api.CreateRequest) (api.ConnectorInfo, error) {
	n.got = r
	switch r.Name {
	case known:
		return api.ConnectorInfo{}, api.Errorf(409, "Connector %s already exists", r.Name)
	case "slow":
		return api.ConnectorInfo{}, context.DeadlineExceeded
	case "broken":
		return api.ConnectorInfo{}, errors.New("the disk is on fire")
	case "panic":
		panic("at the disco")
	}
	return api.ConnectorInfo{Name: r.Name, Config: r.Config, Tasks: []api.TaskID{}, Type: "source"}, nil
}

func (n *node) PutConfig(_ context.Context, name string, c api.Config) (api.ConnectorInfo, bool, error) {
	return api.ConnectorInfo{Name: name, Config: c, Tasks: []api.TaskID{}}, name != known, nil
}

func (n *node) PatchConfig(_ context.Context, name string, p api.Patch) (api.ConnectorInfo, error) {
	if v, ok := p["gone"]; ok && v != nil {
		return api.ConnectorInfo{}, errors.New("null was lost")
	}
	return n.Info(name)
}

func (n *node) one(_ context.Context, name string) error { _, err := n.Info(name); return err }

func (n *node) Delete(ctx context.Context, name string) error {
	if n.moving--; n.moving >= 0 {
		return api.Errorf(http.StatusConflict, conflict+": another leads")
	}
	return n.one(ctx, name)
}
func (n *node) Pause(ctx context.Context, name string) error         { return n.one(ctx, name) }
func (n *node) Resume(ctx context.Context, name string) error        { return n.one(ctx, name) }
func (n *node) Stop(ctx context.Context, name string) error          { return n.one(ctx, name) }
func (n *node) RestartTask(ctx context.Context, id api.TaskID) error { return n.one(ctx, id.Connector) }

func (n *node) Restart(_ context.Context, name string, tasks, failed bool) (*api.StateInfo, error) {
	if !tasks && !failed {
		return nil, nil
	}
	st, err := n.Status(name)
	return &st, err
}

func (n *node) PluginConfig(context.Context, string) ([]api.ConfigKey, error) {
	return []api.ConfigKey{}, nil
}

func (n *node) Validate(context.Context, string, api.Config) (api.ConfigInfos, error) {
	return api.ConfigInfos{Name: "x", ErrorCount: 1, Groups: []string{}, Configs: []api.ConfigInfo{}}, nil
}

func server(t *testing.T, n Worker) http.Handler {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return New([]net.Listener{ln}, n, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), Options{}).endpoints[0].Handler
}

const escaped = "/connectors/a%2Fb%20c"

func TestCodesAndBodies(t *testing.T) {
	h := server(t, &node{ready: true, started: true})
	for _, tc := range []struct {
		call   string
		body   string
		status int
		want   string // part of the body
	}{
		{"GET /", "", 200, `"version":"4.0.0"`},
		{"GET /connectors", "", 200, `["a/b c","no-status"]`},
		{"GET /connectors/", "", 200, `["a/b c"`},
		{"GET /connectors?expand=status&expand=info", "", 200, `{"a/b c":{"status":`},
		{"GET /connectors?expand=nonsense", "", 200, `"no-status":{}`},
		{"POST /connectors", `{"name":" new ","config":{"tasks.max":1,"on":true}}`, 201, `"tasks.max":"1"`},
		{"POST /connectors/", `{"name":"new","config":{}}`, 201, `"name":"new"`},
		{"POST /connectors", `{"name":"a/b c","config":{}}`, 409, `{"error_code":409,"message":"Connector a/b c already exists"}`},
		{"POST /connectors", `{"name":"slow","config":{}}`, 500, `Request timed out`},
		{"POST /connectors", `{"name":"broken","config":{}}`, 500, `the disk is on fire`},
		{"POST /connectors", `{"name":"panic","config":{}}`, 500, `internal error`},
		{"POST /connectors", `{"name":"x"}`, 400, `no \"config\" object`},
		{"POST /connectors", "{\n\"name\":\"x\",\n\"config\":", 400, "malformed JSON at line 3, column 10"},
		{"POST /connectors", `{"name":"x","config":{}}}`, 400, "malformed JSON"},
		{"POST /connectors", ``, 400, "no body"},
		{"POST /connectors", `{"name":"x","config":{},"later":1}`, 400, `unknown field`},
		{"POST /connectors", `{"name":"x","config":{"k":{"nested":1}}}`, 400, `configuration key \"k\"`},
		{"POST /connectors/c/config", `{}`, 405, `{"error_code":405,"message":"HTTP 405 Method Not Allowed"}`},
		{"GET /nowhere", "", 404, `{"error_code":404,"message":"HTTP 404 Not Found"}`},
		{"GET /connectors/none", "", 404, `{"error_code":404,"message":"Connector none not found"}`},
		{"GET " + escaped, "", 200, `"name":"a/b c"`},
		{"GET " + escaped + "/config", "", 200, `{"html":"<&>"}`},
		{"PUT " + escaped + "/config", `{"a":1}`, 200, `"a":"1"`},
		{"PUT /connectors/other/config", `{"a":"1"}`, 201, `"name":"other"`},
		{"PUT /connectors/other/config", `null`, 400, "flat JSON object"},
		{"PUT /connectors/other/config", `"a"`, 400, "expected a JSON object of keys and values, found a string"},
		{"POST /connectors", `[]`, 400, `wrong shape: expected a JSON object with \"name\" and \"config\", found an array`},
		{"POST /connectors", `{"name":1}`, 400, `\"name\" must be a string, found a number`},
		{"POST /connectors", `{"name":"a","config":[]}`, 400, `\"config\" must be an object, found an array`},
		{"PATCH " + escaped + "/config", `{"gone":null}`, 200, `"name":"a/b c"`},
		{"GET " + escaped + "/status", "", 200, `"trace":"why"`},
		{"GET " + escaped + "/tasks/0/status", "", 200, `{"id":0,"state":"FAILED"`},
		{"GET " + escaped + "/tasks/7/status", "", 404, "No status found for task a/b c-7"},
		{"GET " + escaped + "/tasks/x/status", "", 404, "HTTP 404"},
		{"POST " + escaped + "/tasks/0/restart", "", 204, ""},
		{"GET " + escaped + "/tasks", "", 200, `[]`},
		{"GET " + escaped + "/offsets", "", 200, `"offsets"`},
		{"POST " + escaped + "/restart", "", 204, ""},
		{"POST " + escaped + "/restart?includeTasks=true", "", 202, `"tasks":[`},
		{"POST " + escaped + "/restart?includeTasks=perhaps", "", 400, "includeTasks"},
		{"PUT " + escaped + "/pause", "", 202, ""},
		{"PUT " + escaped + "/resume", "", 202, ""},
		{"PUT " + escaped + "/stop", "", 204, ""},
		{"DELETE " + escaped, "", 204, ""},
		{"DELETE /connectors/none", "", 404, `"error_code":404`},
		{"GET /connector-plugins", "", 200, `[{"class":"x","type":"sink"}]`},
		{"GET /connector-plugins?connectorsOnly=false", "", 200, `"class":"x"`},
		{"GET /connector-plugins/x/config", "", 200, `[]`},
		{"PUT /connector-plugins/x/config/validate", `{}`, 200, `"error_count":1`},
		{"GET " + escaped + "/topics", "", 200, `{"a/b c":{"topics":["a"]}}`},
		{"GET /connectors/none/topics", "", 200, `{"none":{"topics":[]}}`},
		{"PUT " + escaped + "/topics/reset", "", 202, ""},
		{"GET /admin/loggers/", "", 200, `{"root":{"level":"INFO","last_modified":null}}`},
		{"GET /admin/loggers/worker.a%2Fb", "", 200, `{"level":"DEBUG","last_modified":5}`},
		{"GET /admin/loggers/none", "", 404, "Logger none not found."},
		{"PUT /admin/loggers/root", `{"level":"debug","more":1}`, 200, `["root","debug"]`},
		{"PUT /admin/loggers/root?scope=worker", `{"level":"debug"}`, 200, `["root","debug"]`},
		{"PUT /admin/loggers/root?scope=other", `{"level":"debug"}`, 200, `["root","debug"]`},
		{"PUT /admin/loggers/root?scope=cluster", `{"level":"debug"}`, 204, ""},
		{"PUT /admin/loggers/root?scope=cluster", `{"level":"loud"}`, 404, "invalid log level"},
		{"PUT /admin/loggers/root", `{"level":"loud"}`, 404, "invalid log level 'loud'"},
		{"PUT /admin/loggers/root", `{}`, 400, "Desired 'level' parameter was not specified in request."},
		{"PUT /admin/loggers/root", ``, 400, "no body"},
		{"GET /health", "", 200, `"status":"healthy"`},
		{"GET /metrics", "", 200, ""},
	} {
		t.Run(tc.call+tc.body, func(t *testing.T) {
			method, path, _ := strings.Cut(tc.call, " ")
			req := httptest.NewRequest(method, "http://127.0.0.1:8083"+path, strings.NewReader(tc.body))
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			body, _ := io.ReadAll(rec.Body)
			if rec.Code != tc.status || !strings.Contains(string(body), tc.want) {
				t.Fatalf("%d %s, want %d with %s", rec.Code, body, tc.status, tc.want)
			}
			if rec.Code >= 400 {
				var e api.Error
				if err := json.Unmarshal(body, &e); err != nil || e.ErrorCode != rec.Code || e.Message == "" {
					t.Fatalf("an error is %s (%v)", body, err)
				}
			}
			if (rec.Code == 204 || rec.Code == 202 && tc.want == "") && len(body) > 0 {
				t.Fatalf("a body where none belongs: %s", body)
			}
		})
	}
}

func TestCreatedSaysWhere(t *testing.T) {
	n := &node{ready: true}
	rec := httptest.NewRecorder()
	server(t, n).ServeHTTP(rec, httptest.NewRequest("POST", "http://localhost:8083/connectors", strings.NewReader(`{"name":" x/y ","config":{}}`)))
	if got := rec.Header().Get("Location"); got != "http://localhost:8083/connectors/x%2Fy" || n.got.Name != "x/y" {
		t.Fatalf("Location %q, name %q", got, n.got.Name)
	}
}

func TestHealthSaysWhy(t *testing.T) {
	for _, tc := range []struct {
		n      node
		status int
		want   string
	}{
		{node{started: true}, 200, "healthy"},
		{node{sick: errors.New("reading the internal topics")}, 503, "starting"},
		{node{started: true, sick: errors.New("no space left")}, 500, "unhealthy"},
	} {
		for path, live := range map[string]bool{"/health": false, "/health/ready": false, "/health/live": true} {
			rec := httptest.NewRecorder()
			server(t, &tc.n).ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
			want := tc.status
			if live {
				want = 200
			}
			if rec.Code != want || !live && !strings.Contains(rec.Body.String(), tc.want) {
				t.Errorf("%s: %d %s, want %d %s", path, rec.Code, rec.Body, want, tc.want)
			}
		}
	}
}

// TestMonitor: a node without a worker tells health and metrics, and nothing else.
func TestMonitor(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var sick error
	h := NewMonitor([]net.Listener{ln}, func() error { return sick }, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), Options{}).endpoints[0].Handler
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
		return rec.Code, rec.Body.String()
	}
	for path, want := range map[string]int{"/health": 200, "/health/ready": 200, "/health/live": 200, "/metrics": 200, "/connectors": 404} {
		if code, body := get(path); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, body, want)
		}
	}
	sick = errors.New("no space left")
	if code, body := get("/health"); code != 500 || !strings.Contains(body, "no space left") {
		t.Errorf("/health of a sick broker: %d %s", code, body)
	}
}

func TestBeforeItIsReady(t *testing.T) {
	rec := httptest.NewRecorder()
	server(t, &node{}).ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/connectors", nil))
	if rec.Code != 503 || rec.Header().Get("Retry-After") == "" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for query, want := range map[string]int{"": 200, "?scope=cluster": 503} { // why a start does not end is seen by its logs
		rec := httptest.NewRecorder()
		server(t, &node{}).ServeHTTP(rec, httptest.NewRequest("PUT", "http://127.0.0.1/admin/loggers/root"+query, strings.NewReader(`{"level":"debug"}`)))
		if rec.Code != want {
			t.Errorf("a level, asked with %q: %d %s", query, rec.Code, rec.Body)
		}
	}
}

func TestBrowsersOfOtherOriginsAreRefused(t *testing.T) {
	h := server(t, &node{ready: true})
	for _, tc := range []struct {
		host, method, site string
		status             int
	}{
		{"127.0.0.1:8083", "POST", "cross-site", 403},
		{"127.0.0.1:8083", "POST", "same-origin", 201},
		{"127.0.0.1:8083", "GET", "cross-site", 200},
		{"evil.example:8083", "GET", "", 403}, // a name rebound to loopback
		{"localhost:8083", "GET", "", 200},
		{"[::1]:8083", "GET", "", 200},
	} {
		req := httptest.NewRequest(tc.method, "http://"+tc.host+"/connectors", strings.NewReader(`{"name":"x","config":{}}`))
		if tc.site != "" {
			req.Header.Set("Sec-Fetch-Site", tc.site)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != tc.status {
			t.Errorf("%+v answered %d %s", tc, rec.Code, rec.Body)
		}
	}
}

func TestAPortInUseIsNamed(t *testing.T) {
	lns, err := Listen("127.0.0.1:0, http://127.0.0.1:0/")
	if err != nil || len(lns) != 2 {
		t.Fatal(lns, err)
	}
	ln := lns[1]
	defer lns[0].Close()
	defer ln.Close()
	if _, err := Listen("127.0.0.1:0,http://" + ln.Addr().String()); err == nil || !strings.Contains(err.Error(), ln.Addr().String()) || !strings.Contains(err.Error(), "--rest-listen") {
		t.Fatalf("got %v", err)
	}
}
