package connectapi

import (
	"errors"
	"io"
	"time"
)

// Kind says what an error means for the task.
type Kind uint8

// The kinds of errors.
const (
	System       Kind = iota // the task fails
	Config                   // a configuration value is wrong
	Data                     // a record is wrong
	Transient                // trying again may help
	NotConnected             // the other system is not there
	EndOfInput               // a source has nothing more, ever
)

var kindNames = [...]string{"system", "config", "data", "transient", "not-connected", "end-of-input"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is an error that says what it means for the task. Plain errors are of kind System; io.EOF of EndOfInput; a
// [ValueError] of Data.
type Error struct {
	Kind  Kind
	Key   string        // of kind Config: the configuration key
	After time.Duration // of kind Transient: try again no sooner; 0: the worker's own backoff
	Trace string        // where it came from, e.g. a panic's stack
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ConfigError says that the value of a configuration key is wrong.
func ConfigError(key string, err error) error { return &Error{Kind: Config, Key: key, Err: err} }

// Retry says that the same call may succeed later: not before after, or after the worker's own backoff if 0.
func Retry(err error, after time.Duration) error {
	return &Error{Kind: Transient, After: after, Err: err}
}

// DataError says that a record is at fault.
func DataError(err error) error { return &Error{Kind: Data, Err: err} }

// NotConnectedError says that the other system cannot be reached.
func NotConnectedError(err error) error { return &Error{Kind: NotConnected, Err: err} }

// AsError gives any error its kind; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Err == err || error(e) == err {
			return e
		}
		c := *e
		c.Err = err // keep what was wrapped around it
		return &c
	}
	var v *ValueError
	switch {
	case errors.As(err, &v):
		return &Error{Kind: Data, Err: err}
	case errors.Is(err, io.EOF):
		return &Error{Kind: EndOfInput, Err: err}
	}
	return &Error{Kind: System, Err: err}
}

// KindOf returns an error's kind.
func KindOf(err error) Kind {
	if e := AsError(err); e != nil {
		return e.Kind
	}
	return System
}
