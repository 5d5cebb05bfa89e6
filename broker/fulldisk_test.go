package broker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/store"
)

// smallDisk is the environment's name for the directory on which a test mounts a small file system of its own.
const smallDisk = "PENSTOCK_TEST_SMALL_DISK"

// onSmallDisk runs a test's body in a process whose mounts are its own, over an empty file system of size bytes.
func onSmallDisk(t *testing.T, size int64, body func(dir string)) {
	t.Helper()
	if dir := os.Getenv(smallDisk); dir != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
			t.Fatal(err)
		}
		body(dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout=5m", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a mount namespace of its own (which needs root, or unprivileged user namespaces): %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("it did not run:\n%s", out)
	}
}

// fillUp leaves no byte free on a file system.
func fillUp(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// produced is the error code of one record of n bytes.
func produced(t *testing.T, r *raw, topic string, n int) int16 {
	t.Helper()
	var bd batch.Builder
	b, err := bd.Add(batch.Record{Time: time.Now().UnixMilli(), Value: make([]byte, n)}).Build()
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: b}}}}
	resp, err := r.ask(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
}

// TestFullDiskEmptiesItself: with not one byte free, not for the index either, what may go goes, and producing resumes with
// nobody's help. In each segment stands a record that is kept for ever, too, so that segments have to be emptied first.
func TestFullDiskEmptiesItself(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a file system")
	}
	for name, free := range map[string]func(t *testing.T, b *Broker){
		"retention": func(*testing.T, *Broker) {}, // the time comes
		"deletion": func(t *testing.T, b *Broker) {
			if _, err := admin(t, b).DeleteTopics(t.Context(), "goes"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/kept=%v", name, kept), func(t *testing.T) {
				onSmallDisk(t, 240<<20, func(dir string) { fullDisk(t, dir, name == "retention", kept, free) })
			})
		}
	}
}

func fullDisk(t *testing.T, dir string, retention, kept bool, free func(*testing.T, *Broker)) {
	data := filepath.Join(dir, "data")
	b := start(t, data, map[string]string{
		"log.retention.check.interval.ms": "200", "log.cleaner.backoff.ms": "200", "auto.create.topics.enable": "false",
	})
	ever, goes := "-1", "-1"
	if retention {
		goes = "20000"
	}
	adm := admin(t, b)
	for name, ms := range map[string]*string{"goes": &goes, "ever": &ever} {
		if _, err := adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"retention.ms": ms}, name); err != nil {
			t.Fatal(err)
		}
	}
	reserve := filepath.Join(data, "reserve")
	waitFor(t, "the reserve is made", func() bool { st, err := os.Stat(reserve); return err == nil && st.Size() == 64<<20 })
	r := dialRaw(t, b)
	kept1 := 0
	for n := range 40 { // five segments
		if kept && n%4 == 0 {
			if e := produced(t, r, "ever", 1000); e != 0 {
				t.Fatal(kerr.ErrorForCode(e))
			}
			kept1++
		}
		if e := produced(t, r, "goes", 1_000_000); e != 0 {
			t.Fatal(kerr.ErrorForCode(e))
		}
	}
	fillUp(t, filepath.Join(dir, "others"))
	refused := 0
	for _, size := range []int{1_000_000, 1000} {
		for e := int16(0); e == 0; refused++ {
			if e = produced(t, r, "goes", size); e != 0 && e != kerr.KafkaStorageError.Code {
				t.Fatal(kerr.ErrorForCode(e))
			}
		}
	}
	var se *store.StorageError
	if err := b.Health(); !errors.As(err, &se) || se.Reason != store.NoSpace {
		t.Fatalf("health on the full disk: %v", err)
	}
	free(t, b)
	waitLong(t, 2*time.Minute, "producing resumes", func() bool { return produced(t, r, "ever", 1_000_000) == 0 })
	waitLong(t, 2*time.Minute, "it is healthy, and the reserve is there again", func() bool {
		st, err := os.Stat(reserve)
		return b.Health() == nil && err == nil && st.Size() >= 16<<20
	})
	if kept {
		got := consume(t, b, "ever", kept1+1, kgo.FetchMaxBytes(4<<20))
		if len(got[0].Value) != 1000 || len(got[kept1].Value) != 1_000_000 {
			t.Fatalf("%d bytes, then %d", len(got[0].Value), len(got[kept1].Value))
		}
	}
}

// TestLostPermission: clients get the same error as on a full disk, health says what it is, and it heals.
func TestLostPermission(t *testing.T) {
	d := disk.NewMem()
	b, err := Open(Config{
		DataDir: "/data", Listeners: []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}, Settings: small, disk: d, indexFS: vfs.NewMem(),
	}, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := admin(t, b).CreateTopic(t.Context(), 1, 1, nil, "denied"); err != nil {
		t.Fatal(err)
	}
	d.SetFault(func(op disk.Op, name string) error {
		if op == disk.OpCreate && strings.HasSuffix(name, ".log") {
			return syscall.EACCES
		}
		return nil
	})
	r := dialRaw(t, b)
	e := int16(0)
	for e == 0 {
		e = produced(t, r, "denied", 1_000_000)
	}
	if e != kerr.KafkaStorageError.Code {
		t.Fatal(kerr.ErrorForCode(e))
	}
	var se *store.StorageError
	if err := b.Health(); !errors.As(err, &se) || se.Reason != store.Denied || !strings.Contains(err.Error(), "permission denied") {
		t.Fatal(err)
	}
	d.SetFault(nil)
	waitFor(t, "producing resumes", func() bool { return produced(t, r, "denied", 1_000_000) == 0 && b.Health() == nil })
}
