package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/disk"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestAppendReadRestart(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1, 2)
	if got := put(t, s, 1, one(t, 1000, "a", "b")); got != 0 {
		t.Fatalf("first base offset %d", got)
	}
	put(t, s, 2, one(t, 1000, "x"))
	if got := put(t, s, 1, one(t, 1002, "c")); got != 2 {
		t.Fatalf("second base offset %d", got)
	}
	want := []string{"0=a", "1=b", "2=c"}
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatalf("read %v", got)
	}
	if got := values(t, s, 1, 1); !slices.Equal(got, want) {
		t.Fatalf("an offset inside a batch must give the whole batch: %v", got)
	}
	stop(t, s)
	s = start(t, "/data", memOptions(d, x))
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatalf("read after a restart %v", got)
	}
	if got := put(t, s, 1, one(t, 1003, "d")); got != 3 {
		t.Fatalf("base offset after a restart %d", got)
	}
}

func TestWaitWakesOnAppend(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	woke := make(chan error, 1)
	b := one(t, 1, "hello")
	go func() { woke <- s.Wait(ctx, len(b)+1, Cursor{Queue: 1}) }()
	put(t, s, 1, b)
	select {
	case err := <-woke:
		t.Fatalf("woke up before there was enough: %v", err)
	default:
	}
	put(t, s, 1, b)
	if err := <-woke; err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx, 1, Cursor{Queue: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx, 1, Cursor{Queue: 9}); err != nil {
		t.Fatalf("an invalid cursor must not wait: %v", err)
	}
	short, stopWaiting := context.WithCancel(context.Background())
	stopWaiting()
	if err := s.Wait(short, 1, Cursor{Queue: 1, Offset: 2}); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended context: %v", err)
	}
}

func TestManySegments(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := start(t, "/data", memOptions(d, x))
	open(t, s, forever, 1)
	big := make([]byte, 100<<10)
	var want []string
	for i := range 60 {
		v := fmt.Sprintf("%d%s", i, big)
		put(t, s, 1, one(t, int64(i), v))
		want = append(want, fmt.Sprintf("%d=%s", i, v))
	}
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatal("read something else than was written")
	}
	stop(t, s)
	if err := vfsRemoveAll(x); err != nil {
		t.Fatal(err)
	}
	s = start(t, "/data", memOptions(d, x))
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatal("after a rebuild: read something else than was written")
	}
}

func vfsRemoveAll(x vfs.FS) error { return x.RemoveAll("/data/index") }
