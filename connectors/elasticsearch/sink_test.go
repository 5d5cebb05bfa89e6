package elasticsearch

import (
	"testing"

	"github.com/penstockio/penstock/internal/testenv"
)

func TestSinkInsertsUpdatesAndDeletes(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	for _, method := range []string{"INSERT", "UPSERT"} {
		t.Run(method, func(t *testing.T) {
			ix := index(t)
			r := newRun(t, ix, es.URL, map[string]string{"write.method": method, "behavior.on.null.values": "DELETE"})
			r.write(t, rec{key: text("a"), value: jsonValue(`{"n":1,"x":"old"}`)}, rec{key: number(2), value: jsonValue(`{"n":2}`)},
				rec{key: text("gone"), value: jsonValue(`{"n":3}`)}, rec{key: text("gone")}, rec{key: text("never there")})
			r.write(t, rec{key: text("a"), value: jsonValue("{\n\"n\":\n10}")})
			r.flush(t)
			docs := documents(t, es, ix)
			if len(docs) != 2 || docs["a"]["n"] != 10.0 || docs["2"]["n"] != 2.0 {
				t.Fatalf("documents: %v", docs)
			}
			if x, kept := docs["a"]["x"]; kept != (method == "UPSERT") {
				t.Fatalf("field x: %v", x)
			}
			if len(r.host.failures()) != 0 {
				t.Fatalf("failed: %v", r.host.failures())
			}
			r.offset = 0 // a replay
			r.write(t, rec{key: text("a"), value: jsonValue(`{"n":1,"x":"old"}`)}, rec{key: number(2), value: jsonValue(`{"n":2}`)},
				rec{key: text("gone"), value: jsonValue(`{"n":3}`)}, rec{key: text("gone")}, rec{key: text("never there")},
				rec{key: text("a"), value: jsonValue(`{"n":10}`)})
			r.flush(t)
			if docs = documents(t, es, ix); len(docs) != 2 || docs["a"]["n"] != 10.0 {
				t.Fatalf("documents after a replay: %v", docs)
			}
			if c := r.host.value("version_conflicts"); (c > 0) != (method == "INSERT") {
				t.Fatalf("%v version conflicts", c)
			}
		})
	}
}
