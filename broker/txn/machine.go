package txn

import (
	"fmt"
	"io"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/store"
)

// Keys under PrefixTxn. Values are frames' payloads, whose version byte is the form byte.
const (
	keyBlock  = 'b' // -> block
	keyRecord = 'i' // transactional id -> record
)

var blockKey = []byte{byte(index.PrefixTxn), keyBlock}

func recordKey(id string) []byte {
	return append([]byte{byte(index.PrefixTxn), keyRecord}, id...)
}

// applier gives frames of producer and transactional ids their meaning.
type applier struct{ c *Coordinator }

var _ store.Machine = applier{}

func (applier) Version() uint8 { return recordVersion }

// Load fills memory from the index.
func (a applier) Load(db *index.DB) error {
	return machine.EachKey(db, index.PrefixTxn, func(k, v []byte) error {
		kind := commitlog.KindTxn
		if k[1] == keyBlock {
			kind = commitlog.KindProducer
		}
		if err := a.replay(kind, v); err != nil {
			return fmt.Errorf("reading key %q from the index: %w", k, err)
		}
		return nil
	})
}

func (a applier) replay(kind commitlog.Kind, payload []byte) error {
	if kind == commitlog.KindProducer {
		end, err := decodeBlock(payload)
		if err != nil {
			return err
		}
		a.c.mu.Lock()
		a.c.end = max(a.c.end, end)
		a.c.mu.Unlock()
		return nil
	}
	r, err := decodeRecord(payload)
	if err != nil {
		return err
	}
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	if r.deleted {
		delete(a.c.ids, r.TransactionalID)
	} else {
		a.c.ids[r.TransactionalID] = &transaction{rec: *r}
	}
	return nil
}

// Apply writes the frame into the index, and into memory while the store starts.
func (a applier) Apply(f commitlog.Frame, b *index.Batch) error {
	a.c.mu.Lock()
	live := a.c.live
	a.c.mu.Unlock()
	if !live {
		if err := a.replay(f.Kind, f.Payload); err != nil {
			return fmt.Errorf("applying the frame at %d: %w", f.Position, err)
		}
	}
	if f.Kind == commitlog.KindProducer {
		return b.Set(blockKey, f.Payload)
	}
	r, err := decodeRecord(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the frame at %d: %w", f.Position, err)
	}
	if r.deleted {
		return b.Delete(recordKey(r.TransactionalID))
	}
	return b.Set(recordKey(r.TransactionalID), f.Payload)
}

// Snapshot writes every key of the prefix.
func (applier) Snapshot(at *index.Snapshot, w io.Writer) error {
	return machine.WriteSnapshot(at, index.PrefixTxn, w)
}

// Restore puts a snapshot's keys back.
func (applier) Restore(version uint8, r io.Reader, newBatch func() *index.Batch) error {
	return machine.ReadSnapshot(version, recordVersion, index.PrefixTxn, r, newBatch)
}
