package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/broker"
)

// tool runs a command line and gives what it prints.
func tool(args ...string) (string, error) {
	var out bytes.Buffer
	c := root()
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), err
}

// TestLogTools walks through what a user does with a damaged log: it is refused, verified, repaired, and works again.
func TestLogTools(t *testing.T) {
	dir := t.TempDir()
	run := func(f func(*kgo.Client)) error {
		b, err := broker.Open(broker.Config{DataDir: dir, Listeners: []broker.Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}}, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			return err
		}
		defer b.Close(context.Background())
		if err := b.Start(t.Context()); err != nil {
			return err
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("things"), kgo.ProducerBatchCompression(kgo.NoCompression()))
		if err != nil {
			return err
		}
		defer cl.Close()
		f(cl)
		return nil
	}
	if err := run(func(cl *kgo.Client) {
		for i := range 5 {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "things", Value: fmt.Appendf(nil, "thing number %d", i)}).FirstErr(); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	out, err := tool("log", "verify", "--data-dir", dir)
	if err != nil || !strings.Contains(out, "5 record batches") || !strings.Contains(out, "nothing is damaged") {
		t.Fatalf("%s%v", out, err)
	}
	file := filepath.Join(dir, "log", fmt.Sprintf("%020d.log", 0))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("thing number 2"))
	b[at] = 'T'
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = tool("log", "verify", "--data-dir", dir)
	if err == nil || !strings.Contains(out, "DAMAGED "+file) {
		t.Fatalf("%s%v", out, err)
	}
	index := filepath.Join(dir, "index")
	if out, err = tool("log", "reindex", "--data-dir", dir); err == nil || !strings.Contains(err.Error(), "left as it is") {
		t.Fatalf("%s%v", out, err)
	}
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
	if err := run(func(*kgo.Client) {}); err == nil || !strings.Contains(err.Error(), "penstock log repair") {
		t.Fatal(err)
	}
	if out, err = tool("log", "repair", "--data-dir", dir); err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Fatalf("%s%v", out, err)
	}
	out, err = tool("log", "repair", "--yes", "--data-dir", dir)
	if err != nil || !strings.Contains(out, "lost: offsets 2 to 2 of things-0") || !strings.Contains(out, "log/lost/") {
		t.Fatalf("%s%v", out, err)
	}
	if out, err = tool("log", "reindex", "--data-dir", dir); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	if err := run(func(cl *kgo.Client) {
		var got []string
		for len(got) < 4 {
			fs := cl.PollFetches(t.Context())
			if err := fs.Err(); err != nil {
				t.Error(err)
				return
			}
			fs.EachRecord(func(r *kgo.Record) { got = append(got, fmt.Sprintf("%d %s", r.Offset, r.Value)) })
		}
		if fmt.Sprint(got) != "[0 thing number 0 1 thing number 1 3 thing number 3 4 thing number 4]" {
			t.Errorf("%v", got)
		}
		out, err := tool("log", "verify", "--data-dir", dir)
		if err == nil || !strings.Contains(err.Error(), "another process uses it") {
			t.Errorf("%s%v", out, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
