package kafka

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/topic"
)

// pagePartitions is the most partitions one answer to DescribeTopicPartitions holds, as in Kafka
// (max.request.partition.size.limit).
const pagePartitions = 2000

// describeTopicPartitions describes topics in pages (KIP-966), so that no answer grows with the number of topics. Topics
// come by name; the cursor names the first partition of the next page.
func (s *Server) describeTopicPartitions(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeTopicPartitionsRequest)
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	resp.Version = req.Version
	resp.Topics = []kmsg.DescribeTopicPartitionsResponseTopic{}
	room := int32(pagePartitions)
	if req.ResponsePartitionLimit > 0 {
		room = min(room, req.ResponsePartitionLimit)
	}
	for _, name := range s.pageNames(c, req) {
		first := int32(0)
		if req.Cursor != nil && req.Cursor.Topic == name {
			first = max(req.Cursor.Partition, 0)
		}
		if room == 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: first}
			return resp
		}
		t, e := s.describable(c, name)
		if e != errNone {
			resp.Topics = append(resp.Topics, pageError(name, e))
			continue
		}
		end := t.Partitions()
		if end-first > room {
			end = first + room
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: end}
		}
		resp.Topics = append(resp.Topics, s.pageTopic(c, t, first, end))
		if resp.NextCursor != nil {
			return resp
		}
		room -= max(end-first, 0)
	}
	return resp
}

// pageNames lists the topics asked for from the cursor on; none asked for means all the session may see.
func (s *Server) pageNames(c *call, req *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for _, q := range req.Topics {
		names = append(names, q.Topic)
	}
	if len(req.Topics) == 0 {
		for _, t := range s.topics.All() {
			if s.allow(c, Describe, TopicResource, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor != nil {
		from, _ := slices.BinarySearch(names, req.Cursor.Topic)
		names = names[from:]
	}
	return names
}

func (s *Server) describable(c *call, name string) (*topic.Topic, int16) {
	if !s.allow(c, Describe, TopicResource, name) {
		return nil, kerr.TopicAuthorizationFailed.Code
	}
	if t := s.topics.Get(name); t != nil {
		return t, errNone
	}
	if err := topic.CheckName(name); err != nil {
		return nil, code(err)
	}
	return nil, errUnknownPartition
}

func pageError(name string, e int16) kmsg.DescribeTopicPartitionsResponseTopic {
	r := kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.ErrorCode, r.Topic = e, &name
	r.Partitions = []kmsg.DescribeTopicPartitionsResponseTopicPartition{}
	return r
}

func (s *Server) pageTopic(c *call, t *topic.Topic, first, end int32) kmsg.DescribeTopicPartitionsResponseTopic {
	r := pageError(t.Name, errNone)
	r.TopicID = t.ID
	r.AuthorizedOperations = s.topicOperations(c, t.Name)
	replicas, none := []int32{s.cfg.NodeID}, []int32{} // shared: nobody writes to them
	for i := first; i < end; i++ {
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition, p.LeaderID, p.LeaderEpoch = i, s.cfg.NodeID, s.leaderEpoch(t, i)
		p.Replicas, p.ISR, p.OfflineReplicas = replicas, replicas, none
		p.EligibleLeaderReplicas, p.LastKnownELR = none, none // null makes Java's admin fail
		r.Partitions = append(r.Partitions, p)
	}
	return r
}

// listConfigResources names what has settings (KIP-1142): topics and this broker. Groups and client metrics have none here.
func (s *Server) listConfigResources(c *call) kmsg.Response {
	req := c.req.(*kmsg.ListConfigResourcesRequest)
	resp := kmsg.NewPtrListConfigResourcesResponse()
	resp.Version = req.Version
	resp.ConfigResources = []kmsg.ListConfigResourcesResponseConfigResource{}
	if !s.allow(c, DescribeConfigs, ClusterResource, clusterName) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp
	}
	types := req.ResourceTypes
	switch {
	case req.Version == 0:
		types = []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}
	case len(types) == 0:
		types = []int8{int8(kmsg.ConfigResourceTypeTopic), int8(kmsg.ConfigResourceTypeBroker)}
	}
	add := func(t int8, name string) {
		r := kmsg.NewListConfigResourcesResponseConfigResource()
		r.Type, r.Name = t, name
		resp.ConfigResources = append(resp.ConfigResources, r)
	}
	for _, t := range types {
		switch kmsg.ConfigResourceType(t) {
		case kmsg.ConfigResourceTypeTopic:
			for _, at := range s.topics.All() {
				add(t, at.Name)
			}
		case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
			add(t, strconv.Itoa(int(s.cfg.NodeID)))
		case kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		default:
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			resp.ConfigResources = []kmsg.ListConfigResourcesResponseConfigResource{}
			return resp
		}
	}
	return resp
}
