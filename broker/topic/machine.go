package topic

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/store"
)

// Keys under PrefixTopic. A topic's value is its frame's payload, whose version byte is the form byte.
const (
	keyTopic = 'n' // namespace, 0, name -> topic record
	keyNext  = 'c' // -> form byte, next queue id (8 bytes, big-endian)
)

func indexKey(r *Record) []byte {
	k := []byte{byte(index.PrefixTopic), keyTopic}
	k = append(k, r.Namespace...)
	k = append(k, 0)
	return append(k, r.Name...)
}

var nextKey = []byte{byte(index.PrefixTopic), keyNext}

// applier gives topic frames their meaning.
type applier struct{ r *Registry }

var _ store.Machine = applier{}

func (applier) Version() uint8 { return recordVersion }

// Load fills memory from the index.
func (m applier) Load(db *index.DB) error {
	r := m.r
	r.mu.Lock()
	defer r.mu.Unlock()
	return machine.EachKey(db, index.PrefixTopic, func(k, v []byte) error {
		switch {
		case len(k) == 2 && k[1] == keyNext:
			if len(v) != 9 {
				return fmt.Errorf("reading the queue id counter from the index: %d bytes", len(v))
			}
			r.nextQ = max(r.nextQ, binary.BigEndian.Uint64(v[1:]))
		case len(k) > 2 && k[1] == keyTopic:
			rec, err := decodeRecord(v)
			if err != nil {
				return fmt.Errorf("reading key %q from the index: %w", k, err)
			}
			r.replay(rec)
		}
		return nil
	})
}

// replay installs a record while the store starts. The caller holds mu.
func (r *Registry) replay(rec *Record) {
	r.bump(rec)
	if old := r.byID[rec.ID]; old != nil {
		delete(r.byName, old.Name)
		delete(r.byID, old.ID)
		delete(r.looks, collisionKey(old.Name))
	}
	if rec.Deleted {
		r.dropped = append(r.dropped, rec.queues()...)
		return
	}
	t := &Topic{Record: *rec, Config: r.defaults.resolve(rec.Settings)}
	r.byName[t.Name], r.byID[t.ID] = t, t
	r.looks[collisionKey(t.Name)] = t.Name
}

// Apply writes the frame's topic into the index, and into memory while the store starts.
func (m applier) Apply(f commitlog.Frame, b *index.Batch) error {
	rec, err := decodeRecord(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the frame at %d: %w", f.Position, err)
	}
	r := m.r
	r.mu.Lock()
	if !r.live {
		r.replay(rec)
	}
	r.bump(rec) // I1; an id is in a frame before it is in use, so the counter may run ahead, never behind
	next := r.nextQ
	r.mu.Unlock()
	if rec.Deleted {
		err = b.Delete(indexKey(rec))
	} else {
		err = b.Set(indexKey(rec), f.Payload)
	}
	if err != nil {
		return err
	}
	return b.Set(nextKey, binary.BigEndian.AppendUint64([]byte{recordVersion}, next))
}

// Snapshot writes every key of the prefix.
func (applier) Snapshot(at *index.Snapshot, w io.Writer) error {
	return machine.WriteSnapshot(at, index.PrefixTopic, w)
}

// Restore puts a snapshot's keys back.
func (applier) Restore(version uint8, rd io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, recordVersion, index.PrefixTopic, rd, newBatch)
}
