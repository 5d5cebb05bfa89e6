package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/topic"
)

func (s *Server) describeCluster(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.Version = req.Version
	resp.ClusterID, resp.ControllerID = s.cfg.ClusterID, s.cfg.NodeID
	resp.EndpointType = 1
	resp.ClusterAuthorizedOperations = noAuthOperations
	resp.Brokers = []kmsg.DescribeClusterResponseBroker{}
	switch {
	case req.Version >= 1 && req.EndpointType == 2:
		err := fmt.Errorf("this listener is a broker's, not a controller's: %w", kerr.MismatchedEndpointType)
		resp.ErrorCode, resp.ErrorMessage = code(err), text(err)
		return resp
	case req.Version >= 1 && req.EndpointType != 1:
		err := fmt.Errorf("endpoint type %d: %w", req.EndpointType, kerr.UnsupportedEndpointType)
		resp.ErrorCode, resp.ErrorMessage = code(err), text(err)
		return resp
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = s.clusterOperations(c)
	}
	at := s.cfg.Advertised(c.session.Listener)
	b := kmsg.NewDescribeClusterResponseBroker()
	b.NodeID, b.Host, b.Port = s.cfg.NodeID, at.Host, at.Port
	resp.Brokers = append(resp.Brokers, b)
	return resp
}

// findCoordinator: this node coordinates every group and every transactional id.
func (s *Server) findCoordinator(c *call) kmsg.Response {
	req := c.req.(*kmsg.FindCoordinatorRequest)
	resp := kmsg.NewPtrFindCoordinatorResponse()
	resp.Version = req.Version
	resp.NodeID, resp.Port = -1, -1
	resp.Coordinators = []kmsg.FindCoordinatorResponseCoordinator{}
	at := s.cfg.Advertised(c.session.Listener)
	if req.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			r := kmsg.NewFindCoordinatorResponseCoordinator()
			r.Key, r.NodeID, r.Port = key, -1, -1
			if err := s.coordinates(c, req.CoordinatorType, key); err != nil {
				r.ErrorCode, r.ErrorMessage = code(err), text(err)
			} else {
				r.NodeID, r.Host, r.Port = s.cfg.NodeID, at.Host, at.Port
			}
			resp.Coordinators = append(resp.Coordinators, r)
		}
		return resp
	}
	if err := s.coordinates(c, req.CoordinatorType, req.CoordinatorKey); err != nil {
		resp.ErrorCode, resp.ErrorMessage = code(err), text(err)
		return resp
	}
	resp.NodeID, resp.Host, resp.Port = s.cfg.NodeID, at.Host, at.Port
	return resp
}

func (s *Server) coordinates(c *call, kind int8, key string) error {
	switch {
	case kind == 0 && !s.allow(c, Describe, GroupResource, key):
		return fmt.Errorf("group %q: %w", key, kerr.GroupAuthorizationFailed)
	case kind == 1 && !s.allow(c, Describe, TxnResource, key):
		return fmt.Errorf("transactional id %q: %w", key, kerr.TransactionalIDAuthorizationFailed)
	case kind != 0 && kind != 1:
		return fmt.Errorf("coordinators of type %d: %w", kind, kerr.InvalidRequest)
	}
	return nil
}

// describeLogDirs gives the size of each partition in the one log.
func (s *Server) describeLogDirs(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeLogDirsRequest)
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	resp.Version = req.Version
	resp.Dirs = []kmsg.DescribeLogDirsResponseDir{}
	if !s.allow(c, Describe, ClusterResource, clusterName) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp
	}
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.TotalBytes, dir.UsableBytes = s.cfg.DataDir, -1, -1
	dir.Topics = []kmsg.DescribeLogDirsResponseDirTopic{}
	add := func(t *topic.Topic, partitions []int32) {
		r := kmsg.NewDescribeLogDirsResponseDirTopic()
		r.Topic = t.Name
		r.Partitions = []kmsg.DescribeLogDirsResponseDirTopicPartition{}
		for _, n := range partitions {
			q, ok := t.Queue(n)
			if !ok {
				continue
			}
			bytes, err := s.st.Size(q)
			if err != nil {
				continue // deleted meanwhile
			}
			p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			p.Partition, p.Size = n, bytes
			r.Partitions = append(r.Partitions, p)
		}
		dir.Topics = append(dir.Topics, r)
	}
	if req.Topics == nil {
		for _, t := range s.topics.All() {
			add(t, every(t))
		}
	}
	for _, q := range req.Topics {
		if t := s.topics.Get(q.Topic); t != nil {
			add(t, q.Partitions)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}

func every(t *topic.Topic) []int32 {
	out := make([]int32, t.Partitions())
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// electLeaders: the leader is always this node.
func (s *Server) electLeaders(c *call) kmsg.Response {
	req := c.req.(*kmsg.ElectLeadersRequest)
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.Version = req.Version
	resp.Topics = []kmsg.ElectLeadersResponseTopic{}
	if !s.allow(c, Alter, ClusterResource, clusterName) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp
	}
	for _, q := range req.Topics { // null asks for those that need an election: none does
		r := kmsg.NewElectLeadersResponseTopic()
		r.Topic = q.Topic
		r.Partitions = []kmsg.ElectLeadersResponseTopicPartition{}
		for _, n := range q.Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition = n
			_, _, err := s.queueOf(c, Describe, q.Topic, n)
			if err == nil {
				err = fmt.Errorf("topic %q, partition %d: %w", q.Topic, n, kerr.ElectionNotNeeded)
			}
			p.ErrorCode, p.ErrorMessage = code(err), text(err)
			r.Partitions = append(r.Partitions, p)
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

// listPartitionReassignments: nothing ever moves on one node.
func (s *Server) listPartitionReassignments(c *call) kmsg.Response {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.Version = c.req.GetVersion()
	resp.Topics = []kmsg.ListPartitionReassignmentsResponseTopic{}
	if !s.allow(c, Describe, ClusterResource, clusterName) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
	}
	return resp
}
