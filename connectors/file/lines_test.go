package file_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

// reader reads lines through the plugin, as a worker does, and remembers the last position.
type reader struct {
	p    *host.Process
	s    *host.Source
	path string
	at   []connectapi.Position
	all  []int64 // every position that came
}

func open(t *testing.T, path string, at []connectapi.Position, config ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := plugintest.Start(t, host.Options{Path: plugintest.Build(t, "connectors/file/plugin")})
	c := map[string]string{"file": path, "topic": "lines"}
	for i := 0; i < len(config); i += 2 {
		c[config[i]] = config[i+1]
	}
	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "file-source", Config: c, Committed: at, Credit: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &reader{p: p, s: s, path: path, at: at}
}

// lines returns the next n lines.
func (r *reader) lines(t *testing.T, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out []string
	for len(out) < n {
		b, err := r.s.Recv(ctx)
		if err != nil {
			t.Fatalf("after %d of %d lines: %v", len(out), n, err)
		}
		out = r.take(t, b, out)
	}
	if len(out) != n {
		t.Fatalf("%d lines came, %d were wanted: %.300q", len(out), n, out)
	}
	return out
}

func (r *reader) take(t *testing.T, b *host.SourceBatch, out []string) []string {
	t.Helper()
	rows := b.Rows()
	var row connectapi.RawRow
	for rows.Next(&row) {
		if row.Route.Topic != "lines" || !row.Key.IsNull() || row.Key.Schema() != nil || row.Value.Schema().Type() != connectapi.TypeString {
			t.Fatalf("row: %+v", row)
		}
		out = append(out, string(row.Value.Encoded()))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, m := range b.Positions {
		r.at = []connectapi.Position{{Partition: m.Partition, Offset: m.Offset}}
		r.all = append(r.all, r.position(t))
	}
	id := b.ID
	b.Release()
	_ = r.s.Ack(id, nil) // the task may have failed behind this batch: Recv tells
	return out
}

// silent fails if a line comes.
func (r *reader) silent(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if b, err := r.s.Recv(ctx); err == nil {
		t.Fatalf("a line came: %.100q", r.take(t, b, nil))
	}
}

func (r *reader) position(t *testing.T) int64 {
	t.Helper()
	if want := connectapi.NewPartition("filename", r.path); r.at[0].Partition != want {
		t.Fatalf("partition %s, want %s", r.at[0].Partition, want)
	}
	n, err := r.at[0].Offset.Int64("position")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %.300q, want %.300q", got, want)
	}
}

// C076: line ends, a last line without one, multi-byte characters at buffer edges, a kill in between.
func TestLineEndsAndKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c076.txt")
	e := strings.Repeat("é", 5000)
	appendTo(t, path, e+"\r\n"+"b\n"+"\n"+"日本")
	r := open(t, path, nil, "batch.size", "1")
	same(t, r.lines(t, 3), e, "b", "")
	positions := r.all
	r.silent(t, 200*time.Millisecond)
	proc, err := os.FindProcess(r.p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Kill(); err != nil {
		t.Fatal(err)
	}
	<-r.p.Done()

	r = open(t, path, r.at)
	r.silent(t, 200*time.Millisecond)
	appendTo(t, path, "語\n")
	same(t, r.lines(t, 1), "日本語")
	if positions = append(positions, r.all...); !slices.Equal(positions, []int64{10002, 10004, 10005, 10015}) {
		t.Fatalf("positions: %v", positions)
	}
	r.silent(t, 200*time.Millisecond)
}

func TestLongLineAndInvalidBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.txt")
	long := strings.Repeat("0123456789abcde\u00e9", 5<<20/17)
	appendTo(t, path, long+"\n"+"a\xff\xfeb\n"+"end\n")
	r := open(t, path, nil)
	same(t, r.lines(t, 3), long, "a\ufffd\ufffdb", "end")
	if want := int64(len(long) + 1 + 5 + 4); r.position(t) != want {
		t.Fatalf("position %d, want %d", r.position(t), want)
	}
}

func TestLineAboveItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.txt")
	appendTo(t, path, "short\n"+strings.Repeat("x", 200_000)+"\n")
	r := open(t, path, nil, "line.max.bytes", "100000", "batch.size", "1")
	same(t, r.lines(t, 1), "short")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := r.s.Recv(ctx)
	if connectapi.KindOf(err) != connectapi.Data || !strings.Contains(err.Error(), "byte 6 is longer than line.max.bytes=100000") {
		t.Fatalf("%v", err)
	}
}

func TestFollowsTruncationAndRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	r := open(t, path, nil)
	r.silent(t, 100*time.Millisecond)
	if got := r.s.Report().WaitingFor; got != "the file to come into being" {
		t.Fatalf("waiting for %q", got)
	}
	appendTo(t, path, "one\ntwo\n")
	same(t, r.lines(t, 2), "one", "two")

	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "n\n")
	same(t, r.lines(t, 1), "n")
	if r.position(t) != 2 {
		t.Fatalf("position %d after truncation", r.position(t))
	}

	appendTo(t, path, "last without end")
	r.silent(t, 100*time.Millisecond)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "new\n")
	same(t, r.lines(t, 2), "last without end", "new")
	if r.position(t) != 4 {
		t.Fatalf("position %d in the new file", r.position(t))
	}
}

func TestTruncatedWhileStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	appendTo(t, path, "a\n")
	r := open(t, path, []connectapi.Position{{
		Partition: connectapi.NewPartition("filename", path), Offset: connectapi.NewOffset("position", 1000),
	}})
	same(t, r.lines(t, 1), "a")
}

func TestAlterChecksOffsets(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := plugintest.Start(t, host.Options{Path: plugintest.Build(t, "connectors/file/plugin")})
	config := map[string]string{"file": "/f", "topic": "t"}
	alter := func(part connectapi.Partition, off connectapi.Offset) error {
		_, err := p.Alter(ctx, "file-source", config, []connectapi.Position{{Partition: part, Offset: off}}, false)
		return err
	}
	good := connectapi.NewPartition("filename", "/f")
	if err := alter(good, connectapi.NewOffset("position", 5)); err != nil {
		t.Fatal(err)
	}
	if err := alter(good, ""); err != nil {
		t.Fatal(err)
	}
	if err := alter(good, connectapi.NewOffset("position", -1)); err == nil {
		t.Fatal("a negative position was taken")
	}
	if err := alter(connectapi.NewPartition("file", "/f"), ""); err == nil {
		t.Fatal("another partition was taken")
	}
	d, err := p.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Of {
		v := c.Config.Validate(map[string]string{"topic": "t"})
		for _, k := range v {
			if k.Name == "file" && (len(k.Errors) != 1 || k.Errors[0] != `Missing required configuration "file" which has no default value.`) {
				t.Fatalf("%s: %v", c.Name, k.Errors)
			}
		}
	}
}

func TestSinkEndsATornLine(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "out")
	appendTo(t, path, "whole\nto")
	p := plugintest.Start(t, host.Options{Path: plugintest.Build(t, "connectors/file/plugin")})
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "file-sink", Config: map[string]string{"file": path}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.NewBatch()
	schema := connectapi.NewStruct("").Field("a", connectapi.Int32Schema).Field("b", connectapi.OptionalStringSchema).MustBuild()
	v, err := connectapi.Encode(schema, map[string]any{"a": 1, "b": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range []connectapi.Value{v, {}, connectapi.NewValue(nil, []byte(`{"j":1}`))} {
		if err := b.Append(&connectapi.Route{Topic: "t", Value: x.Schema()}, 0, int64(i), nil, x.Encoded()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(ctx, b, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(true); err != nil {
		t.Fatal(err)
	}
	for {
		e, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(*host.Flushed); ok {
			break
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "whole\nto\nStruct{a=1,b=x}\nnull\n{\"j\":1}\n"; string(text) != want {
		t.Fatalf("%q, want %q", text, want)
	}
}
