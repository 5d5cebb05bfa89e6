package disk

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// sends is false once a file system has said that its files cannot be sent.
var sends atomic.Bool

func init() { sends.Store(true) }

// SendTo uses sendfile: the connection gets the pages of the cache themselves. Deadlines of the connection hold.
func (f osFile) SendTo(c *net.TCPConn, off int64, n int) error {
	file, err := f.SyscallConn()
	if err != nil {
		return err
	}
	socket, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := file.Control(func(from uintptr) {
		err = socket.Write(func(to uintptr) bool {
			for n > 0 {
				var sent int
				sent, failed = unix.Sendfile(int(to), int(from), &off, n)
				switch {
				case errors.Is(failed, syscall.EINTR):
				case errors.Is(failed, syscall.EAGAIN):
					failed = nil
					return false
				case failed != nil:
					return true
				case sent == 0:
					failed = io.ErrUnexpectedEOF
					return true
				default:
					n -= sent
				}
			}
			failed = nil
			return true
		})
	}); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if errors.Is(failed, syscall.EINVAL) || errors.Is(failed, syscall.ENOSYS) || errors.Is(failed, syscall.EOPNOTSUPP) {
		sends.Store(false)
		return copyTo(c, f, off, n)
	}
	return failed
}

// copyTo sends by reading and writing.
func copyTo(c io.Writer, f io.ReaderAt, off int64, n int) error {
	b := make([]byte, n)
	m, err := f.ReadAt(b, off)
	if m < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	_, err = c.Write(b)
	return err
}
