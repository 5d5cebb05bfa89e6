package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// both runs a test over the operating system's file system and the one in memory.
func both(t *testing.T, f func(t *testing.T, d FS, dir string)) {
	t.Run("os", func(t *testing.T) { f(t, OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) { f(t, NewMem(), "/dir") })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	both(t, func(t *testing.T, d FS, dir string) {
		sub := filepath.Join(dir, "a", "b")
		must(t, d.MkdirAll(sub))
		name := filepath.Join(sub, "f")
		if _, err := d.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		f, err := d.Create(name)
		must(t, err)
		if _, err := d.Create(name); !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		must(t, f.Allocate(100_000))
		if _, err := f.WriteAt([]byte("hello"), 50_000); err != nil {
			t.Fatal(err)
		}
		must(t, f.SyncData())
		must(t, d.SyncDir(sub))
		b := make([]byte, 7)
		if _, err := f.ReadAt(b, 49_999); err != nil || string(b) != "\x00hello\x00" {
			t.Fatalf("%q %v", b, err)
		}
		if n, err := f.ReadAt(b, 99_998); n != 2 || !errors.Is(err, io.EOF) {
			t.Fatal(n, err)
		}
		if pos, err := f.NextData(0); err != nil || pos > 50_000 {
			t.Fatal(pos, err)
		}
		if pos, err := f.NextData(90_000); err != nil || pos < 90_000 || pos > 100_000 {
			t.Fatal(pos, err)
		}
		must(t, f.Truncate(50_003))
		must(t, f.Truncate(50_010))
		if _, err := f.ReadAt(b, 50_000); err != nil || string(b) != "hel\x00\x00\x00\x00" {
			t.Fatalf("%q %v", b, err)
		}
		if size, err := f.Size(); err != nil || size != 50_010 {
			t.Fatal(size, err)
		}
		must(t, f.Close())
		must(t, d.Rename(name, name+"2"))
		if names, err := d.List(sub); err != nil || !slices.Equal(names, []string{"f2"}) {
			t.Fatal(names, err)
		}
		must(t, d.Remove(name+"2"))
		if err := d.Remove(name + "2"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	})
}

func TestLock(t *testing.T) {
	both(t, func(t *testing.T, d FS, dir string) {
		name := filepath.Join(dir, "LOCK")
		l, err := d.Lock(name)
		must(t, err)
		if _, err := d.Lock(name); !errors.Is(err, ErrLocked) {
			t.Fatal(err)
		}
		must(t, l.Close())
		l, err = d.Lock(name)
		must(t, err)
		must(t, l.Close())
	})
}

func TestWriteAtomic(t *testing.T) {
	both(t, func(t *testing.T, d FS, dir string) {
		name := filepath.Join(dir, "meta")
		for _, content := range []string{"first", "second, longer", "3"} {
			must(t, WriteAtomic(d, name, []byte(content)))
			if b, err := ReadFile(d, name, 100); err != nil || string(b) != content {
				t.Fatalf("%q %v", b, err)
			}
		}
		if _, err := ReadFile(d, name, 0); err == nil {
			t.Fatal("a file above the limit was read")
		}
	})
}

// TestWriteAtomicOverCrashes: whatever fails or is lost, the old or the new content is there.
func TestWriteAtomicOverCrashes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := NewMem()
	old := "content 0"
	must(t, WriteAtomic(d, "/d/meta", []byte(old)))
	for i := range 300 {
		next := fmt.Sprintf("content %d", i+1)
		stop := rng.IntN(6)
		d.SetFault(func(Op, string) error {
			if stop--; stop < 0 {
				return ErrIO
			}
			return nil
		})
		err := WriteAtomic(d, "/d/meta", []byte(next))
		d.SetFault(nil)
		d = d.Crash(rng)
		b, rerr := ReadFile(d, "/d/meta", 100)
		must(t, rerr)
		if got := string(b); got != next && (err == nil || got != old) {
			t.Fatalf("round %d (%v): %q, was %q", i, err, got, old)
		}
		old = string(b)
	}
}

// TestCrashKeepsWhatWasSynced, and only that for sure.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	lost, kept := 0, 0
	for range 200 {
		d := NewMem()
		f, err := d.Create("/d/f")
		must(t, err)
		page := bytes.Repeat([]byte{1}, pageSize)
		_, err = f.WriteAt(page, 0)
		must(t, err)
		must(t, f.SyncData())
		must(t, d.SyncDir("/d"))
		_, err = f.WriteAt(bytes.Repeat([]byte{2}, 2*pageSize), 0)
		must(t, err)
		c := d.Crash(rng)
		b, err := ReadFile(c, "/d/f", 1<<20)
		must(t, err)
		if len(b) < pageSize || !bytes.Equal(b[:pageSize], page) && !bytes.Equal(b[:pageSize], bytes.Repeat([]byte{2}, pageSize)) {
			t.Fatal("a synced page is neither old nor new")
		}
		if b[0] == 1 {
			lost++
		} else {
			kept++
		}
	}
	if lost < 50 || kept < 50 {
		t.Fatalf("unsynced pages were lost %d times and kept %d times", lost, kept)
	}
}

func TestUnsyncedNamesMayVanish(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	gone := 0
	for range 100 {
		d := NewMem()
		_, err := d.Create("/d/f")
		must(t, err)
		if _, err := d.Crash(rng).Open("/d/f"); err != nil {
			gone++
		}
	}
	if gone < 20 || gone > 80 {
		t.Fatalf("vanished %d times of 100", gone)
	}
}

func TestWhatErrorsMean(t *testing.T) {
	for _, c := range []struct {
		err           error
		space, denied bool
	}{
		{fmt.Errorf("x: %w", syscall.ENOSPC), true, false},
		{syscall.EDQUOT, true, false},
		{syscall.EACCES, false, true},
		{syscall.EPERM, false, true},
		{&fs.PathError{Op: "open", Err: syscall.EROFS}, false, true},
		{syscall.EIO, false, false},
		{io.EOF, false, false},
	} {
		if IsNoSpace(c.err) != c.space || IsDenied(c.err) != c.denied || MayHeal(c.err) != (c.space || c.denied) {
			t.Errorf("%v: no space %v, denied %v, may heal %v", c.err, IsNoSpace(c.err), IsDenied(c.err), MayHeal(c.err))
		}
	}
	d := NewMem()
	d.SetFault(func(Op, string) error { return ErrNoSpace })
	if _, err := d.Create("/f"); !IsNoSpace(err) {
		t.Fatal(err)
	}
}

// TestFree: what is reserved is taken from what is free, and comes back with the file, on both file systems.
func TestFree(t *testing.T) {
	mem := NewMem()
	mem.SetSize(1 << 20)
	for name, d := range map[string]FS{"/f": mem, filepath.Join(t.TempDir(), "f"): OS{}} {
		if free, err := d.Free(filepath.Dir(name)); err != nil || free <= 0 {
			t.Fatalf("%s: %d, %v", name, free, err)
		}
	}
	f, err := mem.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Allocate(1<<20 + 1); !IsNoSpace(err) {
		t.Fatal(err)
	}
	if err := f.Allocate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 1<<20); !IsNoSpace(err) {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if free, _ := mem.Free("/"); free != 0 {
		t.Fatal(free)
	}
	if err := mem.Remove("/f"); err != nil {
		t.Fatal(err)
	}
	if free, _ := mem.Free("/"); free != 1<<20 {
		t.Fatal(free)
	}
	if _, err := (OS{}).Free("/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestLargeReads: what is read in one large piece is what was written, wherever it begins and ends.
func TestLargeReads(t *testing.T) {
	f, err := OS{}.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(want)
	if _, err := f.WriteAt(want, 0); err != nil {
		t.Fatal(err)
	}
	for _, cached := range []bool{true, false} {
		if !cached {
			if err := f.SyncData(); err != nil {
				t.Fatal(err)
			}
			file := f.(osFile)
			if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []int{0, 1, 4095, 100_001} {
			b := make([]byte, 150_000)
			if n, err := f.ReadAt(b, int64(at)); err != nil || n != len(b) || !bytes.Equal(b, want[at:at+n]) {
				t.Errorf("cached=%v: reading at %d: %d bytes, %v", cached, at, n, err)
			}
		}
		b := make([]byte, 150_000)
		if n, err := f.ReadAt(b, 200_000); n != 100_000 || !errors.Is(err, io.EOF) || !bytes.Equal(b[:n], want[200_000:]) {
			t.Errorf("cached=%v: reading past the end: %d bytes, %v", cached, n, err)
		}
	}
}
