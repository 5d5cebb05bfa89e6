package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/topic"
)

// Timestamps of ListOffsets with a meaning of their own.
const (
	latestOffset        = -1
	earliestOffset      = -2
	maxTimestampOffset  = -3 // KIP-734
	earliestLocalOffset = -4 // KIP-405
	latestTieredOffset  = -5 // KIP-1005
)

// queueOf finds the queue behind a partition that the session may use.
func (s *Server) queueOf(c *call, op Operation, name string, partition int32) (*topic.Topic, queue.ID, error) {
	if !s.allow(c, op, TopicResource, name) {
		return nil, 0, fmt.Errorf("topic %q: %w", name, kerr.TopicAuthorizationFailed)
	}
	t := s.topics.Get(name)
	if t == nil {
		return nil, 0, fmt.Errorf("topic %q: %w", name, kerr.UnknownTopicOrPartition)
	}
	q, ok := t.Queue(partition)
	if !ok {
		return nil, 0, fmt.Errorf("topic %q, partition %d: %w", name, partition, kerr.UnknownTopicOrPartition)
	}
	return t, q, nil
}

func (s *Server) listOffsets(c *call) kmsg.Response {
	req := c.req.(*kmsg.ListOffsetsRequest)
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, 0, len(req.Topics))
	for _, q := range req.Topics {
		r := kmsg.NewListOffsetsResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, 0, len(q.Partitions))
		for _, qp := range q.Partitions {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.Offset, p.Timestamp, p.LeaderEpoch = qp.Partition, -1, -1, -1
			p.OldStyleOffsets = []int64{}
			p.ErrorCode = code(s.listOffset(c, q.Topic, &qp, req, &p))
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (s *Server) listOffset(c *call, name string, q *kmsg.ListOffsetsRequestTopicPartition, req *kmsg.ListOffsetsRequest, p *kmsg.ListOffsetsResponseTopicPartition) error {
	_, id, err := s.queueOf(c, Describe, name, q.Partition)
	if err != nil {
		return err
	}
	h, err := s.st.Head(id)
	if err != nil {
		return err
	}
	if e := epochError(q.CurrentLeaderEpoch, h.Epoch); req.Version >= 4 && e != errNone {
		return kerr.ErrorForCode(e)
	}
	end := h.HighWatermark
	if req.IsolationLevel == 1 {
		end = h.LastStable
	}
	switch q.Timestamp {
	case latestOffset:
		p.Offset = end
	case earliestOffset, earliestLocalOffset:
		p.Offset = h.LogStart
	case latestTieredOffset:
	case maxTimestampOffset:
		p.Offset, p.Timestamp, err = s.st.MaxTimestamp(c.ctx, id)
	default:
		if q.Timestamp < 0 {
			return fmt.Errorf("timestamp %d has no meaning: %w", q.Timestamp, kerr.InvalidRequest)
		}
		p.Offset, p.Timestamp, err = s.st.OffsetAt(c.ctx, id, q.Timestamp)
	}
	if err != nil {
		p.Offset, p.Timestamp = -1, -1
		return err
	}
	if p.Timestamp >= 0 && p.Offset >= end { // beyond what this reader may see
		p.Offset, p.Timestamp = -1, -1
	}
	if p.Offset >= 0 {
		p.LeaderEpoch = h.Epoch
	}
	return nil
}

func (s *Server) offsetForLeaderEpoch(c *call) kmsg.Response {
	req := c.req.(*kmsg.OffsetForLeaderEpochRequest)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, 0, len(req.Topics))
	for _, q := range req.Topics {
		r := kmsg.NewOffsetForLeaderEpochResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, 0, len(q.Partitions))
		for _, qp := range q.Partitions {
			p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			p.Partition, p.LeaderEpoch, p.EndOffset = qp.Partition, -1, -1
			epoch, end, err := s.epochEnd(c, q.Topic, &qp)
			if p.ErrorCode = code(err); err == nil {
				p.LeaderEpoch, p.EndOffset = epoch, end
			}
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (s *Server) epochEnd(c *call, name string, q *kmsg.OffsetForLeaderEpochRequestTopicPartition) (int32, int64, error) {
	_, id, err := s.queueOf(c, Describe, name, q.Partition)
	if err != nil {
		return -1, -1, err
	}
	h, err := s.st.Head(id)
	if err != nil {
		return -1, -1, err
	}
	if e := epochError(q.CurrentLeaderEpoch, h.Epoch); e != errNone {
		return -1, -1, kerr.ErrorForCode(e)
	}
	return s.st.EpochEnd(id, q.LeaderEpoch)
}

// deleteRecords moves log starts (KIP-107); an offset may fall inside a batch.
func (s *Server) deleteRecords(c *call) kmsg.Response {
	req := c.req.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, 0, len(req.Topics))
	ctx, cancel := within(c, req.TimeoutMillis)
	defer cancel()
	for _, q := range req.Topics {
		r := kmsg.NewDeleteRecordsResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, 0, len(q.Partitions))
		for _, qp := range q.Partitions {
			p := kmsg.NewDeleteRecordsResponseTopicPartition()
			p.Partition = qp.Partition
			low, err := s.trim(ctx, c, q.Topic, qp.Partition, qp.Offset)
			p.LowWatermark, p.ErrorCode = low, code(err)
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (s *Server) trim(ctx context.Context, c *call, name string, partition int32, before int64) (int64, error) {
	t, id, err := s.queueOf(c, Delete, name, partition)
	if err != nil {
		return -1, err
	}
	if !t.Config.Delete {
		return -1, fmt.Errorf("deleting records of topic %q: its %s is not delete: %w", name, topic.CleanupPolicy, kerr.PolicyViolation)
	}
	h, err := s.st.Head(id)
	if err != nil {
		return -1, err
	}
	if before == -1 {
		before = h.HighWatermark
	}
	if before < 0 || before > h.HighWatermark {
		return -1, fmt.Errorf("deleting records of topic %q, partition %d, before %d: the end is %d: %w", name, partition, before, h.HighWatermark, kerr.OffsetOutOfRange)
	}
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	low, err := s.st.Trim(id, before)
	if err != nil {
		return -1, err
	}
	return low, nil
}
