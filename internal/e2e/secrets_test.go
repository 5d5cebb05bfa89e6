package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/worker/peer"
)

// TestReferences runs connectors whose configurations hold references (KIP-297), in a worker whose own does, and looks that what
// they stand for is where it is needed and nowhere else; beside it, what the status topic says of the topics they use.
func TestReferences(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in-5ecret"), filepath.Join(dir, "out-5ecret")
	write(t, in, "one\ntwo\n")
	write(t, filepath.Join(dir, "keys.properties"), "in="+in+"\nout="+out+"\ntopic=topic-5ecret\ngroup=group-5ecret\n")
	write(t, filepath.Join(dir, "converter"), stringConverter)
	s := newServer(t, "file")
	write(t, filepath.Join(s.Dir, "penstock.properties"), `offset.flush.interval.ms=200
log.level=debug
config.storage.topic=configs
config.providers=file,dir,env
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.file.param.allowed.paths=`+dir+`
config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.env.param.allowlist.pattern=PENSTOCK_TEST_.*
value.converter=${dir:`+dir+`:converter}
`)
	s.Start(t)
	ref := func(key string) string { return "${file:" + filepath.Join(dir, "keys.properties") + ":" + key + "}" }
	source := config{"connector.class": "file-source", "file": ref("in"), "topic": ref("topic")}
	sink := config{"connector.class": "file-sink", "file": ref("out"), "topics": ref("topic"), "consumer.override.group.id": ref("group")}
	for name, cfg := range map[string]config{"in": source, "out": sink} {
		if a := post(t, s, name, cfg); a.code != 201 || strings.Contains(a.body, "5ecret") {
			t.Fatalf("%s: %d %s", name, a.code, a.body)
		}
	}
	testenv.Eventually(t, 60*time.Second, "the lines have arrived", func() bool { return readFile(t, out) == "one\ntwo\n" })

	for _, name := range []string{"in", "out"} {
		testenv.Eventually(t, 20*time.Second, "the topic of "+name+" is noted", func() bool {
			return call(t, s, "GET", "/connectors/"+name+"/topics", "").body == `{"`+name+`":{"topics":["topic-5ecret"]}}`
		})
		for _, path := range []string{"", "/config", "/status", "/tasks", "/tasks-config"} {
			if a := want(t, s, 200, "GET", "/connectors/"+name+path, ""); strings.Contains(a.body, "5ecret") {
				t.Errorf("%s%s answers a value: %s", name, path, a.body)
			}
		}
	}
	if a := want(t, s, 200, "GET", "/connectors/in/tasks-config", ""); !strings.Contains(a.body, ref("in")) {
		t.Errorf("a task is stored without its reference: %s", a.body)
	}
	testenv.Eventually(t, 30*time.Second, "the sink's offsets are read in the group that the reference names", func() bool {
		return strings.Contains(call(t, s, "GET", "/connectors/out/offsets", "").body, `"kafka_offset":2`)
	})
	// Forgotten while the task runs, and noted again with the next record.
	want(t, s, 202, "PUT", "/connectors/in/topics/reset", "")
	if a := want(t, s, 200, "GET", "/connectors/in/topics", ""); a.body != `{"in":{"topics":[]}}` {
		t.Error(a.body)
	}
	add(t, in, "three\n")
	testenv.Eventually(t, 60*time.Second, "the topic is noted again", func() bool {
		return strings.Contains(call(t, s, "GET", "/connectors/in/topics", "").body, "topic-5ecret")
	})

	// What is wrong is told with the reference in it.
	for body, says := range map[string]string{
		fmt.Sprintf(`{"connector.class":"file-source","topic":"x","file":%q}`, ref("none")):                       ref("none"),
		fmt.Sprintf(`{"connector.class":"file-source","topic":"x","file":"f","tasks.max":%q}`, ref("topic")):      "Invalid value " + ref("topic") + " for configuration tasks.max",
		`{"connector.class":"file-source","topic":"x","file":"${env:PATH}"}`:                                      "allowlist.pattern",
		fmt.Sprintf(`{"connector.class":"file-sink","topics":"x","file":"${file:%s:a}"}`, "/etc/ssl/openssl.cnf"): "can't be resolved",
	} {
		if a := want(t, s, 400, "PUT", "/connectors/wrong/config", body); !strings.Contains(a.body, says) || strings.Contains(a.body, "5ecret") {
			t.Errorf("%s: %s, want %q in it", body, a.body, says)
		}
	}
	if log := readFile(t, filepath.Join(s.Dir, "log")); strings.Contains(log, "in-5ecret") || strings.Contains(log, "out-5ecret") {
		t.Error("a value was logged")
	}

	// The config topic holds references alone. With the key in it, a Java worker's call to fence is signed.
	var key peer.Key
	tap := newTap(t, s, "configs")
	tap.until(t, 30*time.Second, "the configurations are written", func(recs []*kgo.Record) bool {
		commits := 0
		for _, r := range recs {
			if strings.Contains(string(r.Value), "5ecret") {
				t.Errorf("%s holds a value: %s", r.Key, r.Value)
			}
			if string(r.Key) == "session-key" {
				var v struct{ Key []byte }
				if err := json.Unmarshal(r.Value, &v); err != nil {
					t.Fatal(err)
				}
				key.Secret = v.Key
			}
			if strings.HasPrefix(string(r.Key), "commit-") {
				commits++
			}
		}
		return commits == 2
	})
	for name, code := range map[string]int{"in": 204, "out": 400, "none": 404} {
		h := http.Header{}
		peer.Default.Sign(key, h, nil)
		a := call(t, s, "PUT", "/connectors/"+name+"/fence", "", peer.SignatureHeader, h.Get(peer.SignatureHeader), peer.AlgorithmHeader, peer.Default.Algorithm)
		if a.code != code {
			t.Errorf("fencing %s: %d %s, want %d", name, a.code, a.body, code)
		}
	}
	want(t, s, 400, "PUT", "/connectors/in/fence", "")

	want(t, s, 204, "DELETE", "/connectors/in", "")
	testenv.Eventually(t, 30*time.Second, "its topic is forgotten", func() bool {
		return call(t, s, "GET", "/connectors/in/topics", "").body == `{"in":{"topics":[]}}`
	})
}
