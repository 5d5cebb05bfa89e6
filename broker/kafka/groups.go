package kafka

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/topic"
)

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// groupAllowed gives the error code of a session that may not do something with a group.
func (s *Server) groupAllowed(c *call, op Operation, id string) error {
	if !s.allow(c, op, GroupResource, id) {
		return fmt.Errorf("group %q: %w", id, kerr.GroupAuthorizationFailed)
	}
	return nil
}

func (s *Server) joinGroup(c *call) kmsg.Response {
	req := c.req.(*kmsg.JoinGroupRequest)
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = req.Version
	resp.Generation, resp.MemberID = -1, req.MemberID
	resp.Protocol = new(string)
	resp.Members = []kmsg.JoinGroupResponseMember{}
	if err := s.groupAllowed(c, Read, req.Group); err != nil {
		resp.ErrorCode = code(err)
		return resp
	}
	r := group.JoinRequest{
		Group:        req.Group,
		MemberID:     req.MemberID,
		Instance:     value(req.InstanceID),
		ProtocolType: req.ProtocolType,
		Session:      millis(req.SessionTimeoutMillis),
		Rebalance:    millis(req.RebalanceTimeoutMillis),
		NeedsID:      req.Version >= 4, // older clients would wait for ever on MEMBER_ID_REQUIRED
		CanSkip:      req.Version >= 9,
		Client:       client(c),
	}
	if req.Version == 0 {
		r.Rebalance = r.Session
	}
	for _, p := range req.Protocols {
		r.Protocols = append(r.Protocols, group.Protocol{Name: p.Name, Metadata: append([]byte{}, p.Metadata...)})
	}
	res := s.groups.Join(c.ctx, r)
	resp.MemberID = res.MemberID
	if res.Err != nil {
		resp.ErrorCode = code(res.Err)
		return resp
	}
	resp.Generation, resp.LeaderID, resp.SkipAssignment = res.Generation, res.Leader, res.Skip
	resp.ProtocolType, resp.Protocol = &res.ProtocolType, &res.Protocol
	for _, m := range res.Members {
		o := kmsg.NewJoinGroupResponseMember()
		o.MemberID, o.ProtocolMetadata = m.ID, m.Metadata
		if m.Instance != "" {
			o.InstanceID = &m.Instance
		}
		resp.Members = append(resp.Members, o)
	}
	return resp
}

// client says who joins, as DescribeGroups shows it.
func client(c *call) group.Client {
	host := c.session.Address
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return group.Client{ID: c.session.ClientID(), Host: "/" + host, Memory: c.session.Memory}
}

func (s *Server) syncGroup(c *call) kmsg.Response {
	req := c.req.(*kmsg.SyncGroupRequest)
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version = req.Version
	resp.MemberAssignment = []byte{}
	if err := s.groupAllowed(c, Read, req.Group); err != nil {
		resp.ErrorCode = code(err)
		return resp
	}
	r := group.SyncRequest{
		Group:        req.Group,
		Generation:   req.Generation,
		MemberID:     req.MemberID,
		Instance:     value(req.InstanceID),
		ProtocolType: req.ProtocolType,
		Protocol:     req.Protocol,
		Assignments:  make(map[string][]byte, len(req.GroupAssignment)),
	}
	for _, a := range req.GroupAssignment {
		r.Assignments[a.MemberID] = append([]byte{}, a.MemberAssignment...)
	}
	res := s.groups.Sync(c.ctx, r)
	if resp.ErrorCode = code(res.Err); res.Err != nil {
		return resp
	}
	resp.ProtocolType, resp.Protocol = &res.ProtocolType, &res.Protocol
	if res.Assignment != nil {
		resp.MemberAssignment = res.Assignment
	}
	return resp
}

func (s *Server) heartbeat(c *call) kmsg.Response {
	req := c.req.(*kmsg.HeartbeatRequest)
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.Version = req.Version
	err := s.groupAllowed(c, Read, req.Group)
	if err == nil {
		err = s.groups.Heartbeat(req.Group, req.Generation, req.MemberID, value(req.InstanceID))
	}
	resp.ErrorCode = code(err)
	return resp
}

func (s *Server) leaveGroup(c *call) kmsg.Response {
	req := c.req.(*kmsg.LeaveGroupRequest)
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = req.Version
	resp.Members = []kmsg.LeaveGroupResponseMember{}
	if err := s.groupAllowed(c, Read, req.Group); err != nil {
		resp.ErrorCode = code(err)
		return resp
	}
	var who []group.Leaver
	if req.Version < 3 {
		who = append(who, group.Leaver{MemberID: req.MemberID})
	}
	for _, m := range req.Members {
		who = append(who, group.Leaver{MemberID: m.MemberID, Instance: value(m.InstanceID)})
	}
	errs, err := s.groups.Leave(req.Group, who)
	resp.ErrorCode = code(err)
	if err != nil {
		return resp
	}
	if req.Version < 3 {
		resp.ErrorCode = code(errs[0])
		return resp
	}
	for i, m := range req.Members {
		o := kmsg.NewLeaveGroupResponseMember()
		o.MemberID, o.InstanceID, o.ErrorCode = m.MemberID, m.InstanceID, code(errs[i])
		resp.Members = append(resp.Members, o)
	}
	return resp
}

func (s *Server) describeGroups(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeGroupsRequest)
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Version = req.Version
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, 0, len(req.Groups))
	for _, id := range req.Groups {
		r := kmsg.NewDescribeGroupsResponseGroup()
		r.Group = id
		r.AuthorizedOperations = noAuthOperations
		r.Members = []kmsg.DescribeGroupsResponseGroupMember{}
		if err := s.groupAllowed(c, Describe, id); err != nil {
			r.ErrorCode, r.ErrorMessage = code(err), text(err)
			resp.Groups = append(resp.Groups, r)
			continue
		}
		d, ok := s.groups.Describe(id)
		if !ok && req.Version >= 6 { // older clients are told "Dead" without an error (KIP-1043)
			err := fmt.Errorf("group %q: %w", id, kerr.GroupIDNotFound)
			r.ErrorCode, r.ErrorMessage = code(err), text(err)
		}
		r.State, r.ProtocolType, r.Protocol = string(d.State), d.ProtocolType, d.Protocol
		if req.IncludeAuthorizedOperations {
			r.AuthorizedOperations = s.groupOperations(c, id)
		}
		for _, m := range d.Members {
			o := kmsg.NewDescribeGroupsResponseGroupMember()
			o.MemberID, o.ClientID, o.ClientHost = m.ID, m.ClientID, m.Host
			o.ProtocolMetadata, o.MemberAssignment = m.Metadata, m.Assignment
			if m.Instance != "" {
				o.InstanceID = &m.Instance
			}
			r.Members = append(r.Members, o)
		}
		resp.Groups = append(resp.Groups, r)
	}
	return resp
}

func (s *Server) listGroups(c *call) kmsg.Response {
	req := c.req.(*kmsg.ListGroupsRequest)
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = req.Version
	resp.Groups = []kmsg.ListGroupsResponseGroup{}
	classic := len(req.TypesFilter) == 0
	for _, t := range req.TypesFilter {
		classic = classic || strings.EqualFold(t, "classic")
	}
	if !classic {
		return resp
	}
	for _, g := range s.groups.List(req.StatesFilter) {
		if !s.allow(c, Describe, GroupResource, g.ID) {
			continue
		}
		r := kmsg.NewListGroupsResponseGroup()
		r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.ID, g.ProtocolType, string(g.State), "classic"
		resp.Groups = append(resp.Groups, r)
	}
	return resp
}

func (s *Server) deleteGroups(c *call) kmsg.Response {
	req := c.req.(*kmsg.DeleteGroupsRequest)
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = req.Version
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, 0, len(req.Groups))
	for _, id := range req.Groups {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = id
		err := s.groupAllowed(c, Delete, id)
		if err == nil {
			err = s.groups.Delete(id)
		}
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		resp.Groups = append(resp.Groups, r)
	}
	return resp
}

// offsetDelete drops committed offsets of partitions a group no longer reads (KIP-496).
func (s *Server) offsetDelete(c *call) kmsg.Response {
	req := c.req.(*kmsg.OffsetDeleteRequest)
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	resp.Topics = []kmsg.OffsetDeleteResponseTopic{}
	if err := s.groupAllowed(c, Delete, req.Group); err != nil {
		resp.ErrorCode = code(err)
		return resp
	}
	var entries []group.OffsetEntry
	var names []string
	type place struct{ topic, partition int }
	var at []place
	for i, q := range req.Topics {
		r := kmsg.NewOffsetDeleteResponseTopic()
		r.Topic = q.Topic
		r.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(q.Partitions))
		t := s.topics.Get(q.Topic)
		for j, qp := range q.Partitions {
			r.Partitions[j] = kmsg.NewOffsetDeleteResponseTopicPartition()
			r.Partitions[j].Partition = qp.Partition
			switch {
			case !s.allow(c, Read, TopicResource, q.Topic):
				r.Partitions[j].ErrorCode = kerr.TopicAuthorizationFailed.Code
			case t == nil || qp.Partition < 0 || qp.Partition >= t.ReadCount:
				r.Partitions[j].ErrorCode = errUnknownPartition
			default:
				entries = append(entries, group.OffsetEntry{Topic: t.ID, Partition: qp.Partition})
				names, at = append(names, t.Name), append(at, place{i, j})
			}
		}
		resp.Topics = append(resp.Topics, r)
	}
	errs, err := s.groups.DeleteOffsets(req.Group, entries, names)
	if err != nil {
		resp.ErrorCode = code(err)
		resp.Topics = []kmsg.OffsetDeleteResponseTopic{}
		return resp
	}
	for i, e := range errs {
		resp.Topics[at[i].topic].Partitions[at[i].partition].ErrorCode = code(e)
	}
	return resp
}

// topicByEither finds a topic by id where the version has ids, else by name.
func (s *Server) topicByEither(byID bool, id topic.ID, name string) (*topic.Topic, error) {
	if byID {
		if t := s.topics.GetID(id); t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("topic %s: %w", id, kerr.UnknownTopicID)
	}
	if t := s.topics.Get(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("topic %q: %w", name, kerr.UnknownTopicOrPartition)
}
