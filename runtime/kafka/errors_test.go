package kafka

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPassing proves which errors are waited out: those a broker's restart makes, and none that needs somebody to act.
func TestPassing(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"connection refused", refused, true},
		{"connection refused while joining", &kgo.ErrGroupSession{Err: fmt.Errorf("unable to dial: %w", refused)}, true},
		{"no such host", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, true},
		{"connection reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{"end of the stream", io.EOF, true},
		{"end within an answer", io.ErrUnexpectedEOF, true},
		{"closed connection", net.ErrClosed, true},
		{"timeout", fmt.Errorf("fetching offsets: %w", context.DeadlineExceeded), true},
		{"coordinator not there", kerr.CoordinatorNotAvailable, true},
		{"topic not there yet", kerr.UnknownTopicOrPartition, true},
		{"member unknown", &kgo.ErrGroupSession{Err: kerr.UnknownMemberID}, true},
		{"generation over", &kgo.ErrGroupSession{Err: kerr.IllegalGeneration}, true},
		{"another has the place", &kgo.ErrGroupSession{Err: kerr.FencedInstanceID}, false},
		{"group not allowed", &kgo.ErrGroupSession{Err: kerr.GroupAuthorizationFailed}, false},
		{"topic not allowed", kerr.TopicAuthorizationFailed, false},
		{"wrong password", fmt.Errorf("unable to initialize sasl: %w", kerr.SaslAuthenticationFailed), false},
		{"unknown mechanism", kerr.UnsupportedSaslMechanism, false},
		{"certificate of another", &net.OpError{Op: "remote error", Err: x509.HostnameError{Certificate: &x509.Certificate{}}}, false},
		{"records lost", &kgo.ErrDataLoss{Topic: "t"}, false},
		{"batch too large", &kgo.ErrDecompressTooLarge{Topic: "t"}, false},
		{"client closed", kgo.ErrClientClosed, false},
		{"anything else", errors.New("the plugin's stream has ended"), false},
	} {
		if got := Passing(c.err); got != c.want {
			t.Errorf("%s: got %v for %v", c.name, got, c.err)
		}
	}
}
