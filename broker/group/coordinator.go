package group

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

// Config bounds groups. Names in comments are Kafka's.
type Config struct {
	MinSession    time.Duration // group.min.session.timeout.ms
	MaxSession    time.Duration // group.max.session.timeout.ms
	InitialDelay  time.Duration // group.initial.rebalance.delay.ms
	MaxSize       int           // group.max.size
	MaxOffsetMeta int           // offset.metadata.max.bytes
	Retention     time.Duration // offsets.retention.minutes
}

// newMemberTimeout is how long a member that joins for the first time may be parked.
const newMemberTimeout = 5 * time.Minute

// consumerType is the protocol type of consumers, whose members say which topics they read.
const consumerType = "consumer"

// expireEvery is how often offsets past their retention are looked for.
const expireEvery = 10 * time.Minute

// Coordinator runs all groups of this broker. Its methods may be called by any number of goroutines.
type Coordinator struct {
	st      store.API
	cfg     Config
	log     *slog.Logger
	metrics *metrics

	mu     sync.Mutex
	groups map[string]*group
	seq    uint64 // order of offset commits (I3)
	live   bool
	closed bool
	expiry *time.Timer

	topicName func(topic.ID) (string, bool) // set by Started
}

// New makes a coordinator and registers its machine with the store, which must not have been started.
func New(st store.API, cfg Config, log *slog.Logger, reg prometheus.Registerer) *Coordinator {
	c := &Coordinator{st: st, cfg: cfg, log: log.With("component", "group"), groups: map[string]*group{}}
	c.metrics = newMetrics(reg, c)
	st.Register(groupApplier{c}, index.PrefixGroup, commitlog.KindGroup)
	st.Register(offsetApplier{c}, index.PrefixOffset, commitlog.KindOffset)
	return c
}

// Started tells the coordinator that the store's replay is over: members get fresh session timers (I7), and offsets of
// topics that are gone are dropped: name tells what a topic is called.
func (c *Coordinator) Started(name func(topic.ID) (string, bool)) {
	c.mu.Lock()
	c.live, c.topicName = true, name
	c.expiry = time.AfterFunc(expireEvery, c.expire)
	c.mu.Unlock()
	for _, g := range c.all() {
		g.mu.Lock()
		g.restored()
		var gone []topic.ID
		for id := range g.offsets {
			if _, ok := name(id); !ok {
				gone = append(gone, id)
			}
		}
		for _, s := range g.staged {
			for id := range s.offsets {
				if _, ok := name(id); !ok {
					gone = append(gone, id)
				}
			}
		}
		g.forget(gone)
		g.mu.Unlock()
	}
}

// Close stops all timers and turns away whoever is parked. The store must still be open.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.mu.Unlock()
	for _, g := range c.all() {
		g.mu.Lock()
		g.stop()
		g.mu.Unlock()
	}
}

// all lists the groups by id.
func (c *Coordinator) all() []*group {
	c.mu.Lock()
	out := make([]*group, 0, len(c.groups))
	for _, g := range c.groups {
		out = append(out, g)
	}
	c.mu.Unlock()
	slices.SortFunc(out, func(a, b *group) int { return strings.Compare(a.id, b.id) })
	return out
}

// lock finds a group and locks it; nil if there is none and create is false.
func (c *Coordinator) lock(id string, create bool) *group {
	for {
		c.mu.Lock()
		g := c.groups[id]
		if g == nil && create {
			g = newGroup(c, id)
			c.groups[id] = g
		}
		c.mu.Unlock()
		if g == nil {
			return nil
		}
		g.mu.Lock()
		if g.state != Dead {
			return g
		}
		g.mu.Unlock() // deleted between the two locks: look again
	}
}

// drop removes a group nobody needs. The caller holds g.mu.
func (c *Coordinator) drop(g *group) {
	g.state = Dead
	c.mu.Lock()
	if c.groups[g.id] == g {
		delete(c.groups, g.id)
	}
	c.mu.Unlock()
}

// nextSeq orders commits; called with the group's lock held, just before the append.
func (c *Coordinator) nextSeq() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	return c.seq
}
