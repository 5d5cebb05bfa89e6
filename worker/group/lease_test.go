package group

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestLease(t *testing.T) {
	const session, round = 10 * time.Second, time.Minute
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		do    func(*lease)
		holds bool
	}{
		"never joined":                   {func(*lease) {}, false},
		"joined":                         {func(l *lease) { l.joined("a", 1, now) }, true},
		"an answer to what is long sent": {func(l *lease) { l.joined("a", 1, ago(session)) }, false},
		"a heartbeat":                    {func(l *lease) { l.joined("a", 1, ago(session)); l.beaten("a", 1, now, nil) }, true},
		"a heartbeat of another life":    {func(l *lease) { l.joined("a", 1, ago(session)); l.beaten("b", 1, now, nil) }, false},
		"of another generation":          {func(l *lease) { l.joined("a", 2, ago(session)); l.beaten("a", 1, now, nil) }, false},
		"a heartbeat that failed":        {func(l *lease) { l.joined("a", 1, ago(session)); l.beaten("a", 1, now, errors.New("no route")) }, false},
		"a round begins":                 {func(l *lease) { l.joined("a", 1, ago(session)); l.beaten("a", 1, now, kerr.RebalanceInProgress) }, true},
		"a round waits for others": {func(l *lease) {
			l.joined("a", 1, ago(session))
			l.join()
			l.beaten("a", 1, now, kerr.RebalanceInProgress)
		}, true},
		"a round waited too long for this worker": {func(l *lease) {
			l.joined("a", 1, ago(session))
			l.beaten("a", 1, ago(round-session), kerr.RebalanceInProgress)
			l.beaten("a", 1, now, kerr.RebalanceInProgress)
		}, false},
		"older answers come late": {func(l *lease) { l.joined("a", 1, now); l.beaten("a", 1, ago(session), nil) }, true},
		"given up":                {func(l *lease) { l.joined("a", 1, now); l.end() }, false},
	} {
		l := lease{session: session, round: round, generation: -1}
		c.do(&l)
		if holds := l.left() > 0; holds != c.holds {
			t.Errorf("%s: the lease holds: %t", name, holds)
		}
	}
	l := lease{session: session, round: round, generation: -1}
	l.joined("a", 1, now)
	for err, ends := range map[error]bool{
		nil: false, errors.New("no route"): false, kerr.RebalanceInProgress: true, kerr.UnknownMemberID: true, kerr.IllegalGeneration: true, kerr.FencedInstanceID: true,
	} {
		if got := l.beaten("a", 1, now, err); got != ends {
			t.Errorf("a heartbeat answered %v ends the generation: %t", err, got)
		}
	}
	l.join()
	if l.beaten("a", 1, now, kerr.IllegalGeneration) {
		t.Error("while the next round is joined, the old generation's end is no news")
	}
}
