package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstockio/penstock/broker/disk"
)

func TestOneDirectoryOneProcess(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, Options{})
	_, err := Open(dir, Options{}, quiet(), nil)
	if !errors.Is(err, disk.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	stop(t, s)
	start(t, dir, Options{})
}

func TestDefaultOptionsOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, Options{})
	open(t, s, forever, 7)
	put(t, s, 7, one(t, 5, "a", "b"))
	stop(t, s)
	s = start(t, dir, Options{})
	put(t, s, 7, one(t, 6, "c"))
	if got := values(t, s, 7, 0); !slices.Equal(got, []string{"0=a", "1=b", "2=c"}) {
		t.Fatal(got)
	}
}
