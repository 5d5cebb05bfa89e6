package elasticsearch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

// TestIDsOnARealServer: what goes in as a key is the id, byte for byte; what cannot be fails alone.
func TestIDsOnARealServer(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	ids := []string{
		"a\"\\/", "\x01\x1f\x7f\a\b\f\n\r\t\v", "\u2028\u2029<&>'", "é\U0001f600", strings.Repeat("x", 510) + "é", " ", "../..", "_x", "{}",
	}
	r := newRun(t, ix, es.URL, nil)
	for i, id := range ids {
		r.write(t, rec{key: text(id), value: jsonValue(`{"i":%d}`, i)})
	}
	r.write(t, rec{key: text(strings.Repeat("x", 511) + "é"), value: jsonValue(`{}`)}, rec{key: text("a\xff"), value: jsonValue(`{}`)},
		rec{key: text(""), value: jsonValue(`{}`)}, rec{value: jsonValue(`{}`)})
	r.flush(t)
	docs := documents(t, es, ix)
	for i, id := range ids {
		if docs[id]["i"] != float64(i) {
			t.Errorf("id %q: %v", id, docs[id])
		}
	}
	if n := len(r.host.failures()); n != 4 || len(docs) != len(ids) {
		t.Errorf("%d failed, %d documents", n, len(docs))
	}
}

func fieldTypes(t *testing.T, es *testenv.Elasticsearch, ix string) map[string]any {
	t.Helper()
	m := do(t, es, "GET", "/"+ix+"/_mapping", "", 200)[ix].(map[string]any)["mappings"].(map[string]any)
	p, _ := m["properties"].(map[string]any)
	return p
}

// TestMappingsOnARealServer: made from the first schema, added to for later ones, and every type's JSON fits its mapping.
func TestMappingsOnARealServer(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	v := allTypes(t)
	r := newRun(t, ix, es.URL, nil)
	r.write(t, rec{key: text("nan"), value: v})
	r.flush(t)
	failed := r.host.failures()
	if len(failed) != 1 {
		t.Fatalf("NaN fits no mapping: %v", failed)
	}
	contains(t, failed[0].Error(), "nan", "double")
	at := v.Schema().FieldIndex("nan")
	spans, err := v.Spans(nil)
	if err != nil {
		t.Fatal(err)
	}
	enc := append([]byte{}, v.Encoded()...)
	copy(enc[spans[at].From:], connectapi.AppendFloat64(nil, 2.5))
	r.write(t, rec{key: text("all"), value: connectapi.NewValue(v.Schema(), enc)})
	r.flush(t)
	if failed = r.host.failures(); len(failed) != 1 {
		t.Fatalf("failed: %v", failed)
	}
	n, _ := r.trans.node(v.Schema())
	want, _ := mappingOf(n)
	have := fieldTypes(t, es, ix)
	for name, w := range want {
		if typ := w.(map[string]any)["type"]; typ != nil && have[name].(map[string]any)["type"] != typ && typ != "object" {
			t.Errorf("field %s is %v, want %v", name, have[name], typ)
		}
	}
	do(t, es, "POST", "/"+ix+"/_refresh", "", 200)
	for _, query := range []string{
		`{"range":{"date":{"gte":"2022-01-08","lte":"2022-01-08"}}}`, `{"range":{"dbz_date":{"gte":"2022-01-08","lte":"2022-01-08"}}}`,
		`{"range":{"timestamp":{"gte":"2023-11-14","lte":"2023-11-15"}}}`, `{"term":{"decimal":-12.5}}`, `{"term":{"default":7}}`,
		`{"range":{"dbz_microtimestamp":{"gte":"1969-12-31","lt":"1970-01-01"}}}`,
	} {
		hits := do(t, es, "POST", "/"+ix+"/_search", `{"query":`+query+`}`, 200)["hits"].(map[string]any)["hits"].([]any)
		if len(hits) != 1 {
			t.Errorf("query %s: %d hits", query, len(hits))
		}
	}

	more := connectapi.NewStruct("v").Field("int8", connectapi.Int8Schema).Field("later", connectapi.NewDate().MustBuild()).MustBuild()
	st := connectapi.NewStructValue(more)
	_ = st.Put("int8", int8(1))
	_ = st.Put("later", int32(1))
	r.write(t, rec{key: text("later"), value: encoded(t, more, st)})
	r.flush(t)
	if have = fieldTypes(t, es, ix); have["later"].(map[string]any)["type"] != "date" {
		t.Errorf("a field that came later: %v", have["later"])
	}
}

func TestMappingsOfOthersAreRespected(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	do(t, es, "PUT", "/"+ix, `{"mappings":{"dynamic":"strict","properties":{"a":{"type":"keyword"}}}}`, 200)
	r := newRun(t, ix, es.URL, nil)
	s := connectapi.NewStruct("v").Field("a", connectapi.Int32Schema).Field("b", connectapi.Int32Schema).MustBuild()
	ok := connectapi.NewStruct("v").Field("a", connectapi.Int32Schema).MustBuild()
	r.write(t, rec{key: text("x"), value: structOf(t, s, map[string]any{"a": int32(1), "b": int32(2)})},
		rec{key: text("y"), value: structOf(t, ok, map[string]any{"a": int32(1)})})
	r.flush(t)
	if have := fieldTypes(t, es, ix); len(have) != 1 {
		t.Errorf("fields: %v", have)
	}
	failed := r.host.failures()
	if len(failed) != 1 || failed[0] == nil {
		t.Fatalf("failed: %v", failed)
	}
	contains(t, failed[0].Error(), "strict_dynamic_mapping_exception", "[b]")
}

func TestSchemaIgnoreLeavesMappingsToTheServer(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	r := newRun(t, ix, es.URL, map[string]string{"topic.schema.ignore": ix})
	s := connectapi.NewStruct("v").Field("a", connectapi.Int8Schema).MustBuild()
	r.write(t, rec{key: text("x"), value: structOf(t, s, map[string]any{"a": int8(1)})})
	r.flush(t)
	if have := fieldTypes(t, es, ix)["a"].(map[string]any)["type"]; have != "long" {
		t.Errorf("a is %v", have)
	}
}

// TestBlocksAreWaitedFor: an index that takes no writes, for a while.
func TestBlocksAreWaitedFor(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	for _, block := range []string{"write", "read_only_allow_delete"} {
		t.Run(block, func(t *testing.T) {
			ix := index(t)
			r := newRun(t, ix, es.URL, map[string]string{"behavior.on.null.values": "DELETE", "max.retries": "0"})
			r.write(t, rec{key: text("a"), value: jsonValue(`{"n":1}`)}, rec{key: text("b"), value: jsonValue(`{"n":1}`)})
			r.flush(t)
			setBlock := func(v string) {
				do(t, es, "PUT", "/"+ix+"/_settings", `{"index.blocks.`+block+`":`+v+`}`, 200)
			}
			setBlock("true")
			r.write(t, rec{key: text("a"), value: jsonValue(`{"n":2}`)}, rec{key: text("gone")})
			testenv.Eventually(t, time.Minute, "the task says that the index is blocked", func() bool {
				return strings.Contains(r.host.waits(), "cluster_block_exception") && strings.Contains(r.host.waits(), ix)
			})
			if o, err := r.Commit(t.Context(), false); err != nil || o[r.tp()] != 2 {
				t.Fatalf("durable: %v, %v", o, err)
			}
			setBlock("null")
			r.flush(t)
			docs := documents(t, es, ix)
			if docs["a"]["n"] != 2.0 || docs["b"]["n"] != 1.0 || len(r.host.failures()) > 0 {
				t.Fatalf("documents %v, failed %v", docs, r.host.failures())
			}
		})
	}
}

// TestClosedIndexIsWaitedFor: it is not the documents' fault.
func TestClosedIndexIsWaitedFor(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	r := newRun(t, ix, es.URL, map[string]string{"behavior.on.malformed.documents": "IGNORE"})
	r.write(t, rec{key: text("a"), value: jsonValue(`{"n":1}`)})
	r.flush(t)
	do(t, es, "POST", "/"+ix+"/_close", "", 200)
	r.write(t, rec{key: text("a"), value: jsonValue(`{"n":2}`)})
	testenv.Eventually(t, time.Minute, "the task says that the index is closed", func() bool { return strings.Contains(r.host.waits(), "index_closed_exception") })
	do(t, es, "POST", "/"+ix+"/_open", "", 200)
	r.flush(t)
	if docs := documents(t, es, ix); docs["a"]["n"] != 2.0 {
		t.Fatalf("documents: %v", docs)
	}
}

// TestIndexThatMayNotBeMade: the task fails and says why; no document is said to be at fault, or dropped.
func TestIndexThatMayNotBeMade(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	do(t, es, "PUT", "/_cluster/settings", `{"persistent":{"cluster.max_shards_per_node":1}}`, 200)
	defer do(t, es, "PUT", "/_cluster/settings", `{"persistent":{"cluster.max_shards_per_node":null}}`, 200)
	r := newRun(t, ix, es.URL, map[string]string{"behavior.on.malformed.documents": "IGNORE"})
	err := r.Write(t.Context(), r.records(t, rec{key: text("a"), value: jsonValue(`{}`)}))
	if err == nil {
		err = r.flushErr(t)
	}
	contains(t, err.Error(), ix, "shards")
	if len(r.host.failures()) > 0 {
		t.Errorf("failed: %v", r.host.failures())
	}
}

// TestCircuitBreakerIsWaitedFor: requests are refused with 429 while memory is short.
func TestCircuitBreakerIsWaitedFor(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	set := func(v string) {
		do(t, es, "PUT", "/_cluster/settings", `{"persistent":{"network.breaker.inflight_requests.limit":`+v+`}}`, 200)
	}
	r := newRun(t, ix, es.URL, map[string]string{"max.in.flight.requests": "1", "max.retries": "0", "linger.ms": "50"})
	r.write(t, rec{key: text("first"), value: jsonValue(`{}`)})
	r.flush(t)
	defer set("null")
	set(`"4kb"`)
	for i := range 100 {
		r.write(t, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{"v":%q}`, strings.Repeat("x", 100))})
	}
	testenv.Eventually(t, time.Minute, "the task says that memory is short", func() bool { return strings.Contains(r.host.waits(), "circuit_breaking_exception") })
	set("null")
	r.flush(t)
	if n := len(documents(t, es, ix)); n != 101 {
		t.Fatalf("%d documents", n)
	}
}

// TestSmallSecuredServer: one with passwords, API keys, small requests and a short queue.
func TestSmallSecuredServer(t *testing.T) {
	testenv.NeedServers(t)
	const user, password = "penny", "correct-horse-battery"
	es, err := testenv.StartElasticsearch("http.max_content_length: 16kb\nthread_pool.write.size: 1\nthread_pool.write.queue_size: 1", "ES_USER="+user+":"+password)
	if err != nil {
		t.Fatal(err)
	}
	defer es.Stop()
	call := func(method, path, body string) map[string]any {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, es.URL+path, bytes.NewReader([]byte(body)))
		req.SetBasicAuth(user, password)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		m := map[string]any{}
		if err := json.Unmarshal(b, &m); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b)
		}
		return m
	}
	count := func(ix string) int {
		t.Helper()
		call("POST", "/"+ix+"/_refresh", "")
		return int(call("GET", "/"+ix+"/_count", "")["count"].(float64))
	}
	own := map[string]string{"connection.username": user, "connection.password": password}
	with := func(more map[string]string) map[string]string {
		m := map[string]string{"connection.url": es.URL}
		for k, v := range more {
			m[k] = v
		}
		return m
	}

	t.Run("validation", func(t *testing.T) {
		if f := findingsOf(t, with(own)); len(f) != 0 {
			t.Errorf("findings: %v", f)
		}
		f := findingsOf(t, with(map[string]string{"connection.username": user, "connection.password": "wr0ng-wr0ng"}))
		contains(t, f["connection.password"], "refuses the credentials", "connection.password")
		if strings.Contains(fmt.Sprint(f), "wr0ng") {
			t.Errorf("the password shows: %v", f)
		}
		contains(t, findingsOf(t, with(nil))["connection.username"], "wants a user")
		contains(t, findingsOf(t, with(map[string]string{"connection.api.key": "bm8="}))["connection.api.key"], "connection.api.key")
	})
	t.Run("too large", func(t *testing.T) {
		ix := "toolarge"
		cfg := map[string]string{"max.in.flight.requests": "1", "linger.ms": "100", "connection.compression": "true"}
		for k, v := range own {
			cfg[k] = v
		}
		r := newRun(t, ix, es.URL, cfg)
		var recs []rec
		for i := range 100 {
			size := 1000
			if i == 50 {
				size = 20_000
			}
			recs = append(recs, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{"v":%q}`, strings.Repeat("x", size))})
		}
		r.write(t, recs...)
		r.flush(t)
		failed := r.host.failures()
		if n := count(ix); n != 99 || len(failed) != 1 || failed[50] == nil {
			t.Fatalf("%d documents, failed %v", n, failed)
		}
		if r.counters.splits.Load() == 0 {
			t.Error("nothing was split")
		}
	})
	t.Run("busy items", func(t *testing.T) {
		ix := "busy"
		call("PUT", "/"+ix, `{"settings":{"number_of_shards":16,"number_of_replicas":0}}`)
		r := newRun(t, ix, es.URL, own)
		var recs []rec
		for i := range 600 {
			recs = append(recs, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{"n":%d}`, i)})
		}
		r.write(t, recs...)
		r.flush(t)
		if n := count(ix); n != 600 || len(r.host.failures()) > 0 {
			t.Fatalf("%d documents, failed %v", n, r.host.failures())
		}
		if r.counters.retries.Load() == 0 {
			t.Error("nothing was refused: the queue was not full")
		}
	})
	t.Run("API key", func(t *testing.T) {
		k := call("POST", "/_security/api_key", `{"name":"k","role_descriptors":{"r":{"cluster":["monitor"],"indices":[{"names":["mine"],"privileges":["create_index","view_index_metadata","index","delete","write"]}]}}}`)
		key := base64.StdEncoding.EncodeToString([]byte(k["id"].(string) + ":" + k["api_key"].(string)))
		if f := findingsOf(t, with(map[string]string{"connection.api.key": key})); len(f) != 0 {
			t.Errorf("findings: %v", f)
		}
		r := newRun(t, "mine", es.URL, map[string]string{"connection.api.key": key})
		r.write(t, rec{key: text("a"), value: jsonValue(`{}`)})
		r.flush(t)
		if n := count("mine"); n != 1 {
			t.Fatalf("%d documents", n)
		}
		r = newRun(t, "theirs", es.URL, map[string]string{"connection.api.key": key})
		r.write(t, rec{key: text("a"), value: jsonValue(`{}`)})
		err := r.flushErr(t)
		contains(t, err.Error(), "security_exception", "unauthorized", "theirs", "connection.api.key")
		if connectapi.AsError(err).Key != "connection.api.key" || strings.Contains(err.Error()+r.host.text.String(), key) {
			t.Errorf("error: %v, log: %s", err, r.host.text.String())
		}
	})
}

// findingsOf validates a configuration as the host does, and returns the errors by key.
func findingsOf(t *testing.T, values map[string]string) map[string]string {
	t.Helper()
	errs, _ := validation(t, values)
	return errs
}

func validation(t *testing.T, values map[string]string) (errs, warnings map[string]string) {
	t.Helper()
	d, err := Sink.Definition()
	if err != nil {
		t.Fatal(err)
	}
	errs, warnings = map[string]string{}, map[string]string{}
	own, err := d.Validate(t.Context(), values)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(d.Config.Findings(values), own...) {
		if len(f.Errors) > 0 {
			errs[f.Key] += strings.Join(f.Errors, "; ")
		}
		if len(f.Warnings) > 0 {
			warnings[f.Key] += strings.Join(f.Warnings, "; ")
		}
	}
	return errs, warnings
}

func TestValidation(t *testing.T) {
	f := newFake(t, nil)
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"n","version":{"distribution":"opensearch","number":"2.19.6"},"tagline":"The OpenSearch Project: https://opensearch.org/"}`)
	}))
	defer open.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"hello":"world"}`) }))
	defer other.Close()
	tlsServer := httptest.NewTLSServer(http.HandlerFunc(f.serve))
	defer tlsServer.Close()
	for name, c := range map[string]struct {
		set  map[string]string
		key  string
		says []string
	}{
		"good":                   {map[string]string{"connection.url": f.URL}, "", nil},
		"OpenSearch":             {map[string]string{"connection.url": open.URL}, "", nil},
		"one of two":             {map[string]string{"connection.url": "http://127.0.0.1:1," + f.URL}, "", nil},
		"away":                   {map[string]string{"connection.url": "http://127.0.0.1:1"}, "connection.url", []string{"127.0.0.1:1", "refused", "check the host"}},
		"something else":         {map[string]string{"connection.url": other.URL}, "connection.url", []string{"no Elasticsearch"}},
		"no URL":                 {map[string]string{}, "connection.url", []string{"Missing"}},
		"no scheme":              {map[string]string{"connection.url": "localhost:9200"}, "connection.url", []string{"http://host:9200"}},
		"user in URL":            {map[string]string{"connection.url": "http://u:hunter22@h:9200"}, "connection.url", []string{"connection.username"}},
		"user in a broken URL":   {map[string]string{"connection.url": "http://u:hunter22@h:port"}, "connection.url", []string{"cannot be understood"}},
		"plain for TLS":          {map[string]string{"connection.url": tlsServer.URL}, "elastic.https.ssl.truststore.location", []string{"PEM"}},
		"TLS for plain":          {map[string]string{"connection.url": strings.Replace(f.URL, "http:", "https:", 1)}, "connection.url", []string{"speaks no TLS"}},
		"SSL demands https":      {map[string]string{"connection.url": f.URL, "elastic.security.protocol": "SSL"}, "connection.url", []string{"https"}},
		"method":                 {map[string]string{"connection.url": f.URL, "write.method": "MERGE"}, "write.method", []string{"INSERT, UPSERT"}},
		"user without password":  {map[string]string{"connection.url": f.URL, "connection.username": "u"}, "connection.username", []string{"go together"}},
		"buffer":                 {map[string]string{"connection.url": f.URL, "max.buffered.records": "10"}, "max.buffered.records", []string{"batch.size"}},
		"data streams":           {map[string]string{"connection.url": f.URL, "data.stream.type": "LOGS"}, "data.stream.type", []string{"not supported yet"}},
		"Kerberos":               {map[string]string{"connection.url": f.URL, "kerberos.user.principal": "p"}, "kerberos.user.principal", []string{"not supported yet"}},
		"proxy":                  {map[string]string{"connection.url": f.URL, "proxy.host": "p"}, "proxy.host", []string{"not supported yet"}},
		"neutral values":         {map[string]string{"connection.url": f.URL, "data.stream.type": "none", "proxy.port": "8080", "use.autogenerated.ids": "false"}, "", nil},
		"JKS":                    {map[string]string{"connection.url": f.URL, "elastic.https.ssl.truststore.type": "JKS"}, "elastic.https.ssl.truststore.type", []string{"PEM"}},
		"version of an update":   {map[string]string{"connection.url": f.URL, "write.method": "UPSERT", "external.version.header": "v"}, "external.version.header", []string{"INSERT"}},
		"index name":             {map[string]string{"connection.url": f.URL, "index.name.format": "a b"}, "index.name.format", []string{"refuses"}},
		"no certificates in PEM": {map[string]string{"connection.url": f.URL, "elastic.https.ssl.truststore.certificates": "x"}, "elastic.https.ssl.truststore.certificates", []string{"PEM"}},
	} {
		t.Run(name, func(t *testing.T) {
			errs := findingsOf(t, c.set)
			if strings.Contains(fmt.Sprint(errs), "hunter22") {
				t.Errorf("the password shows: %v", errs)
			}
			if c.key == "" {
				if len(errs) > 0 {
					t.Errorf("errors: %v", errs)
				}
				return
			}
			if len(errs) != 1 {
				t.Errorf("errors: %v", errs)
			}
			contains(t, errs[c.key], c.says...)
		})
	}
	errs, warnings := validation(t, map[string]string{"connection.url": f.URL, "type.name": "_doc", "topic.index.map": "a:b", "auto.create.indices.at.start": "true", "flush.timeout.ms": "1"})
	if len(errs) != 0 || len(warnings) != 4 {
		t.Errorf("errors %v, warnings %v", errs, warnings)
	}
}

// TestLargeDecimalsKeepTheirDigits: the document holds them, whatever the index does.
func TestLargeDecimalsKeepTheirDigits(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	ix := index(t)
	r := newRun(t, ix, es.URL, map[string]string{"decimal.handling": "keyword"})
	s := connectapi.NewStruct("v").Field("d", connectapi.NewDecimal(2).MustBuild()).MustBuild()
	n, _ := new(big.Int).SetString("12345678901234567890123", 10)
	r.write(t, rec{key: text("a"), value: structOf(t, s, map[string]any{"d": connectapi.Decimal{Unscaled: n, Scale: 2}})})
	r.flush(t)
	if d := documents(t, es, ix)["a"]["d"]; d != "123456789012345678901.23" {
		t.Errorf("d is %v", d)
	}
	if have := fieldTypes(t, es, ix)["d"].(map[string]any)["type"]; have != "keyword" {
		t.Errorf("d is of type %v", have)
	}
}
