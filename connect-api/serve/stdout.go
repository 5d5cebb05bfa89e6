package serve

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/penstockio/penstock/connect-api/connectpb"
)

// handshakeOut is the host's end of stdout; nil if the process was not started by a host.
var handshakeOut = takeStdout()

// takeStdout puts stderr in the place of stdout, so that whatever is printed becomes a log line (I1). It runs when the
// package is initialised, which is before main.
func takeStdout() *os.File {
	if !started() {
		return nil
	}
	fd, err := unix.Dup(1)
	if err != nil {
		return os.Stdout
	}
	unix.CloseOnExec(fd)
	if err := unix.Dup2(2, 1); err != nil {
		return os.Stdout
	}
	return os.NewFile(uintptr(fd), "handshake")
}

func started() bool { return os.Getenv(connectpb.CookieKey) == connectpb.CookieValue }
