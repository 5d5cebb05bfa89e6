package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

// A crash between publishing and the commit: the same records come again and are not written twice, wherever the next
// file would be cut.
func TestReplayAfterPublish(t *testing.T) {
	for _, c := range []struct {
		name           string
		flushed, again int64 // records before the first publish; records of the second run before its own
		files          int
	}{
		{"same cut", 10, 10, 2}, {"later cut", 10, 25, 3}, {"earlier cut", 10, 4, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHarness(t, "location", dir)
			h.assign("t", 0, 0)
			h.write(strs(0, c.flushed)...)
			h.commit(true) // and the worker dies before it writes the offset

			h = newHarness(t, "location", dir)
			h.assign("t", 0, 0)
			h.write(strs(0, c.again)...)
			if got := durable(h.commit(true)); got != c.again {
				t.Fatalf("durable %d, want %d", got, c.again)
			}
			h.write(strs(c.again, 30)...)
			if got := durable(h.commit(true)); got != 30 {
				t.Fatalf("durable %d, want 30", got)
			}
			if got := names(t, dir); len(got) != c.files {
				t.Fatal(got)
			}
			checkStrs(t, dir, 30)
		})
	}
}

func checkAllOnceAtLeast(t *testing.T, dir string, n int) {
	t.Helper()
	rows, err := testenv.ReadLake(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != n {
		t.Fatalf("%d records, want %d", len(rows), n)
	}
	for i, r := range rows {
		if r.Offset != int64(i) || r.Columns["value"] != fmt.Sprint("v", i) {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
}

// Another writer (a task that is not dead yet) publishes the same first offset while ours is open: both files stay.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	a, b := newHarness(t, "location", dir), newHarness(t, "location", dir)
	a.write(strs(0, 5)...)
	b.write(strs(0, 8)...)
	a.commit(true)
	if got := durable(b.commit(true)); got != 8 {
		t.Fatalf("durable: %d", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000-0000000007.parquet", "t/partition=0/t+0+0000000000.parquet")
	checkAllOnceAtLeast(t, dir, 8)

	c, d := newHarness(t, "location", dir), newHarness(t, "location", dir) // the same rows: one file
	next := strs(8, 10)
	c.write(next...)
	d.write(next...)
	c.commit(true)
	d.commit(true)
	if got := names(t, dir); len(got) != 3 {
		t.Fatal(got)
	}
}

// A filter was taken away between the runs: offsets that the published file does not hold are written.
func TestReplayWithOtherTransforms(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	all := strs(0, 10)
	h.write(all[0], all[2], all[4])
	h.commit(true)
	h = newHarness(t, "location", dir)
	h.assign("t", 0, 0)
	h.write(all...)
	h.commit(true)
	checkStrs(t, dir, 10)
}

// A foreign file under our name is left alone.
func TestForeignFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t/partition=0/t+0+0000000000.parquet")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, "location", dir)
	h.write(strs(0, 3)...)
	if got := durable(h.commit(true)); got != 3 {
		t.Fatalf("durable: %d", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000-0000000002.parquet", "t/partition=0/t+0+0000000000.parquet")
	if text, err := os.ReadFile(path); err != nil || string(text) != "not ours" {
		t.Fatalf("%q %v", text, err)
	}
}

// What a killed task left unfinished goes when its partitions are assigned again, and nobody else's does.
func TestSweepsUnfinished(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	h.write(strs(0, 3)...)
	other := strs(0, 3)
	for i := range other {
		other[i].partition = 11
	}
	h.write(other...)
	if got := names(t, dir); len(got) != 2 || !strings.HasPrefix(got[0], unfinished+"/t+0+") || !strings.HasPrefix(got[1], unfinished+"/t+11+") {
		t.Fatal(got)
	}
	b := newHarness(t, "location", dir)
	b.assign("t", 0, 0)
	b.assign("t", 1, 0)
	if got := names(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], unfinished+"/t+11+") {
		t.Fatal(got)
	}
}

// Revoked and lost partitions leave nothing behind, and what was open of them is not reported.
func TestRevoked(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	h.assign("t", 0, 0)
	h.write(strs(0, 3)...)
	if err := h.task.Revoked(context.Background(), []connectapi.TopicPartition{{Topic: "t"}}, true); err != nil {
		t.Fatal(err)
	}
	if got := h.commit(true); len(got) != 0 {
		t.Fatal(got)
	}
	if got := names(t, dir); len(got) != 0 || h.task.open != 0 {
		t.Fatal(got, h.task.open)
	}
	h.assign("t", 0, 0)
	h.write(strs(0, 3)...)
	h.commit(true)
	checkStrs(t, dir, 3)
}

// brokenStore fails in turn at each step of publishing.
type brokenStore struct {
	store
	fail int // calls of publish still to fail
	err  error
	late bool // fail after the file appeared: a lost answer
}

type brokenUpload struct {
	upload
	s *brokenStore
}

func (s *brokenStore) create(prefix string) (upload, error) {
	u, err := s.store.create(prefix)
	return &brokenUpload{u, s}, err
}

func (u *brokenUpload) publish(ctx context.Context, path string) error {
	if u.s.fail == 0 {
		return u.upload.publish(ctx, path)
	}
	u.s.fail--
	if u.s.late {
		if err := u.upload.publish(ctx, path); err != nil {
			return err
		}
	}
	return u.s.err
}

// A publish that fails is tried again, in Write (the same records come again) and in Commit, and nothing is reported
// before it is through.
func TestPublishIsTriedAgain(t *testing.T) {
	for _, late := range []bool{false, true} {
		dir := t.TempDir()
		h := newHarness(t, "location", dir, "flush.size", "4")
		b := &brokenStore{store: h.task.store, fail: 2, err: connectapi.Retry(errors.New("503"), 0), late: late}
		h.task.store = b
		h.assign("t", 0, 0)
		recs := strs(0, 10)
		if err := h.tryWrite(recs...); connectapi.KindOf(err) != connectapi.Transient {
			t.Fatal(err)
		}
		if late {
			b.fail = 0
		} else if _, err := h.task.Commit(context.Background(), false); connectapi.KindOf(err) != connectapi.Transient {
			t.Fatal(err)
		}
		h.write(recs...)
		if got := durable(h.commit(true)); got != 10 {
			t.Fatalf("durable: %d", got)
		}
		checkStrs(t, dir, 10)
	}
}

// fullDisk fails writes from some byte on.
type fullDisk struct {
	store
	room int
}

type fullUpload struct {
	upload
	s *fullDisk
}

func (s *fullDisk) create(prefix string) (upload, error) {
	u, err := s.store.create(prefix)
	return &fullUpload{u, s}, err
}

var errFull = errors.New("no space left on device")

func (u *fullUpload) Write(b []byte) (int, error) {
	if u.s.room -= len(b); u.s.room < 0 {
		return 0, errFull
	}
	return u.upload.Write(b)
}

// A full disk fails the task for good: no file appears, no offset is reported; a new task with room writes all.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	h.task.store = &fullDisk{h.task.store, 100}
	h.assign("t", 0, 0)
	h.write(strs(0, 100)...)
	for range 2 {
		if o, err := h.task.Commit(context.Background(), true); !errors.Is(err, errFull) || o != nil {
			t.Fatal(o, err)
		}
	}
	if err := h.tryWrite(strs(100, 101)...); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	for _, n := range names(t, dir) {
		if strings.HasSuffix(n, ".parquet") {
			t.Fatal(n)
		}
	}
	h = newHarness(t, "location", dir)
	h.assign("t", 0, 0)
	h.write(strs(0, 100)...)
	h.commit(true)
	checkStrs(t, dir, 100)
}

// A name ending in .parquet is a whole file at any moment (I1): one that reads while files come meets no torn one.
func TestAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "flush.size", "500")
	stop, result := make(chan struct{}), make(chan error, 1)
	go func() {
		seen := 0
		for {
			_, err := testenv.ReadLake(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // unfinished names may go while the folder is walked
				result <- err
				return
			}
			seen++
			select {
			case <-stop:
				if seen < 2 {
					err = errors.New("the reader was never there while files came")
				}
				result <- err
				return
			default:
			}
		}
	}()
	for i := range int64(40) {
		h.write(strs(i*250, i*250+250)...)
	}
	h.commit(true)
	close(stop)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	checkStrs(t, dir, 10000)
}

// Without hard links a file is renamed to a name that must be free.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, []byte(p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := renameNew(a, b); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := renameNew(a, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"b", "c"}) {
		t.Fatal(got)
	}
}

func TestBoundary(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, want string }{
		{"2024-05-06T00:00:00+02:00", "2024-05-06T06:00:00+02:00"},
		{"2024-05-06T23:59:59+02:00", "2024-05-07T00:00:00+02:00"},
	} {
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := boundary(at, 6*time.Hour, berlin).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s, want %s", c.at, got, c.want)
		}
	}
}
