package kafka

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
	"github.com/penstockio/penstock/broker/txn"
)

// describeProducers lists the producers partitions know of, and where their open transactions begin (KIP-664).
func (s *Server) describeProducers(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeProducersRequest)
	resp := kmsg.NewPtrDescribeProducersResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.DescribeProducersResponseTopic, 0, len(req.Topics))
	for _, q := range req.Topics {
		r := kmsg.NewDescribeProducersResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.DescribeProducersResponseTopicPartition, 0, len(q.Partitions))
		for _, n := range q.Partitions {
			p := kmsg.NewDescribeProducersResponseTopicPartition()
			p.Partition = n
			p.ActiveProducers = []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{}
			_, id, err := s.queueOf(c, Read, q.Topic, n)
			var list []store.Producer
			if err == nil {
				list, err = s.st.Producers(id)
			}
			p.ErrorCode, p.ErrorMessage = code(err), text(err)
			for _, st := range list {
				a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
				a.ProducerID, a.ProducerEpoch, a.LastSequence = st.ID, int32(st.Epoch), st.LastSequence
				a.LastTimestamp, a.CurrentTxnStartOffset = st.Updated, st.Open
				p.ActiveProducers = append(p.ActiveProducers, a)
			}
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (s *Server) describeTransactions(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeTransactionsRequest)
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.Version = req.Version
	resp.TransactionStates = make([]kmsg.DescribeTransactionsResponseTransactionState, 0, len(req.TransactionalIDs))
	for _, id := range req.TransactionalIDs {
		r := kmsg.NewDescribeTransactionsResponseTransactionState()
		r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.StartTimestamp = id, -1, -1, -1
		r.Topics = []kmsg.DescribeTransactionsResponseTransactionStateTopic{}
		rec, ok := s.txns.Lookup(id)
		switch {
		case !s.allow(c, Describe, TxnResource, id):
			r.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		case !ok:
			r.ErrorCode = kerr.TransactionalIDNotFound.Code
		default:
			s.describeTransaction(c, &rec, &r)
		}
		resp.TransactionStates = append(resp.TransactionStates, r)
	}
	return resp
}

func (s *Server) describeTransaction(c *call, rec *txn.Record, r *kmsg.DescribeTransactionsResponseTransactionState) {
	r.State, r.TimeoutMillis, r.ProducerID, r.ProducerEpoch = rec.State.String(), rec.TimeoutMs, rec.ProducerID, rec.Epoch
	if rec.Started > 0 {
		r.StartTimestamp = rec.Started
	}
	at := map[topic.ID]int{}
	for _, p := range rec.Partitions {
		i, ok := at[p.Topic]
		if !ok {
			t := s.topics.GetID(p.Topic)
			if t == nil || !s.allow(c, Describe, TopicResource, t.Name) {
				continue
			}
			o := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			o.Topic = t.Name
			r.Topics = append(r.Topics, o)
			i = len(r.Topics) - 1
			at[p.Topic] = i
		}
		r.Topics[i].Partitions = append(r.Topics[i].Partitions, p.Partition)
	}
}

// listTransactions lists the transactional ids that pass all filters.
func (s *Server) listTransactions(c *call) kmsg.Response {
	req := c.req.(*kmsg.ListTransactionsRequest)
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.Version = req.Version
	resp.UnknownStateFilters = []string{}
	resp.TransactionStates = []kmsg.ListTransactionsResponseTransactionState{}
	var states []txn.State
	for _, name := range req.StateFilters {
		if st, ok := txn.ParseState(name); ok {
			states = append(states, st)
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	var pattern *regexp.Regexp
	if p := value(req.TransactionalIDPattern); p != "" && req.Version >= 2 {
		var err error
		if pattern, err = regexp.Compile("^(?:" + p + ")$"); err != nil {
			resp.ErrorCode = kerr.InvalidRegularExpression.Code
			return resp
		}
	}
	if len(req.StateFilters) > 0 && len(states) == 0 {
		return resp
	}
	now := time.Now().UnixMilli()
	for _, rec := range s.txns.List() {
		switch {
		case len(states) > 0 && !slices.Contains(states, rec.State),
			len(req.ProducerIDFilters) > 0 && !slices.Contains(req.ProducerIDFilters, rec.ProducerID),
			req.Version >= 1 && req.DurationFilterMillis >= 0 && (rec.Started == 0 || now-rec.Started <= req.DurationFilterMillis),
			pattern != nil && !pattern.MatchString(rec.TransactionalID),
			!s.allow(c, Describe, TxnResource, rec.TransactionalID):
			continue
		}
		r := kmsg.NewListTransactionsResponseTransactionState()
		r.TransactionalID, r.ProducerID, r.TransactionState = rec.TransactionalID, rec.ProducerID, rec.State.String()
		resp.TransactionStates = append(resp.TransactionStates, r)
	}
	return resp
}

// writeTxnMarkers ends producers' transactions in single partitions: a tool's way to abort one that nobody else ends.
func (s *Server) writeTxnMarkers(c *call) answer {
	req := c.req.(*kmsg.WriteTxnMarkersRequest)
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	resp.Version = req.Version
	resp.Markers = []kmsg.WriteTxnMarkersResponseMarker{}
	var denied error
	if !s.allow(c, Alter, ClusterResource, clusterName) {
		denied = kerr.ClusterAuthorizationFailed
	}
	now := time.Now().UnixMilli()
	type marked struct {
		marker, topic, partition int
		ticket                   *store.Ticket
	}
	var all []marked
	for i, m := range req.Markers {
		r := kmsg.NewWriteTxnMarkersResponseMarker()
		r.ProducerID = m.ProducerID
		for j, q := range m.Topics {
			rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			rt.Topic = q.Topic
			for k, n := range q.Partitions {
				p := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
				p.Partition = n
				_, id, err := s.queueOf(c, Describe, q.Topic, n)
				if denied != nil {
					err = denied
				}
				if err == nil && m.ProducerID < 0 {
					err = fmt.Errorf("producer %d: %w", m.ProducerID, kerr.InvalidProducerIDMapping)
				}
				if p.ErrorCode = code(err); err == nil {
					b := batch.NewMarker(m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch, now)
					t := s.st.Append(store.Durable, store.Entry{Kind: commitlog.KindData, Queue: id, Batch: b})
					all = append(all, marked{i, j, k, t})
				}
				rt.Partitions = append(rt.Partitions, p)
			}
			r.Topics = append(r.Topics, rt)
		}
		resp.Markers = append(resp.Markers, r)
	}
	return answer{resp: resp, wait: func() {
		for _, m := range all {
			<-m.ticket.Done()
			err := m.ticket.Err()
			if err == nil {
				err = m.ticket.Results()[0].Err
			}
			resp.Markers[m.marker].Topics[m.topic].Partitions[m.partition].ErrorCode = code(err)
		}
	}}
}
