// Command demo runs Penstock's main job end to end on one machine: a private MariaDB, the server, a MySQL source, a lake
// sink and, with ELASTICSEARCH_URL or DEMO_SEARCH=1, an Elasticsearch sink; it changes rows, reads back what arrived, and
// prints the seconds each step took. It is `make demo`; it leaves no process behind.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	d := &demo{ctx: ctx, dir: testenv.Root() + "/examples/demo"}
	err := d.run()
	stop()
	d.stop()
	testenv.StopAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

type demo struct {
	ctx    context.Context
	dir    string
	db     *testenv.MariaDB
	server *exec.Cmd
	log    string
	client *api.Client
	lake   string
	search string // base URL; empty: none
	steps  []string
}

func (d *demo) run() error {
	type step struct {
		name string
		do   func() error
	}
	steps := []step{
		{"start a private MariaDB and fill the shop", d.database},
		{"start bin/penstock server", d.start},
		{"POST the MySQL source and the sinks", d.connectors},
		{"snapshot: 1,006 rows arrive in the lake", func() error { return d.arrived(1006) }},
		{"change rows and see the changes arrive", d.changes},
	}
	switch d.search = os.Getenv("ELASTICSEARCH_URL"); {
	case d.search != "":
		steps = append(steps, step{"search them in Elasticsearch at " + d.search, d.found})
	case os.Getenv("DEMO_SEARCH") != "":
		steps = append(slices.Insert(steps, 2, step{"start Elasticsearch", d.elasticsearch}), step{"search them in Elasticsearch", d.found})
	}
	for _, s := range steps {
		if d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		begun := time.Now()
		fmt.Printf("\n== %s\n", s.name)
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w\nthe server's log: %s", s.name, err, d.tail())
		}
		d.steps = append(d.steps, fmt.Sprintf("%6.2f s  %s", time.Since(begun).Seconds(), s.name))
	}
	fmt.Printf("\n== seconds\n%s\n", strings.Join(d.steps, "\n"))
	return nil
}

func (d *demo) database() error {
	db, err := testenv.StartMariaDB()
	if err != nil {
		return err
	}
	d.db = db
	sql, err := os.ReadFile(filepath.Join(d.dir, "shop.sql"))
	if err != nil {
		return err
	}
	_, err = db.Query(string(sql))
	return err
}

func (d *demo) start() error {
	work := testenv.TempDir("psdemo")
	d.lake, d.log = filepath.Join(work, "lake"), filepath.Join(work, "server.log")
	rest := "127.0.0.1:" + strconv.Itoa(testenv.FreePort())
	d.client = &api.Client{Base: "http://" + rest}
	out, err := os.Create(d.log)
	if err != nil {
		return err
	}
	defer out.Close()
	args := []string{
		"server", "--data-dir", filepath.Join(work, "data"), "--rest-listen", rest, "--broker-listen",
		"127.0.0.1:" + strconv.Itoa(testenv.FreePort()),
	}
	d.server = exec.Command(filepath.Join(testenv.Root(), "bin/penstock"), args...)
	d.server.Stdout, d.server.Stderr = out, out
	d.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	fmt.Println("bin/penstock", strings.Join(args, " "))
	if err := d.server.Start(); err != nil {
		return err
	}
	return d.until("the server is healthy", func() (bool, error) {
		_, err := d.client.Health(d.ctx)
		return err == nil, nil
	})
}

func (d *demo) elasticsearch() error {
	es, err := testenv.StartElasticsearch("")
	if err != nil {
		return err
	}
	testenv.OnStop(es.Stop)
	d.search = es.URL
	return nil
}

func (d *demo) connectors() error {
	files := []string{"source.json", "lake.json"}
	if d.search != "" {
		files = append(files, "search.json")
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(d.dir, f))
		if err != nil {
			return err
		}
		body := strings.NewReplacer("${DB_PORT}", strconv.Itoa(d.db.Port), "${LAKE}", d.lake, "${ELASTICSEARCH_URL}", d.search).Replace(string(b))
		fmt.Printf("curl -X POST %s/connectors -d '%s'\n", d.client.Base, strings.TrimSpace(body))
		var r api.CreateRequest
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			return err
		}
		if _, err := d.client.Create(d.ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// arrived waits until the lake holds n rows and shows a few.
func (d *demo) arrived(n int) error {
	var rows []testenv.LakeRow
	err := d.until(fmt.Sprintf("%d rows in the lake", n), func() (bool, error) {
		var err error
		rows, err = testenv.ReadLake(d.lake)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // nothing was written yet
		}
		return len(rows) >= n, err
	})
	if err != nil {
		return fmt.Errorf("%w (the lake holds %d)", err, len(rows))
	}
	return d.show(rows, n)
}

func (d *demo) show(rows []testenv.LakeRow, n int) error {
	if len(rows) != n {
		return fmt.Errorf("the lake holds %d rows, not %d", len(rows), n)
	}
	byTopic := map[string][]testenv.LakeRow{}
	for _, r := range rows {
		byTopic[r.Topic] = append(byTopic[r.Topic], r)
	}
	for _, topic := range sorted(byTopic) {
		fmt.Printf("%s: %d rows, the last of them:\n", topic, len(byTopic[topic]))
		for _, r := range byTopic[topic][max(0, len(byTopic[topic])-2):] {
			b, err := json.Marshal(r.Columns)
			if err != nil {
				return err
			}
			fmt.Printf("  %s\n", b)
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (d *demo) changes() error {
	sql, err := os.ReadFile(filepath.Join(d.dir, "changes.sql"))
	if err != nil {
		return err
	}
	fmt.Print(string(sql))
	if _, err := d.db.Query(string(sql)); err != nil {
		return err
	}
	return d.arrived(1006 + 100 + 1 + 1 + 1 + 1)
}

func (d *demo) found() error {
	var all, paid int
	err := d.until("the orders are searchable in their final state", func() (bool, error) {
		var err error
		paid, err := d.count("shop.shop.orders", `{"query":{"match":{"status":"paid"}}}`)
		if err != nil {
			return false, nil //nolint:nilerr // the index is on its way
		}
		all, err = d.count("shop.shop.orders", `{"query":{"match_all":{}}}`)
		if err != nil || paid != 100 || all != 1000 {
			return false, nil //nolint:nilerr // not yet
		}
		fmt.Printf("GET /shop.shop.orders/_count: %d orders, %d of them paid, the deleted one is gone\n", all, paid)
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %d orders are found, %d of them paid", err, all, paid)
	}
	return nil
}

func (d *demo) count(index, query string) (int, error) {
	if resp, err := http.Post(d.search+"/"+index+"/_refresh", "application/json", nil); err == nil {
		resp.Body.Close()
	}
	resp, err := http.Post(d.search+"/"+index+"/_count", "application/json", bytes.NewReader([]byte(query)))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var out struct {
		Count *int `json:"count"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || out.Count == nil {
		return 0, fmt.Errorf("counting in %s: %s", index, resp.Status)
	}
	return *out.Count, nil
}

// until polls for at most a minute, and fails when a connector has failed.
func (d *demo) until(what string, ok func() (bool, error)) error {
	deadline := time.Now().Add(time.Minute)
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		if err := d.failed(); err != nil {
			return err
		}
		select {
		case <-d.ctx.Done():
			return d.ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within a minute: %s", what)
		}
	}
}

func (d *demo) failed() error {
	names, err := d.client.Connectors(d.ctx)
	if err != nil {
		return nil //nolint:nilerr // it is still starting
	}
	for _, n := range names {
		st, err := d.client.Status(d.ctx, n)
		if err != nil {
			continue
		}
		for _, t := range st.Tasks {
			if t.State == api.Failed {
				return fmt.Errorf("task %d of %s failed: %s", t.ID, n, t.Trace)
			}
		}
	}
	return nil
}

func (d *demo) tail() string {
	b, err := os.ReadFile(d.log)
	if err != nil {
		return "none"
	}
	return string(b[max(0, len(b)-3000):])
}

func (d *demo) stop() {
	if d.server != nil && d.server.Process != nil {
		_ = d.server.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = d.server.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			_ = d.server.Process.Kill()
			<-done
		}
	}
	if d.db != nil {
		d.db.Stop()
	}
}
