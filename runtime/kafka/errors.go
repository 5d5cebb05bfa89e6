package kafka

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Passing tells that an error goes away by itself, as when a broker restarts: the client has its own retries, and whoever
// reads only has to go on. What needs somebody to act, such as a missing permission, is not passing.
func Passing(err error) bool {
	var protocol *kerr.Error
	if errors.As(err, &protocol) {
		switch protocol {
		// A member the coordinator no longer knows joins anew. FENCED_INSTANCE_ID is not here: another has its place.
		case kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.MemberIDRequired:
			return true
		}
		return protocol.Retriable
	}
	// The client calls a failed dial final, and a connection that ends before its first answer: it thinks of mistyped
	// addresses and missing TLS, but a broker that restarts looks the same, down to its name, which may be gone meanwhile.
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || errors.Is(err, io.EOF) {
		return true
	}
	return kgo.IsRetryableBrokerErr(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
