package commitlog

import (
	"errors"
	"fmt"
)

// CorruptError says that bytes of the log are not what was written. At start it refuses the log, at a read it
// concerns that read alone.
type CorruptError struct {
	File     string
	Position int64 // in bytes of the log
	Reason   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("log position %d in %s is damaged: %s", e.Position, e.File, e.Reason)
}

// UnsupportedError says that the log holds something written by a newer version that may not be skipped.
type UnsupportedError struct {
	File     string
	Position int64
	What     string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("log position %d in %s holds %s, which this version does not know: use the version that wrote it, or a newer one",
		e.Position, e.File, e.What)
}

// SpaceError says that no segment could be made; it may go away by itself, and the next append tries again.
type SpaceError struct{ Err error }

func (e *SpaceError) Error() string { return "making room for the log: " + e.Err.Error() }

// Unwrap gives the file system's error.
func (e *SpaceError) Unwrap() error { return e.Err }

// FailedError says that a write or a sync failed: writing is over until the log is opened again (I4).
type FailedError struct{ Err error }

func (e *FailedError) Error() string {
	return "writing to the log is fenced until a restart: " + e.Err.Error()
}

// Unwrap gives the file system's error.
func (e *FailedError) Unwrap() error { return e.Err }

// ErrGone means that the segment looked for was removed: what lived in it has been moved, or is no longer kept.
var ErrGone = errors.New("the log segment was removed")

// ErrClosed answers every append after Close.
var ErrClosed = errors.New("the log is closed")

// ErrTooLarge refuses a group of more than a quarter of a segment.
var ErrTooLarge = errors.New("the group is larger than a quarter of a log segment")
