package wire

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// maxText bounds messages and traces on the wire, in bytes.
const maxText = 32 << 10

// Failure is the message of an error.
func Failure(err error) *connectpb.Failure {
	e := connectapi.AsError(err)
	if e == nil {
		return nil
	}
	return &connectpb.Failure{
		Kind: connectpb.Failure_Kind(e.Kind), Message: cut(e.Error()), Key: e.Key, BackoffMs: e.After.Milliseconds(),
		Trace: cut(e.Trace),
	}
}

func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "…"
	}
	return s
}

// ToError is the error a message stands for: a *connectapi.Error; one of end of input wraps io.EOF.
func ToError(f *connectpb.Failure) error {
	if f == nil {
		return nil
	}
	var inner error = errors.New(f.Message)
	if f.Kind == connectpb.Failure_END_OF_INPUT {
		inner = io.EOF
	}
	return &connectapi.Error{
		Kind: connectapi.Kind(f.Kind), Key: f.Key, After: time.Duration(f.BackoffMs) * time.Millisecond, Trace: f.Trace,
		Err: inner,
	}
}

// Status is the gRPC error that carries an error.
func Status(err error) error {
	if err == nil {
		return nil
	}
	f := Failure(err)
	s, detailErr := status.New(codes.Unknown, f.Message).WithDetails(f)
	if detailErr != nil {
		return status.Error(codes.Unknown, f.Message)
	}
	return s.Err()
}

// FromStatus is the way back: the error that a gRPC error carries, or the gRPC error itself.
func FromStatus(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, d := range s.Details() {
		if f, ok := d.(*connectpb.Failure); ok {
			return ToError(f)
		}
	}
	if s.Code() == codes.Unknown {
		return &connectapi.Error{Kind: connectapi.System, Err: errors.New(s.Message())}
	}
	return err
}
