package lake

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// fakeHost is what a task sees of its host.
type fakeHost struct {
	commits atomic.Int64
}

func (h *fakeHost) Log() *slog.Logger                 { return slog.New(slog.DiscardHandler) }
func (h *fakeHost) Report(string, map[string]float64) {}
func (h *fakeHost) RequestCommit()                    { h.commits.Add(1) }

// harness drives a task in process, with a clock of its own.
type harness struct {
	t      testing.TB
	task   *task
	host   *fakeHost
	clock  time.Time
	failed []string // offset: error
}

// config is the configuration of keys and values over a local folder, with the defaults.
func config(t testing.TB, kv ...string) Config {
	t.Helper()
	values := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		values[kv[i]] = kv[i+1]
	}
	def, err := connectapi.ConfigOf[Config]()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := connectapi.DecodeConfig[Config](def, values)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

var start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

func newHarness(t testing.TB, kv ...string) *harness {
	t.Helper()
	h := &harness{t: t, host: &fakeHost{}, clock: start}
	task, err := open(config(t, kv...), h.host, func() time.Time { return h.clock })
	if err != nil {
		t.Fatal(err)
	}
	h.task = task
	t.Cleanup(func() {
		if err := task.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// rec is a record to be written.
type rec struct {
	topic     string
	partition int32
	offset    int64
	at        time.Time
	key       any
	schema    *connectapi.Schema
	value     any // of the schema; without one, JSON text
	from      string
}

func (h *harness) tryWrite(recs ...rec) error {
	h.t.Helper()
	cat, dir := connectapi.NewCatalog(), connectapi.NewDirectory()
	b := connectapi.NewBatch(cat)
	for _, r := range recs {
		route := &connectapi.Route{Topic: r.topic, Partition: r.partition, Key: connectapi.OptionalStringSchema, Value: r.schema, ReadFrom: r.from}
		key, err := connectapi.Encode(connectapi.OptionalStringSchema, r.key)
		if err != nil {
			h.t.Fatal(err)
		}
		var value connectapi.Value
		if text, ok := r.value.(string); ok && r.schema == nil {
			value = connectapi.NewValue(nil, []byte(text))
		} else if raw, ok := r.value.(connectapi.Value); ok {
			value = raw
		} else if r.value != nil {
			if value, err = connectapi.Encode(r.schema, r.value); err != nil {
				h.t.Fatal(err)
			}
		}
		millis := connectapi.NoTime
		if !r.at.IsZero() {
			millis = r.at.UnixMilli()
		}
		b.AppendConsumed(route, millis, r.offset, key.Encoded(), value.Encoded(), connectapi.Headers{})
	}
	schemas, routes := cat.Announce()
	for _, s := range schemas {
		if err := dir.AddSchema(s.ID, s.Schema); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, r := range routes {
		if err := dir.AddRoute(r.ID, r.Route); err != nil {
			h.t.Fatal(err)
		}
	}
	rs := connectapi.NewRecords(b.Encoded(), b.Len(), b.Base(), dir, func(r *connectapi.Record, err error) {
		h.failed = append(h.failed, fmt.Sprintf("%d: %v", r.Original.Offset, err))
	})
	err := h.task.Write(context.Background(), rs)
	if err == nil {
		err = rs.Err()
	}
	clear(b.Encoded()) // what still points into the batch shows (I6)
	return err
}

func (h *harness) write(recs ...rec) {
	h.t.Helper()
	if err := h.tryWrite(recs...); err != nil {
		h.t.Fatal(err)
	}
}

// strs are string records of topic t, partition 0.
func strs(from, to int64) (out []rec) {
	for i := from; i < to; i++ {
		out = append(out, rec{topic: "t", offset: i, schema: connectapi.StringSchema, value: fmt.Sprint("v", i)})
	}
	return out
}

func (h *harness) commit(all bool) connectapi.Offsets {
	h.t.Helper()
	o, err := h.task.Commit(context.Background(), all)
	if err != nil {
		h.t.Fatal(err)
	}
	return o
}

func (h *harness) assign(topic string, partition int32, at int64) {
	h.t.Helper()
	if _, err := h.task.Assigned(context.Background(), connectapi.Offsets{{Topic: topic, Partition: partition}: at}); err != nil {
		h.t.Fatal(err)
	}
}

// names lists the published files below a folder.
func names(t testing.TB, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	got := names(t, dir)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
