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
	// Configured gives the number of tasks of each connector at the offset.
	Configured() map[string]int
}

// Assigned is the outcome of a round for this worker.
type Assigned struct {
	Generation   int32
	MemberID     string
	Leader       bool
	LeaderURL    string
	ConfigOffset int64
	Add, Revoke  []assign.Unit
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
	View             View
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

	id         string
	generation int32
	running    []assign.Unit
	owners     map[assign.Unit]string // of the round this member leads
	contact    time.Time              // last answer of the coordinator, monotonic
}

// New makes a member; Run joins.
func New(cfg Config, clients *kafka.Clients, log *slog.Logger) (*Member, error) {
	cl, err := clients.Raw("group", kgo.RetryTimeout(cfg.SessionTimeout), kgo.RequestRetries(3))
	if err != nil {
		return nil, err
	}
	return &Member{cfg: cfg, client: cl, log: log, rejoin: make(chan struct{}, 1)}, nil
}

// Rejoin asks for a new round: connectors or tasks came or went. It never blocks.
func (m *Member) Rejoin() {
	select {
	case m.rejoin <- struct{}{}:
	default:
	}
}

// Run keeps the membership until ctx ends, then leaves the group. It returns after the last callback.
func (m *Member) Run(ctx context.Context) {
	defer m.client.Close()
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
		m.log.Info("joining the worker group failed, trying again", "group", m.cfg.Group, "error", err, "in", backoff)
		m.expire(ctx, err)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
		backoff = min(2*backoff, 5*time.Second)
	}
	m.leave()
}

// round joins, syncs, tells the herder and heartbeats until a new round is due.
func (m *Member) round(ctx context.Context) error {
	join, err := m.join(ctx)
	if err != nil {
		return err
	}
	a, err := m.sync(ctx, join)
	if err != nil {
		return err
	}
	if a.Error == configMismatch {
		return m.cfg.View.ReadToEnd(ctx)
	}
	m.running = slices.DeleteFunc(m.running, func(u assign.Unit) bool { return slices.Contains(a.Revoked, u) })
	m.running = append(m.running, a.Assigned...)
	stop := m.heartbeatBeside(ctx)
	m.cfg.OnAssigned(ctx, Assigned{
		Generation: m.generation, MemberID: m.id, Leader: a.Leader == m.id, LeaderURL: a.LeaderURL,
		ConfigOffset: a.ConfigOffset, Add: a.Assigned, Revoke: a.Revoked, Owners: m.owners,
	})
	if err := stop(); err != nil {
		return m.outcome(ctx, err)
	}
	if len(a.Revoked) > 0 {
		return nil // what we gave up is handed out in the next round, at once
	}
	return m.outcome(ctx, m.heartbeats(ctx))
}

// outcome sorts heartbeat errors: a rebalance is a new round; a lost membership stops everything (I2).
func (m *Member) outcome(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.FencedInstanceID):
		m.lose(ctx, fmt.Errorf("the coordinator no longer counts this worker as a member: %w", err))
		return nil
	}
	return err
}

// expire counts the worker out when the coordinator was silent for a session (I3).
func (m *Member) expire(ctx context.Context, why error) {
	if errors.Is(why, kerr.UnknownMemberID) || errors.Is(why, kerr.IllegalGeneration) {
		m.lose(ctx, why)
		return
	}
	if len(m.running) > 0 && time.Since(m.contact) > m.cfg.SessionTimeout {
		m.lose(ctx, fmt.Errorf("no answer from the group coordinator for %v: %w", m.cfg.SessionTimeout, why))
	}
}

func (m *Member) lose(ctx context.Context, why error) {
	held := len(m.running) > 0
	m.id, m.generation, m.running, m.owners = "", -1, nil, nil
	if held {
		m.cfg.OnLost(ctx, why)
	}
}

func (m *Member) join(ctx context.Context) (*kmsg.JoinGroupResponse, error) {
	for {
		meta := metadata{URL: m.cfg.URL, ConfigOffset: m.cfg.View.Offset(), Current: m.running}
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
		m.drainRejoin()
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
		m.id, m.generation, m.contact = resp.MemberID, resp.Generation, time.Now()
		return resp, nil
	}
}

func (m *Member) drainRejoin() {
	select {
	case <-m.rejoin:
	default:
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
	}
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
	m.contact = time.Now()
	return decodeAssignment(resp.MemberAssignment)
}

// lead computes every member's assignment at the highest config offset any of them has read.
func (m *Member) lead(ctx context.Context, join *kmsg.JoinGroupResponse) ([]kmsg.SyncGroupRequestGroupAssignment, error) {
	version := versionCompatible
	if join.Protocol != nil && *join.Protocol == "sessioned" {
		version = versionSessioned
	}
	current, urls := map[string][]assign.Unit{}, map[string]string{}
	var highest int64
	for _, j := range join.Members {
		meta, err := decodeMetadata(j.ProtocolMetadata)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", j.MemberID, err)
		}
		current[j.MemberID], urls[j.MemberID] = meta.Current, meta.URL
		highest = max(highest, meta.ConfigOffset)
	}
	if m.cfg.View.Offset() < highest {
		if err := m.cfg.View.ReadToEnd(ctx); err != nil {
			return nil, err
		}
	}
	code, offset := noError, m.cfg.View.Offset()
	plans := map[string]assign.Plan{}
	if offset < highest {
		code = configMismatch
	} else {
		plans, _ = assign.Compute(current, m.cfg.View.Configured())
		m.owners = owners(current, plans, urls)
	}
	out := make([]kmsg.SyncGroupRequestGroupAssignment, 0, len(current))
	for id := range current {
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID = id
		ga.MemberAssignment = assignment{
			Error: code, Leader: m.id, LeaderURL: m.cfg.URL, ConfigOffset: offset,
			Assigned: plans[id].Add, Revoked: plans[id].Revoke,
		}.encode(version)
		out = append(out, ga)
	}
	return out, nil
}

// owners tells where each unit runs after a round.
func owners(current map[string][]assign.Unit, plans map[string]assign.Plan, urls map[string]string) map[assign.Unit]string {
	out := map[assign.Unit]string{}
	for id, units := range current {
		for _, u := range units {
			if !slices.Contains(plans[id].Revoke, u) {
				out[u] = urls[id]
			}
		}
		for _, u := range plans[id].Add {
			out[u] = urls[id]
		}
	}
	return out
}

// heartbeats beats until the coordinator, Rejoin or ctx ends the generation. Failures to reach the coordinator are
// retried for the length of a session.
func (m *Member) heartbeats(ctx context.Context) error {
	tick := time.NewTicker(m.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.rejoin:
			return nil
		case <-tick.C:
		}
		err := m.beat(ctx)
		var protocol *kerr.Error
		switch {
		case err == nil:
			m.contact = time.Now()
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &protocol) && !protocol.Retriable, errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.UnknownMemberID):
			return err
		case time.Since(m.contact) > m.cfg.SessionTimeout:
			return err
		}
	}
}

// heartbeatBeside keeps the membership alive while the herder stops work.
func (m *Member) heartbeatBeside(ctx context.Context) (stop func() error) {
	hctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(m.cfg.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-hctx.Done():
				done <- nil
				return
			case <-tick.C:
			}
			if err := m.beat(hctx); err != nil && hctx.Err() == nil {
				done <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		err := <-done
		if err == nil {
			m.contact = time.Now()
		}
		return err
	}
}

func (m *Member) beat(ctx context.Context) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.cfg.Group, m.id, m.generation
	resp, err := req.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("heartbeat to group %s: %w", m.cfg.Group, err)
	}
	return nil
}

// leave tells the coordinator that the worker goes, so that its work moves at once.
func (m *Member) leave() {
	if m.id == "" {
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
