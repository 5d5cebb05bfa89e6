package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/topic"
)

// source is where a setting comes from, as DescribeConfigs says it. Java clients throw on an id they don't know.
func source(s topic.Setting) kmsg.ConfigSource {
	switch {
	case s.Own:
		return kmsg.ConfigSourceDynamicTopicConfig
	case s.Static:
		return kmsg.ConfigSourceStaticBrokerConfig
	}
	return kmsg.ConfigSourceDefaultConfig
}

func (s *Server) describeConfigs(c *call) kmsg.Response {
	req := c.req.(*kmsg.DescribeConfigsRequest)
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Version = req.Version
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, 0, len(req.Resources))
	for i := range req.Resources {
		q := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = q.ResourceType, q.ResourceName
		all, err := s.describeResource(c, q, req)
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		r.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		for _, cfg := range all {
			if len(q.ConfigNames) == 0 || slices.Contains(q.ConfigNames, cfg.Name) {
				r.Configs = append(r.Configs, cfg)
			}
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

func (s *Server) describeResource(c *call, q *kmsg.DescribeConfigsRequestResource, req *kmsg.DescribeConfigsRequest) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	switch q.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !s.allow(c, DescribeConfigs, TopicResource, q.ResourceName) {
			return nil, fmt.Errorf("describing topic %q: %w", q.ResourceName, kerr.TopicAuthorizationFailed)
		}
		t := s.topics.Get(q.ResourceName)
		if t == nil {
			return nil, fmt.Errorf("describing topic %q: %w", q.ResourceName, kerr.UnknownTopicOrPartition)
		}
		return s.topicConfigs(t, req), nil
	case kmsg.ConfigResourceTypeBroker:
		if !s.allow(c, DescribeConfigs, ClusterResource, clusterName) {
			return nil, fmt.Errorf("describing broker %q: %w", q.ResourceName, kerr.ClusterAuthorizationFailed)
		}
		if !s.isThisNode(q.ResourceName) {
			return nil, fmt.Errorf("describing broker %q: this is broker %d: %w", q.ResourceName, s.cfg.NodeID, kerr.InvalidRequest)
		}
		return s.brokerConfigs(req), nil
	case kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		return nil, nil
	}
	return nil, fmt.Errorf("resources of type %d have no settings: %w", q.ResourceType, kerr.InvalidRequest)
}

func (s *Server) topicConfigs(t *topic.Topic, req *kmsg.DescribeConfigsRequest) []kmsg.DescribeConfigsResponseResourceConfig {
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, set := range s.topics.Settings(t.Settings) {
		r := kmsg.NewDescribeConfigsResponseResourceConfig()
		r.Name, r.Value, r.Source = set.Name, &set.Value, source(set)
		r.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
		r.ConfigType = kmsg.ConfigTypeString
		if set.Key != nil {
			r.ConfigType = kmsg.ConfigType(set.Key.Type)
			if req.IncludeDocumentation {
				r.Documentation = &set.Key.Doc
			}
			if req.IncludeSynonyms {
				r.ConfigSynonyms = s.synonyms(set)
			}
		}
		out = append(out, r)
	}
	return out
}

// synonyms lists where a topic setting's value may come from, the one that counts first.
func (s *Server) synonyms(set topic.Setting) []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	var out []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym
	add := func(name, value string, src kmsg.ConfigSource) {
		y := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		y.Name, y.Value, y.Source = name, &value, src
		out = append(out, y)
	}
	if set.Own {
		add(set.Name, set.Value, kmsg.ConfigSourceDynamicTopicConfig)
	}
	name := set.Key.Broker
	if name == "" {
		name = set.Name
	}
	if v := s.topics.Default(set.Key); v != set.Key.Default {
		add(name, v, kmsg.ConfigSourceStaticBrokerConfig)
	}
	add(name, set.Key.Default, kmsg.ConfigSourceDefaultConfig)
	return out
}

func (s *Server) brokerConfigs(req *kmsg.DescribeConfigsRequest) []kmsg.DescribeConfigsResponseResourceConfig {
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, set := range s.cfg.Settings {
		r := kmsg.NewDescribeConfigsResponseResourceConfig()
		r.Name, r.Value, r.ReadOnly = set.Name, &set.Value, true
		r.Source = kmsg.ConfigSourceDefaultConfig
		if set.Set {
			r.Source = kmsg.ConfigSourceStaticBrokerConfig
		}
		r.ConfigType = kmsg.ConfigType(set.Type)
		r.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
		if req.IncludeDocumentation {
			r.Documentation = &set.Doc
		}
		out = append(out, r)
	}
	return out
}

func (s *Server) alterConfigs(c *call) kmsg.Response {
	req := c.req.(*kmsg.AlterConfigsRequest)
	resp := kmsg.NewPtrAlterConfigsResponse()
	resp.Version = req.Version
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, 0, len(req.Resources))
	for i := range req.Resources {
		q := &req.Resources[i]
		r := kmsg.NewAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = q.ResourceType, q.ResourceName
		err := s.alterResource(c, q.ResourceType, q.ResourceName, req.ValidateOnly, func(own map[string]string) error {
			clear(own) // AlterConfigs replaces the whole set
			for _, cfg := range q.Configs {
				if cfg.Value == nil {
					return fmt.Errorf("setting %q is null: %w", cfg.Name, kerr.InvalidRequest)
				}
				own[cfg.Name] = *cfg.Value
			}
			return nil
		})
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

func (s *Server) incrementalAlterConfigs(c *call) kmsg.Response {
	req := c.req.(*kmsg.IncrementalAlterConfigsRequest)
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	resp.Version = req.Version
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, 0, len(req.Resources))
	for i := range req.Resources {
		q := &req.Resources[i]
		r := kmsg.NewIncrementalAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = q.ResourceType, q.ResourceName
		err := s.alterResource(c, q.ResourceType, q.ResourceName, req.ValidateOnly, func(own map[string]string) error {
			return s.incremental(own, q.Configs)
		})
		r.ErrorCode, r.ErrorMessage = code(err), text(err)
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

// incremental applies KIP-339 operations to a topic's own settings.
func (s *Server) incremental(own map[string]string, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	seen := map[string]bool{}
	for _, op := range ops {
		if seen[op.Name] {
			return fmt.Errorf("setting %q is named twice: %w", op.Name, kerr.InvalidRequest)
		}
		seen[op.Name] = true
		k := topic.LookupKey(op.Name)
		if op.Op == kmsg.IncrementalAlterConfigOpDelete {
			delete(own, op.Name) // also of a name nobody knows, as Kafka has it: then it is not set afterwards either
			continue
		}
		if op.Value == nil {
			return fmt.Errorf("setting %q is null: %w", op.Name, kerr.InvalidRequest)
		}
		if op.Op == kmsg.IncrementalAlterConfigOpSet {
			own[op.Name] = *op.Value
			continue
		}
		if k == nil || k.Type != topic.List {
			return fmt.Errorf("setting %q is no list, so nothing can be appended or subtracted: %w", op.Name, kerr.InvalidConfig)
		}
		cur, has := own[op.Name]
		if !has {
			cur = s.topics.Default(k)
		}
		own[op.Name] = changeList(cur, *op.Value, op.Op == kmsg.IncrementalAlterConfigOpAppend)
	}
	return nil
}

// changeList adds the items of change to a comma-separated list, or takes them out of it.
func changeList(list, change string, add bool) string {
	items := splitList(list)
	for _, v := range splitList(change) {
		i := slices.Index(items, v)
		switch {
		case add && i < 0:
			items = append(items, v)
		case !add && i >= 0:
			items = slices.Delete(items, i, i+1)
		}
	}
	return strings.Join(items, ",")
}

func splitList(s string) []string {
	var out []string
	for _, v := range strings.Split(s, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func (s *Server) alterResource(c *call, typ kmsg.ConfigResourceType, name string, validateOnly bool, change func(map[string]string) error) error {
	switch typ {
	case kmsg.ConfigResourceTypeTopic:
		if !s.allow(c, AlterConfigs, TopicResource, name) {
			return fmt.Errorf("changing settings of topic %q: %w", name, kerr.TopicAuthorizationFailed)
		}
		if err := s.topics.Alter(c.ctx, name, validateOnly, change); err != nil {
			return err
		}
		if !validateOnly {
			s.log.Info("topic settings changed", "topic", name, "client", c.session.ClientID())
		}
		return nil
	case kmsg.ConfigResourceTypeBroker:
		if !s.allow(c, AlterConfigs, ClusterResource, clusterName) {
			return fmt.Errorf("changing settings of the broker: %w", kerr.ClusterAuthorizationFailed)
		}
		return fmt.Errorf("the broker's settings are read at start: change them in its configuration and restart it: %w", kerr.InvalidConfig)
	}
	return fmt.Errorf("resources of type %d have no settings: %w", typ, kerr.InvalidRequest)
}
