package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// failure is the body of every error.
type failure struct {
	Code    int    `json:"error_code"`
	Message string `json:"message"`
}

// TestRESTContract goes through the calls in order; each line is a call and what Kafka Connect answers.
func TestRESTContract(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "c044.txt")
	write(t, in, "one\n")
	body := fmt.Sprintf(`{"connector.class":"FileStreamSource","file":%q,"topic":"c044","tasks.max":1,"batch.size":100}`, in)
	changed := strings.Replace(body, "100", "200", 1)
	odd := url.PathEscape("team a/orders %1")
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		message                  string // of an error; "~" in front: contained
	}{
		{"root", "GET", "/", "", nil, 200, ""},
		{"empty list", "GET", "/connectors", "", nil, 200, ""},
		{"create", "POST", "/connectors", `{"name":"c044","config":` + body + `}`, nil, 201, ""},
		{"create again", "POST", "/connectors", `{"name":"c044","config":` + body + `}`, nil, 409, "Connector c044 already exists"},
		{"put new", "PUT", "/connectors/c044b/config", body, nil, 201, ""},
		{"put again", "PUT", "/connectors/c044b/config", body, nil, 200, ""},
		{"put a change", "PUT", "/connectors/c044b/config", changed, nil, 200, ""},
		{"post to config", "POST", "/connectors/c044/config", body, nil, 405, "~405"},
		{"get missing", "GET", "/connectors/none", "", nil, 404, "Connector none not found"},
		{"config missing", "GET", "/connectors/none/config", "", nil, 404, "Connector none not found"},
		{"status missing", "GET", "/connectors/none/status", "", nil, 404, "No status found for connector none"},
		{"tasks missing", "GET", "/connectors/none/tasks", "", nil, 404, "Connector none not found"},
		{"offsets missing", "GET", "/connectors/none/offsets", "", nil, 404, "Connector none not found"},
		{"delete missing", "DELETE", "/connectors/none", "", nil, 404, "Connector none not found"},
		{"pause missing", "PUT", "/connectors/none/pause", "", nil, 404, "Unknown connector none"},
		{"resume missing", "PUT", "/connectors/none/resume", "", nil, 404, "Unknown connector none"},
		{"stop missing", "PUT", "/connectors/none/stop", "", nil, 404, "~none"},
		{"restart missing", "POST", "/connectors/none/restart", "", nil, 404, "Unknown connector: none"},
		{"restart missing with tasks", "POST", "/connectors/none/restart?includeTasks=true", "", nil, 404, "Unknown connector: none"},
		{"restart a task of a missing one", "POST", "/connectors/none/tasks/0/restart", "", nil, 404, "~none"},
		{"restart a missing task", "POST", "/connectors/c044/tasks/9/restart", "", nil, 404, "~c044-9"},
		{"status of a missing task", "GET", "/connectors/c044/tasks/9/status", "", nil, 404, "No status found for task c044-9"},
		{"no such path", "GET", "/nothing", "", nil, 404, "~404"},
		{"empty config", "PUT", "/connectors/c044/config", "{}", nil, 400, "~connector.class"},
		{"no class", "POST", "/connectors", `{"name":"x","config":{}}`, nil, 400, "~connector.class"},
		{"no config", "POST", "/connectors", `{"name":"x"}`, nil, 400, "~config"},
		{"malformed", "POST", "/connectors", `{"name":"x","config":`, nil, 400, "~line 1, column"},
		{"malformed on line 3", "POST", "/connectors", "{\"name\":\"x\",\n\"config\":{\n  \"a\" 1}}", nil, 400, "~line 3, column"},
		{"more behind", "POST", "/connectors", `{"name":"x","config":{}} {}`, nil, 400, "~line 1, column"},
		{"nested value", "POST", "/connectors", `{"name":"x","config":{"connector.class":"file-source","file":{"a":1}}}`, nil, 400, `~"file"`},
		{"list as config", "PUT", "/connectors/c044/config", `[1]`, nil, 400, "~JSON"},
		{"no body", "POST", "/connectors", "", nil, 400, "~body"},
		{"other name in config", "PUT", "/connectors/c044/config", strings.Replace(body, "{", `{"name":"other",`, 1), nil, 400, "~(other) doesn't match connector name in the URL (c044)"},
		{"other name in create", "POST", "/connectors", `{"name":"c044x","config":` + strings.Replace(body, "{", `{"name":"other",`, 1) + `}`, nil, 400, "~(other) doesn't match connector name in the request (c044x)"},
		{"empty name", "POST", "/connectors", `{"name":"","config":` + body + `}`, nil, 400, "~name"},
		{"line break in a name", "POST", "/connectors", `{"name":"a\nb","config":` + body + `}`, nil, 400, "~name"},
		{"unknown class", "POST", "/connectors", `{"name":"x","config":{"connector.class":"nosuch"}}`, nil, 500, "~file-source"},
		{"several errors", "POST", "/connectors", `{"name":"x","config":{"connector.class":"file-source","tasks.max":"many"}}`, nil, 400, "~Connector configuration is invalid and contains the following 3 error(s)"},
		{"bad query", "POST", "/connectors/c044/restart?includeTasks=perhaps", "", nil, 400, "~includeTasks"},
		{"bad initial state", "POST", "/connectors", `{"name":"x","initial_state":"FLYING","config":` + body + `}`, nil, 400, "~FLYING"},
		{"another origin", "POST", "/connectors", `{"name":"evil","config":` + body + `}`, []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, "~origin"},
		{"another origin without a body", "PUT", "/connectors/c044/pause", "", []string{"Origin", "http://evil.example"}, 403, "~origin"},
		{"another host name", "GET", "/connectors", "", []string{"Host", "evil.example"}, 403, "~loopback"},
		{"trailing slash", "GET", "/connectors/", "", nil, 200, ""},
		{"trailing slash of one", "GET", "/connectors/c044/", "", nil, 200, ""},
		{"odd name", "POST", "/connectors", `{"name":"team a/orders %1","config":` + body + `}`, nil, 201, ""},
		{"odd name get", "GET", "/connectors/" + odd, "", nil, 200, ""},
		{"odd name put", "PUT", "/connectors/" + odd + "/config", changed, nil, 200, ""},
		{"odd name config", "GET", "/connectors/" + odd + "/config/", "", nil, 200, ""},
		{"odd name delete", "DELETE", "/connectors/" + odd, "", nil, 204, ""},
		{"odd name is gone", "GET", "/connectors/" + odd, "", nil, 404, "Connector team a/orders %1 not found"},
		{"pause", "PUT", "/connectors/c044/pause", "", nil, 202, ""},
		{"pause again", "PUT", "/connectors/c044/pause", "", nil, 202, ""},
		{"resume", "PUT", "/connectors/c044/resume/", "", nil, 202, ""},
		{"stop", "PUT", "/connectors/c044b/stop", "", nil, 204, ""},
		{"patch", "PATCH", "/connectors/c044/config", `{"batch.size":null,"line.max.bytes":4096}`, nil, 200, ""},
		{"patch missing", "PATCH", "/connectors/none/config", `{}`, nil, 404, "Connector none not found"},
		{"plugins", "GET", "/connector-plugins", "", nil, 200, ""},
		{"all plugins", "GET", "/connector-plugins?connectorsOnly=false", "", nil, 200, ""},
		{"plugin config", "GET", "/connector-plugins/FileStreamSource/config", "", nil, 200, ""},
		{"plugin config missing", "GET", "/connector-plugins/nosuch/config", "", nil, 404, "~nosuch"},
		{"validate without a class", "PUT", "/connector-plugins/FileStreamSource/config/validate", `{}`, nil, 400, "~connector.class"},
		{"validate another class", "PUT", "/connector-plugins/FileStreamSink/config/validate", body, nil, 400, "~does not match"},
		{"delete", "DELETE", "/connectors/c044b", "", nil, 204, ""},
		{"delete again", "DELETE", "/connectors/c044b", "", nil, 404, "Connector c044b not found"},
		{"health", "GET", "/health", "", nil, 200, ""},
		{"live", "GET", "/health/live", "", nil, 200, ""},
		{"ready", "GET", "/health/ready", "", nil, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := call(t, s, c.method, c.path, c.body, c.headers...)
			if a.code != c.code {
				t.Fatalf("%s %s answered %d %s, not %d", c.method, c.path, a.code, a.body, c.code)
			}
			if a.code == 201 {
				var made struct{ Name string }
				a.into(t, &made)
				if want := s.REST + "/connectors/" + url.PathEscape(made.Name); a.header.Get("Location") != want {
					t.Errorf("Location is %q, not %q", a.header.Get("Location"), want)
				}
			}
			if a.code < 300 {
				if (a.code == 204 || a.code == 202) && a.body != "" {
					t.Errorf("body is %q, not empty", a.body)
				}
				return
			}
			var f failure
			a.into(t, &f)
			if f.Code != c.code {
				t.Errorf("error_code is %d, not %d", f.Code, c.code)
			}
			if part, ok := strings.CutPrefix(c.message, "~"); ok && !strings.Contains(f.Message, part) || !ok && f.Message != c.message {
				t.Errorf("message is %q, not %q", f.Message, c.message)
			}
			if got := a.header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type is %q", got)
			}
		})
	}
}

// TestRESTShapes compares whole bodies.
func TestRESTShapes(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "in.txt")
	write(t, in, "one\n")
	worker := strings.TrimPrefix(s.REST, "http://")
	a := call(t, s, "POST", "/connectors", fmt.Sprintf(`{"name":"a","config":{"connector.class":"FileStreamSource","file":%q,"topic":"t","tasks.max":1,"key.converter.schemas.enable":false}}`, in))
	cfg := fmt.Sprintf(`{"connector.class":"FileStreamSource","file":%q,"key.converter.schemas.enable":"false","name":"a","tasks.max":"1","topic":"t"}`, in)
	if want := `{"name":"a","config":` + cfg + `,"tasks":[],"type":"source"}`; a.body != want {
		t.Errorf("create answered %s\nnot %s", a.body, want)
	}
	s.AwaitRunning(t, "a")
	out := filepath.Join(s.Dir, "out.txt")
	s.Create(t, "b", config{"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "file": out, "topics": "t"})
	for _, c := range []struct{ path, want string }{
		{"/connectors", `["a","b"]`},
		{"/connectors/a", `{"name":"a","config":` + cfg + `,"tasks":[{"connector":"a","task":0}],"type":"source"}`},
		{"/connectors/a/config", cfg},
		{"/connectors/a/status", `{"name":"a","connector":{"state":"RUNNING","worker_id":"` + worker + `"},"tasks":[{"id":0,"state":"RUNNING","worker_id":"` + worker + `"}],"type":"source"}`},
		{"/connectors/a/tasks/0/status", `{"id":0,"state":"RUNNING","worker_id":"` + worker + `"}`},
		{"/connectors?expand=info", `{"a":{"info":{"name":"a","config":` + cfg + `,"tasks":[{"connector":"a","task":0}],"type":"source"}},"b":{"info":` +
			fmt.Sprintf(`{"name":"b","config":{"connector.class":"org.apache.kafka.connect.file.FileStreamSinkConnector","file":%q,"name":"b","topics":"t"}`, out) + `,"tasks":[{"connector":"b","task":0}],"type":"sink"}}}`},
		{"/connectors?expand=nothing", `{"a":{},"b":{}}`},
	} {
		if a := call(t, s, "GET", c.path, ""); a.code != 200 || a.body != c.want {
			t.Errorf("%s answered %d %s\nnot %s", c.path, a.code, a.body, c.want)
		}
	}
	var both map[string]struct {
		Status state
		Info   struct{ Type string }
	}
	call(t, s, "GET", "/connectors?expand=status&expand=info", "").into(t, &both)
	if len(both) != 2 || both["b"].Status.Tasks[0].State != "RUNNING" || both["b"].Info.Type != "sink" || both["b"].Status.Type != "sink" {
		t.Errorf("expanded: %+v", both)
	}
	var tasks []struct {
		ID struct {
			Connector string
			Task      int
		}
		Config config
	}
	call(t, s, "GET", "/connectors/a/tasks", "").into(t, &tasks)
	if len(tasks) != 1 || tasks[0].ID.Connector != "a" || tasks[0].Config["task.class"] != "org.apache.kafka.connect.file.FileStreamSourceTask" || tasks[0].Config["file"] != in {
		t.Errorf("tasks: %+v", tasks)
	}
	var byName map[string]config
	call(t, s, "GET", "/connectors/b/tasks-config", "").into(t, &byName)
	if byName["b-0"]["topics"] != "t" || byName["b-0"]["file"] != out {
		t.Errorf("tasks-config: %v", byName)
	}
	var root map[string]string
	call(t, s, "GET", "/", "").into(t, &root)
	if root["version"] != "4.0.0" || root["kafka_cluster_id"] == "" || root["commit"] == "" {
		t.Errorf("root: %v", root)
	}
	testenv.Eventually(t, 10*time.Second, "the sink's offsets", func() bool {
		return call(t, s, "GET", "/connectors/b/offsets", "").body == `{"offsets":[{"partition":{"kafka_partition":0,"kafka_topic":"t"},"offset":{"kafka_offset":1}}]}`
	})
	var plugins []struct{ Class, Type, Version string }
	call(t, s, "GET", "/connector-plugins", "").into(t, &plugins)
	if len(plugins) != 2 || plugins[0].Type != "sink" || plugins[1].Type != "source" || plugins[1].Version == "" {
		t.Errorf("plugins: %+v", plugins)
	}
}

// TestRESTStates follows a connector through pause, resume and stop.
func TestRESTStates(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "in.txt")
	write(t, in, "1\n")
	s.Create(t, "a", fileSource(in, "t"))
	p := newTap(t, s, "t")
	p.count(t, 20*time.Second, 1)
	await := func(connector string, tasks ...string) {
		t.Helper()
		testenv.Eventually(t, 20*time.Second, "state "+connector, func() bool {
			st := status(t, s, "a")
			var have []string
			for _, task := range st.Tasks {
				have = append(have, task.State)
			}
			return st.Connector.State == connector && slices.Equal(have, tasks)
		})
	}
	call(t, s, "PUT", "/connectors/a/pause", "")
	await("PAUSED", "PAUSED")
	add(t, in, "2\n")
	call(t, s, "POST", "/connectors/a/restart?includeTasks=true", "") // a paused connector stays so
	await("PAUSED", "PAUSED")
	s.Kill()
	s.Start(t)
	await("PAUSED", "PAUSED")
	if n := len(p.toEnd(t, "t")); n != 1 {
		t.Fatalf("%d records while paused, not 1", n)
	}
	call(t, s, "PUT", "/connectors/a/resume", "")
	await("RUNNING", "RUNNING")
	p.count(t, 20*time.Second, 2)
	if a := call(t, s, "PUT", "/connectors/a/stop", ""); a.code != 204 {
		t.Fatalf("stop: %d %s", a.code, a.body)
	}
	await("STOPPED")
	testenv.Eventually(t, 10*time.Second, "a stopped connector has no process", func() bool { return len(plugin(t, s, "file")) == 0 })
	add(t, in, "3\n")
	call(t, s, "PUT", "/connectors/a/resume", "")
	await("RUNNING", "RUNNING")
	p.count(t, 20*time.Second, 3)
	a := call(t, s, "POST", "/connectors", fmt.Sprintf(`{"name":"b","initial_state":"stopped","config":{"connector.class":"file-source","file":%q,"topic":"b"}}`, in))
	if a.code != 201 {
		t.Fatalf("initial_state: %d %s", a.code, a.body)
	}
	testenv.Eventually(t, 20*time.Second, "b is stopped", func() bool {
		st := status(t, s, "b")
		return st.Connector.State == "STOPPED" && len(st.Tasks) == 0
	})
	if n := len(p.toEnd(t, "t")); n != 3 {
		t.Errorf("%d records, not 3", n)
	}
}

// TestRESTRestart has a sink whose task cannot read its record: states and restarts as people expect them.
func TestRESTRestart(t *testing.T) {
	s := server(t, "file")
	produce(t, s, value("c046", "{bad"))
	cfg := fileSink(filepath.Join(s.Dir, "out.txt"), "c046")
	cfg["value.converter"], cfg["value.converter.schemas.enable"] = jsonConverter, "false"
	if a := post(t, s, "c046", cfg); a.code != 201 {
		t.Fatalf("create: %d %s", a.code, a.body)
	}
	trace := awaitTask(t, s, "c046", 20*time.Second, "FAILED")
	for _, part := range []string{"c046", "partition 0", "offset 0", "VALUE_CONVERTER"} {
		if !strings.Contains(trace, part) {
			t.Errorf("the trace does not name %s: %s", part, trace)
		}
	}
	st := status(t, s, "c046")
	if st.Connector.State != "RUNNING" || st.Tasks[0].Worker_ID == "" {
		t.Errorf("status: %+v", st)
	}
	if a := call(t, s, "POST", "/connectors/c046/restart", ""); a.code != 204 || a.body != "" {
		t.Errorf("restart: %d %s", a.code, a.body)
	}
	if st := status(t, s, "c046"); st.Tasks[0].State != "FAILED" {
		t.Errorf("a plain restart touched the task: %+v", st)
	}
	a := call(t, s, "POST", "/connectors/c046/restart?includeTasks=true&onlyFailed=true", "")
	var told state
	a.into(t, &told)
	if a.code != 202 || told.Connector.State != "RUNNING" || len(told.Tasks) != 1 || told.Tasks[0].State != "RESTARTING" {
		t.Errorf("restart of what failed: %d %s", a.code, a.body)
	}
	awaitTask(t, s, "c046", 20*time.Second, "FAILED")
	if a := call(t, s, "POST", "/connectors/c046/tasks/0/restart", ""); a.code != 204 {
		t.Errorf("restart of the task: %d %s", a.code, a.body)
	}
	awaitTask(t, s, "c046", 20*time.Second, "FAILED")
	cfg["value.converter"] = stringConverter // a configuration that can read it mends the task
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "PUT", "/connectors/c046/config", string(b)); a.code != 200 {
		t.Fatalf("new configuration: %d %s", a.code, a.body)
	}
	testenv.Eventually(t, 20*time.Second, "the record is written", func() bool { return readFile(t, filepath.Join(s.Dir, "out.txt")) == "{bad\n" })
	awaitTask(t, s, "c046", 20*time.Second, "RUNNING")
}

// TestRESTOtherClass replaces a connector's configuration by one of another class, and deletes it.
func TestRESTOtherClass(t *testing.T) {
	s := server(t, "file")
	in, out := filepath.Join(s.Dir, "in"), filepath.Join(s.Dir, "out")
	write(t, in, "1\n")
	s.Create(t, "x", fileSource(in, "t"))
	newTap(t, s, "t").count(t, 20*time.Second, 1)
	old := plugin(t, s, "file")
	b, err := json.Marshal(fileSink(out, "t"))
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "PUT", "/connectors/x/config", string(b)); a.code != 200 {
		t.Fatalf("%d %s", a.code, a.body)
	}
	testenv.Eventually(t, 20*time.Second, "the sink writes", func() bool { return readFile(t, out) == "1\n" })
	testenv.Eventually(t, 20*time.Second, "the status is the sink's", func() bool {
		st := status(t, s, "x")
		return st.Type == "sink" && st.Connector.State == "RUNNING" && len(st.Tasks) == 1 && st.Tasks[0].State == "RUNNING"
	})
	if now := plugin(t, s, "file"); len(now) != 1 || now[0] == old[0] {
		t.Errorf("processes %v, before %v", now, old)
	}
	add(t, in, "2\n") // nobody reads it any more
	if a := call(t, s, "DELETE", "/connectors/x", ""); a.code != 204 {
		t.Fatalf("%d %s", a.code, a.body)
	}
	testenv.Eventually(t, 10*time.Second, "nothing of it is left", func() bool {
		return call(t, s, "GET", "/connectors/x/status", "").code == 404 && len(children(t, s.PID())) == 0
	})
	if n := len(newTap(t, s, "t").toEnd(t, "t")); n != 1 {
		t.Errorf("%d records", n)
	}
	if strings.Contains(s.Log(), "level=ERROR") {
		t.Error("the log has errors")
	}
}

// TestRESTValidate looks at the answer of validate: shape, errors under their keys, secrets hidden.
func TestRESTValidate(t *testing.T) {
	s := server(t, "file", "mysql")
	type infos struct {
		Name   string
		Count  int `json:"error_count"`
		Groups []string
		Config []struct {
			Definition *struct {
				Name, Type string
				Required   bool
				Default    *string `json:"default_value"`
				Width      string
				Display    string `json:"display_name"`
				Dependents []string
				Order      *int
			}
			Value struct {
				Name        string
				Value       *string
				Recommended []string `json:"recommended_values"`
				Errors      []string
				Visible     bool
			}
		} `json:"configs"`
	}
	errorsOf := func(i infos) map[string]string {
		out := map[string]string{}
		for _, c := range i.Config {
			if len(c.Value.Errors) > 0 {
				out[c.Value.Name] = strings.Join(c.Value.Errors, "|")
			}
		}
		return out
	}
	a := call(t, s, "PUT", "/connector-plugins/FileStreamSource/config/validate", `{"connector.class":"FileStreamSource","name":"v","file":"/tmp/x","topic":"t"}`)
	var i infos
	a.into(t, &i)
	if a.code != 200 || i.Name != "FileStreamSource" || i.Count != 0 || len(i.Groups) == 0 || i.Groups[0] != "Common" {
		t.Errorf("a good configuration: %d %s", a.code, a.body)
	}
	for _, c := range i.Config {
		if c.Definition != nil && (c.Definition.Width == "" || c.Definition.Display == "" || c.Definition.Dependents == nil || c.Definition.Order == nil || c.Value.Recommended == nil || c.Value.Errors == nil) {
			t.Errorf("key %s lacks a field", c.Value.Name)
		}
		if c.Definition != nil && c.Definition.Required != (c.Definition.Default == nil) && c.Definition.Required {
			t.Errorf("key %s is required and has a default", c.Value.Name)
		}
	}
	for _, c := range []struct {
		name, class, body string
		want              map[string]string // key to part of its error
	}{
		{"nothing given", "file-source", `{"connector.class":"file-source"}`, map[string]string{"name": "name", "file": "file", "topic": "topic"}},
		{
			"ill-typed", "file-source", `{"connector.class":"file-source","name":"v","file":"/tmp/x","topic":"t","tasks.max":"0","batch.size":"few"}`,
			map[string]string{"tasks.max": "0", "batch.size": "few"},
		},
		{
			"unknown converter", "file-source", `{"connector.class":"file-source","name":"v","file":"/tmp/x","topic":"t","value.converter":"com.example.Nope"}`,
			map[string]string{"value.converter": "com.example.Nope"},
		},
		{"sink without topics", "file-sink", `{"connector.class":"file-sink","name":"v","file":"/tmp/x"}`, map[string]string{"topics": "topics", "topics.regex": "topics.regex"}},
		{"sink with both", "file-sink", `{"connector.class":"file-sink","name":"v","file":"/tmp/x","topics":"a","topics.regex":"b"}`, map[string]string{"topics": "topics", "topics.regex": "topics.regex"}},
		{
			"bad transform", "file-source", `{"connector.class":"file-source","name":"v","file":"/tmp/x","topic":"t","transforms":"r","transforms.r.type":"RegexRouter","transforms.r.regex":"(","transforms.r.replacement":"x"}`,
			map[string]string{"transforms.r.regex": "("},
		},
		{
			"unknown transform", "file-source", `{"connector.class":"file-source","name":"v","file":"/tmp/x","topic":"t","transforms":"r","transforms.r.type":"com.example.Nope"}`,
			map[string]string{"transforms.r.type": "com.example.Nope"},
		},
		{
			"unreachable server", "mysql", fmt.Sprintf(`{"connector.class":"mysql","name":"v","database.hostname":"127.0.0.1","database.port":"%d","database.user":"u","database.password":"s3cret-pass","topic.prefix":"p"}`, testenv.FreePort()),
			map[string]string{"database.hostname": "cannot be reached"},
		},
		{
			"modes", "io.debezium.connector.mysql.MySqlConnector", `{"connector.class":"io.debezium.connector.mysql.MySqlConnector","name":"v","database.hostname":"127.0.0.1","database.user":"u","topic.prefix":"p?","snapshot.mode":"sometimes","decimal.handling.mode":"x","table.include.list":"("}`,
			map[string]string{"topic.prefix": "p?", "snapshot.mode": "sometimes", "decimal.handling.mode": "x", "table.include.list": "("},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := call(t, s, "PUT", "/connector-plugins/"+c.class+"/config/validate", c.body)
			if a.code != 200 {
				t.Fatalf("%d %s", a.code, a.body)
			}
			var i infos
			a.into(t, &i)
			got := errorsOf(i)
			if len(got) != len(c.want) || i.Count == 0 {
				t.Errorf("errors (%d): %v", i.Count, got)
			}
			for k, part := range c.want {
				if !strings.Contains(got[k], part) {
					t.Errorf("%s: %q does not contain %q", k, got[k], part)
				}
			}
			if strings.Contains(a.body, "s3cret-pass") {
				t.Error("the password is in the answer")
			}
			for _, cfg := range i.Config {
				if cfg.Value.Name == "database.password" && strings.Contains(c.body, "s3cret") && (cfg.Value.Value == nil || *cfg.Value.Value != "[hidden]" || cfg.Definition.Type != "PASSWORD") {
					t.Errorf("password: %+v", cfg)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "log")); err != nil || strings.Contains(s.Log(), "s3cret-pass") {
		t.Error("the password is in the log")
	}
	testenv.Eventually(t, 10*time.Second, "validate's plugins have ended", func() bool { return len(children(t, s.PID())) == 0 })
}
