package group

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
)

// Listed is a group as ListGroups shows it.
type Listed struct {
	ID, ProtocolType string
	State            State
}

// List lists the groups in one of the states, or all if none is named, by id.
func (c *Coordinator) List(states []string) []Listed {
	var out []Listed
	for _, g := range c.all() {
		g.mu.Lock()
		l := Listed{ID: g.id, ProtocolType: g.protocolType, State: g.state}
		g.mu.Unlock()
		if l.State == Dead {
			continue
		}
		match := len(states) == 0
		for _, s := range states {
			match = match || strings.EqualFold(s, string(l.State))
		}
		if match {
			out = append(out, l)
		}
	}
	return out
}

// Member is a member as DescribeGroups shows it.
type Member struct {
	ID, Instance, ClientID, Host string
	Metadata, Assignment         []byte
}

// Description is a group as DescribeGroups shows it.
type Description struct {
	ID, ProtocolType, Protocol string
	State                      State
	Generation                 int32
	Members                    []Member
}

// Describe describes a group; false if there is none.
func (c *Coordinator) Describe(id string) (Description, bool) {
	g := c.lock(id, false)
	if g == nil {
		return Description{ID: id, State: Dead}, false
	}
	defer g.mu.Unlock()
	d := Description{ID: id, ProtocolType: g.protocolType, State: g.state, Generation: g.generation}
	if g.state == Stable {
		d.Protocol = g.protocol
	}
	for _, m := range g.membersInOrder() {
		o := Member{ID: m.id, Instance: m.instance, ClientID: m.clientID, Host: m.host, Metadata: []byte{}, Assignment: []byte{}}
		if m.assignment != nil {
			o.Assignment = m.assignment
		}
		if g.state == Stable {
			o.Metadata = m.metadata(g.protocol)
		}
		d.Members = append(d.Members, o)
	}
	return d, true
}

// Delete removes a group without members and its offsets, durably.
func (c *Coordinator) Delete(id string) error {
	if id == "" {
		return kerr.InvalidGroupID
	}
	g := c.lock(id, false)
	if g == nil {
		return fmt.Errorf("deleting group %q: %w", id, kerr.GroupIDNotFound)
	}
	if len(g.staged) > 0 {
		g.mu.Unlock()
		return fmt.Errorf("deleting group %q: a transaction that is still open commits offsets to it: %w", id, kerr.NonEmptyGroup)
	}
	if len(g.members) > 0 || g.state != Empty {
		n := len(g.members)
		g.mu.Unlock()
		return fmt.Errorf("deleting group %q: it has %d members: %w", id, n, kerr.NonEmptyGroup)
	}
	var entries []OffsetEntry
	for t, of := range g.offsets {
		for p := range of {
			entries = append(entries, OffsetEntry{Topic: t, Partition: p, deleted: true})
		}
	}
	for _, under := range g.committing { // their frames stand before the deletion's
		for _, e := range under {
			entries = append(entries, OffsetEntry{Topic: e.Topic, Partition: e.Partition, deleted: true})
		}
	}
	group := []store.Entry{{Kind: commitlog.KindGroup, Payload: g.encode(true)}}
	if len(entries) > 0 {
		group = append(group, store.Entry{Kind: commitlog.KindOffset, Payload: encodeOffsets(id, 0, entries)})
	}
	t := c.st.Append(store.Durable, group...)
	c.drop(g)
	g.mu.Unlock()
	<-t.Done()
	if err := t.Err(); err != nil {
		c.undrop(g)
		return fmt.Errorf("deleting group %q: %w", id, err)
	}
	return nil
}

// undrop brings a group back whose deletion failed, unless another has taken its name.
func (c *Coordinator) undrop(g *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.groups[g.id] == nil {
		c.groups[g.id], g.state = g, Empty
	}
}
