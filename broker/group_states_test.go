package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawMember speaks the group protocol frame by frame.
type rawMember struct {
	*raw
	group, id, instance string
	generation          int32
	leader              bool
}

func (m *rawMember) joinRequest(meta string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID = 3, m.group, m.id
	if m.instance != "" {
		r.Version, r.InstanceID = 9, &m.instance
	}
	r.ProtocolType, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = "raw", 30_000, 30_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "one", []byte(meta)
	r.Protocols = append(r.Protocols, p)
	return r
}

func (m *rawMember) syncRequest(assign map[string]string) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, m.group, m.id, m.generation
	if m.instance != "" {
		r.InstanceID = &m.instance
	}
	for id, a := range assign {
		g := kmsg.NewSyncGroupRequestGroupAssignment()
		g.MemberID, g.MemberAssignment = id, []byte(a)
		r.GroupAssignment = append(r.GroupAssignment, g)
	}
	return r
}

func (m *rawMember) send(req kmsg.Request) {
	m.t.Helper()
	if err := m.write(m.frame(req)); err != nil {
		m.t.Fatal(err)
	}
}

// joined takes the answer to a join sent before.
func (m *rawMember) joined(req kmsg.Request) int16 {
	m.t.Helper()
	resp, err := m.answer(req, m.corr)
	if err != nil {
		m.t.Fatal(err)
	}
	j := resp.(*kmsg.JoinGroupResponse)
	if j.ErrorCode == 0 {
		m.id, m.generation, m.leader = j.MemberID, j.Generation, j.LeaderID == j.MemberID
	}
	return j.ErrorCode
}

func (m *rawMember) synced(req kmsg.Request) (string, int16) {
	m.t.Helper()
	resp, err := m.answer(req, m.corr)
	if err != nil {
		m.t.Fatal(err)
	}
	s := resp.(*kmsg.SyncGroupResponse)
	return string(s.MemberAssignment), s.ErrorCode
}

// groupIn brings a group of a leader and a follower into a state.
func groupIn(t *testing.T, b *Broker, name, state string) (leader, follower *rawMember) {
	t.Helper()
	leader, follower = &rawMember{raw: dialRaw(t, b), group: name}, &rawMember{raw: dialRaw(t, b), group: name}
	if state == "Dead" {
		leader.id, follower.id = "unknown", "unknown"
		return leader, follower
	}
	one := leader.joinRequest("l")
	leader.send(one)
	leader.joined(one)
	first := leader.syncRequest(map[string]string{leader.id: "all"})
	leader.send(first)
	leader.synced(first)
	two := follower.joinRequest("f")
	follower.send(two)
	waitFor(t, "the second join to park", func() bool { d, _ := b.groups.Describe(name); return d.State == "PreparingRebalance" })
	if state == "PreparingRebalance" { // the follower is parked: the requests come from the leader, in both roles
		return leader, &rawMember{raw: dialRaw(t, b), group: name, id: leader.id, generation: leader.generation}
	}
	again := leader.joinRequest("l")
	leader.send(again)
	leader.joined(again)
	follower.joined(two)
	if !leader.leader || follower.leader {
		t.Fatal("the first member should lead")
	}
	if state == "CompletingRebalance" {
		return leader, follower
	}
	last, other := leader.syncRequest(map[string]string{leader.id: "L", follower.id: "F"}), follower.syncRequest(nil)
	leader.send(last)
	follower.send(other)
	leader.synced(last)
	follower.synced(other)
	if state == "Empty" {
		for _, m := range []*rawMember{leader, follower} {
			if _, err := m.ask(m.leaveRequest()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d, _ := b.groups.Describe(name); string(d.State) != state {
		t.Fatalf("the group is %s, want %s", d.State, state)
	}
	return leader, follower
}

func (m *rawMember) leaveRequest() *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = 2, m.group, m.id
	return r
}

func (m *rawMember) heartbeatRequest() *kmsg.HeartbeatRequest {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, m.group, m.id, m.generation
	if m.instance != "" {
		r.InstanceID = &m.instance
	}
	return r
}

func (m *rawMember) commitRequest(generation int32, id string) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 7, m.group, id, generation
	tp := kmsg.NewOffsetCommitRequestTopic()
	tp.Topic = "states"
	tp.Partitions = append(tp.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	r.Topics = append(r.Topics, tp)
	return r
}

// errorOf finds the code in an answer of the group protocol.
func errorOf(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		return r.ErrorCode
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	}
	return -2
}

// TestGroupStates sends every request of the group protocol to a group in every state: what is answered, and what state
// follows.
func TestGroupStates(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "states", 0, 1)
	const ok, parks = int16(0), int16(-3)
	var (
		unknown, rebalance = kerr.UnknownMemberID.Code, kerr.RebalanceInProgress.Code
		generation         = kerr.IllegalGeneration.Code
		states             = []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}
	)
	const same = "" // the state stays
	type outcome struct {
		code int16
		then string
	}
	for what, c := range map[string]struct {
		request func(l, f *rawMember) (*rawMember, kmsg.Request)
		want    [5]outcome // by states
	}{
		"a new member joins": {
			func(l, _ *rawMember) (*rawMember, kmsg.Request) {
				n := &rawMember{raw: dialRaw(t, b), group: l.group}
				return n, n.joinRequest("n")
			},
			[5]outcome{{ok, "CompletingRebalance"}, {parks, same}, {parks, "PreparingRebalance"}, {parks, "PreparingRebalance"}, {ok, "CompletingRebalance"}},
		},
		"the follower joins with the same": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.joinRequest("f") },
			[5]outcome{{unknown, same}, {ok, "CompletingRebalance"}, {ok, same}, {ok, same}, {unknown, same}},
		},
		"the follower joins with something else": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.joinRequest("g") },
			[5]outcome{{unknown, same}, {ok, "CompletingRebalance"}, {parks, "PreparingRebalance"}, {parks, "PreparingRebalance"}, {unknown, same}},
		},
		"the leader joins with the same": {
			func(l, _ *rawMember) (*rawMember, kmsg.Request) { return l, l.joinRequest("l") },
			[5]outcome{{unknown, same}, {ok, "CompletingRebalance"}, {ok, same}, {parks, "PreparingRebalance"}, {unknown, same}},
		},
		"the leader syncs": {
			func(l, _ *rawMember) (*rawMember, kmsg.Request) {
				return l, l.syncRequest(map[string]string{l.id: "x"})
			},
			[5]outcome{{unknown, same}, {rebalance, same}, {ok, "Stable"}, {ok, same}, {unknown, same}},
		},
		"the follower syncs": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.syncRequest(nil) },
			[5]outcome{{unknown, same}, {rebalance, same}, {parks, same}, {ok, same}, {unknown, same}},
		},
		"a sync of an old generation": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { f.generation--; return f, f.syncRequest(nil) },
			[5]outcome{{unknown, same}, {generation, same}, {generation, same}, {generation, same}, {unknown, same}},
		},
		"a heartbeat": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.heartbeatRequest() },
			[5]outcome{{unknown, same}, {rebalance, same}, {ok, same}, {ok, same}, {unknown, same}},
		},
		"a heartbeat of an old generation": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { f.generation--; return f, f.heartbeatRequest() },
			[5]outcome{{unknown, same}, {generation, same}, {generation, same}, {generation, same}, {unknown, same}},
		},
		"a member's commit": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.commitRequest(f.generation, f.id) },
			[5]outcome{{unknown, same}, {ok, same}, {rebalance, same}, {ok, same}, {generation, same}},
		},
		"a member's commit of an old generation": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.commitRequest(f.generation-1, f.id) },
			[5]outcome{{unknown, same}, {generation, same}, {generation, same}, {generation, same}, {ok, "Empty"}},
		},
		"a stranger's commit": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.commitRequest(f.generation, "stranger") },
			[5]outcome{{unknown, same}, {unknown, same}, {unknown, same}, {unknown, same}, {generation, same}},
		},
		"an administrator's commit": {
			func(l, _ *rawMember) (*rawMember, kmsg.Request) { return l, l.commitRequest(-1, "") },
			[5]outcome{{ok, same}, {unknown, same}, {unknown, same}, {unknown, same}, {ok, "Empty"}},
		},
		"the follower leaves": {
			func(_, f *rawMember) (*rawMember, kmsg.Request) { return f, f.leaveRequest() },
			[5]outcome{{unknown, same}, {ok, "CompletingRebalance"}, {ok, "PreparingRebalance"}, {ok, "PreparingRebalance"}, {unknown, same}},
		},
	} {
		for i, state := range states {
			name := fmt.Sprintf("%s in %s", what, state)
			l, f := groupIn(t, b, name, state)
			m, req := c.request(l, f)
			want := c.want[i]
			m.send(req)
			if want.code != parks {
				resp, err := m.answer(req, m.corr)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := errorOf(resp); got != want.code {
					t.Errorf("%s: %v, want %v", name, kerr.ErrorForCode(got), kerr.ErrorForCode(want.code))
				}
			}
			then := want.then
			if then == same {
				then = state
			}
			var now string
			settled := func() bool { d, _ := b.groups.Describe(name); now = string(d.State); return now == then }
			if want.code == parks { // nothing tells when it has arrived
				waitFor(t, name+" to lead to "+then, settled)
			} else if !settled() {
				t.Errorf("%s: the group is %s then, want %s", name, now, then)
			}
		}
	}
}
