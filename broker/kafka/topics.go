package kafka

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/topic"
)

// within bounds a call by the time the client gives it.
func within(c *call, ms int32) (context.Context, context.CancelFunc) {
	if ms <= 0 {
		return context.WithCancel(c.ctx)
	}
	return context.WithTimeout(c.ctx, time.Duration(ms)*time.Millisecond)
}

func (s *Server) createTopics(c *call) kmsg.Response {
	req := c.req.(*kmsg.CreateTopicsRequest)
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.CreateTopicsResponseTopic, len(req.Topics))
	var specs []topic.Spec
	var at []int
	for i := range req.Topics {
		r := kmsg.NewCreateTopicsResponseTopic()
		r.Topic = req.Topics[i].Topic
		r.NumPartitions, r.ReplicationFactor = -1, -1
		r.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		resp.Topics[i] = r
		spec, err := s.topicSpec(c, &req.Topics[i])
		if err != nil {
			refuseTopic(&resp.Topics[i], err)
			continue
		}
		specs, at = append(specs, spec), append(at, i)
	}
	ctx, cancel := within(c, req.TimeoutMillis)
	defer cancel()
	for i, made := range s.topics.Create(ctx, specs, req.ValidateOnly) {
		r := &resp.Topics[at[i]]
		if made.Err != nil {
			refuseTopic(r, made.Err)
			continue
		}
		t := made.Topic
		if !req.ValidateOnly {
			r.TopicID = t.ID
			s.log.Info("topic created", "topic", t.Name, "id", t.ID, "partitions", t.Partitions(), "client", c.session.ClientID())
		}
		r.NumPartitions, r.ReplicationFactor = t.Partitions(), 1
		for _, set := range s.topics.Settings(t.Settings) {
			cfg := kmsg.NewCreateTopicsResponseTopicConfig()
			cfg.Name, cfg.Value, cfg.Source = set.Name, &set.Value, int8(source(set))
			r.Configs = append(r.Configs, cfg)
		}
	}
	return resp
}

func refuseTopic(r *kmsg.CreateTopicsResponseTopic, err error) {
	r.ErrorCode, r.ErrorMessage = code(err), text(err)
}

// topicSpec reads what is asked for a topic: partitions and replication by number or by assignment.
func (s *Server) topicSpec(c *call, q *kmsg.CreateTopicsRequestTopic) (topic.Spec, error) {
	spec := topic.Spec{Name: q.Topic, Partitions: q.NumPartitions, Settings: map[string]string{}}
	if !s.allow(c, Create, ClusterResource, clusterName) && !s.allow(c, Create, TopicResource, q.Topic) {
		return spec, fmt.Errorf("creating topic %q: %w", q.Topic, kerr.TopicAuthorizationFailed)
	}
	replicas := int(q.ReplicationFactor)
	if len(q.ReplicaAssignment) > 0 {
		if q.NumPartitions != -1 || q.ReplicationFactor != -1 {
			return spec, fmt.Errorf("topic %q: both an assignment and numbers of partitions or replicas: %w", q.Topic, kerr.InvalidRequest)
		}
		seen := map[int32]bool{}
		for _, a := range q.ReplicaAssignment {
			if a.Partition < 0 || int(a.Partition) >= len(q.ReplicaAssignment) || seen[a.Partition] || len(a.Replicas) == 0 {
				return spec, fmt.Errorf("topic %q: the assignment doesn't name partitions 0 to %d once each: %w", q.Topic, len(q.ReplicaAssignment)-1, kerr.InvalidReplicaAssignment)
			}
			seen[a.Partition] = true
			replicas = max(replicas, len(a.Replicas))
		}
		spec.Partitions = int32(len(q.ReplicaAssignment))
	} else if q.NumPartitions == -1 {
		spec.Partitions = s.cfg.Partitions
	}
	if err := s.checkReplicas(q.Topic, replicas); err != nil {
		return spec, err
	}
	for _, cfg := range q.Configs {
		if _, twice := spec.Settings[cfg.Name]; twice {
			return spec, fmt.Errorf("topic %q: setting %q is given twice: %w", q.Topic, cfg.Name, kerr.InvalidRequest)
		}
		if cfg.Value == nil {
			return spec, fmt.Errorf("topic %q: setting %q is null: %w", q.Topic, cfg.Name, kerr.InvalidConfig)
		}
		spec.Settings[cfg.Name] = *cfg.Value
	}
	return spec, nil
}

// checkReplicas accepts what one node can do. Connect's default replication factor is 3, so by default more is accepted
// and becomes one.
func (s *Server) checkReplicas(name string, n int) error {
	switch {
	case n == 1 || n == -1:
		return nil
	case n < 1 || !s.cfg.ClampReplicas:
		return fmt.Errorf("topic %q: replication factor %d on one broker (replication.factor.clamp would make it 1): %w", name, n, kerr.InvalidReplicationFactor)
	}
	s.clamped.Do(func() {
		s.log.Warn("a replication factor above 1 was asked for; this broker is one node and keeps one replica (logged once)", "topic", name, "asked", n)
	})
	return nil
}

func (s *Server) deleteTopics(c *call) kmsg.Response {
	req := c.req.(*kmsg.DeleteTopicsRequest)
	resp := kmsg.NewPtrDeleteTopicsResponse()
	resp.Version = req.Version
	asked := req.Topics
	for i := range req.TopicNames {
		q := kmsg.NewDeleteTopicsRequestTopic()
		q.Topic = &req.TopicNames[i]
		asked = append(asked, q)
	}
	resp.Topics = make([]kmsg.DeleteTopicsResponseTopic, len(asked))
	var ids []topic.ID
	var at []int
	for i, q := range asked {
		r := kmsg.NewDeleteTopicsResponseTopic()
		r.Topic, r.TopicID = q.Topic, q.TopicID
		t, err := s.topicToDelete(c, &q)
		if err != nil {
			r.ErrorCode, r.ErrorMessage = code(err), text(err)
		} else {
			r.Topic, r.TopicID = &t.Name, t.ID
			ids, at = append(ids, t.ID), append(at, i)
		}
		resp.Topics[i] = r
	}
	ctx, cancel := within(c, req.TimeoutMillis)
	defer cancel()
	for i, err := range s.topics.Delete(ctx, ids) {
		r := &resp.Topics[at[i]]
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		if err == nil {
			s.log.Info("topic deleted", "topic", *r.Topic, "id", ids[i], "client", c.session.ClientID())
		}
	}
	return resp
}

func (s *Server) topicToDelete(c *call, q *kmsg.DeleteTopicsRequestTopic) (*topic.Topic, error) {
	var t *topic.Topic
	var what string
	if q.Topic != nil {
		what = *q.Topic
		t = s.topics.Get(what)
	} else {
		what = topic.ID(q.TopicID).String()
		t = s.topics.GetID(q.TopicID)
	}
	switch {
	case t != nil && !s.allow(c, Delete, TopicResource, t.Name), q.Topic != nil && !s.allow(c, Delete, TopicResource, *q.Topic):
		return nil, fmt.Errorf("deleting topic %q: %w", what, kerr.TopicAuthorizationFailed)
	case t != nil:
		return t, nil
	case q.Topic == nil:
		return nil, fmt.Errorf("deleting topic %s: %w", what, kerr.UnknownTopicID)
	}
	return nil, fmt.Errorf("deleting topic %q: %w", what, kerr.UnknownTopicOrPartition)
}

func (s *Server) createPartitions(c *call) kmsg.Response {
	req := c.req.(*kmsg.CreatePartitionsRequest)
	resp := kmsg.NewPtrCreatePartitionsResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.CreatePartitionsResponseTopic, 0, len(req.Topics))
	ctx, cancel := within(c, req.TimeoutMillis)
	defer cancel()
	for _, q := range req.Topics {
		r := kmsg.NewCreatePartitionsResponseTopic()
		r.Topic = q.Topic
		err := s.growTopic(ctx, c, &q, req.ValidateOnly)
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (s *Server) growTopic(ctx context.Context, c *call, q *kmsg.CreatePartitionsRequestTopic, validateOnly bool) error {
	if !s.allow(c, Alter, TopicResource, q.Topic) {
		return fmt.Errorf("growing topic %q: %w", q.Topic, kerr.TopicAuthorizationFailed)
	}
	if q.Assignment != nil {
		t := s.topics.Get(q.Topic)
		if t != nil && int(q.Count-t.Partitions()) != len(q.Assignment) {
			return fmt.Errorf("growing topic %q: %d assignments for %d new partitions: %w", q.Topic, len(q.Assignment), q.Count-t.Partitions(), kerr.InvalidReplicaAssignment)
		}
	}
	return s.topics.Grow(ctx, q.Topic, q.Count, validateOnly)
}

// isThisNode reads a broker resource's name: empty is the default of all brokers.
func (s *Server) isThisNode(name string) bool {
	return name == "" || strings.TrimSpace(name) == fmt.Sprint(s.cfg.NodeID)
}
