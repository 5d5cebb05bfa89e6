package lake

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"

	"github.com/penstockio/penstock/connect-api"
)

// bucket is an S3 server in process with one bucket.
type bucket struct {
	url string
	mu  sync.Mutex
	// answer, if set, may answer a request itself; true: it did.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	back := s3mem.New()
	if err := back.CreateBucket("lake-bucket"); err != nil {
		t.Fatal(err)
	}
	b := &bucket{}
	fake := gofakes3.New(back, gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		answer := b.answer
		b.mu.Unlock()
		if answer == nil || !answer(w, r) {
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { srv.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	b.url = srv.URL
	return b
}

func (b *bucket) set(f func(w http.ResponseWriter, r *http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

func (b *bucket) config(kv ...string) []string {
	return append([]string{
		"location", "s3://lake-bucket/raw/zone", "store.url", b.url, "s3.region", "eu-central-1",
		"aws.access.key.id", "key", "aws.secret.access.key", "secret",
	}, kv...)
}

// harness opens a task on the bucket, whose connections close with the test.
func (b *bucket) harness(t *testing.T, kv ...string) *harness {
	t.Helper()
	return newHarness(t, b.config(kv...)...)
}

// download copies all objects into a folder.
func (b *bucket) download(t *testing.T, h *harness) string {
	t.Helper()
	dir := t.TempDir()
	s := h.task.store.(*s3Store)
	ctx := context.Background()
	for o := range s.client.ListObjectsIter(ctx, "lake-bucket", minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		to := filepath.Join(dir, filepath.FromSlash(o.Key))
		if err := s.client.FGetObject(ctx, "lake-bucket", o.Key, to, minio.GetObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestS3(t *testing.T) {
	b := newBucket(t)
	if err := validate(context.Background(), config(t, b.config()...)); err != nil {
		t.Fatal(err)
	}
	h := b.harness(t, "flush.size", "4", "partitioner.class", "DailyPartitioner")
	h.assign("t", 0, 0)
	h.write(strs(0, 10)...)
	if got := durable(h.commit(false)); got != 8 {
		t.Fatalf("durable: %d", got)
	}
	h.commit(true)
	dir := b.download(t, h)
	const day = "raw/zone/t/year=2024/month=05/day=06/t+0+000000000"
	wantNames(t, dir, day+"0.parquet", day+"4.parquet", day+"8.parquet")
	checkStrs(t, dir, 10)

	h = b.harness(t, "partitioner.class", "DailyPartitioner") // the same records again, cut elsewhere
	h.assign("t", 0, 0)
	h.write(strs(0, 9)...)
	h.commit(true)
	checkStrs(t, b.download(t, h), 10)
}

// Bucket and topics.dir as Confluent's sink has them.
func TestS3ConfluentKeys(t *testing.T) {
	b := newBucket(t)
	h := newHarness(t, "s3.bucket.name", "lake-bucket", "store.url", b.url, "aws.access.key.id", "k", "aws.secret.access.key", "s",
		"s3.region", "us-west-2", "format.class", "io.confluent.connect.s3.format.parquet.ParquetFormat", "partitioner.class",
		"io.confluent.connect.storage.partitioner.DefaultPartitioner", "flush.size", "3")
	h.write(strs(0, 3)...)
	wantNames(t, b.download(t, h), "topics/t/partition=0/t+0+0000000000.parquet")
}

// Two writers of one name: the object that is there stays (412), ours gets the longer name.
func TestS3TwoWriters(t *testing.T) {
	b := newBucket(t)
	x, y := b.harness(t), b.harness(t)
	x.write(strs(0, 5)...)
	y.write(strs(0, 8)...)
	x.commit(true)
	y.commit(true)
	dir := b.download(t, x)
	wantNames(t, dir, "raw/zone/t/partition=0/t+0+0000000000-0000000007.parquet", "raw/zone/t/partition=0/t+0+0000000000.parquet")
	checkAllOnceAtLeast(t, dir, 8)
}

// Refusals and broken connections are tried again by the worker; an answer lost after the object was stored is found out.
func TestS3Trouble(t *testing.T) {
	b := newBucket(t)
	h := b.harness(t)
	h.assign("t", 0, 0)
	h.write(strs(0, 5)...)
	b.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if _, err := h.task.Commit(context.Background(), true); err == nil || connectapi.KindOf(err) == connectapi.Transient {
		t.Fatalf("forbidden: %v", err)
	}
	b.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.task.Commit(ctx, true); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	b.set(nil)
	if got := durable(h.commit(true)); got != 5 {
		t.Fatalf("durable: %d", got)
	}
	checkStrs(t, b.download(t, h), 5)
}

func TestS3LostAnswer(t *testing.T) {
	b := newBucket(t)
	h := b.harness(t)
	h.assign("t", 0, 0)
	h.write(strs(0, 5)...)
	for _, p := range h.task.of { // put once behind the task's back, as a call whose answer was lost did
		for _, s := range p.sorted() {
			if err := s.file.finish(); err != nil {
				t.Fatal(err)
			}
			if err := s.file.up.publish(context.Background(), s.file.dir+"/"+fileName(p.tp, 0, -1, 10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := durable(h.commit(true)); got != 5 {
		t.Fatalf("durable: %d", got)
	}
	dir := b.download(t, h)
	wantNames(t, dir, "raw/zone/t/partition=0/t+0+0000000000.parquet")
	checkStrs(t, dir, 5)
}

func TestS3Validate(t *testing.T) {
	b := newBucket(t)
	for _, c := range []struct {
		name   string
		kv     []string
		status int
		key    string
	}{
		{"no bucket", []string{"location", "s3://not-there/x", "store.url", b.url, "s3.region", "r", "aws.access.key.id", "k", "aws.secret.access.key", "s"}, 0, "location"},
		{"no bucket by name", []string{"s3.bucket.name", "not-there", "store.url", b.url, "s3.region", "r", "aws.access.key.id", "k", "aws.secret.access.key", "s"}, 0, "s3.bucket.name"},
		{"forbidden", b.config(), http.StatusForbidden, "aws.access.key.id"},
	} {
		b.set(func(w http.ResponseWriter, _ *http.Request) bool {
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			return c.status != 0
		})
		found, err := connectapi.FindingsOf(validate(context.Background(), config(t, c.kv...)))
		if err != nil || len(found) != 1 || found[0].Key != c.key {
			t.Errorf("%s: %+v %v, want key %s", c.name, found, err, c.key)
		}
	}
}

// Files to upload have no name: a kill leaves nothing in the temporary folder.
func TestS3NoLeftovers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBucket(t)
	h := b.harness(t)
	h.write(strs(0, 500)...)
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "penstock-lake") {
			t.Fatal(e.Name())
		}
	}
}
