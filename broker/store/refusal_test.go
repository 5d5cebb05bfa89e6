package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/disk"
)

// refusing reads the metric that names why writes are refused, "" for nothing.
func refusing(t *testing.T, reg *prometheus.Registry) Reason {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	why := Reason("")
	for _, f := range all {
		if f.GetName() != "penstock_store_refusing" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetGauge().GetValue() == 1 {
				why += Reason(m.GetLabel()[0].GetValue())
			}
		}
	}
	return why
}

// TestRefusalsAreToldApart: missing space, missing permission and a failing device each have their own reason, in errors,
// health and metrics, whether the log or the index meets them; what may heal heals by itself.
func TestRefusalsAreToldApart(t *testing.T) {
	for errno, want := range map[syscall.Errno]Reason{
		syscall.ENOSPC: NoSpace, syscall.EDQUOT: NoSpace, syscall.EACCES: Denied, syscall.EPERM: Denied, syscall.EROFS: Denied, syscall.EIO: Failed,
	} {
		for _, where := range []string{"log", "index"} {
			t.Run(where+"/"+errno.Error(), func(t *testing.T) {
				var broken atomic.Bool
				d := disk.NewMem()
				x := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if where == "index" && broken.Load() && op.Kind == errorfs.OpCreate {
						return errno
					}
					return nil
				}))
				d.SetFault(func(op disk.Op, name string) error {
					if where == "log" && broken.Load() && op == disk.OpCreate && strings.HasSuffix(name, ".log") {
						return errno
					}
					return nil
				})
				o := memOptions(d, x)
				o.FlushLogBytes, o.ReserveBytes = 1000, -1
				reg := prometheus.NewRegistry()
				s, err := Open("/data", o, quiet(), reg)
				if err == nil {
					err = s.Start(context.Background())
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close(context.Background())
				open(t, s, forever, 1)
				put(t, s, 1, one(t, 1, "a"))
				if why := refusing(t, reg); why != "" {
					t.Fatal(why)
				}
				broken.Store(true)
				var se *StorageError
				until(t, "appends are refused", func() bool { return errors.As(appended(t, s, 1, strings.Repeat("x", 200<<10)), &se) })
				if se.Reason != want || !errors.Is(se, errno) || !errors.Is(se, ErrStorage) {
					t.Fatalf("refused with %v", se)
				}
				if err := s.Health(); !errors.As(err, &se) || se.Reason != want || !errors.Is(se, errno) {
					t.Fatalf("health: %v", err)
				}
				if why := refusing(t, reg); why != want {
					t.Fatalf("the metric says %q", why)
				}
				if got := values(t, s, 1, 0); got[0] != "0=a" {
					t.Fatalf("reading: %.100q", got)
				}
				broken.Store(false)
				if where == "log" && want == Failed { // fenced for good
					if err := s.Health(); !errors.As(err, &se) || se.Reason != Failed {
						t.Fatal(err)
					}
					return
				}
				until(t, "writing resumes", func() bool { return s.Health() == nil })
				put(t, s, 1, one(t, 2, "b"))
			})
		}
	}
}

// TestFailedDropIsRetried: a drop that is refused has changed nothing, and is made up for in the background.
func TestFailedDropIsRetried(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1, 2, 3)
	put(t, s, 1, one(t, 1, "a"))
	s.onIndexFailing(syscall.EROFS)
	var se *StorageError
	if err := s.Drop(1); !errors.As(err, &se) || se.Reason != Denied {
		t.Fatal(err)
	}
	if err := s.DropAll(2, 3); !errors.As(err, &se) || !strings.Contains(err.Error(), "tried again") {
		t.Fatal(err)
	}
	if err := s.clean(context.Background()); !errors.As(err, &se) { // still refused
		t.Fatal(err)
	}
	s.onIndexFailing(nil)
	put(t, s, 1, one(t, 2, "b"))
	put(t, s, 2, one(t, 1, "not dropped yet"))
	if got := values(t, s, 1, 0); !slices.Equal(got, []string{"0=a", "1=b"}) {
		t.Fatal(got)
	}
	if err := s.clean(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []ID{2, 3} {
		if _, err := s.Head(q); !errors.Is(err, ErrNoQueue) {
			t.Fatalf("queue %d: %v", q, err)
		}
	}
	if err := s.Drop(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(1); !errors.Is(err, ErrNoQueue) {
		t.Fatal(err)
	}
}

// TestDropTogether: a drop in an append is there with the rest of it, and data behind it in the same append is refused.
func TestDropTogether(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1, 2)
	tk := s.Append(Durable, append(AppendDrop(nil, 1, 7), data(1, one(t, 1, "late")), data(2, one(t, 1, "a")))...)
	select {
	case <-tk.Done():
	case <-time.After(time.Minute):
		t.Fatal("no end")
	}
	if r := tk.Results(); tk.Err() != nil || !errors.Is(r[0].Err, ErrNoQueue) || r[1].Err != nil {
		t.Fatal(tk.Err(), r)
	}
	if _, err := s.Head(1); !errors.Is(err, ErrNoQueue) {
		t.Fatal(err)
	}
}
