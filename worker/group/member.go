package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/assign"
)

// View is what the leader must know of the configuration to assign work.
type View interface {
	Offset() int64
	ReadToEnd(ctx context.Context) error
	// Configured gives the work of each connector at the offset.
	Configured() map[string]assign.Work
	// LastOwners tells of units that nobody runs who ran them last, as far as that is known.
	LastOwners(ctx context.Context, units []assign.Unit) (map[assign.Unit]Owner, error)
}

// Owner is who ran a unit last.
type Owner struct {
	URL     string // advertised REST URL
	Crashed bool   // it did not say that it stopped
}

// Assigned is the outcome of a round for this worker.
type Assigned struct {
	Generation   int32
	MemberID     string
	Leader       bool
	LeaderURL    string
	ConfigOffset int64
	// Stable is the config offset at which every member had stopped what was not to run any more when it joined.
	Stable      int64
	Add, Revoke []assign.Unit
	// Owners is who runs each unit when the round is over, by advertised URL; the leader alone knows it.
	Owners map[assign.Unit]string
}

// Config makes a member.
type Config struct {
	Group            string
	URL              string // advertised REST URL, with a trailing slash
	SessionTimeout   time.Duration
	Heartbeat        time.Duration
	RebalanceTimeout time.Duration
	MaxDelay         time.Duration // how long the work of a worker that crashed is kept for it
	View             View
	// BeforeJoin brings this worker up to the present configuration, waits until what must not run by it has stopped, and gives
	// the config offset that holds for. When ctx ends first, it is the one before.
	BeforeJoin func(ctx context.Context) (offset int64)
	// OnAssigned stops what is revoked before it returns; starting may go on behind it.
	OnAssigned func(ctx context.Context, a Assigned)
	// OnLost stops everything: another worker may already run it.
	OnLost func(ctx context.Context, why error)
}

// Member is a worker's place in its group.
type Member struct {
	cfg    Config
	client *kgo.Client
	log    *slog.Logger
	rejoin chan struct{}
	fate   chan error // what heartbeats learned
	lease  lease

	id         string
	generation int32
	began      time.Time              // of Run
	joined     bool                   // it had a place once
	placed     bool                   // the herder was told of a place, and not of its loss
	running    []assign.Unit          // in the order they came
	owners     map[assign.Unit]string // of the round this member leads
	given      map[assign.Unit]bool   // what that round took away, to be given to somebody else
	clashes    map[string][]string    // members with one advertised URL, that the log was told of
	delayUntil time.Time              // until when the work of one that crashed is kept for it; zero: none is
}

// New makes a member; Run joins.
func New(cfg Config, clients *kafka.Clients, log *slog.Logger) (*Member, error) {
	cl, err := clients.Raw("group", kgo.RetryTimeout(cfg.SessionTimeout), kgo.RequestRetries(3))
	if err != nil {
		return nil, err
	}
	return &Member{
		cfg: cfg, client: cl, log: log, rejoin: make(chan struct{}, 1), fate: make(chan error, 1), generation: -1,
		lease: lease{session: cfg.SessionTimeout, round: cfg.RebalanceTimeout, generation: -1},
	}, nil
}

// Rejoin asks for a new round: connectors or tasks came or went. It never blocks.
func (m *Member) Rejoin() {
	select {
	case m.rejoin <- struct{}{}:
	default:
	}
}

// longestBackoff is the wait between attempts to join; who is out of the group refuses writes, so a broker that is back is to be
// met soon.
const longestBackoff = time.Second

// Run keeps the membership until ctx ends, then leaves the group. It returns after the last callback. An error means that this
// worker never came in and, with its configuration, never would.
func (m *Member) Run(ctx context.Context) error {
	m.began = time.Now()
	defer m.client.Close()
	beats, stop := context.WithCancel(ctx)
	beaten := make(chan struct{})
	go func() { defer close(beaten); m.beat(beats) }()
	defer func() { stop(); <-beaten }()
	backoff := 100 * time.Millisecond
	for ctx.Err() == nil {
		err := m.round(ctx)
		if err == nil {
			backoff = 100 * time.Millisecond
			continue
		}
		if ctx.Err() != nil {
			break
		}
		why, final := m.refusal(ctx, err)
		switch {
		case final:
			return why
		case why != nil:
			m.log.Error("the broker refuses this worker, trying again", "error", why, "in", backoff)
		default:
			m.log.Info("joining the worker group failed, trying again", "group", m.cfg.Group, "error", err, "in", backoff)
		}
		m.expire(ctx, err)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
		backoff = min(2*backoff, longestBackoff)
	}
	m.leave()
	return nil
}

// round joins, syncs, tells the herder and stays until a new round is due.
func (m *Member) round(ctx context.Context) error {
	a, err := m.enter(ctx)
	if err != nil {
		return err
	}
	if a.Error == configMismatch {
		return m.cfg.View.ReadToEnd(ctx)
	}
	gone := make(map[assign.Unit]bool, len(a.Revoked))
	for _, u := range a.Revoked {
		gone[u] = true
	}
	m.running = slices.DeleteFunc(m.running, func(u assign.Unit) bool { return gone[u] })
	m.running = append(m.running, a.Assigned...)
	m.delayUntil = time.Time{}
	if a.DelayMs > 0 {
		m.delayUntil = time.Now().Add(time.Duration(a.DelayMs) * time.Millisecond)
	}
	m.placed, m.joined = true, true
	m.cfg.OnAssigned(ctx, Assigned{
		Generation: m.generation, MemberID: m.id, Leader: a.Leader == m.id, LeaderURL: a.LeaderURL,
		ConfigOffset: a.ConfigOffset, Stable: a.Stable, Add: a.Assigned, Revoke: a.Revoked, Owners: m.owners,
	})
	if len(a.Revoked) > 0 {
		m.Rejoin() // what we gave up is handed out in the next round, at once
	}
	return m.outcome(ctx, m.stay(ctx))
}

// enter joins and syncs. A session without an answer while this worker holds work ends the attempt: others wait in a round
// longer than that, but then the coordinator goes on answering heartbeats.
func (m *Member) enter(ctx context.Context) (assignment, error) {
	m.drain()
	try, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type result struct {
		a   assignment
		err error
	}
	done := make(chan result, 1)
	go func() {
		prepare, ready := context.WithTimeout(try, m.cfg.RebalanceTimeout/2)
		offset := m.cfg.BeforeJoin(prepare)
		ready()
		m.lease.join()
		join, err := m.join(try, offset)
		if err != nil {
			done <- result{err: err}
			return
		}
		a, err := m.sync(try, join)
		done <- result{a, err}
	}()
	for {
		select {
		case r := <-done:
			if r.err != nil && context.Cause(try) != nil && ctx.Err() == nil {
				return r.a, context.Cause(try)
			}
			return r.a, r.err
		case err := <-m.fate:
			if errors.Is(err, errSilent) && m.placed {
				cancel(err)
			}
		}
	}
}

// drain forgets what was asked for before this round.
func (m *Member) drain() {
	select {
	case <-m.rejoin:
	default:
	}
	select {
	case <-m.fate: //nolint:errcheck // of the round before
	default:
	}
}

// stay waits until a new round is due or the membership is over.
func (m *Member) stay(ctx context.Context) error {
	var late <-chan time.Time
	if !m.delayUntil.IsZero() {
		timer := time.NewTimer(time.Until(m.delayUntil) + time.Millisecond)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ctx.Done():
		return nil
	case <-m.rejoin:
		return nil
	case <-late:
		return nil
	case err := <-m.fate:
		return err
	}
}

// outcome sorts what ends a generation: a rebalance is a new round; a lost membership stops everything (I2).
func (m *Member) outcome(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.FencedInstanceID):
		m.id = ""
		m.lose(ctx, fmt.Errorf("the coordinator no longer counts this worker as a member: %w", err))
		return nil
	}
	return err
}

// expire counts the worker out when the coordinator was silent for a session (I3).
func (m *Member) expire(ctx context.Context, why error) {
	if errors.Is(why, kerr.UnknownMemberID) || errors.Is(why, kerr.IllegalGeneration) {
		m.id = ""
		m.lose(ctx, why)
		return
	}
	if m.placed && m.lease.left() <= 0 {
		m.lose(ctx, fmt.Errorf("no answer from the group coordinator for %v: %w", m.cfg.SessionTimeout, why))
	}
}

// lose ends the membership. The id stays unless the coordinator has refused it: one that restarts still knows its members, and
// would have a round wait a session for the members that it takes to be gone, before new ones had a place.
func (m *Member) lose(ctx context.Context, why error) {
	placed := m.placed
	m.lease.end()
	m.placed = false
	m.generation, m.running, m.owners, m.given = -1, nil, nil, nil
	if placed {
		m.cfg.OnLost(ctx, why)
	}
}

func (m *Member) join(ctx context.Context, offset int64) (*kmsg.JoinGroupResponse, error) {
	for {
		meta := metadata{URL: m.cfg.URL, ConfigOffset: offset, Current: m.running}
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = m.cfg.Group, m.id, "connect"
		req.SessionTimeoutMillis = int32(m.cfg.SessionTimeout.Milliseconds())
		req.RebalanceTimeoutMillis = int32(m.cfg.RebalanceTimeout.Milliseconds())
		for _, p := range []struct {
			name    string
			version int16
		}{{"sessioned", versionSessioned}, {"compatible", versionCompatible}} {
			jp := kmsg.NewJoinGroupRequestProtocol()
			jp.Name, jp.Metadata = p.name, meta.encode(p.version)
			req.Protocols = append(req.Protocols, jp)
		}
		sent := time.Now()
		resp, err := req.RequestWith(ctx, m.client)
		if err != nil {
			return nil, fmt.Errorf("joining group %s: %w", m.cfg.Group, err)
		}
		err = kerr.ErrorForCode(resp.ErrorCode)
		if errors.Is(err, kerr.MemberIDRequired) {
			m.id = resp.MemberID
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("joining group %s: %w", m.cfg.Group, err)
		}
		m.id, m.generation = resp.MemberID, resp.Generation
		m.lease.joined(m.id, m.generation, sent)
		return resp, nil
	}
}

func (m *Member) sync(ctx context.Context, join *kmsg.JoinGroupResponse) (assignment, error) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = m.cfg.Group, m.id, m.generation
	ptype := "connect"
	m.owners = nil
	req.ProtocolType, req.Protocol = &ptype, join.Protocol
	if join.LeaderID == m.id {
		plan, err := m.lead(ctx, join)
		if err != nil {
			return assignment{}, err
		}
		req.GroupAssignment = plan
	} else {
		m.given = nil
	}
	sent := time.Now()
	resp, err := req.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if errors.Is(err, kerr.RebalanceInProgress) {
		return assignment{Error: configMismatch}, nil // another round has begun: join it
	}
	if err != nil {
		return assignment{}, fmt.Errorf("syncing with group %s: %w", m.cfg.Group, err)
	}
	m.lease.answered(sent)
	return decodeAssignment(resp.MemberAssignment)
}

// leave tells the coordinator that the worker goes, so that its work moves at once.
func (m *Member) leave() {
	if m.id == "" {
		return
	}
	if silent := m.cfg.SessionTimeout - m.lease.left(); silent > max(2*time.Second, 2*m.cfg.Heartbeat) {
		m.log.Warn("the group coordinator does not answer, so this worker cannot leave its group; its session will run out",
			"group", m.cfg.Group, "session", m.cfg.SessionTimeout)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.cfg.Group, m.id
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID = m.id
	req.Members = append(req.Members, lm)
	if _, err := req.RequestWith(ctx, m.client); err != nil {
		m.log.Debug("leaving the worker group failed; the session will run out", "error", err)
	}
}
