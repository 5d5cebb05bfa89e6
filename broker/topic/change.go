package topic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

// Delete removes topics and their queues, together and durably. A topic that is gone already is an error for itself alone.
func (r *Registry) Delete(ctx context.Context, ids []ID) []error {
	errs := make([]error, len(ids))
	if err := r.lock(ctx); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer r.unlock()
	var g grouped
	gone := make([]*Topic, len(ids))
	for i, id := range ids {
		t := r.GetID(id)
		if t == nil || slices.Contains(gone[:i], t) {
			errs[i] = fmt.Errorf("deleting topic %s: %w", id, kerr.UnknownTopicID)
			continue
		}
		rec := t.Record
		rec.Deleted = true
		entries := []store.Entry{{Kind: commitlog.KindTopic, Payload: rec.encode(), Frees: true}}
		if t.fewQueues() {
			entries = store.AppendDrop(entries, t.queues()...)
		}
		g.add(r.st, i, entries)
		gone[i] = t
	}
	g.flush(r.st)
	var late []queue.ID
	g.wait(func(i int, err error) {
		if err != nil {
			errs[i] = fmt.Errorf("deleting topic %q: %w", gone[i].Name, err)
			return
		}
		r.remove(gone[i])
		if !gone[i].fewQueues() {
			late = append(late, gone[i].queues()...)
		}
	})
	r.dropQueues(late)
	for i, t := range gone {
		if t != nil && errs[i] == nil && r.deleted != nil {
			r.deleted(t)
		}
	}
	return errs
}

// fewQueues tells whether the topic's queues can be dropped in the append of its deletion.
func (t *Topic) fewQueues() bool { return t.ReadCount < together }

// Grow gives a topic more partitions. Fewer are refused: offsets and keys would lose their place.
func (r *Registry) Grow(ctx context.Context, name string, count int32, validateOnly bool) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	defer r.unlock()
	t := r.Get(name)
	switch {
	case t == nil:
		return fmt.Errorf("growing topic %q: %w", name, kerr.UnknownTopicOrPartition)
	case count <= t.ReadCount:
		return fmt.Errorf("growing topic %q: it has %d partitions and can't have %d: %w", name, t.ReadCount, count, kerr.InvalidPartitions)
	case count > MaxPartitions:
		return fmt.Errorf("growing topic %q: %d partitions, the limit is %d: %w", name, count, MaxPartitions, kerr.InvalidPartitions)
	case validateOnly:
		return nil
	}
	added := Range{First: t.ReadCount, Count: count - t.ReadCount, Queue: queue.ID(r.nextQueue())}
	grown := &Topic{Record: t.Record, Config: t.Config}
	grown.Ranges = append(slices.Clone(t.Ranges), added)
	grown.ReadCount, grown.WriteCount = count, count
	fresh := Record{Ranges: []Range{added}}
	entries := store.AppendOpen(nil, grown.Config.policy(), fresh.queues()...)
	if err := r.append(append(entries, store.Entry{Kind: commitlog.KindTopic, Payload: grown.encode()})); err != nil {
		return fmt.Errorf("growing topic %q: %w", name, err)
	}
	r.install(grown)
	return nil
}

// Alter replaces a topic's own settings by what change makes of a copy of them. Settings that change sets are checked;
// those that stood before stay as they are (I5).
func (r *Registry) Alter(ctx context.Context, name string, validateOnly bool, change func(own map[string]string) error) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	defer r.unlock()
	t := r.Get(name)
	if t == nil {
		return fmt.Errorf("changing settings of topic %q: %w", name, kerr.UnknownTopicOrPartition)
	}
	own := maps.Clone(t.Settings)
	if err := change(own); err != nil {
		return fmt.Errorf("changing settings of topic %q: %w", name, err)
	}
	for k, v := range own {
		if old, had := t.Settings[k]; had && old == v {
			continue
		}
		if err := CheckSetting(k, v); err != nil {
			return fmt.Errorf("changing settings of topic %q: %w", name, err)
		}
	}
	if validateOnly || maps.Equal(own, t.Settings) {
		return nil
	}
	changed := &Topic{Record: t.Record, Config: r.defaults.resolve(own)}
	changed.Settings = own
	var entries []store.Entry
	if changed.Config.policy() != t.Config.policy() {
		entries = store.AppendOpen(nil, changed.Config.policy(), t.queues()...)
	}
	if err := r.append(append(entries, store.Entry{Kind: commitlog.KindTopic, Payload: changed.encode()})); err != nil {
		return fmt.Errorf("changing settings of topic %q: %w", name, err)
	}
	r.install(changed)
	return nil
}

// Default gives the value a key has on a topic that does not set it.
func (r *Registry) Default(k *Key) string {
	v, _ := r.defaults.Get(k)
	return v
}
