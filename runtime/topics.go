package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
)

// topics makes a source's topics: by its topic.creation.* groups (KIP-158), else by the broker's own ways.
type topics struct {
	clients *kafka.Clients
	admin   *kadm.Client
	groups  []topicGroup
}

type topicGroup struct {
	include, exclude []*regexp.Regexp // both nil: every topic
	spec             kafka.TopicSpec
}

const creation = "topic.creation."

func newTopics(cfg map[string]string, enabled bool, clients *kafka.Clients, p *kgo.Client) (*topics, error) {
	t := &topics{clients: clients, admin: kadm.NewClient(p)}
	own := under(cfg, creation)
	if !enabled || len(own) == 0 {
		return t, nil
	}
	def, err := groupOf(own, "default", nil)
	if err != nil {
		return nil, err
	}
	for _, name := range kafka.SplitList(own["groups"]) {
		g, err := groupOf(own, name, &def.spec)
		if err != nil {
			return nil, err
		}
		t.groups = append(t.groups, *g)
	}
	t.groups = append(t.groups, *def)
	return t, nil
}

func groupOf(own map[string]string, name string, fallback *kafka.TopicSpec) (*topicGroup, error) {
	g := &topicGroup{spec: kafka.TopicSpec{Settings: map[string]string{}}}
	keys := under(own, name+".")
	number := func(key string) (int64, error) {
		v, ok := keys[key]
		if !ok {
			if fallback == nil {
				return 0, fmt.Errorf(`Missing required configuration "%s%s.%s" which has no default value: it is needed as soon as any %s key is set`, creation, name, key, creation)
			}
			if key == "partitions" {
				return int64(fallback.Partitions), nil
			}
			return int64(fallback.Replication), nil
		}
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n == 0 || n < -1 {
			return 0, fmt.Errorf("Invalid value %s for configuration %s%s.%s: must be a positive number, or -1 for the broker's default", v, creation, name, key)
		}
		return n, nil
	}
	parts, err := number("partitions")
	if err != nil {
		return nil, err
	}
	rf, err := number("replication.factor")
	if err != nil {
		return nil, err
	}
	g.spec.Partitions, g.spec.Replication = int32(parts), int16(rf)
	for k, v := range keys {
		switch k {
		case "partitions", "replication.factor", "include", "exclude":
		default:
			g.spec.Settings[k] = v
		}
	}
	if name == "default" {
		return g, nil
	}
	if g.include, err = patterns(keys["include"]); err == nil {
		g.exclude, err = patterns(keys["exclude"])
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", creation, name, err)
	}
	if g.include == nil {
		g.include = []*regexp.Regexp{}
	}
	return g, nil
}

func patterns(list string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, p := range kafka.SplitList(list) {
		re, err := regexp.Compile("^(?:" + p + ")$")
		if err != nil {
			return nil, err
		}
		out = append(out, re)
	}
	return out, nil
}

func (g *topicGroup) takes(topic string) bool {
	match := func(res []*regexp.Regexp) bool {
		for _, re := range res {
			if re.MatchString(topic) {
				return true
			}
		}
		return false
	}
	return g.include == nil || match(g.include) && !match(g.exclude)
}

// Ensure makes a topic that a raw route or a creation group describes.
func (t *topics) Ensure(ctx context.Context, topic string, settings map[string]string) error {
	if settings != nil {
		spec := kafka.TopicSpec{Name: topic, Settings: maps.Clone(settings)}
		if p, err := strconv.ParseInt(settings["partitions"], 10, 32); err == nil {
			spec.Partitions = int32(p)
		}
		if rf, err := strconv.ParseInt(settings["replication.factor"], 10, 16); err == nil {
			spec.Replication = int16(rf)
		}
		delete(spec.Settings, "partitions")
		delete(spec.Settings, "replication.factor")
		_, err := kafka.EnsureTopic(ctx, t.admin, spec)
		return err
	}
	for _, g := range t.groups {
		if g.takes(topic) {
			spec := g.spec
			spec.Name = topic
			_, err := kafka.EnsureTopic(ctx, t.admin, spec)
			return err
		}
	}
	return nil
}

// Read hands out a topic's records from its start: to its end as it is now, or on until ctx ends. each is called with
// nil when there is nothing more for the moment. A missing topic is an empty one.
func (t *topics) Read(ctx context.Context, topic string, follow bool, each func(*kgo.Record) error) error {
	ends, err := t.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", topic, err)
	}
	left := 0
	want := map[int32]int64{}
	starts, err := t.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", topic, err)
	}
	ends.Each(func(o kadm.ListedOffset) {
		if s, ok := starts.Lookup(o.Topic, o.Partition); ok && o.Err == nil && s.Offset < o.Offset {
			want[o.Partition] = o.Offset
			left++
		}
	})
	if left == 0 && !follow {
		return each(nil)
	}
	cl, err := t.clients.Internal("read-"+topic, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer cl.Close()
	for follow || len(want) > 0 {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed error
		fs.EachError(func(_ string, p int32, err error) {
			if !kafka.Passing(err) {
				failed = errors.Join(failed, fmt.Errorf("reading topic %s, partition %d: %w", topic, p, err))
			}
		})
		fs.EachRecord(func(r *kgo.Record) {
			if failed == nil && !r.Attrs.IsControl() {
				failed = each(r)
			}
			if end, ok := want[r.Partition]; ok && r.Offset+1 >= end {
				delete(want, r.Partition)
			}
		})
		if failed == nil {
			failed = each(nil)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}
