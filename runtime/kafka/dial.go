package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"
)

// dialTimeout bounds one attempt to connect to a broker over the network.
const dialTimeout = 10 * time.Second

// A broker that is down refuses connections at once, and parts of the client library try again at once (a transaction that adds a
// partition, in v1.22.3): without a pause each producer would spin until the broker is back. The second attempt is made without one,
// for a connection that broke for another reason.
const (
	firstDialPause = 50 * time.Millisecond
	lastDialPause  = time.Second
	forgetDial     = time.Minute // after which an address that was not tried again counts as new
)

// spacedDialer is a client's dialer, with a pause between attempts to reach an address that fails.
type spacedDialer struct {
	dial Dialer

	mu     sync.Mutex
	failed map[string]failedDial // by address
}

type failedDial struct {
	inARow int
	at     time.Time
	err    error
}

func newSpacedDialer(dial Dialer) *spacedDialer {
	return &spacedDialer{dial: dial, failed: map[string]failedDial{}}
}

// DialContext waits until an attempt at address is due, and makes it. When ctx ends before, the error tells how the last one failed.
func (d *spacedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	last := d.failed[address]
	d.mu.Unlock()
	if wait := time.Until(last.at.Add(dialPause(last.inARow))); wait > 0 {
		due := time.NewTimer(wait)
		defer due.Stop()
		select {
		case <-due.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; while waiting to try again: %w", last.err, ctx.Err())
		}
	}
	conn, err := d.dial(ctx, network, address)
	if err != nil && ctx.Err() != nil {
		return nil, err // says nothing about the address
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.failed, address)
		return conn, nil
	}
	now := time.Now()
	maps.DeleteFunc(d.failed, func(_ string, f failedDial) bool { return now.Sub(f.at) > forgetDial })
	d.failed[address] = failedDial{inARow: last.inARow + 1, at: now, err: err}
	return nil, err
}

// dialPause is the time between a failed attempt and the next, after so many failures in a row.
func dialPause(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(firstDialPause<<min(failures-2, 8), lastDialPause)
}

// networkDialer connects over TCP; with secure, through TLS to the name that is dialed.
func networkDialer(secure *tls.Config) Dialer {
	d := &net.Dialer{Timeout: dialTimeout}
	if secure == nil {
		return d.DialContext
	}
	return (&tls.Dialer{NetDialer: d, Config: secure}).DialContext
}
