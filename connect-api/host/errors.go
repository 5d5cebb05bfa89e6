package host

import (
	"fmt"
	"strings"
	"time"
)

// StartReason says why a plugin did not start.
type StartReason uint8

// The reasons.
const (
	NotExecutable     StartReason = iota // the file is missing, no program, or may not be run
	ExitedAtOnce                         // it ended before the handshake
	PrintedFirst                         // it printed something else before the handshake
	WrongVersion                         // it speaks another version of the protocol
	NoHandshake                          // it neither printed nor ended in time
	NotReachable                         // it shook hands but its server cannot be reached
	CannotBeSupported                    // not a gRPC plugin
)

// StartError is a plugin that did not start.
type StartError struct {
	Path          string
	Reason        StartReason
	Err           error
	Status        string        // ExitedAtOnce: how it ended
	Stderr        string        // the last lines it wrote
	Printed       string        // PrintedFirst: what it printed
	HostVersion   int           // WrongVersion
	PluginVersion string        // WrongVersion
	After         time.Duration // NoHandshake
}

// Error says what was tried and what to do.
func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "starting plugin %s: ", e.Path)
	switch e.Reason {
	case NotExecutable:
		fmt.Fprintf(&b, "it cannot be run: %v", e.Err)
	case ExitedAtOnce:
		fmt.Fprintf(&b, "it ended before the handshake (%s)", e.Status)
	case PrintedFirst:
		fmt.Fprintf(&b, "it printed %q on stdout before the handshake; a plugin must keep stdout to the handshake", e.Printed)
	case WrongVersion:
		fmt.Fprintf(&b, "it speaks version %s of the plugin protocol, this worker version %d: rebuild the plugin against this "+
			"worker's connect-api, or install the version of the plugin made for it", e.PluginVersion, e.HostVersion)
	case NoHandshake:
		fmt.Fprintf(&b, "no handshake within %v", e.After)
	case NotReachable:
		fmt.Fprintf(&b, "its server does not answer: %v", e.Err)
	case CannotBeSupported:
		fmt.Fprintf(&b, "it is a plugin, but not one of gRPC: it said %q", e.Printed)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; its last lines on stderr:\n%s", e.Stderr)
	}
	return b.String()
}

func (e *StartError) Unwrap() error { return e.Err }

// ExitError is a plugin's process that ended while it was needed.
type ExitError struct {
	Path   string
	Status string // e.g. "exit status 2", "signal: killed"
	Stderr string // the last lines it wrote
}

// Error gives the last lines of stderr too.
func (e *ExitError) Error() string {
	s := fmt.Sprintf("plugin process %s ended: %s", e.Path, e.Status)
	if e.Stderr != "" {
		s += "; its last lines on stderr:\n" + e.Stderr
	}
	return s
}

// TooLargeError is a batch, and so usually one record, above the limit of a message.
type TooLargeError struct {
	Size, Limit int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a batch of %d bytes is above the limit of %d bytes a message between worker and plugin: raise the limit, "+
		"or make records smaller", e.Size, e.Limit)
}
