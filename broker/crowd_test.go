package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	crowdGroup      = "crowd"
	crowdPartitions = 600
)

// crowdMember is a consumer made of bare requests. It knows what it was told to read, and in which generation.
type crowdMember struct {
	b        *Broker
	instance string

	mu         sync.Mutex
	generation int32
	has        []int32
}

// lives joins and stays until ctx ends; at each of the times given it dies without a word and comes back, a static one
// under its name.
func (m *crowdMember) lives(ctx context.Context, deaths int) {
	id := ""
	for ctx.Err() == nil {
		until, cancel := ctx, context.CancelFunc(func() {})
		if deaths > 0 {
			until, cancel = context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(3*time.Second))))
		}
		err := m.session(until, &id)
		cancel()
		switch {
		case until.Err() != nil && deaths > 0:
			deaths--
			id = "" // it forgets who it was
		case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.FencedInstanceID):
			id = ""
		}
	}
}

// session is one connection's life.
func (m *crowdMember) session(ctx context.Context, id *string) error {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", m.b.Addr())
	if err != nil {
		return err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.Close() })()
	r := &raw{nc: nc, patience: time.Minute}
	for {
		j, err := m.join(r, id)
		if err != nil {
			return err
		}
		if err := m.sync(r, j); err != nil && !errors.Is(err, kerr.RebalanceInProgress) {
			return err
		}
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
			hb := (&rawMember{group: crowdGroup, id: *id, instance: m.instance, generation: j.Generation}).heartbeatRequest()
			resp, err := r.ask(hb)
			if err != nil {
				return err
			}
			if err := kerr.ErrorForCode(errorOf(resp)); errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration) {
				break
			} else if err != nil {
				return err
			}
		}
	}
}

func (m *crowdMember) join(r *raw, id *string) (*kmsg.JoinGroupResponse, error) {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{"crowded"}
	for {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.ProtocolType = 9, crowdGroup, *id, "consumer"
		if m.instance != "" {
			req.InstanceID = &m.instance
		}
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 4000, 15_000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", meta.AppendTo(nil)
		req.Protocols = append(req.Protocols, p)
		resp, err := r.ask(req)
		if err != nil {
			return nil, err
		}
		j := resp.(*kmsg.JoinGroupResponse)
		switch err := kerr.ErrorForCode(j.ErrorCode); {
		case err == nil:
			*id = j.MemberID
			return j, nil
		case errors.Is(err, kerr.MemberIDRequired):
			*id = j.MemberID
		default:
			return nil, err
		}
	}
}

func (m *crowdMember) sync(r *raw, j *kmsg.JoinGroupResponse) error {
	rm := &rawMember{group: crowdGroup, id: j.MemberID, instance: m.instance, generation: j.Generation}
	plan := map[string]string{}
	if j.LeaderID == j.MemberID && !j.SkipAssignment {
		for i, o := range j.Members {
			var a kmsg.ConsumerMemberAssignment
			at := kmsg.NewConsumerMemberAssignmentTopic()
			at.Topic = "crowded"
			for p := int32(i); p < crowdPartitions; p += int32(len(j.Members)) {
				at.Partitions = append(at.Partitions, p)
			}
			a.Topics = append(a.Topics, at)
			plan[o.MemberID] = string(a.AppendTo(nil))
		}
	}
	resp, err := r.ask(rm.syncRequest(plan))
	if err != nil {
		return err
	}
	s := resp.(*kmsg.SyncGroupResponse)
	if err := kerr.ErrorForCode(s.ErrorCode); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation, m.has = j.Generation, assigned(s.MemberAssignment)
	return nil
}

func assigned(b []byte) (out []int32) {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(b) == nil {
		for _, t := range a.Topics {
			out = append(out, t.Partitions...)
		}
	}
	return out
}

// TestCrowd has five hundred members join one group at once, static and dynamic ones, bare requests and franz-go's clients,
// while many die and come back. Then the group is stable, every partition belongs to one member, and every member knows what
// is its.
func TestCrowd(t *testing.T) {
	b := start(t, t.TempDir(), map[string]string{"group.initial.rebalance.delay.ms": "300"})
	if _, err := admin(t, b).CreateTopic(t.Context(), crowdPartitions, 1, nil, "crowded"); err != nil {
		t.Fatal(err)
	}
	const bare, clients = 460, 40
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	members := make([]*crowdMember, bare)
	for i := range members {
		m := &crowdMember{b: b}
		if i%3 == 0 {
			m.instance = fmt.Sprintf("bare-%d", i)
		}
		members[i] = m
		wg.Go(func() { m.lives(ctx, []int{0, 0, 1, 2}[i%4]) })
	}
	for i := range clients {
		opts := []kgo.Opt{
			kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup(crowdGroup), kgo.ConsumeTopics("crowded"), kgo.Balancers(kgo.RangeBalancer()),
			kgo.SessionTimeout(4 * time.Second), kgo.RebalanceTimeout(15 * time.Second), kgo.HeartbeatInterval(200 * time.Millisecond), kgo.DisableAutoCommit(),
		}
		if i%2 == 0 {
			opts = append(opts, kgo.InstanceID(fmt.Sprintf("client-%d", i)))
		}
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer cl.Close()
			for ctx.Err() == nil {
				cl.PollFetches(ctx)
			}
		})
	}
	adm := kadm.NewClient(client(t, b))
	var why string
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		if why = settled(t, b, adm, members, bare+clients); why == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the group did not settle: %s", why)
}

// settled tells what is still missing.
func settled(t *testing.T, b *Broker, adm *kadm.Client, members []*crowdMember, want int) string {
	t.Helper()
	d, ok := b.groups.Describe(crowdGroup)
	if !ok || d.State != "Stable" || len(d.Members) != want {
		return fmt.Sprintf("it is %s in generation %d with %d members", d.State, d.Generation, len(d.Members))
	}
	owner := map[int32]string{}
	plans := map[string]bool{}
	for _, m := range d.Members {
		has := assigned(m.Assignment)
		slices.Sort(has)
		plans[fmt.Sprint(has)] = true
		for _, p := range has {
			if o, twice := owner[p]; twice {
				t.Fatalf("generation %d: partition %d belongs to %s and %s", d.Generation, p, o, m.ID)
			}
			owner[p] = m.ID
		}
	}
	if len(owner) != crowdPartitions {
		t.Fatalf("generation %d: %d of %d partitions belong to somebody", d.Generation, len(owner), crowdPartitions)
	}
	for _, m := range members {
		m.mu.Lock()
		generation, has := m.generation, slices.Clone(m.has)
		m.mu.Unlock()
		slices.Sort(has)
		if generation != d.Generation || !plans[fmt.Sprint(has)] {
			return fmt.Sprintf("a member is in generation %d with %v, the group in %d", generation, has, d.Generation)
		}
	}
	said, err := adm.DescribeGroups(t.Context(), crowdGroup)
	if err != nil || said[crowdGroup].State != "Stable" || len(said[crowdGroup].Members) != want {
		return fmt.Sprintf("an administrator sees %v, %v", slices.Collect(maps.Keys(said)), err)
	}
	return ""
}
