package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// What the suite moves, and how often it kills the server.
const (
	shopRows      = 100_000
	shopChanges   = 10_000 // at least
	snapshotKills = 3
	streamKills   = 7
)

var shopTables = []string{"customers", "products", "orders"}

// fillShop makes the database: three tables, and triggers that write down every change, in order, beside them. The trail is
// the oracle of the history, the tables of the final state.
func fillShop(t *testing.T, db *testenv.MariaDB, name string, rows int) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE DATABASE %s; CREATE DATABASE %[1]s_trail; CREATE TABLE %[1]s_trail.log "+
		"(seq BIGINT AUTO_INCREMENT PRIMARY KEY, tab VARCHAR(20) NOT NULL, op CHAR(1) NOT NULL, id INT NOT NULL, state VARCHAR(200)); USE %[1]s;", name)
	for i, tab := range shopTables {
		fmt.Fprintf(&b, "CREATE TABLE %s (id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, amount DECIMAL(12,2) NULL, n INT UNSIGNED NOT NULL DEFAULT 0);", tab)
		fmt.Fprintf(&b, "INSERT INTO %s SELECT seq, CONCAT('%[1]s №', seq), IF(seq %% 7 = 0, NULL, seq / 100), 0 FROM seq_1_to_%[2]d;", tab, share(rows, i))
		for op, kind := range map[string]string{"c": "INSERT", "u": "UPDATE"} {
			fmt.Fprintf(&b, "CREATE TRIGGER %s_%s AFTER %s ON %[1]s FOR EACH ROW INSERT INTO %[4]s_trail.log (tab, op, id, state) VALUES ('%[1]s', '%[2]s', NEW.id, "+
				"CONCAT_WS('|', NEW.id, NEW.name, IFNULL(NEW.amount, 'null'), NEW.n));", tab, op, kind, name)
		}
		fmt.Fprintf(&b, "CREATE TRIGGER %s_d AFTER DELETE ON %[1]s FOR EACH ROW INSERT INTO %[2]s_trail.log (tab, op, id) VALUES ('%[1]s', 'd', OLD.id);", tab, name)
	}
	db.Exec(t, b.String())
}

// share splits rows over the tables.
func share(rows, table int) int {
	if table < len(shopTables)-1 {
		return rows / len(shopTables)
	}
	return rows - rows/len(shopTables)*(len(shopTables)-1)
}

// changes writes n changes as SQL: transactions of one to twenty statements over all tables, some rolled back, statements of
// one and of several rows.
func changes(r *rand.Rand, name string, n, rows int, nextID *int) string {
	var b strings.Builder
	b.WriteString("USE " + name + ";\n")
	for done := 0; done < n; {
		b.WriteString("START TRANSACTION;\n")
		in := 0
		for range 1 + r.IntN(20) {
			tab := shopTables[r.IntN(len(shopTables))]
			id := 1 + r.IntN(rows/len(shopTables))
			if r.IntN(4) == 0 {
				id = *nextID - r.IntN(50)
			}
			switch k := r.IntN(10); {
			case k < 4:
				rowsOf := 1 + r.IntN(3)
				var vs []string
				for range rowsOf {
					*nextID++
					vs = append(vs, fmt.Sprintf("(%d, 'new %d', %d.%02d, %d)", *nextID, r.IntN(1000), r.IntN(100000), r.IntN(100), r.IntN(9)))
				}
				fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", tab, strings.Join(vs, ","))
				in += rowsOf
			case k < 7:
				fmt.Fprintf(&b, "UPDATE %s SET n = n + 1, name = 'change %d' WHERE id = %d;\n", tab, r.IntN(1000), id)
				in++
			case k < 8:
				fmt.Fprintf(&b, "UPDATE %s SET n = n + 1, amount = NULL WHERE id BETWEEN %d AND %d;\n", tab, id, id+2)
				in += 3
			default:
				fmt.Fprintf(&b, "DELETE FROM %s WHERE id = %d;\n", tab, id)
				in++
			}
		}
		if r.IntN(10) == 0 {
			b.WriteString("ROLLBACK;\n")
			continue
		}
		b.WriteString("COMMIT;\n")
		done += in
	}
	return b.String()
}

// event is what the suite knows of a change.
type event struct {
	op, state, place string // place is file, position and row in the log
	snapshot         bool
}

// row is one of the tables' rows as it stands in events.
type row struct {
	ID     json.Number `json:"id"`
	Name   string      `json:"name"`
	Amount *string     `json:"amount"`
	N      json.Number `json:"n"`
}

func (r *row) state() string {
	amount := "null"
	if r.Amount != nil {
		amount = *r.Amount
	}
	return fmt.Sprintf("%s|%s|%s|%s", r.ID, r.Name, amount, r.N)
}

// payload cuts the schema off.
func payload(b []byte) []byte {
	if i := bytes.Index(b, []byte(`,"payload":`)); i > 0 {
		return b[i+len(`,"payload":`) : len(b)-1]
	}
	return b
}

// history gives the events of each key of a topic in order, repeats dropped; a tombstone must follow its delete.
func history(t *testing.T, recs []*kgo.Record) map[string][]event {
	t.Helper()
	out := map[string][]event{}
	seen := map[string]bool{}
	for _, r := range recs {
		if r.Value == nil {
			continue
		}
		var e struct {
			Op            string
			Before, After *row
			Source        struct {
				Table, File, Snapshot string
				Pos, Row              int64
			}
		}
		if err := json.Unmarshal(payload(r.Value), &e); err != nil {
			t.Fatalf("record %d of %s: %v: %s", r.Offset, r.Topic, err, r.Value)
		}
		ev := event{op: e.Op, snapshot: e.Op == "r", place: fmt.Sprintf("%s:%d:%d", e.Source.File, e.Source.Pos, e.Source.Row)}
		var id string
		if e.After != nil {
			id, ev.state = e.After.ID.String(), e.After.state()
		} else {
			id = e.Before.ID.String()
		}
		key := e.Source.Table + "/" + id
		again := key + " " + ev.place
		if ev.snapshot {
			again = key + " r " + ev.state
		}
		if !seen[again] {
			seen[again] = true
			out[key] = append(out[key], ev)
		}
	}
	return out
}

// TestChangesKilled moves a shop database through MySQL's log, topics, Elasticsearch and the lake, while the server is killed:
// in the snapshot, and while rows change, each time after something new has come through.
func TestChangesKilled(t *testing.T) {
	const name = "chaos"
	db := testenv.SharedMariaDB(t)
	es := testenv.SharedElasticsearch(t)
	fillShop(t, db, name, shopRows)
	initial := map[string]string{}
	for _, tab := range shopTables {
		maps.Copy(initial, tableStates(t, db, name, tab))
	}
	s := server(t, "mysql", "elasticsearch", "lake")
	var topics []string
	for _, tab := range shopTables {
		topics = append(topics, "shop."+name+"."+tab)
	}
	lake := filepath.Join(s.Dir, "lake")
	start := time.Now()
	stage := func(what string) { t.Logf("%6.1f s: %s", time.Since(start).Seconds(), what) }
	createSinks(t, s, es, lake, topics)
	if a := post(t, s, "shop", mysqlSource(db, "shop", name, config{
		"decimal.handling.mode": "string", "key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true",
	})); a.code != 201 {
		t.Fatalf("create: %d %s", a.code, a.body)
	}
	p := newTap(t, s, topics...)
	progress := func(n int) {
		t.Helper()
		had := len(p.recs)
		p.until(t, 90*time.Second, "progress", func(r []*kgo.Record) bool { return len(r) >= had+n })
	}
	snapshotOver := func() bool {
		return strings.Contains(call(t, s, "GET", "/connectors/shop/offsets", "").body, `"pos"`)
	}
	for k := range snapshotKills {
		progress(1 + k*10_000)
		if snapshotOver() {
			t.Fatalf("the snapshot was over before kill %d", k+1)
		}
		s.Kill()
		s.Start(t)
	}
	stage(fmt.Sprintf("killed %d times in the snapshot, %d records so far", snapshotKills, len(p.recs)))
	testenv.Eventually(t, 180*time.Second, "the snapshot is over", func() bool { p.more(50 * time.Millisecond); return snapshotOver() })
	stage("the snapshot is over")
	r := rand.New(rand.NewPCG(1, 2))
	nextID := 10_000_000
	for k := range streamKills + 1 {
		sql := changes(r, name, shopChanges*5/4/(streamKills+1), shopRows, &nextID)
		wrote := make(chan error, 1)
		go func() { _, err := db.Query(sql); wrote <- err }()
		progress(1)
		if k < streamKills {
			s.Kill()
			s.Start(t)
		} else { // at last the plugins alone
			killPlugins(t, s, "mysql", "elasticsearch", "lake")
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
	}
	stage(fmt.Sprintf("killed %d times while rows changed", streamKills))
	db.Exec(t, fmt.Sprintf("INSERT INTO %s.orders VALUES (999, 'the last', 1, 1) ON DUPLICATE KEY UPDATE name = 'the last'", name))
	p.until(t, 240*time.Second, "the last change", func(recs []*kgo.Record) bool {
		n := len(recs)
		for _, r := range recs[max(0, n-2000):] {
			if bytes.Contains(r.Value, []byte(`"the last"`)) {
				return true
			}
		}
		return false
	})
	recs := p.toEnd(t, topics...)
	stage(fmt.Sprintf("the topics have everything: %d records", len(recs)))
	checkHistory(t, db, name, initial, history(t, recs))
	awaitSinks(t, s, p, topics)
	stage("the sinks are at the topics' ends")
	checkSearch(t, db, es, name, topics)
	stage("Elasticsearch was read")
	checkLake(t, lake, recs)
	stage("the lake was read")
}

// killPlugins ends one process of each plugin with SIGKILL.
func killPlugins(t *testing.T, s *testenv.Penstock, names ...string) {
	t.Helper()
	for _, name := range names {
		var pids []int
		testenv.Eventually(t, 20*time.Second, "plugin "+name+" runs", func() bool { pids = plugin(t, s, name); return len(pids) > 0 })
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// tableStates reads a table as the events show it, by table/id.
func tableStates(t *testing.T, db *testenv.MariaDB, name, tab string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lines(db.Exec(t, fmt.Sprintf("SELECT CONCAT_WS('|', id, name, IFNULL(amount, 'null'), n) FROM %s.%s", name, tab))) {
		id, _, _ := strings.Cut(l, "|")
		out[tab+"/"+id] = l
	}
	return out
}

// checkHistory compares the topics, repeats dropped, with the rows at the snapshot and the trail the database kept.
func checkHistory(t *testing.T, db *testenv.MariaDB, name string, initial map[string]string, got map[string][]event) {
	t.Helper()
	want := map[string][]event{}
	for key, state := range initial {
		want[key] = append(want[key], event{op: "r", state: state})
	}
	trail := lines(db.Exec(t, fmt.Sprintf("SELECT tab, op, id, IFNULL(state, '') FROM %s_trail.log ORDER BY seq", name)))
	for _, l := range trail {
		f := strings.Split(l, "\t")
		if len(f) == 3 { // a delete's state is empty, and the client's last column trimmed
			f = append(f, "")
		}
		want[f[0]+"/"+f[2]] = append(want[f[0]+"/"+f[2]], event{op: f[1], state: f[3]})
	}
	if len(trail) < shopChanges {
		t.Errorf("%d changes, fewer than %d", len(trail), shopChanges)
	}
	t.Logf("%d rows at the snapshot, %d changes, %d keys", len(initial), len(trail), len(want))
	wrong := 0
	for key, w := range want {
		g := got[key]
		same := len(w) == len(g)
		for i := 0; same && i < len(w); i++ {
			same = w[i].op == g[i].op && w[i].state == g[i].state
		}
		if !same {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: got %v, want %v", key, g, w)
			}
		}
	}
	for key := range got {
		if want[key] == nil {
			t.Errorf("%s: nobody wrote it: %v", key, got[key])
		}
	}
	if wrong > 5 {
		t.Errorf("%d keys differ", wrong)
	}
}

func createSinks(t *testing.T, s *testenv.Penstock, es *testenv.Elasticsearch, lake string, topics []string) {
	t.Helper()
	both := config{
		"topics": strings.Join(topics, ","), "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
		"key.converter": jsonConverter, "value.converter": jsonConverter,
	}
	search := config{
		"connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "connection.url": es.URL, "write.method": "UPSERT",
		"behavior.on.null.values": "DELETE", "transforms": "unwrap,key",
		"transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.key.field": "id",
	}
	files := config{
		"connector.class": "lake", "location": "file://" + lake, "rotate.schedule.interval.ms": "1000", "transforms": "unwrap",
		"transforms.unwrap.delete.tombstone.handling.mode": "rewrite", "transforms.unwrap.add.fields": "op,source.file,source.pos,source.row",
	}
	for name, cfg := range map[string]config{"search": search, "lake": files} {
		maps.Copy(cfg, both)
		if a := post(t, s, name, cfg); a.code != 201 {
			t.Fatalf("create %s: %d %s", name, a.code, a.body)
		}
	}
}

// awaitSinks waits until both sinks have committed the ends of all topics.
func awaitSinks(t *testing.T, s *testenv.Penstock, p *tap, topics []string) {
	t.Helper()
	next := map[string]int64{}
	for _, r := range p.recs {
		next[r.Topic] = r.Offset + 1
	}
	for _, sink := range []string{"search", "lake"} {
		testenv.Eventually(t, 240*time.Second, sink+" has committed everything", func() bool {
			for _, topic := range topics {
				if committed(t, s, "connect-"+sink, topic) != next[topic] {
					return false
				}
			}
			return true
		})
	}
}

// checkSearch compares every document with the tables' rows.
func checkSearch(t *testing.T, db *testenv.MariaDB, es *testenv.Elasticsearch, name string, topics []string) {
	t.Helper()
	for i, tab := range shopTables {
		want := tableStates(t, db, name, tab)
		got := map[string]string{}
		if code, body, err := es.Do("POST", "/"+topics[i]+"/_refresh", ""); err != nil || code != 200 {
			t.Fatalf("refreshing %s: %d %s %v", topics[i], code, body, err)
		}
		after := "" // ids are read in order, a page at a time
		for {
			code, body, err := es.Do("POST", "/"+topics[i]+"/_search", `{"size":10000,"sort":[{"id":"asc"}]`+after+`}`)
			if err != nil || code != 200 {
				t.Fatalf("searching %s: %d %s %v", topics[i], code, body, err)
			}
			var found struct {
				Hits struct {
					Hits []struct {
						ID     string          `json:"_id"`
						Source row             `json:"_source"`
						Sort   json.RawMessage `json:"sort"`
					}
				}
			}
			if err := json.Unmarshal(body, &found); err != nil {
				t.Fatal(err)
			}
			if len(found.Hits.Hits) == 0 {
				break
			}
			for _, h := range found.Hits.Hits {
				got[tab+"/"+h.ID] = h.Source.state()
				after = `,"search_after":` + string(h.Sort)
			}
		}
		compare(t, "Elasticsearch, "+tab, got, want)
	}
}

func compare(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	wrong := 0
	for k, w := range want {
		if got[k] != w {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: %s is %q, not %q", what, k, got[k], w)
			}
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: %s is there (%q) and must not be", what, k, g)
			}
		}
	}
	t.Logf("%s: %d documents or rows compared, %d differ", what, len(want), wrong)
}

// checkLake compares the lake's rows, by topic and offset, with the change events of the topics: each event once, and nothing
// else. What the topics hold was proved against the database.
func checkLake(t *testing.T, dir string, recs []*kgo.Record) {
	t.Helper()
	want := map[string]string{}
	for _, r := range recs {
		if r.Value == nil {
			continue
		}
		var e struct {
			Op            string
			Before, After *row
		}
		if err := json.Unmarshal(payload(r.Value), &e); err != nil {
			t.Fatal(err)
		}
		of := e.After
		if e.Op == "d" {
			of = e.Before
		}
		want[fmt.Sprintf("%s/%d", r.Topic, r.Offset)] = e.Op + " " + of.state()
	}
	rows, err := testenv.ReadLake(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows {
		key := fmt.Sprintf("%s/%d", r.Topic, r.Offset)
		if _, again := got[key]; again {
			t.Errorf("the lake has %s twice", key)
		}
		amount := r.Columns["amount"]
		if amount == nil {
			amount = "null"
		}
		got[key] = fmt.Sprintf("%v %v|%v|%v|%v", r.Columns["__op"], r.Columns["id"], r.Columns["name"], amount, r.Columns["n"])
	}
	compare(t, "the lake", got, want)
}
