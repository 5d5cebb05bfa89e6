package store

import (
	"errors"
	"fmt"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// ErrNoQueue means that there is no such queue, or that it is being dropped.
var ErrNoQueue = errors.New("there is no such queue")

// ErrStorage is what every *StorageError is: errors.Is(err, ErrStorage).
var ErrStorage = errors.New("the broker's storage refuses writes")

// ErrClosed answers calls after Close.
var ErrClosed = errors.New("the store is closed")

// ErrTooLarge refuses appends of more than a quarter of a log segment at once.
var ErrTooLarge = commitlog.ErrTooLarge

// Reason says why storage refuses writes.
type Reason string

// Reasons of a StorageError.
const (
	NoSpace  Reason = "no space"      // resumes by itself
	Denied   Reason = "no permission" // to write, or the file system can only be read: resumes by itself
	Failed   Reason = "failed"        // a write, an fsync or the index failed: the error says whether until a restart
	Damaged  Reason = "damaged"       // health only: bytes of the log are not what was written
	CutShort Reason = "cut short"     // health only: the log ended before what the index had seen; the index was rebuilt
)

// Reasons lists all of them.
var Reasons = []Reason{NoSpace, Denied, Failed, Damaged, CutShort}

// reason tells what a file system's error means.
func reason(err error) Reason {
	switch {
	case disk.IsNoSpace(err):
		return NoSpace
	case disk.IsDenied(err):
		return Denied
	}
	return Failed
}

// StorageError is what appends get while storage refuses writes, and what Health returns.
type StorageError struct {
	Reason Reason
	Err    error
}

func (e *StorageError) Error() string { return fmt.Sprintf("storage (%s): %v", e.Reason, e.Err) }

// Is makes every StorageError an ErrStorage.
func (e *StorageError) Is(target error) bool { return target == ErrStorage }

// Unwrap gives the cause.
func (e *StorageError) Unwrap() error { return e.Err }

// storageErr gives the log's errors the store's types.
func storageErr(err error) error {
	var space *commitlog.SpaceError
	var failed *commitlog.FailedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &space):
		return &StorageError{reason(space.Err), err}
	case errors.As(err, &failed):
		return &StorageError{Failed, err}
	case errors.Is(err, commitlog.ErrClosed):
		return ErrClosed
	}
	return err
}

// OffsetError means that an offset lies below a queue's log start or past its end.
type OffsetError struct {
	Queue         queue.ID
	Offset        int64
	LogStart, End int64
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d of queue %d is out of range: it holds %d to %d", e.Offset, e.Queue, e.LogStart, e.End)
}
