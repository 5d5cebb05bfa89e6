package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/queue"
)

const childEnv = "PENSTOCK_STORE_CHILD"

// childMain makes the test binary a writer that prints each durable record, until it is killed.
func childMain() bool {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return false
	}
	if err := childWrite(dir); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	return true
}

func killOptions() Options {
	return Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20, FlushLogBytes: 256 << 10, FlushInterval: 50 * time.Millisecond}
}

func childWrite(dir string) error {
	s, err := Open(dir, killOptions(), quiet(), nil)
	if err != nil {
		return err
	}
	if err := s.Start(context.Background()); err != nil {
		return err
	}
	if err := s.OpenAll(forever, 1, 2, 3); err != nil {
		return err
	}
	lines := make(chan string, 1000)
	go func() {
		w := bufio.NewWriter(os.Stdout)
		for l := range lines {
			fmt.Fprintln(w, l)
			if len(lines) == 0 {
				w.Flush()
			}
		}
	}()
	slots := make(chan struct{}, 50)
	for n := 0; ; n++ {
		slots <- struct{}{}
		q := queue.ID(1 + n%3)
		var bd batch.Builder
		v := fmt.Sprintf("%d-%d-%s", os.Getpid(), n, strings.Repeat("v", n%3000))
		b, err := bd.Add(batch.Record{Time: int64(n), Key: []byte("k"), Value: []byte(v)}).Build()
		if err != nil {
			return err
		}
		tk := s.Append(Durable, Entry{Kind: commitlog.KindData, Queue: q, Batch: b})
		tk.OnDone(func() {
			<-slots
			if tk.Err() == nil && tk.Results()[0].Err == nil {
				lines <- fmt.Sprintf("%d %d %s", q, tk.Results()[0].BaseOffset, v)
			}
		})
	}
}

// runChild lets the child write for some acknowledged records, kills it and gives what it acknowledged.
func runChild(t *testing.T, dir string, acks int) map[queue.ID]map[int64]string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[queue.ID]map[int64]string{}
	in := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == acks {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var q queue.ID
		var off int64
		var v string
		if _, err := fmt.Sscanf(line, "%d %d %s", &q, &off, &v); err != nil {
			t.Fatalf("the child said %q", line)
		}
		if acked[q] == nil {
			acked[q] = map[int64]string{}
		}
		acked[q][off] = v
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return acked
}

// TestKillNine kills a writing process; what it acknowledged must be there.
func TestKillNine(t *testing.T) {
	dir := t.TempDir()
	all := map[queue.ID]map[int64]string{1: {}, 2: {}, 3: {}}
	for range 5 {
		for q, m := range runChild(t, dir, 200+rand.IntN(2000)) {
			for off, v := range m {
				if old, ok := all[q][off]; ok && old != v {
					t.Fatalf("offset %d of queue %d was given twice", off, q)
				}
				all[q][off] = v
			}
		}
		s := start(t, dir, killOptions())
		for q, m := range all {
			verify(t, s, q, m, 0)
		}
		stop(t, s)
	}
}

// verify checks acknowledged records; up to missing of the latest may be gone.
func verify(t *testing.T, s *Store, q queue.ID, acked map[int64]string, missing int) {
	t.Helper()
	got := values(t, s, q, 0)
	gone := 0
	for off, v := range acked {
		switch {
		case off >= int64(len(got)):
			gone++
		case got[off] != fmt.Sprintf("%d=%s", off, v):
			t.Fatalf("queue %d offset %d: found another record", q, off)
		}
	}
	if gone > missing {
		t.Fatalf("queue %d: %d acknowledged records are gone, %d allowed", q, gone, missing)
	}
	h, err := s.Head(q)
	if err != nil {
		t.Fatal(err)
	}
	if h.End != int64(len(got)) {
		t.Fatalf("queue %d: next offset %d after %d records", q, h.End, len(got))
	}
	if base := put(t, s, q, one(t, 1, "next")); base != h.End {
		t.Fatalf("queue %d: the next append got %d, the next free offset is %d", q, base, h.End)
	}
	acked[h.End] = "next"
}

// TestDamagedAfterKill is what disks do to the files of a killed broker: each starts by itself, and at most the last
// record is lost.
func TestDamagedAfterKill(t *testing.T) {
	origin := t.TempDir()
	acked := runChild(t, origin, 500)
	logEnd, lastFrame := endOfLog(t, origin)
	newest := func(dir string) string {
		names, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		return slices.Max(names)
	}
	edit := func(dir string, f func(*os.File) error) {
		file, err := os.OpenFile(newest(dir), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := f(file); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		name    string
		missing int
		do      func(dir string)
	}{
		{"cut 7 bytes of the file", 0, func(dir string) {
			edit(dir, func(f *os.File) error {
				st, err := f.Stat()
				if err != nil {
					return err
				}
				return f.Truncate(st.Size() - 7)
			})
		}},
		{"cut 7 bytes of the last record", 1, func(dir string) {
			edit(dir, func(f *os.File) error { return f.Truncate(logEnd - 7) })
		}},
		{"overwrite 20 bytes in the last record", 1, func(dir string) {
			edit(dir, func(f *os.File) error {
				_, err := f.WriteAt([]byte(strings.Repeat("\xff", 20)), lastFrame+50)
				return err
			})
		}},
		{"100 random bytes behind the end", 0, func(dir string) {
			edit(dir, func(f *os.File) error {
				b := make([]byte, 100)
				for i := range b {
					b[i] = byte(rand.Uint32()) | 1
				}
				_, err := f.WriteAt(b, logEnd)
				return err
			})
		}},
		{"100 random bytes behind the file", 0, func(dir string) {
			edit(dir, func(f *os.File) error {
				st, err := f.Stat()
				if err != nil {
					return err
				}
				_, err = f.WriteAt([]byte(strings.Repeat("r\xff", 50)), st.Size())
				return err
			})
		}},
		{"no index", 0, func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
				t.Fatal(err)
			}
		}},
		{"index files gone", 0, func(dir string) {
			names, err := filepath.Glob(filepath.Join(dir, "index", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range names {
				if i%2 == 0 {
					if err := os.RemoveAll(n); err != nil {
						t.Fatal(err)
					}
				}
			}
		}},
		{"an empty next file", 0, func(dir string) {
			next := filepath.Join(dir, "log", fmt.Sprintf("%020d.log", 8<<20-4096))
			if err := os.WriteFile(next, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			c.do(dir)
			s := start(t, dir, killOptions())
			gone := 0
			for q := range queue.ID(4) {
				if q == 0 {
					continue
				}
				m := map[int64]string{}
				for k, v := range acked[q] {
					m[k] = v
				}
				before := len(m)
				verify(t, s, q, m, c.missing)
				if h := heads(t, s, q); h < int64(before)+1 {
					gone += before + 1 - int(h)
				}
			}
			if gone > c.missing {
				t.Fatalf("%d records lost, at most %d may be", gone, c.missing)
			}
			stop(t, s)
			start(t, dir, killOptions())
		})
	}
}

// endOfLog finds where the last record stands in the newest file, without changing the directory.
func endOfLog(t *testing.T, dir string) (end, lastFrame int64) {
	t.Helper()
	tmp := t.TempDir()
	if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(tmp, killOptions(), quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.log.Recover(commitlog.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Cut > 0 {
		t.Logf("the kill left %d bytes of a torn tail", rec.Cut)
	}
	var last commitlog.Frame
	var size int
	if err := s.log.Replay(0, func(f commitlog.Frame, _ bool, _ int64) error {
		if f.Kind == commitlog.KindData {
			last, size = f, len(f.Payload)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.log.Close(), s.lock.Close()); err != nil {
		t.Fatal(err)
	}
	start := last.Position / (8<<20 - 4096) * (8<<20 - 4096)
	return 4096 + last.Position - start + 40 + int64(size), 4096 + last.Position - start
}
