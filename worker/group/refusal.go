package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// otherKind is how long a group that is of another kind is given to become empty: one that was just stopped, or killed, lives
// on for a session.
const otherKind = 45 * time.Second

// refusal says what in the configuration makes the broker refuse this worker; nil: nothing, and trying again may help. Only
// before the first place it is final: later it came from a change at the broker, which may be taken back.
func (m *Member) refusal(ctx context.Context, err error) (why error, final bool) {
	group := m.cfg.Group
	switch {
	case errors.Is(err, kerr.InvalidSessionTimeout):
		why = fmt.Errorf("the broker refuses session.timeout.ms=%d of this worker: it must be %s: %w", m.cfg.SessionTimeout.Milliseconds(), m.sessionLimits(ctx), err)
	case errors.Is(err, kerr.InvalidGroupID):
		why = fmt.Errorf("the broker refuses group.id=%s: choose another name for the worker group: %w", group, err)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		why = fmt.Errorf("this worker's principal may not join group.id=%s: grant it READ on that group at the broker, or choose another group.id: %w", group, err)
	case errors.Is(err, kerr.InconsistentGroupProtocol):
		why = fmt.Errorf("group.id=%s is in use by a group of another kind, of consumers or of workers with connect.protocol=eager: "+
			"stop that one, or choose another group.id: %w", group, err)
		return why, !m.joined && time.Since(m.began) > otherKind
	}
	return why, why != nil && !m.joined
}

// sessionLimits tells what the broker allows, as far as it says.
func (m *Member) sessionLimits(ctx context.Context) string {
	const least, most = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
	within := map[string]string{}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	adm := kadm.NewClient(m.client)
	if brokers, err := adm.ListBrokers(ctx); err == nil && len(brokers) > 0 {
		if rcs, err := adm.DescribeBrokerConfigs(ctx, brokers[0].NodeID); err == nil {
			for _, rc := range rcs {
				for _, c := range rc.Configs {
					if c.Key == least || c.Key == most {
						within[c.Key] = "=" + c.MaybeValue()
					}
				}
			}
		}
	}
	return fmt.Sprintf("from the broker's %s%s to its %s%s", least, within[least], most, within[most])
}
