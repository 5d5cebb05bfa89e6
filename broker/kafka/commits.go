package kafka

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/topic"
)

// offsetCommit appends a group's positions in order and answers when they are durable.
func (s *Server) offsetCommit(c *call) answer {
	req := c.req.(*kmsg.OffsetCommitRequest)
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	r := group.CommitRequest{Group: req.Group, Generation: req.Generation, MemberID: req.MemberID, Instance: value(req.InstanceID)}
	var at []*kmsg.OffsetCommitResponseTopicPartition
	for i := range req.Topics {
		q, o := &req.Topics[i], &resp.Topics[i]
		o.Topic, o.TopicID = q.Topic, q.TopicID
		o.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(q.Partitions))
		t, err := s.topicByEither(req.Version >= 10, q.TopicID, q.Topic)
		if err == nil && !s.allow(c, Read, TopicResource, t.Name) {
			err = fmt.Errorf("topic %q: %w", t.Name, kerr.TopicAuthorizationFailed)
		}
		for j := range q.Partitions {
			qp, p := &q.Partitions[j], &o.Partitions[j]
			p.Partition = qp.Partition
			if p.ErrorCode = code(s.checkCommit(t, err, qp)); p.ErrorCode != errNone {
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
	if err := s.groupAllowed(c, Read, req.Group); err != nil {
		fail(err)
		return answer{resp: resp}
	}
	wait, err := s.groups.Commit(r)
	if err != nil {
		fail(err)
		return answer{resp: resp}
	}
	return answer{resp: resp, wait: func() {
		if err := wait(); err != nil {
			fail(err)
		}
	}}
}

func (s *Server) checkCommit(t *topic.Topic, err error, q *kmsg.OffsetCommitRequestTopicPartition) error {
	switch {
	case err != nil:
		return err
	case q.Partition < 0 || q.Partition >= t.Partitions():
		return kerr.UnknownTopicOrPartition
	case s.cfg.MaxOffsetMeta > 0 && len(value(q.Metadata)) > s.cfg.MaxOffsetMeta:
		return kerr.OffsetMetadataTooLarge
	}
	return nil
}

// offsetFetch answers committed positions. A position never committed is offset -1 and no error, and so is an unknown group.
func (s *Server) offsetFetch(c *call) kmsg.Response {
	req := c.req.(*kmsg.OffsetFetchRequest)
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = req.Version
	if req.Version < 8 {
		s.offsetFetchOne(c, req, resp)
		return resp
	}
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, 0, len(req.Groups))
	for i := range req.Groups {
		q := &req.Groups[i]
		r := kmsg.NewOffsetFetchResponseGroup()
		r.Group = q.Group
		err := s.groupAllowed(c, Describe, q.Group)
		r.Topics = []kmsg.OffsetFetchResponseGroupTopic{}
		if r.ErrorCode = code(err); err == nil {
			r.Topics = s.groupOffsets(c, q, req.Version, req.RequireStable)
		}
		resp.Groups = append(resp.Groups, r)
	}
	return resp
}

func (s *Server) groupOffsets(c *call, q *kmsg.OffsetFetchRequestGroup, version int16, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	topics := q.Topics
	if topics == nil { // all there are
		for t, parts := range s.committed(c, q.Group) {
			all := kmsg.NewOffsetFetchRequestGroupTopic()
			all.Topic, all.TopicID, all.Partitions = t.Name, t.ID, parts
			topics = append(topics, all)
		}
	}
	out := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(topics))
	for _, qt := range topics {
		r := kmsg.NewOffsetFetchResponseGroupTopic()
		r.Topic, r.TopicID = qt.Topic, qt.TopicID
		r.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, 0, len(qt.Partitions))
		t, err := s.topicByEither(version >= 10, qt.TopicID, qt.Topic)
		for _, n := range qt.Partitions {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = n, -1, -1, new(string)
			switch {
			case err != nil && version >= 10:
				p.ErrorCode = code(err)
			case err == nil && !s.allow(c, Describe, TopicResource, t.Name):
				p.ErrorCode = kerr.TopicAuthorizationFailed.Code
			case err == nil && stable && s.groups.Unstable(q.Group, t.ID, n):
				p.ErrorCode = kerr.UnstableOffsetCommit.Code
			case err == nil:
				if o, ok := s.groups.Fetch(q.Group, t.ID, n); ok {
					p.Offset, p.LeaderEpoch, p.Metadata = o.Offset, o.LeaderEpoch, &o.Metadata
				}
			}
			r.Partitions = append(r.Partitions, p)
		}
		out = append(out, r)
	}
	return out
}

// offsetFetchOne answers the form before KIP-709: one group, by topic name.
func (s *Server) offsetFetchOne(c *call, req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	denied := s.groupAllowed(c, Describe, req.Group)
	resp.ErrorCode = code(denied) // from version 2 on; before, it stands at each partition
	q := kmsg.NewOffsetFetchRequestGroup()
	q.Group = req.Group
	if req.Topics != nil || req.Version < 2 {
		q.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, t := range req.Topics {
		g := kmsg.NewOffsetFetchRequestGroupTopic()
		g.Topic, g.Partitions = t.Topic, t.Partitions
		q.Topics = append(q.Topics, g)
	}
	resp.Topics = []kmsg.OffsetFetchResponseTopic{}
	if denied != nil && req.Version >= 2 {
		return
	}
	for _, t := range s.groupOffsets(c, &q, req.Version, req.RequireStable) {
		r := kmsg.NewOffsetFetchResponseTopic()
		r.Topic = t.Topic
		r.Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			o := kmsg.NewOffsetFetchResponseTopicPartition()
			o.Partition, o.Offset, o.LeaderEpoch, o.Metadata, o.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			if denied != nil {
				o.Offset, o.LeaderEpoch, o.Metadata, o.ErrorCode = -1, -1, new(string), code(denied)
			}
			r.Partitions = append(r.Partitions, o)
		}
		resp.Topics = append(resp.Topics, r)
	}
}

// committed lists the partitions a group has offsets of, for topics that exist and the session may see.
func (s *Server) committed(c *call, id string) map[*topic.Topic][]int32 {
	out := map[*topic.Topic][]int32{}
	for tid, of := range s.groups.FetchAll(id) {
		if t := s.topics.GetID(tid); t != nil && s.allow(c, Describe, TopicResource, t.Name) {
			out[t] = slices.Sorted(maps.Keys(of))
		}
	}
	return out
}
