package e2e

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestMySQLWritesDuringSnapshot changes rows while they are read, with several delays: replayed by key the topic is the
// table; no key goes back to a snapshot's row once it was changed; no inserted row is both read and streamed.
func TestMySQLWritesDuringSnapshot(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	s := server(t, "mysql")
	sql := sections(t, "C039")
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			db.Exec(t, sql["setup"]+sql["snapshot"])
			name := fmt.Sprintf("c039-%d", delay.Milliseconds())
			if a := post(t, s, name, mysqlSource(db, name, "c039", nil)); a.code != 201 {
				t.Fatalf("create: %d %s", a.code, a.body)
			}
			p := newTap(t, s, name+".c039.hot")
			if delay > 0 {
				p.count(t, 30*time.Second, 1)
				time.Sleep(delay) // the delay is the case
			}
			db.Exec(t, sql["concurrent"]+"INSERT INTO c039.hot (id, n) VALUES (99999, 1); DELETE FROM c039.hot WHERE id = 99999;")
			type hot struct{ ID, N int }
			state := map[int]int{}
			changed := map[int]bool{}
			read := map[int]bool{}
			over := false
			done := 0
			p.until(t, 60*time.Second, "the last change", func(recs []*kgo.Record) bool {
				for _, r := range recs[done:] {
					done++
					if r.Value == nil {
						continue
					}
					var c struct {
						Op            string
						Before, After *hot
					}
					if err := json.Unmarshal(r.Value, &c); err != nil {
						t.Fatal(err)
					}
					switch c.Op {
					case "r":
						if changed[c.After.ID] {
							t.Fatalf("row %d is read after its change", c.After.ID)
						}
						read[c.After.ID] = true
						state[c.After.ID] = c.After.N
					case "c", "u":
						if c.Op == "c" && read[c.After.ID] {
							t.Fatalf("row %d is both read and created", c.After.ID)
						}
						changed[c.After.ID] = true
						state[c.After.ID] = c.After.N
					case "d":
						changed[c.Before.ID] = true
						delete(state, c.Before.ID)
						over = over || c.Before.ID == 99999
					}
				}
				return over
			})
			sum, xor := 0, uint32(0)
			for id, n := range state {
				sum += n
				xor ^= crc32.ChecksumIEEE(fmt.Appendf(nil, "%d:%d", id, n))
			}
			got := fmt.Sprintf("%d\t%d\t%d", len(state), sum, xor)
			if want := db.Exec(t, "USE c039;"+sql["check"]); got != want || want != "50450\t13550\t3578374397" {
				t.Errorf("replayed %s, the table has %s", got, want)
			}
			if a := call(t, s, "DELETE", "/connectors/"+name, ""); a.code != 204 {
				t.Fatal(a.body)
			}
		})
	}
}

// TestMySQLRestarts kills the server after a snapshot and before any change, and stops it after changes: no snapshot is
// taken again, and after the clean stop nothing comes twice.
func TestMySQLRestarts(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	db.Exec(t, "CREATE DATABASE c033; USE c033; CREATE TABLE c033.quiet (id INT PRIMARY KEY, v VARCHAR(10)); INSERT INTO c033.quiet SELECT seq, CONCAT('v', seq) FROM seq_1_to_500")
	s := server(t, "mysql")
	s.Create(t, "c033", mysqlSource(db, "c033", "c033", nil))
	const topic = "c033.c033.quiet"
	p := newTap(t, s, topic)
	p.count(t, 30*time.Second, 500)
	testenv.Eventually(t, 15*time.Second, "the position is stored before any change", func() bool {
		a := call(t, s, "GET", "/connectors/c033/offsets", "")
		return strings.Contains(a.body, `"pos":`) && !strings.Contains(a.body, "snapshot")
	})
	s.Kill()
	s.Start(t)
	db.Exec(t, "INSERT INTO c033.quiet VALUES (501, 'live')")
	recs := p.count(t, 30*time.Second, 501)
	if got := shown(t, recs[500]); got != `quiet c {"id":501} null {"id":501,"v":"live"}` {
		t.Errorf("after the kill came %s", got)
	}
	// Changes and schema changes while the server is away, with rows of both shapes.
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "INSERT INTO c033.quiet VALUES (502, 'old'); ALTER TABLE c033.quiet ADD COLUMN w INT NOT NULL DEFAULT 5 FIRST; "+
		"INSERT INTO c033.quiet VALUES (6, 503, 'new'); FLUSH BINARY LOGS; UPDATE c033.quiet SET v = 'x' WHERE id = 502")
	s.Start(t)
	recs = p.count(t, 30*time.Second, 504)
	for i, want := range []string{
		`quiet c {"id":502} null {"id":502,"v":"old"}`, `quiet c {"id":503} null {"w":6,"id":503,"v":"new"}`,
		`quiet u {"id":502} {"w":5,"id":502,"v":"old"} {"w":5,"id":502,"v":"x"}`,
	} {
		if got := shown(t, recs[501+i]); got != want {
			t.Errorf("record %d is %s, not %s", 501+i, got, want)
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	db.Exec(t, "DELETE FROM c033.quiet WHERE id = 1")
	recs = p.count(t, 30*time.Second, 506)
	if got := shown(t, recs[504]); got != `quiet d {"id":1} {"w":5,"id":1,"v":"v1"} null` {
		t.Errorf("after a clean stop came %s", got)
	}
	if n := len(p.toEnd(t, topic)); n != 506 {
		t.Errorf("%d records, not 506", n)
	}
}

// TestMySQLPurgedLog loses the log a stored position needs: the task fails and says what to do; with
// snapshot.mode=when_needed it takes a new snapshot.
func TestMySQLPurgedLog(t *testing.T) {
	db := startMariaDB(t)
	db.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
	s := server(t, "mysql")
	cfg := mysqlSource(db, "purged", "d", nil)
	s.Create(t, "purged", cfg)
	p := newTap(t, s, "purged.d.t")
	p.count(t, 30*time.Second, 1)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "FLUSH BINARY LOGS; INSERT INTO d.t VALUES (2); FLUSH BINARY LOGS")
	testenv.Eventually(t, 20*time.Second, "the log is purged", func() bool { // the server notices late that its reader is gone
		return !strings.Contains(db.Exec(t, "INSERT INTO d.t VALUES (9); DELETE FROM d.t WHERE id = 9; PURGE BINARY LOGS TO 'mysql-bin.000003'; SHOW BINARY LOGS"), "mysql-bin.000001")
	})
	s.Start(t)
	trace := awaitTask(t, s, "purged", 30*time.Second, "FAILED")
	for _, part := range []string{"mysql-bin.000001", "the oldest on the server is mysql-bin.", "when_needed"} {
		if !strings.Contains(trace, part) {
			t.Errorf("the trace does not name %s: %s", part, trace)
		}
	}
	cfg["snapshot.mode"] = "when_needed"
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "PUT", "/connectors/purged/config", string(b)); a.code != 200 {
		t.Fatalf("%d %s", a.code, a.body)
	}
	recs := p.count(t, 30*time.Second, 3)
	if got := shown(t, recs[2]); got != `t r {"id":2} null {"id":2}` {
		t.Errorf("the new snapshot's second row is %s", got)
	}
	awaitTask(t, s, "purged", 20*time.Second, "RUNNING")
}

// TestMySQLSameServerID runs two connectors with one server id: one of them says so by name and does not reconnect in a
// tight loop; without the key both stream.
func TestMySQLSameServerID(t *testing.T) {
	t.Parallel()
	db := startMariaDB(t)
	db.Exec(t, "CREATE DATABASE c036; CREATE TABLE c036.twin (id INT PRIMARY KEY); INSERT INTO c036.twin VALUES (1)")
	s := server(t, "mysql")
	for _, name := range []string{"twin-a", "twin-b"} {
		s.Create(t, name, mysqlSource(db, name, "c036", config{"database.server.id": "18001"}))
		newTap(t, s, name+".c036.twin").count(t, 30*time.Second, 1)
	}
	told := func() bool {
		for _, name := range []string{"twin-a", "twin-b"} {
			if st := status(t, s, name); len(st.Tasks) == 1 && st.Tasks[0].State == "FAILED" && strings.Contains(st.Tasks[0].Trace, "database.server.id=18001") {
				return true
			}
		}
		return strings.Contains(s.Log(), "server_id") && strings.Count(s.Log(), "the connection to the log broke") > 1
	}
	begun := time.Now()
	testenv.Eventually(t, 30*time.Second, "the conflict is told", told)
	if n := strings.Count(s.Log(), "the connection to the log broke"); float64(n) > time.Since(begun).Seconds()+3 {
		t.Errorf("%d reconnects in %v", n, time.Since(begun))
	}
	for _, name := range []string{"twin-a", "twin-b"} {
		cfg := mysqlSource(db, name, "c036", nil)
		b, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if a := call(t, s, "PUT", "/connectors/"+name+"/config", string(b)); a.code != 200 {
			t.Fatalf("%d %s", a.code, a.body)
		}
		s.AwaitRunningAgain(t, name)
	}
	db.Exec(t, "USE c036; INSERT INTO c036.twin SELECT seq + 1 FROM seq_1_to_20")
	for _, name := range []string{"twin-a", "twin-b"} {
		if n := len(newTap(t, s, name+".c036.twin").count(t, 30*time.Second, 21)); n != 21 {
			t.Errorf("%s has %d records", name, n)
		}
	}
}

// TestMySQLSchemas looks at what schemas say of columns: labels, scales, defaults.
func TestMySQLSchemas(t *testing.T) {
	db := testenv.SharedMariaDB(t)
	s := server(t, "mysql")
	type field struct {
		Field, Type, Name string
		Optional          bool
		Default           json.RawMessage
		Parameters        map[string]string
		Fields            []field
	}
	after := func(r *kgo.Record) map[string]field {
		t.Helper()
		var v struct{ Schema field }
		if err := json.Unmarshal(r.Value, &v); err != nil {
			t.Fatal(err)
		}
		out := map[string]field{}
		for _, f := range v.Schema.Fields {
			if f.Field == "after" {
				for _, c := range f.Fields {
					out[c.Field] = c
				}
			}
		}
		return out
	}
	columns := func(name, table string, snapshot, total int, more config) []map[string]field {
		t.Helper()
		sql := sections(t, name)
		db.Exec(t, sql["setup"]+sql["snapshot"])
		prefix := "schemas-" + name
		cfg := mysqlSource(db, prefix, strings.ToLower(name), config{"value.converter.schemas.enable": "true"})
		maps.Copy(cfg, more)
		s.Create(t, prefix, cfg)
		p := newTap(t, s, prefix+"."+strings.ToLower(name)+"."+table)
		p.count(t, 30*time.Second, snapshot)
		db.Exec(t, sql["stream"])
		var out []map[string]field
		for _, r := range p.count(t, 30*time.Second, total) {
			out = append(out, after(r))
		}
		return out
	}
	for i, c := range columns("C006", "labels", 1, 9, nil) {
		if got := c["e"].Parameters["allowed"]; got != `plain,a\,b,it's,back\\slash,(x),,50%,last` {
			t.Errorf("labels, record %d: allowed is %s", i, got)
		}
	}
	for i, c := range columns("C010", "money", 1, 3, nil) {
		for col, want := range map[string]string{"a": "6/18", "b": "18/36", "c": "30/65", "d": "0/10", "e": "2/5", "f": "9/9"} {
			p := c[col].Parameters
			if got := p["scale"] + "/" + p["connect.decimal.precision"]; got != want || c[col].Name != "org.apache.kafka.connect.data.Decimal" {
				t.Errorf("money, record %d: %s is %s %s", i, col, c[col].Name, got)
			}
		}
	}
	for i, c := range columns("C027", "defs", 1, 3, nil) {
		want := map[string]string{
			"a": "-1", "b": `"+iQ="`, "c": `"BQ=="`, "d": "1", "e": `"y,z"`, "g": "0", "h": `"it's \"q\" \\ ok"`, "i": "7", "j": "1000.0", "k": `"CgAAAA=="`,
			"l": `"NULL"`, "n": "-3600000000", "o": "2001",
		}
		if i == 2 {
			want["i"], want["q"] = "8", `"2024-01-01T00:00:00Z"`
		}
		for col, w := range want {
			if got := string(c[col].Default); got != w && !(col == "j" && (got == "1000" || got == "1000.0")) {
				t.Errorf("defaults, record %d: %s is %s, not %s", i, col, got, w)
			}
		}
		for _, col := range []string{"m", "p"} {
			if got := string(c[col].Default); got != "" && got != "null" {
				t.Errorf("defaults, record %d: %s is %s, not absent", i, col, got)
			}
		}
	}
}
