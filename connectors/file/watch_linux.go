package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// watcher waits until a file may have changed.
type watcher struct {
	path string
	f    *os.File // inotify; nil: none to be had
	file int      // watch of the file, -1: none
	buf  [4096]byte
}

// lookAnyway is after how long a file is looked at without word from the kernel: network file systems do not tell.
const lookAnyway = time.Second

func newWatcher(path string) *watcher {
	w := &watcher{path: path, file: -1}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w
	}
	w.f = os.NewFile(uintptr(fd), "inotify")
	// The folder tells that the file came, or was replaced.
	_, _ = unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	w.watchFile()
	return w
}

func (w *watcher) watchFile() {
	raw, err := w.f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if wd, err := unix.InotifyAddWatch(int(fd), w.path, unix.IN_MODIFY|unix.IN_ATTRIB|unix.IN_MOVE_SELF); err == nil {
			w.file = wd
		}
	})
}

// wait returns true when the file may have changed, or a second has passed; false when ctx ended.
func (w *watcher) wait(ctx context.Context) bool {
	if w.f == nil {
		return pause(ctx, lookAnyway)
	}
	w.watchFile() // the name may be another file's by now; the kernel keeps one watch a file
	_ = w.f.SetReadDeadline(time.Now().Add(lookAnyway))
	stop := context.AfterFunc(ctx, func() { _ = w.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := w.f.Read(w.buf[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return pause(ctx, lookAnyway)
	}
	return ctx.Err() == nil
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *watcher) close() error {
	if w.f == nil {
		return nil
	}
	return w.f.Close()
}
