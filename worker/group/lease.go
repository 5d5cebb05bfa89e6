package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lease is what the coordinator's last answer is worth: until a session after the request it answered was sent, it gives
// nobody else this worker's work. Time is the monotonic clock's. It is safe for concurrent use.
type lease struct {
	mu      sync.Mutex
	session time.Duration
	round   time.Duration // the rebalance timeout: who has not joined by then is out, whatever its heartbeats were told
	granted time.Time     // when the request was sent that was answered last; zero: no membership

	id         string
	generation int32
	joining    bool
	called     time.Time // since when a round waits for this worker to join
}

// heldUntil counts how many nanoseconds are left; below 0: none.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted.IsZero() {
		return -1
	}
	return l.session - time.Since(l.granted)
}

// join tells that this worker asks to take part in a round.
func (l *lease) join() {
	l.mu.Lock()
	l.joining, l.called = true, time.Time{}
	l.mu.Unlock()
}

// joined takes a membership of a round in; sent is when it was asked for.
func (l *lease) joined(id string, generation int32, sent time.Time) {
	l.mu.Lock()
	l.id, l.generation, l.joining, l.called = id, generation, false, time.Time{}
	l.extend(sent)
	l.mu.Unlock()
}

// answered takes in that the coordinator answered a member's request sent then.
func (l *lease) answered(sent time.Time) {
	l.mu.Lock()
	l.extend(sent)
	l.mu.Unlock()
}

func (l *lease) extend(sent time.Time) {
	if sent.After(l.granted) {
		l.granted = sent
	}
}

// end gives the membership up.
func (l *lease) end() {
	l.mu.Lock()
	l.id, l.generation, l.granted, l.joining, l.called = "", -1, time.Time{}, false, time.Time{}
	l.mu.Unlock()
}

// beaten takes the outcome of a heartbeat in, and tells whether it ends the generation.
func (l *lease) beaten(id string, generation int32, sent time.Time, err error) (ends bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id != id || l.generation != generation {
		return false // of a membership that is over
	}
	switch {
	case err == nil:
		l.extend(sent)
	case errors.Is(err, kerr.RebalanceInProgress):
		if l.joining {
			l.extend(sent)
			return false
		}
		if l.called.IsZero() {
			l.called = sent
		}
		if time.Since(l.called)+l.session < l.round {
			l.extend(sent)
		}
		return true
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.FencedInstanceID):
		return !l.joining
	}
	return false
}

// Lease tells whether this worker may still act for the group: nil while less than a session has passed since the
// coordinator answered. It may be called from anywhere, and often.
func (m *Member) Lease() error {
	if m.lease.left() > 0 {
		return nil
	}
	return fmt.Errorf("this worker has had no answer from the coordinator of group %s for its session timeout of %v, or none yet: "+
		"another may have its work", m.cfg.Group, m.cfg.SessionTimeout)
}

// beat sends heartbeats until ctx ends, also while a round waits for others or the herder stops work. What ends a
// generation, or a session without an answer, goes to the loop.
func (m *Member) beat(ctx context.Context) {
	tick := time.NewTicker(m.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m.lease.mu.Lock()
		id, generation := m.lease.id, m.lease.generation
		m.lease.mu.Unlock()
		if id == "" || generation < 0 {
			continue
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, max(m.cfg.Heartbeat, m.cfg.SessionTimeout/3))
		err := m.heartbeat(try, id, generation)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if m.lease.beaten(id, generation, sent, err) {
			m.tell(err)
		} else if m.lease.left() <= 0 {
			m.tell(fmt.Errorf("%w: %w", errSilent, err))
		}
	}
}

var errSilent = errors.New("the group coordinator did not answer for a session")

// tell hands an error to the loop, which takes the latest.
func (m *Member) tell(err error) {
	for {
		select {
		case m.fate <- err:
			return
		default:
		}
		select {
		case <-m.fate: //nolint:errcheck // a later one takes its place
		default:
		}
	}
}

func (m *Member) heartbeat(ctx context.Context, id string, generation int32) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.cfg.Group, id, generation
	resp, err := req.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("heartbeat to group %s: %w", m.cfg.Group, err)
	}
	return nil
}
