package topic

import (
	"github.com/penstockio/penstock/broker/queue"
)

// Topic is one topic at one moment: it never changes; a change makes another one under the same id.
type Topic struct {
	Record
	Config Config
}

// Partitions is the number of partitions clients see.
func (t *Topic) Partitions() int32 { return t.ReadCount }

// Queue is the queue behind a partition; false if the topic has no such partition.
func (t *Topic) Queue(partition int32) (queue.ID, bool) {
	if partition < 0 || partition >= t.ReadCount {
		return 0, false
	}
	for _, g := range t.Ranges {
		if partition >= g.First && partition-g.First < g.Count {
			return g.Queue + queue.ID(partition-g.First), true
		}
	}
	return 0, false
}

// queues lists every queue the topic owns.
func (r *Record) queues() []queue.ID {
	var ids []queue.ID
	for _, g := range r.Ranges {
		for i := range g.Count {
			ids = append(ids, g.Queue+queue.ID(i))
		}
	}
	return ids
}

// Setting is one setting of a topic as DescribeConfigs shows it.
type Setting struct {
	Key    *Key // nil: a name this version does not know
	Name   string
	Value  string
	Own    bool // set on the topic itself
	Static bool // given by the broker's settings
}

// Settings lists all settings of a topic with where each comes from, in the table's order, unknown ones last.
func (r *Registry) Settings(own map[string]string) []Setting {
	out := make([]Setting, 0, len(Keys))
	for i := range Keys {
		k := &Keys[i]
		s := Setting{Key: k, Name: k.Name}
		if v, ok := own[k.Name]; ok {
			s.Value, s.Own = v, true
		} else {
			s.Value, s.Static = r.defaults.Get(k)
		}
		out = append(out, s)
	}
	for name, v := range own {
		if keysByName[name] == nil {
			out = append(out, Setting{Name: name, Value: v, Own: true})
		}
	}
	return out
}
