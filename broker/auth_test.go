package broker

import (
	"errors"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/kafka"
)

// denier says no, and remembers who was asked for.
type denier struct {
	mu    sync.Mutex
	asked map[string]bool
}

func (d *denier) Allow(s *kafka.Session, _ kafka.Operation, _ kafka.Resource, _ string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[s.Principal] = true
	return false
}

// TestNobodyMayDoAnything: with an authorizer that says no, every family of requests refuses with its own code, and
// nothing is shown or changed.
func TestNobodyMayDoAnything(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir, nil)
	produceN(t, b, "cut", 0, 3)
	stop(t, b)
	d := &denier{asked: map[string]bool{}}
	b = startFor(t, dir, nil, d)
	ask := func(key, version int16) kmsg.Response {
		t.Helper()
		resp, err := dialRaw(t, b).ask(filled(key, version, b))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	txnDenied := kerr.TransactionalIDAuthorizationFailed.Code
	topicDenied, groupDenied := kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code
	for name, got := range map[string][2]int16{
		"produce":   {ask(0, 9).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, topicDenied},
		"fetch":     {ask(1, 12).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode, topicDenied},
		"metadata":  {ask(3, 9).(*kmsg.MetadataResponse).Topics[0].ErrorCode, topicDenied},
		"commit":    {ask(8, 8).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, topicDenied},
		"join":      {ask(11, 7).(*kmsg.JoinGroupResponse).ErrorCode, groupDenied},
		"heartbeat": {ask(12, 4).(*kmsg.HeartbeatResponse).ErrorCode, groupDenied},
		"leave":     {ask(13, 4).(*kmsg.LeaveGroupResponse).ErrorCode, groupDenied},
		"sync":      {ask(14, 5).(*kmsg.SyncGroupResponse).ErrorCode, groupDenied},
		"create":    {ask(19, 7).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode, topicDenied},
		"alter":     {ask(44, 1).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode, topicDenied},
		"txn init":  {ask(22, 4).(*kmsg.InitProducerIDResponse).ErrorCode, txnDenied},
		"txn add":   {ask(24, 3).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode, txnDenied},
		"txn group": {ask(25, 3).(*kmsg.AddOffsetsToTxnResponse).ErrorCode, txnDenied},
		"txn end":   {ask(26, 3).(*kmsg.EndTxnResponse).ErrorCode, txnDenied},
		"markers":   {ask(27, 1).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode, kerr.ClusterAuthorizationFailed.Code},
		"stage":     {ask(28, 3).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, topicDenied},
		"producers": {ask(61, 0).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ErrorCode, topicDenied},
		"txns":      {ask(65, 0).(*kmsg.DescribeTransactionsResponse).TransactionStates[0].ErrorCode, txnDenied},
		"log dirs":  {ask(35, 4).(*kmsg.DescribeLogDirsResponse).ErrorCode, kerr.ClusterAuthorizationFailed.Code},
		"elect":     {ask(43, 2).(*kmsg.ElectLeadersResponse).ErrorCode, kerr.ClusterAuthorizationFailed.Code},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: error %d, want %d", name, got[0], got[1])
		}
	}
	adm := kadm.NewClient(client(t, b))
	if _, err := adm.DeleteTopic(t.Context(), "cut"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("delete: %v", err)
	}
	if ts, err := adm.ListTopics(t.Context()); err != nil || len(ts) != 0 {
		t.Errorf("topics are shown: %v, %v", ts.Names(), err)
	}
	if b.topics.Get("cut") == nil || !d.asked["User:ANONYMOUS"] {
		t.Errorf("asked for %v", d.asked)
	}
	if _, err := kadm.NewClient(client(t, b, inside(b))).ListTopics(t.Context()); err != nil || !d.asked["User:test"] {
		t.Errorf("inside the process: %v, asked for %v", err, d.asked)
	}
}
