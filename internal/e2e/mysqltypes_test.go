package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite golden files")

// sections splits a case's SQL at its markers.
func sections(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	at := ""
	for _, line := range strings.SplitAfter(readFile(t, filepath.Join("testdata/mysql", name+".sql")), "\n") {
		if m, ok := strings.CutPrefix(line, "-- @"); ok {
			at = strings.Fields(m)[0]
			out[at] = "USE " + strings.ToLower(name) + ";\n"
			if at == "setup" {
				out[at] = ""
			}
			continue
		}
		if at != "" {
			out[at] += line
		}
	}
	return out
}

// source is a MySQL connector of one database.
func mysqlSource(db *testenv.MariaDB, prefix, database string, more config) config {
	c := config{
		"connector.class": "mysql", "database.hostname": "127.0.0.1", "database.port": fmt.Sprint(db.Port), "database.user": "root",
		"topic.prefix": prefix, "database.include.list": database, "tasks.max": "1",
		"key.converter": jsonConverter, "key.converter.schemas.enable": "false",
		"value.converter": jsonConverter, "value.converter.schemas.enable": "false",
	}
	maps.Copy(c, more)
	return c
}

// change is an event of the envelope, without what differs from run to run.
type change struct {
	Op            string
	Before, After json.RawMessage
	Source        struct {
		Table, File, Snapshot string
		Pos                   int64
		Row                   int32
	}
}

// shown writes a record as one line: table, op, key, before, after. A tombstone is "-".
func shown(t *testing.T, r *kgo.Record) string {
	t.Helper()
	table := r.Topic[strings.LastIndexByte(r.Topic, '.')+1:]
	headers := ""
	for _, h := range r.Headers {
		headers += " " + h.Key + "=" + string(h.Value)
	}
	if r.Value == nil {
		return fmt.Sprintf("%s - %s%s", table, orNull(r.Key), headers)
	}
	var c change
	if err := json.Unmarshal(r.Value, &c); err != nil {
		t.Fatalf("record %s of %s: %v", r.Value, r.Topic, err)
	}
	return fmt.Sprintf("%s %s %s %s %s%s", table, c.Op, orNull(r.Key), orNull(c.Before), orNull(c.After), headers)
}

func orNull(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 2000 {
		return fmt.Sprintf("%s…%s(%d bytes)", b[:40], b[len(b)-40:], len(b))
	}
	return string(b)
}

// TestMySQLTypes runs the cases: rows that were there before the connector, and the same rows and changes while it streams.
// testdata/mysql/*.want holds what must come out, table by table in order.
func TestMySQLTypes(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	s := server(t, "mysql")
	cases := []struct {
		name, variant string
		tables        []string
		more          config
		snapshot      int // rows before
	}{
		{"C001", "", []string{"uints"}, nil, 1},
		{"C001", "precise", []string{"uints"}, config{"bigint.unsigned.handling.mode": "precise"}, 1},
		{"C002", "", []string{"bin16"}, nil, 1},
		{"C002", "hex", []string{"bin16"}, config{"binary.handling.mode": "hex"}, 1},
		{"C004", "", []string{"zeros"}, nil, 1},
		{"C006", "", []string{"labels"}, nil, 1},
		{"C008", "", []string{"scripts"}, nil, 1},
		{"C010", "", []string{"money"}, nil, 1},
		{"C010", "string", []string{"money"}, config{"decimal.handling.mode": "string"}, 1},
		{"C012", "", []string{"bits"}, nil, 1},
		{"C013", "", []string{"docs"}, nil, 1},
		{"C015", "", []string{"fractions"}, nil, 1},
		{"C016", "", []string{"hosts"}, nil, 1},
		{"C019", "", []string{"calc"}, nil, 1},
		{"C022", "", []string{"shift"}, nil, 1},
		{"C023", "", []string{"orders"}, config{"table.include.list": `c023\.orders`}, 1},
		{"C024", "", []string{"stage"}, nil, 2},
		{"C024", "none", []string{"stage"}, config{"skipped.operations": "none"}, 2},
		{"C025", "", []string{"keepme", "statement"}, nil, 1},
		{"C029", "", []string{"pk"}, nil, 2},
		{"C030", "", []string{"tx", "mi"}, nil, 1},
		{"C041", "", []string{"nokey", "ukey"}, nil, 3},
	}
	sql := map[string]map[string]string{}
	for _, c := range cases {
		if sql[c.name] == nil {
			sql[c.name] = sections(t, c.name)
			db.Exec(t, sql[c.name]["setup"])
			db.Exec(t, sql[c.name]["snapshot"])
		}
	}
	prefix := func(i int) string { return strings.ToLower(cases[i].name + cases[i].variant) }
	topics := func(i int) (out []string) {
		for _, table := range cases[i].tables {
			out = append(out, prefix(i)+"."+strings.ToLower(cases[i].name)+"."+table)
		}
		return out
	}
	var taps []*tap
	for i, c := range cases {
		if a := post(t, s, prefix(i), mysqlSource(db, prefix(i), strings.ToLower(c.name), c.more)); a.code != 201 {
			t.Fatalf("%s: %d %s", prefix(i), a.code, a.body)
		}
		taps = append(taps, newTap(t, s, topics(i)...))
	}
	for i, c := range cases {
		taps[i].count(t, 60*time.Second, c.snapshot)
	}
	streamed := map[string]bool{}
	for _, c := range cases {
		if !streamed[c.name] {
			streamed[c.name] = true
			db.Exec(t, sql[c.name]["stream"])
		}
	}
	for i, c := range cases {
		t.Run(c.name+c.variant, func(t *testing.T) {
			golden := filepath.Join("testdata/mysql", c.name+c.variant+".want")
			want := readFile(t, golden)
			n := strings.Count(want, "\n")
			if *update {
				taps[i].until(t, 20*time.Second, "something streamed", func(r []*kgo.Record) bool { return len(r) > c.snapshot })
				time.Sleep(time.Second) // a person looks at what comes out
			} else {
				deadline := time.Now().Add(20 * time.Second)
				for len(taps[i].recs) < n && time.Now().Before(deadline) {
					taps[i].more(200 * time.Millisecond)
				}
			}
			recs := taps[i].toEnd(t, topics(i)...)
			sort.SliceStable(recs, func(a, b int) bool { return recs[a].Topic < recs[b].Topic })
			var got strings.Builder
			for _, r := range recs {
				got.WriteString(shown(t, r) + "\n")
			}
			if st := status(t, s, prefix(i)); len(st.Tasks) != 1 || st.Tasks[0].State != "RUNNING" {
				t.Errorf("status is %+v", st)
			}
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != want {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}
