package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/topic"
)

// metadata answers brokers and topics, and makes topics that are asked for when broker and client allow it.
func (s *Server) metadata(c *call) kmsg.Response {
	req := c.req.(*kmsg.MetadataRequest)
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	at := s.cfg.Advertised(c.session.Listener)
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = s.cfg.NodeID, at.Host, at.Port
	resp.Brokers = append(resp.Brokers, b)
	resp.ClusterID = &s.cfg.ClusterID
	resp.ControllerID = s.cfg.NodeID
	resp.AuthorizedOperations = noAuthOperations
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = s.clusterOperations(c)
	}
	resp.Topics = []kmsg.MetadataResponseTopic{}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 { // version 0 had no null: empty was all
		for _, t := range s.topics.All() {
			if s.allow(c, Describe, TopicResource, t.Name) {
				resp.Topics = append(resp.Topics, s.describeTopic(c, req, t))
			}
		}
		return resp
	}
	for i, err := range s.autoCreate(c, req) {
		resp.Topics = append(resp.Topics, s.metadataTopic(c, req, &req.Topics[i], err))
	}
	return resp
}

// metadataTopic answers one topic that was asked for; failed is why its creation was refused.
func (s *Server) metadataTopic(c *call, req *kmsg.MetadataRequest, q *kmsg.MetadataRequestTopic, failed error) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic, r.TopicID = q.Topic, q.TopicID
	r.AuthorizedOperations = noAuthOperations
	r.Partitions = []kmsg.MetadataResponseTopicPartition{}
	var t *topic.Topic
	if q.Topic == nil {
		if t = s.topics.GetID(q.TopicID); t == nil {
			r.ErrorCode = kerr.UnknownTopicID.Code
			return r
		}
	}
	var name string
	if t != nil {
		name = t.Name
	} else {
		name = *q.Topic
	}
	switch {
	case !s.allow(c, Describe, TopicResource, name):
		r.ErrorCode = kerr.TopicAuthorizationFailed.Code
		return r
	case failed != nil:
		r.ErrorCode = code(failed)
		return r
	case t == nil:
		t = s.topics.Get(name)
	}
	if t == nil {
		r.ErrorCode = errUnknownPartition
		if err := topic.CheckName(name); err != nil {
			r.ErrorCode = code(err)
		}
		return r
	}
	return s.describeTopic(c, req, t)
}

func (s *Server) describeTopic(c *call, req *kmsg.MetadataRequest, t *topic.Topic) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic, r.TopicID = &t.Name, t.ID
	r.AuthorizedOperations = noAuthOperations
	if req.IncludeTopicAuthorizedOperations {
		r.AuthorizedOperations = s.topicOperations(c, t.Name)
	}
	replicas := []int32{s.cfg.NodeID} // shared: nobody writes to it
	r.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.Partitions())
	for i := range t.Partitions() {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = i, s.cfg.NodeID, s.leaderEpoch(t, i)
		p.Replicas, p.ISR, p.OfflineReplicas = replicas, replicas, []int32{}
		r.Partitions = append(r.Partitions, p)
	}
	return r
}

// leaderEpoch is what clients see as the partition's leader epoch.
func (s *Server) leaderEpoch(t *topic.Topic, partition int32) int32 {
	if q, ok := t.Queue(partition); ok {
		if h, err := s.st.Head(q); err == nil {
			return h.Epoch
		}
	}
	return 0
}

// autoCreate makes the missing topics of a request together, and says for each topic why it can't be had.
func (s *Server) autoCreate(c *call, req *kmsg.MetadataRequest) []error {
	errs := make([]error, len(req.Topics))
	if !s.cfg.AutoCreate || req.Version >= 4 && !req.AllowAutoTopicCreation {
		return errs
	}
	var specs []topic.Spec
	var at []int
	for i, q := range req.Topics {
		if q.Topic == nil || s.topics.Get(*q.Topic) != nil {
			continue
		}
		if !s.allow(c, Create, ClusterResource, clusterName) && !s.allow(c, Create, TopicResource, *q.Topic) {
			errs[i] = fmt.Errorf("creating topic %q: %w", *q.Topic, kerr.TopicAuthorizationFailed)
			continue
		}
		specs = append(specs, topic.Spec{Name: *q.Topic, Partitions: s.cfg.Partitions})
		at = append(at, i)
	}
	if len(specs) == 0 {
		return errs
	}
	for i, r := range s.topics.Create(c.ctx, specs, false) {
		switch {
		case r.Err == nil:
			s.log.Info("topic created on first use", "topic", specs[i].Name, "partitions", specs[i].Partitions, "client", c.session.ClientID())
		case errors.Is(r.Err, kerr.TopicAlreadyExists): // somebody else was quicker: it is there
		case errors.Is(r.Err, context.Canceled):
			errs[at[i]] = kerr.LeaderNotAvailable
		default:
			errs[at[i]] = r.Err
		}
	}
	return errs
}
