package broker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/internal/testenv"
)

// side is one of the two brokers that are compared. Ids it gives stand behind names in the script.
type side struct {
	*raw
	members map[string]string // by group
	gens    map[string]int32
	pid     int64 // an idempotent producer's
}

func sideAt(t *testing.T, addr string) *side {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	s := &side{raw: &raw{t: t, nc: nc}, members: map[string]string{}, gens: map[string]int32{}}
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version = 4
	waitFor(t, "a producer id", func() bool {
		resp, err := s.ask(init)
		if err != nil {
			t.Fatal(err)
		}
		s.pid = resp.(*kmsg.InitProducerIDResponse).ProducerID
		return resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0
	})
	return s
}

// step makes a request for a side; both sides get the same but for ids.
type step struct {
	name string
	req  func(s *side) kmsg.Request
	then func(s *side, resp kmsg.Response)
}

// script makes random steps over a small world, so that they meet: topics that are there, were there and never were, offsets
// inside and outside, members of now and before.
type script struct {
	r      *rand.Rand
	groups bool // requests about groups, too
}

func (c *script) topic() string    { return fmt.Sprintf("oracle-%d", c.r.IntN(4)) }
func (c *script) group() string    { return fmt.Sprintf("oracle-group-%d", c.r.IntN(3)) }
func (c *script) partition() int32 { return int32(c.r.IntN(4)) - c.r.Int32N(20)/19*4 }
func (c *script) offset() int64    { return c.r.Int64N(12) - 1 }

func same(name string, req kmsg.Request) step {
	return step{name: name, req: func(*side) kmsg.Request { return req }}
}

// next gives the next step.
func (c *script) next(t *testing.T) step {
	kinds := 12
	if c.groups {
		kinds = 20
	}
	switch c.r.IntN(kinds) {
	case 0:
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis, req.ValidateOnly = 6, 10_000, c.r.IntN(5) == 0
		at := kmsg.NewCreateTopicsRequestTopic()
		at.Topic, at.NumPartitions, at.ReplicationFactor = c.topic(), c.r.Int32N(4), 1
		if c.groups && c.r.IntN(8) == 0 { // kfake takes any name
			at.Topic = []string{"", ".", "no spaces", "oracle+"}[c.r.IntN(4)]
		}
		req.Topics = append(req.Topics, at)
		return same("CreateTopics", req)
	case 1:
		if c.r.IntN(3) > 0 {
			return c.next(t)
		}
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TimeoutMillis, req.TopicNames = 5, 10_000, []string{c.topic()}
		return same("DeleteTopics", req)
	case 2:
		req := kmsg.NewPtrMetadataRequest()
		req.Version = []int16{1, 4, 9, 12}[c.r.IntN(4)]
		at := kmsg.NewMetadataRequestTopic()
		at.Topic = kmsg.StringPtr(c.topic())
		req.Topics = append(req.Topics, at)
		return same("Metadata", req)
	case 3, 4, 5:
		return c.produce(t)
	case 6, 7:
		return c.fetch()
	case 8:
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID = []int16{1, 4, 7}[c.r.IntN(3)], -1
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = c.partition(), -1
		p.Timestamp = []int64{-1, -2, 1000 + c.r.Int64N(20), 0, 5000}[c.r.IntN(5)]
		// kfake does not know -4 and -5; for -3 Kafka answers records that DeleteRecords has removed.
		if c.groups && c.r.IntN(4) == 0 {
			req.Version, p.Timestamp = 9, -4-c.r.Int64N(2)
		}
		at := kmsg.NewListOffsetsRequestTopic()
		at.Topic, at.Partitions = c.topic(), append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		return same("ListOffsets", req)
	case 9:
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = 2, 10_000
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = c.partition(), c.offset()
		if !c.groups { // kfake refuses an offset below the start, where Kafka answers the start
			p.Offset = -1
		}
		at := kmsg.NewDeleteRecordsRequestTopic()
		at.Topic, at.Partitions = c.topic(), append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		return same("DeleteRecords", req)
	case 10:
		if !c.groups { // kfake grows a topic to the size it has without a word
			return c.next(t)
		}
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.TimeoutMillis = 3, 10_000
		at := kmsg.NewCreatePartitionsRequestTopic()
		at.Topic, at.Count = c.topic(), c.r.Int32N(6)
		req.Topics = append(req.Topics, at)
		return same("CreatePartitions", req)
	case 16:
		return c.commit()
	case 12:
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = []int16{1, 5, 7}[c.r.IntN(3)], c.group()
		at := kmsg.NewOffsetFetchRequestTopic()
		at.Topic, at.Partitions = c.topic(), []int32{0, 1, c.partition()}
		at.Partitions = slices.Compact(slices.Sorted(slices.Values(at.Partitions)))
		if req.Topics = append(req.Topics, at); req.Version > 1 && c.r.IntN(3) == 0 {
			req.Topics = nil // all there are
		}
		return same("OffsetFetch", req)
	case 13:
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = 5, []string{c.group()}
		return same("DescribeGroups", req)
	case 14:
		if c.r.IntN(3) > 0 {
			return c.next(t)
		}
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = 2, []string{c.group()}
		return same("DeleteGroups", req)
	case 11:
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.Version, req.ReplicaID = 3, -1
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = c.partition(), -1, 0
		at := kmsg.NewOffsetForLeaderEpochRequestTopic()
		at.Topic, at.Partitions = c.topic(), append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		return same("OffsetForLeaderEpoch", req)
	}
	if c.r.IntN(8) == 0 {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = c.group()
		at := kmsg.NewOffsetDeleteRequestTopic()
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = c.r.Int32N(2)
		at.Topic, at.Partitions = c.topic(), append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		return same("OffsetDelete", req)
	}
	return c.member()
}

// produce appends one batch; every third is an idempotent producer's, with a sequence that fits, repeats or jumps.
func (c *script) produce(t *testing.T) step {
	version, partition, topic := []int16{3, 7, 9}[c.r.IntN(3)], c.partition(), c.topic()
	var records []batch.Record
	for range 1 + c.r.IntN(3) {
		records = append(records, batch.Record{Time: 1000 + c.r.Int64N(20), Value: []byte("v"), Key: []byte("k")})
	}
	// kfake does not take any sequence from a producer it knows nothing of.
	idempotent, epoch, seq := c.groups && c.r.IntN(3) == 0, int16(c.r.IntN(8)/7), c.r.Int32N(6)
	return step{name: "Produce", req: func(s *side) kmsg.Request {
		bd := &batch.Builder{}
		if idempotent {
			bd.Producer(s.pid, epoch, seq)
		}
		for _, r := range records {
			bd.Add(r)
		}
		built, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = version, -1, 10_000
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = partition, built
		at := kmsg.NewProduceRequestTopic()
		at.Topic, at.Partitions = topic, append(at.Partitions, p)
		req.Topics = append(req.Topics, at)
		return req
	}}
}

func (c *script) fetch() step {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.SessionEpoch = []int16{4, 7, 11, 12}[c.r.IntN(4)], -1, 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = c.partition(), c.offset(), 1<<20, -1
	at := kmsg.NewFetchRequestTopic()
	at.Topic, at.Partitions = c.topic(), append(at.Partitions, p)
	req.Topics = append(req.Topics, at)
	return same("Fetch", req)
}

func (c *script) commit() step {
	group, as, stale := c.group(), c.r.IntN(3), c.r.IntN(4) == 0
	at := kmsg.NewOffsetCommitRequestTopic()
	at.Topic = c.topic()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = c.r.Int32N(2), c.offset()+1, kmsg.StringPtr("m")
	at.Partitions = append(at.Partitions, p)
	return step{name: "OffsetCommit", req: func(s *side) kmsg.Request {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 7, group, -1
		switch as {
		case 1:
			req.MemberID, req.Generation = s.members[group], s.gens[group]
			if stale {
				req.Generation++
			}
		case 2:
			req.MemberID, req.Generation = "stranger", 1
		}
		req.Topics = append(req.Topics, at)
		return req
	}}
}

// member is a step of a group's only member, so that nothing parks for others.
func (c *script) member() step {
	group, kind, stale := c.group(), c.r.IntN(6), c.r.IntN(5) == 0
	joins := func(s *side, resp kmsg.Response) {
		j := resp.(*kmsg.JoinGroupResponse)
		if j.ErrorCode == 0 || j.ErrorCode == kerr.MemberIDRequired.Code {
			s.members[group] = j.MemberID
		}
		if j.ErrorCode == 0 {
			s.gens[group] = j.Generation
		}
	}
	ask := func(s *side) *rawMember {
		m := &rawMember{group: group, id: s.members[group], generation: s.gens[group]}
		if stale {
			m.generation--
		}
		return m
	}
	switch kind {
	case 0, 1:
		return step{"JoinGroup", func(s *side) kmsg.Request { req := ask(s).joinRequest("meta"); req.Version = 5; return req }, joins}
	case 2, 3:
		return step{"SyncGroup", func(s *side) kmsg.Request { return ask(s).syncRequest(map[string]string{s.members[group]: "work"}) }, nil}
	case 4:
		return step{"Heartbeat", func(s *side) kmsg.Request { return ask(s).heartbeatRequest() }, nil}
	}
	return step{"LeaveGroup", func(s *side) kmsg.Request { return ask(s).leaveRequest() }, func(s *side, resp kmsg.Response) {
		if resp.(*kmsg.LeaveGroupResponse).ErrorCode == 0 {
			delete(s.members, group)
		}
	}}
}

// plain takes out of a response what may differ between two brokers: ids, addresses, times, texts of errors.
func plain(resp kmsg.Response) kmsg.Response {
	differs := map[string]bool{
		"ThrottleMillis": true, "ErrorMessage": true, "TopicID": true, "MemberID": true, "LeaderID": true, "Brokers": true, "ClusterID": true,
		"ControllerID": true, "Leader": true, "Replicas": true, "ISR": true, "OfflineReplicas": true, "LeaderEpoch": true, "ErrorRecords": true,
		"ClientHost": true, "ClientID": true, "Configs": true, "CurrentLeader": true, "NodeID": true, "Host": true, "Port": true,
		"LogAppendTime":        true, // of a duplicate Kafka gives the batch's own time, also where the producer's timestamps count
		"PreferredReadReplica": true, "AuthorizedOperations": true, "UnknownTags": true, "NodeEndpoints": true, "SessionID": true,
	}
	// What stands beside an error has no meaning, but for what it is about.
	names := map[string]bool{"ErrorCode": true, "Topic": true, "Partition": true, "Group": true, "Topics": true, "Groups": true, "Partitions": true}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			failed := v.FieldByName("ErrorCode").IsValid() && v.FieldByName("ErrorCode").Int() != 0
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if differs[name] || failed && !names[name] {
					v.Field(i).SetZero()
				} else {
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			if v.Len() == 0 {
				v.SetZero() // null and empty: TestSweep and clients' tests look at that
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(resp))
	if m, ok := resp.(*kmsg.MetadataResponse); ok {
		for _, t := range m.Topics {
			slices.SortFunc(t.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
		}
	}
	if o, ok := resp.(*kmsg.OffsetFetchResponse); ok {
		slices.SortFunc(o.Topics, func(a, b kmsg.OffsetFetchResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
		for _, t := range o.Topics {
			slices.SortFunc(t.Partitions, func(a, b kmsg.OffsetFetchResponseTopicPartition) int { return int(a.Partition - b.Partition) })
		}
	}
	if f, ok := resp.(*kmsg.FetchResponse); ok {
		for i := range f.Topics {
			for j := range f.Topics[i].Partitions {
				records(&f.Topics[i].Partitions[j])
			}
		}
	}
	return resp
}

// records replaces batches by the offsets they hold: a broker chooses how many batches it sends.
func records(p *kmsg.FetchResponseTopicPartition) {
	if len(p.RecordBatches) == 0 {
		p.RecordBatches = nil
		return
	}
	b := batch.Batch(p.RecordBatches)
	p.RecordBatches = fmt.Appendf(nil, "from %d", b.BaseOffset())
}

// TestAgainstKfake compares with franz-go's model of Kafka, which shares no code and no bug with this broker: topics and
// records; about groups it answers otherwise than Kafka here and there.
func TestAgainstKfake(t *testing.T) {
	fk, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer fk.Close()
	againstOracle(t, fk.ListenAddrs()[0], false, 4000)
}

// TestAgainstKafka compares with Apache Kafka itself, groups too.
func TestAgainstKafka(t *testing.T) {
	addr := testenv.StartKafka(t, "auto.create.topics.enable=false", "offsets.topic.num.partitions=1")
	awaitCoordinator(t, addr)
	againstOracle(t, addr, true, 500)
}

// awaitCoordinator waits until Kafka has made its topic of offsets.
func awaitCoordinator(t *testing.T, addr string) {
	t.Helper()
	waitFor(t, "Kafka's group coordinator", func() bool {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey = 3, "oracle"
		resp, err := sideAt(t, addr).ask(find)
		if err != nil || resp.(*kmsg.FindCoordinatorResponse).ErrorCode != 0 {
			return false
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Version, fetch.Group = 5, "oracle"
		resp, err = sideAt(t, addr).ask(fetch)
		return err == nil && resp.(*kmsg.OffsetFetchResponse).ErrorCode == 0
	})
}

// settle lets Kafka come to know what it has decided: it answers changes of topics before its broker has followed.
func settle(t *testing.T, s *side, req kmsg.Request, resp kmsg.Response) kmsg.Response {
	t.Helper()
	switch req.Key() {
	case 19, 20, 37:
		time.Sleep(100 * time.Millisecond)
	}
	again := func() bool {
		switch r := resp.(type) {
		case *kmsg.ProduceResponse:
			return r.Topics[0].Partitions[0].ErrorCode == kerr.NotLeaderForPartition.Code
		case *kmsg.DeleteRecordsResponse:
			return r.Topics[0].Partitions[0].ErrorCode == kerr.NotLeaderForPartition.Code
		}
		return false
	}
	for range 50 {
		if !again() {
			break
		}
		time.Sleep(20 * time.Millisecond)
		var err error
		if resp, err = s.ask(req); err != nil {
			t.Fatal(err)
		}
	}
	return resp
}

// text shows a message in a line.
func text(m any) string {
	b, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// againstOracle runs one random script against this broker and another, and compares every answer. After the first
// difference the two are not alike any more, so it ends there.
func againstOracle(t *testing.T, addr string, groups bool, steps int) {
	t.Helper()
	b := start(t, t.TempDir(), map[string]string{"auto.create.topics.enable": "false", "group.min.session.timeout.ms": "6000"})
	seed := testenv.Seed(t)
	c := &script{r: rand.New(rand.NewPCG(seed, 1)), groups: groups}
	ours, theirs := sideAt(t, b.Addr()), sideAt(t, addr)
	var story []string
	for i := range steps {
		st := c.next(t)
		var got [2]kmsg.Response
		for j, s := range []*side{ours, theirs} {
			req := st.req(s)
			resp, err := s.ask(req)
			if err != nil {
				t.Fatalf("step %d, %s of %+v, side %d: %v", i, st.name, req, j, err)
			}
			if s == theirs && groups {
				resp = settle(t, s, req, resp)
			}
			if st.then != nil {
				st.then(s, resp)
			}
			got[j] = plain(resp)
		}
		if d := cmp.Diff(got[1], got[0], cmp.Comparer(func(_, _ kmsg.Tags) bool { return true })); d != "" {
			t.Fatalf("%s\nstep %d, %s of %+v (- oracle, + ours):\n%s", strings.Join(story, "\n"), i, st.name, st.req(ours), d)
		}
		story = append(story[max(0, len(story)-300):], fmt.Sprintf("%d: %s\n\t%s", i, text(st.req(ours)), text(got[0])))
	}
}
