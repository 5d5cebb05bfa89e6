package kafka

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/txn"
)

// initProducerID grants a producer id, or raises a transactional id's epoch, which fences its earlier holders.
func (s *Server) initProducerID(c *call) kmsg.Response {
	req := c.req.(*kmsg.InitProducerIDRequest)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.Version = req.Version
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID == nil {
		id, err := s.txns.NewProducerID(c.ctx)
		if resp.ErrorCode = code(err); err == nil {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
		return resp
	}
	if err := s.txnAllowed(c, *req.TransactionalID); err != nil {
		resp.ErrorCode = code(err)
		return resp
	}
	who, err := s.txns.Init(c.ctx, *req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch)
	resp.ErrorCode = fencedCode(err, req.Version >= 4)
	if err == nil {
		resp.ProducerID, resp.ProducerEpoch = who.ProducerID, who.Epoch
	}
	return resp
}

func (s *Server) txnAllowed(c *call, id string) error {
	if !s.allow(c, Write, TxnResource, id) {
		return fmt.Errorf("transactional id %q: %w", id, kerr.TransactionalIDAuthorizationFailed)
	}
	return nil
}

// fencedCode is code for requests whose older versions know only INVALID_PRODUCER_EPOCH (KIP-588).
func fencedCode(err error, knows bool) int16 {
	if !knows && errors.Is(err, kerr.ProducerFenced) {
		return kerr.InvalidProducerEpoch.Code
	}
	return code(err)
}

// addPartitionsToTxn adds all partitions asked for, or none: then those that are not to blame say so.
func (s *Server) addPartitionsToTxn(c *call) answer {
	req := c.req.(*kmsg.AddPartitionsToTxnRequest)
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.AddPartitionsToTxnResponseTopic, 0, len(req.Topics))
	denied := s.txnAllowed(c, req.TransactionalID)
	var parts []txn.Partition
	wrong := false
	for _, q := range req.Topics {
		r := kmsg.NewAddPartitionsToTxnResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.AddPartitionsToTxnResponseTopicPartition, 0, len(q.Partitions))
		for _, n := range q.Partitions {
			p := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			p.Partition = n
			t, id, err := s.queueOf(c, Write, q.Topic, n)
			if denied != nil {
				err = denied
			}
			if err != nil {
				p.ErrorCode, wrong = code(err), true
			} else {
				parts = append(parts, txn.Partition{Topic: t.ID, Partition: n, Queue: id})
			}
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	all := func(err error) {
		e := fencedCode(err, req.Version >= 2)
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == errNone {
					p.ErrorCode = e
				}
			}
		}
	}
	if wrong {
		all(kerr.OperationNotAttempted)
		return answer{resp: resp}
	}
	wait, err := s.txns.AddPartitions(req.TransactionalID, req.ProducerID, req.ProducerEpoch, parts)
	if err != nil {
		all(err)
		return answer{resp: resp}
	}
	return answer{resp: resp, wait: func() { all(wait()) }}
}

func (s *Server) addOffsetsToTxn(c *call) answer {
	req := c.req.(*kmsg.AddOffsetsToTxnRequest)
	resp := kmsg.NewPtrAddOffsetsToTxnResponse()
	resp.Version = req.Version
	err := s.txnAllowed(c, req.TransactionalID)
	if err == nil {
		err = s.groupAllowed(c, Read, req.Group)
	}
	if err == nil && req.Group == "" {
		err = kerr.InvalidGroupID
	}
	var wait func() error
	if err == nil {
		wait, err = s.txns.AddGroup(req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group)
	}
	if err != nil {
		resp.ErrorCode = fencedCode(err, req.Version >= 2)
		return answer{resp: resp}
	}
	return answer{resp: resp, wait: func() { resp.ErrorCode = fencedCode(wait(), req.Version >= 2) }}
}

// endTxn appends the end in order and answers when it is durable.
func (s *Server) endTxn(c *call) answer {
	req := c.req.(*kmsg.EndTxnRequest)
	resp := kmsg.NewPtrEndTxnResponse()
	resp.Version = req.Version
	if err := s.txnAllowed(c, req.TransactionalID); err != nil {
		resp.ErrorCode = code(err)
		return answer{resp: resp}
	}
	wait, err := s.txns.End(req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit)
	if err != nil {
		resp.ErrorCode = fencedCode(err, req.Version >= 2)
		return answer{resp: resp}
	}
	return answer{resp: resp, wait: func() { resp.ErrorCode = fencedCode(wait(), req.Version >= 2) }}
}

// txnOffsetCommit stages a group's positions in order and answers when they are durable.
func (s *Server) txnOffsetCommit(c *call) answer {
	req := c.req.(*kmsg.TxnOffsetCommitRequest)
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	r := group.CommitRequest{Group: req.Group, Generation: -1}
	if req.Version >= 3 {
		r.Generation, r.MemberID, r.Instance = req.Generation, req.MemberID, value(req.InstanceID)
	}
	var at []*kmsg.TxnOffsetCommitResponseTopicPartition
	for i := range req.Topics {
		q, o := &req.Topics[i], &resp.Topics[i]
		o.Topic = q.Topic
		o.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(q.Partitions))
		for j := range q.Partitions {
			qp, p := &q.Partitions[j], &o.Partitions[j]
			p.Partition = qp.Partition
			t, _, err := s.queueOf(c, Read, q.Topic, qp.Partition)
			if err == nil && s.cfg.MaxOffsetMeta > 0 && len(value(qp.Metadata)) > s.cfg.MaxOffsetMeta {
				err = kerr.OffsetMetadataTooLarge
			}
			if p.ErrorCode = code(err); err != nil {
				continue
			}
			r.Offsets = append(r.Offsets, group.OffsetEntry{
				Topic:     t.ID,
				Partition: qp.Partition,
				Offset:    group.Offset{Offset: qp.Offset, LeaderEpoch: qp.LeaderEpoch, Metadata: value(qp.Metadata)},
			})
			at = append(at, p)
		}
	}
	fail := func(err error) {
		for _, p := range at {
			p.ErrorCode = code(err)
		}
	}
	err := s.txnAllowed(c, req.TransactionalID)
	if err == nil {
		err = s.groupAllowed(c, Read, req.Group)
	}
	var wait func() error
	if err == nil {
		wait, err = s.txns.CommitOffsets(req.TransactionalID, req.ProducerID, req.ProducerEpoch, r)
	}
	if err != nil {
		fail(err)
		return answer{resp: resp}
	}
	return answer{resp: resp, wait: func() { fail(wait()) }}
}
