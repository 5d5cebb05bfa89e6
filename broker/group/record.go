package group

import (
	"errors"
	"fmt"
	"time"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

const recordVersion = 1

// groupType is the type of every group so far: the classic protocol. KIP-848 groups will be another.
const groupType = "classic"

// record appends the group's state, or its deletion. The caller holds the group's lock.
func (g *group) record(deleted bool) *store.Ticket {
	g.recorded = !deleted
	return g.c.st.Append(store.Durable, store.Entry{Kind: commitlog.KindGroup, Payload: g.encode(deleted)})
}

// encode gives the payload of a KindGroup frame: message Group {id=1, type=2, owner=3, protocol type=4, generation=5,
// protocol=6, leader=7, state since=8, repeated Member member=9, deleted=10}.
func (g *group) encode(deleted bool) []byte {
	b := machine.AppendString([]byte{recordVersion}, 1, g.id)
	if deleted {
		return machine.AppendBool(b, 10, true)
	}
	b = machine.AppendString(b, 2, groupType)
	b = machine.AppendString(b, 4, g.protocolType)
	b = machine.AppendUint(b, 5, uint64(uint32(g.generation)))
	b = machine.AppendString(b, 6, g.protocol)
	b = machine.AppendString(b, 7, g.leader)
	b = machine.AppendUint(b, 8, uint64(g.stateSince))
	for _, m := range g.membersInOrder() {
		b = machine.AppendBytes(b, 9, m.encode())
	}
	return append(b, g.unknown...)
}

// encode gives the message Member {id=1, instance=2, client=3, host=4, rebalance ms=5, session ms=6, repeated Protocol
// {name=1, metadata=2} protocol=7, assignment=8, memory=9}.
func (m *member) encode() []byte {
	b := machine.AppendString(nil, 1, m.id)
	b = machine.AppendString(b, 2, m.instance)
	b = machine.AppendString(b, 3, m.clientID)
	b = machine.AppendString(b, 4, m.host)
	b = machine.AppendUint(b, 5, uint64(m.rebalance.Milliseconds()))
	b = machine.AppendUint(b, 6, uint64(m.session.Milliseconds()))
	for _, p := range m.protocols {
		b = machine.AppendBytes(b, 7, machine.AppendBytes(machine.AppendString(nil, 1, p.Name), 2, p.Metadata))
	}
	b = machine.AppendBytes(b, 8, m.assignment)
	return machine.AppendBool(b, 9, m.memory)
}

// decodeGroup reads a payload into a group that belongs to no coordinator yet.
func decodeGroup(payload []byte) (g *group, deleted bool, err error) {
	g = newGroup(nil, "")
	g.stateSince = 0
	m, err := machine.Open(payload, recordVersion)
	if err == nil {
		err = machine.Walk(m, func(f machine.Field) error {
			switch f.Number {
			case 1:
				g.id = string(f.Bytes)
			case 2:
				if t := string(f.Bytes); t != groupType {
					return fmt.Errorf("a group of type %q, which this program does not know", t)
				}
			case 4:
				g.protocolType = string(f.Bytes)
			case 5:
				g.generation = int32(f.Value)
			case 6:
				g.protocol = string(f.Bytes)
			case 7:
				g.leader = string(f.Bytes)
			case 8:
				g.stateSince = int64(f.Value)
			case 9:
				return g.decodeMember(f.Bytes)
			case 10:
				deleted = f.Value != 0
			default:
				g.unknown = append(g.unknown, f.Raw...)
			}
			return nil
		})
	}
	if err == nil && g.id == "" {
		err = errors.New("no group id")
	}
	if err != nil {
		return nil, false, fmt.Errorf("decoding a group record: %w", err)
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.recorded = true
	return g, deleted, nil
}

func (g *group) decodeMember(b []byte) error {
	m := &member{protocolType: g.protocolType, assignment: []byte{}}
	err := machine.Walk(b, func(f machine.Field) error {
		switch f.Number {
		case 1:
			m.id = string(f.Bytes)
		case 2:
			m.instance = string(f.Bytes)
		case 3:
			m.clientID = string(f.Bytes)
		case 4:
			m.host = string(f.Bytes)
		case 5:
			m.rebalance = time.Duration(f.Value) * time.Millisecond
		case 6:
			m.session = time.Duration(f.Value) * time.Millisecond
		case 7:
			p := Protocol{Metadata: []byte{}}
			err := machine.Walk(f.Bytes, func(f machine.Field) error {
				switch f.Number {
				case 1:
					p.Name = string(f.Bytes)
				case 2:
					p.Metadata = append([]byte{}, f.Bytes...)
				}
				return nil
			})
			m.protocols = append(m.protocols, p)
			return err
		case 8:
			m.assignment = append([]byte{}, f.Bytes...)
		case 9:
			m.memory = f.Value != 0
		}
		return nil
	})
	if err == nil && (m.id == "" || g.members[m.id] != nil) {
		err = fmt.Errorf("member %q without an id or twice", m.id)
	}
	if err != nil {
		return err
	}
	protocolType, leader := g.protocolType, g.leader
	g.add(m)
	g.protocolType, g.leader = protocolType, leader
	return nil
}

// fate is what becomes of offsets that belong to a transaction.
type fate uint8

const (
	waiting   fate = iota // they wait for the transaction's end
	confirmed             // the transaction committed: they are the group's
	aborted               // it did not: they are gone
)

// commitRecord is a frame of offsets: committed at once, or by way of a transaction.
type commitRecord struct {
	group    string
	at       int64 // Unix ms
	entries  []OffsetEntry
	producer int64 // of the transaction, -1: none
	fate     fate
}

// encodeOffsets gives the payload of a KindOffset frame for offsets that belong to no transaction.
func encodeOffsets(group string, at int64, entries []OffsetEntry) []byte {
	r := commitRecord{group: group, at: at, entries: entries, producer: -1}
	return r.encode()
}

// encode gives the payload of a KindOffset frame: message Commit {group=1, time=2, repeated Entry {topic=1, partition=2,
// offset=3, leader epoch+1=4, metadata=5, deleted=6} entry=3, producer+1=4, fate=5}. The end of a transaction repeats its
// offsets, so that applying it needs no other frame.
func (r *commitRecord) encode() []byte {
	b := machine.AppendString([]byte{recordVersion}, 1, r.group)
	b = machine.AppendUint(b, 2, uint64(r.at))
	b = machine.AppendUint(b, 4, uint64(r.producer+1))
	b = machine.AppendUint(b, 5, uint64(r.fate))
	var m []byte
	for _, e := range r.entries {
		m = machine.AppendBytes(m[:0], 1, e.Topic[:])
		m = machine.AppendUint(m, 2, uint64(e.Partition))
		m = machine.AppendUint(m, 3, uint64(e.Offset.Offset))
		m = machine.AppendUint(m, 4, uint64(e.LeaderEpoch+1))
		m = machine.AppendString(m, 5, e.Metadata)
		m = machine.AppendBool(m, 6, e.deleted)
		b = machine.AppendBytes(b, 3, m)
	}
	return b
}

func decodeOffsets(payload []byte) (commitRecord, error) {
	r := commitRecord{producer: -1}
	m, err := machine.Open(payload, recordVersion)
	if err == nil {
		err = machine.Walk(m, func(f machine.Field) error {
			switch f.Number {
			case 1:
				r.group = string(f.Bytes)
			case 2:
				r.at = int64(f.Value)
			case 3:
				e, err := decodeEntry(f.Bytes)
				r.entries = append(r.entries, e)
				return err
			case 4:
				r.producer = int64(f.Value) - 1
			case 5:
				if f.Value > uint64(aborted) {
					return fmt.Errorf("a transaction's end of kind %d, which this program does not know", f.Value)
				}
				r.fate = fate(f.Value)
			}
			return nil
		})
	}
	if err == nil && r.group == "" {
		err = errors.New("no group id")
	}
	if err == nil && (r.producer < -1 || r.producer < 0 && r.fate != waiting) {
		err = fmt.Errorf("a transaction of producer %d", r.producer)
	}
	if err != nil {
		return commitRecord{}, fmt.Errorf("decoding committed offsets: %w", err)
	}
	return r, nil
}

func decodeEntry(b []byte) (e OffsetEntry, err error) {
	e.LeaderEpoch = -1
	err = machine.Walk(b, func(f machine.Field) error {
		switch f.Number {
		case 1:
			if len(f.Bytes) != len(topic.ID{}) {
				return fmt.Errorf("a topic id of %d bytes", len(f.Bytes))
			}
			copy(e.Topic[:], f.Bytes)
		case 2:
			e.Partition = int32(f.Value)
		case 3:
			e.Offset.Offset = int64(f.Value)
		case 4:
			e.LeaderEpoch = int32(f.Value) - 1
		case 5:
			e.Metadata = string(f.Bytes)
		case 6:
			e.deleted = f.Value != 0
		}
		return nil
	})
	return e, err
}
