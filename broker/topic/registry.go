package topic

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

// MaxPartitions bounds the partitions of one topic and of one request, so that a slip of the hand does not use up queue ids.
const MaxPartitions = 1_000_000

// Store is what the registry needs of the store.
type Store interface {
	Append(s store.Safety, entries ...store.Entry) *store.Ticket
	DropAll(queues ...queue.ID) error
	Register(m store.Machine, p index.Prefix, kinds ...commitlog.Kind)
}

// Registry holds all topics. Reads are for any number of goroutines and never wait for the log; decisions (Create,
// Delete, Grow, Alter) are made one at a time and return when they are durable.
type Registry struct {
	st       Store
	log      *slog.Logger
	defaults Defaults
	decider  chan struct{} // holds one token while nobody decides (I4)

	mu      sync.RWMutex
	byName  map[string]*Topic
	byID    map[ID]*Topic
	looks   map[string]string // collision key -> name
	nextQ   uint64            // next queue id (I1)
	live    bool              // the replay is over: memory follows decisions, not frames
	dropped []queue.ID        // of topics deleted in the log that was replayed: their drops may be missing
	deleted func(*Topic)
}

// New makes a registry and registers its machine with the store, which must not have been started.
func New(st Store, defaults Defaults, log *slog.Logger, reg prometheus.Registerer) *Registry {
	r := &Registry{
		st:       st,
		log:      log.With("component", "topic"),
		defaults: defaults,
		decider:  make(chan struct{}, 1),
		byName:   map[string]*Topic{},
		byID:     map[ID]*Topic{},
		looks:    map[string]string{},
		nextQ:    1,
	}
	registerMetrics(reg, r)
	r.decider <- struct{}{}
	st.Register(applier{r}, index.PrefixTopic, commitlog.KindTopic)
	return r
}

// Started tells the registry that the store's replay is over. It finishes deletions that a crash cut short.
func (r *Registry) Started() {
	r.mu.Lock()
	r.live = true
	dropped := r.dropped
	r.dropped = nil
	r.mu.Unlock()
	r.dropQueues(dropped)
}

// OnDelete sets a function that is called after a topic's deletion is durable. Set it before the first decision.
func (r *Registry) OnDelete(f func(*Topic)) { r.deleted = f }

// Get finds a topic by name; nil if there is none.
func (r *Registry) Get(name string) *Topic {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byName[name]
}

// GetID finds a topic by id; nil if there is none.
func (r *Registry) GetID(id ID) *Topic {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// All lists the topics by name.
func (r *Registry) All() []*Topic {
	r.mu.RLock()
	out := slices.Collect(maps.Values(r.byName))
	r.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// lock takes the decider's slot.
func (r *Registry) lock(ctx context.Context) error {
	select {
	case <-r.decider:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for earlier topic changes: %w", context.Cause(ctx))
	}
}

func (r *Registry) unlock() { r.decider <- struct{}{} }

// Spec asks for a topic.
type Spec struct {
	Name       string
	Partitions int32
	Settings   map[string]string
}

// Created is the answer to one Spec.
type Created struct {
	Topic *Topic // also when only validated (then without queues)
	Err   error  // wraps a *kerr.Error where Kafka has a code
}

// Create makes the topics that can be made, with their queues, together and durably (I2), and says for each what became
// of it.
func (r *Registry) Create(ctx context.Context, specs []Spec, validateOnly bool) []Created {
	out := make([]Created, len(specs))
	if err := r.lock(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	defer r.unlock()
	next := r.nextQueue()
	taken := map[string]string{}
	var g grouped
	for i, s := range specs {
		if err := r.checkSpec(s, taken); err != nil {
			out[i].Err = err
			continue
		}
		if next+uint64(s.Partitions) > math.MaxUint32 {
			out[i].Err = fmt.Errorf("creating topic %q: no queue ids are left: %w", s.Name, kerr.PolicyViolation)
			continue
		}
		taken[collisionKey(s.Name)] = s.Name
		t := r.newTopic(s, queue.ID(next))
		out[i].Topic = t
		if validateOnly {
			continue
		}
		next += uint64(s.Partitions)
		g.add(r.st, i, append(store.AppendOpen(nil, t.Config.policy(), t.queues()...), store.Entry{Kind: commitlog.KindTopic, Payload: t.encode()}))
	}
	g.flush(r.st)
	g.wait(func(i int, err error) {
		if err != nil {
			out[i] = Created{Err: fmt.Errorf("creating topic %q: %w", specs[i].Name, err)}
			return
		}
		r.install(out[i].Topic)
	})
	return out
}

// grouped gathers the frames of topics into appends.
type grouped struct {
	entries []store.Entry
	topics  []int // whose frames entries are
	parts   []part
}

type part struct {
	ticket *store.Ticket
	topics []int
}

// together bounds the frames of one append: the log refuses a group above a quarter of a segment.
const together = 4096

// add takes the frames of one topic, which stay together.
func (g *grouped) add(st Store, i int, entries []store.Entry) {
	if n := len(g.entries); n > 0 && n+len(entries) > together {
		g.flush(st)
	}
	g.entries = append(g.entries, entries...)
	g.topics = append(g.topics, i)
}

// flush appends what is gathered; nobody waits for it yet, so that all appends of a request share the log's syncs.
func (g *grouped) flush(st Store) {
	if len(g.entries) > 0 {
		g.parts = append(g.parts, part{st.Append(store.Durable, g.entries...), g.topics})
		g.entries, g.topics = nil, nil
	}
}

// wait tells what became of each topic, without the caller's context: that must be known before the next decision (I4).
func (g *grouped) wait(each func(i int, err error)) {
	for _, p := range g.parts {
		<-p.ticket.Done()
		for _, i := range p.topics {
			each(i, p.ticket.Err())
		}
	}
}

func (r *Registry) newTopic(s Spec, first queue.ID) *Topic {
	t := &Topic{Record: Record{
		ID:         newID(),
		Name:       s.Name,
		Ranges:     []Range{{Count: s.Partitions, Queue: first}},
		ReadCount:  s.Partitions,
		WriteCount: s.Partitions,
		Settings:   maps.Clone(s.Settings),
		Created:    time.Now().UnixMilli(),
	}}
	if t.Settings == nil {
		t.Settings = map[string]string{}
	}
	t.Config = r.defaults.resolve(t.Settings)
	return t
}

func newID() (id ID) {
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

func (r *Registry) checkSpec(s Spec, taken map[string]string) error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	r.mu.RLock()
	other, looks := r.looks[collisionKey(s.Name)]
	r.mu.RUnlock()
	switch {
	case other == s.Name && looks:
		return fmt.Errorf("topic %q already exists: %w", s.Name, kerr.TopicAlreadyExists)
	case looks:
		return fmt.Errorf("topic %q collides with %q ('.' and '_' count as one): %w", s.Name, other, kerr.InvalidTopicException)
	case taken[collisionKey(s.Name)] == s.Name:
		return fmt.Errorf("topic %q is asked for twice: %w", s.Name, kerr.InvalidRequest)
	case taken[collisionKey(s.Name)] != "":
		return fmt.Errorf("topic %q collides with %q of the same request ('.' and '_' count as one): %w", s.Name, taken[collisionKey(s.Name)], kerr.InvalidTopicException)
	case s.Partitions < 1 || s.Partitions > MaxPartitions:
		return fmt.Errorf("topic %q: %d partitions, want 1 to %d: %w", s.Name, s.Partitions, MaxPartitions, kerr.InvalidPartitions)
	}
	for k, v := range s.Settings {
		if err := CheckSetting(k, v); err != nil {
			return fmt.Errorf("topic %q: %w", s.Name, err)
		}
	}
	return nil
}

// append puts entries side by side into the log and waits until they are durable.
func (r *Registry) append(entries []store.Entry) error {
	t := r.st.Append(store.Durable, entries...)
	<-t.Done() // without the caller's context: the outcome must be known before the next decision (I4)
	return t.Err()
}

// dropQueues gives the queues of deleted topics back. A failure costs space only, until the store has tried again.
func (r *Registry) dropQueues(queues []queue.ID) {
	if err := r.st.DropAll(queues...); err != nil {
		r.log.Error("deleted topics still take space", "error", err)
	}
}

func (r *Registry) nextQueue() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.nextQ
}

// install makes a topic visible (I3) and moves the counter of queue ids past its own (I1).
func (r *Registry) install(t *Topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bump(&t.Record)
	r.byName[t.Name] = t
	r.byID[t.ID] = t
	r.looks[collisionKey(t.Name)] = t.Name
}

func (r *Registry) bump(rec *Record) {
	for _, g := range rec.Ranges {
		r.nextQ = max(r.nextQ, uint64(g.Queue)+uint64(g.Count))
	}
}

func (r *Registry) remove(t *Topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cur := r.byID[t.ID]; cur != nil {
		delete(r.byID, t.ID)
		delete(r.byName, cur.Name)
		delete(r.looks, collisionKey(cur.Name))
	}
}
