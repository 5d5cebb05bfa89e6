package group

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/store"
)

// The index holds a group's record under PrefixGroup and its id, and one offset under PrefixOffset, the group's id with
// two bytes of length before it, the topic's id and the partition. An offset's value is a commit of that one partition.
// An offset that waits for the end of a transaction has the highest bit of the length set, which no group's id reaches,
// and the producer's id before the topic's.

func groupKey(id string) []byte { return append([]byte{byte(index.PrefixGroup)}, id...) }

func offsetKey(group string, e *OffsetEntry) []byte {
	k := make([]byte, 0, 3+len(group)+len(e.Topic)+4)
	k = append(k, byte(index.PrefixOffset))
	k = binary.BigEndian.AppendUint16(k, uint16(len(group)))
	k = append(k, group...)
	k = append(k, e.Topic[:]...)
	return binary.BigEndian.AppendUint32(k, uint32(e.Partition))
}

const stagedBit = 0x8000

func stagedKey(group string, producer int64, e *OffsetEntry) []byte {
	k := make([]byte, 0, 3+len(group)+8+len(e.Topic)+4)
	k = append(k, byte(index.PrefixOffset))
	k = binary.BigEndian.AppendUint16(k, uint16(len(group))|stagedBit)
	k = append(k, group...)
	k = binary.BigEndian.AppendUint64(k, uint64(producer))
	k = append(k, e.Topic[:]...)
	return binary.BigEndian.AppendUint32(k, uint32(e.Partition))
}

func (c *Coordinator) isLive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// groupApplier gives group frames their meaning.
type groupApplier struct{ c *Coordinator }

// offsetApplier gives frames of committed offsets theirs.
type offsetApplier struct{ c *Coordinator }

var (
	_ store.Machine = groupApplier{}
	_ store.Machine = offsetApplier{}
)

func (groupApplier) Version() uint8  { return recordVersion }
func (offsetApplier) Version() uint8 { return recordVersion }

// Load fills memory from the index.
func (a groupApplier) Load(db *index.DB) error {
	return machine.EachKey(db, index.PrefixGroup, func(k, v []byte) error {
		if _, _, err := a.replay(v, true); err != nil {
			return fmt.Errorf("reading key %q from the index: %w", k, err)
		}
		return nil
	})
}

// replay decodes a record and, while the store starts, takes it over.
func (a groupApplier) replay(payload []byte, install bool) (id string, deleted bool, err error) {
	g, deleted, err := decodeGroup(payload)
	if err != nil || !install {
		if g != nil {
			id = g.id
		}
		return id, deleted, err
	}
	c := a.c
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.groups[g.id]
	if deleted {
		delete(c.groups, g.id)
		return g.id, true, nil
	}
	g.c = c
	if old != nil {
		g.offsets, g.staged = old.offsets, old.staged
	}
	c.groups[g.id] = g
	return g.id, false, nil
}

// Apply writes the frame into the index, and into memory while the store starts.
func (a groupApplier) Apply(f commitlog.Frame, b *index.Batch) error {
	id, deleted, err := a.replay(f.Payload, !a.c.isLive())
	if err != nil {
		return fmt.Errorf("applying the frame at %d: %w", f.Position, err)
	}
	if deleted {
		return b.Delete(groupKey(id))
	}
	return b.Set(groupKey(id), f.Payload)
}

// Snapshot writes every key of the prefix.
func (groupApplier) Snapshot(at *index.Snapshot, w io.Writer) error {
	return machine.WriteSnapshot(at, index.PrefixGroup, w)
}

// Restore puts a snapshot's keys back.
func (groupApplier) Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, recordVersion, index.PrefixGroup, r, newBatch)
}

// Load fills memory from the index.
func (a offsetApplier) Load(db *index.DB) error {
	return machine.EachKey(db, index.PrefixOffset, func(k, v []byte) error {
		r, err := decodeOffsets(v)
		if err != nil {
			return fmt.Errorf("reading key %q from the index: %w", k, err)
		}
		a.replay(&r)
		return nil
	})
}

func (a offsetApplier) replay(r *commitRecord) {
	c := a.c
	c.mu.Lock()
	g := c.groups[r.group]
	if g == nil {
		g = newGroup(c, r.group)
		g.stateSince = r.at
		c.groups[r.group] = g
	}
	c.mu.Unlock()
	g.mu.Lock()
	switch {
	case r.producer < 0:
		g.install(r.entries, r.at, 0)
	case r.fate == waiting:
		g.stage(r.producer, r.entries)
	default:
		delete(g.staged, r.producer)
		if r.fate == confirmed {
			g.install(r.entries, r.at, 0)
		}
	}
	empty := len(g.offsets) == 0 && len(g.staged) == 0 && !g.recorded
	g.mu.Unlock()
	if empty { // the last offset of a deleted group
		c.mu.Lock()
		delete(c.groups, r.group)
		c.mu.Unlock()
	}
}

// Apply writes the frame's offsets into the index, and into memory while the store starts.
func (a offsetApplier) Apply(f commitlog.Frame, b *index.Batch) error {
	r, err := decodeOffsets(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the frame at %d: %w", f.Position, err)
	}
	if !a.c.isLive() {
		a.replay(&r)
	}
	for i := range r.entries {
		if err := r.apply(i, b); err != nil {
			return err
		}
	}
	return nil
}

// apply writes one entry of a frame into the index.
func (r *commitRecord) apply(i int, b *index.Batch) error {
	e := &r.entries[i]
	one := *r
	one.entries = r.entries[i : i+1]
	if r.producer >= 0 {
		key := stagedKey(r.group, r.producer, e)
		if r.fate == waiting && !e.deleted {
			return b.Set(key, one.encode())
		}
		if err := b.Delete(key); err != nil || r.fate != confirmed {
			return err
		}
		one.producer, one.fate = -1, waiting
	}
	if e.deleted {
		return b.Delete(offsetKey(r.group, e))
	}
	return b.Set(offsetKey(r.group, e), one.encode())
}

// Snapshot writes every key of the prefix.
func (offsetApplier) Snapshot(at *index.Snapshot, w io.Writer) error {
	return machine.WriteSnapshot(at, index.PrefixOffset, w)
}

// Restore puts a snapshot's keys back.
func (offsetApplier) Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, recordVersion, index.PrefixOffset, r, newBatch)
}
