package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/queue"
)

// Meta is what the data directory says of itself, in the file "meta".
type Meta struct {
	Format             int      `json:"format"`               // major version; another one is refused
	Incompatible       []string `json:"incompatible"`         // features a version must know to open the directory
	ReadOnlyCompatible []string `json:"read_only_compatible"` // features a version must know to write
	Compatible         []string `json:"compatible"`           // features any version may pass over
	ClusterUUID        UUID     `json:"cluster_uuid"`
	LogUUID            UUID     `json:"log_uuid"`
	NodeID             int32    `json:"node_id"`
	NodeUUID           UUID     `json:"node_uuid"`
	History            uint32   `json:"history"` // +1 at restore, repair, or a cut below the checkpoint
	Epoch              uint32   `json:"epoch"`   // the last writer epoch given out

	// Floors are the next offsets of queues whose end a repair took out: the next start makes them known to the log, so
	// that no offset is given twice.
	Floors map[queue.ID]int64 `json:"floors,omitempty"`

	// Accepted is the log position below which a repair accepted that records are missing; a rebuild of the index does not
	// refuse for their sake.
	Accepted int64 `json:"accepted,omitempty"`
}

// UUID is 16 random bytes, hexadecimal in text.
type UUID [16]byte

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(u[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(b []byte) error {
	if len(b) != 32 {
		return fmt.Errorf("%q is no uuid of 32 hexadecimal digits", b)
	}
	_, err := hex.Decode(u[:], b)
	return err
}

// newUUID makes a random (version 4) uuid.
func newUUID() UUID {
	var u UUID
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

const (
	metaFormat   = 1
	maxMetaBytes = 1 << 20
)

// readMeta reads the file, or makes one for a new directory.
func readMeta(fsys disk.FS, dir string, nodeID int32) (Meta, error) {
	name := filepath.Join(dir, "meta")
	b, err := disk.ReadFile(fsys, name, maxMetaBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return newMeta(fsys, dir, nodeID)
	}
	if err != nil {
		return Meta{}, fmt.Errorf("reading %s: %w", name, err)
	}
	var m Meta
	if err := json.Unmarshal(b, &m); err != nil {
		return Meta{}, fmt.Errorf("reading %s: %w; restore it from a copy", name, err)
	}
	if m.Format != metaFormat {
		return Meta{}, fmt.Errorf("opening %s: its format is %d, this version knows %d", dir, m.Format, metaFormat)
	}
	// No feature exists yet: each one named is unknown. This version only opens for writing.
	for _, f := range append(append([]string(nil), m.Incompatible...), m.ReadOnlyCompatible...) {
		return Meta{}, fmt.Errorf("opening %s: it uses the feature %q, which this version does not know; use the version that wrote it, or a newer one", dir, f)
	}
	if m.LogUUID == (UUID{}) {
		return Meta{}, fmt.Errorf("reading %s: it names no log_uuid; restore it from a copy", name)
	}
	return m, nil
}

// newMeta makes the file, but never over a log: that would give old data a new identity.
func newMeta(fsys disk.FS, dir string, nodeID int32) (Meta, error) {
	names, err := fsys.List(filepath.Join(dir, "log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Meta{}, fmt.Errorf("listing %s: %w", dir, err)
	}
	if len(names) > 0 {
		return Meta{}, fmt.Errorf("opening %s: there is a log but no file \"meta\"; restore it from a copy", dir)
	}
	none := []string{}
	m := Meta{
		Format: metaFormat, Incompatible: none, ReadOnlyCompatible: none, Compatible: none,
		ClusterUUID: newUUID(), LogUUID: newUUID(), NodeID: nodeID, NodeUUID: newUUID(),
	}
	return m, m.write(fsys, dir)
}

func (m *Meta) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// writeMeta writes the file, on a full disk with the reserve.
func (s *Store) writeMeta() error {
	return s.withReserve(func() error { return s.meta.write(s.o.Disk, s.dir) })
}

func (m *Meta) write(fsys disk.FS, dir string) error {
	b, err := m.encode()
	if err != nil {
		return fmt.Errorf("encoding meta: %w", err)
	}
	return disk.WriteAtomic(fsys, filepath.Join(dir, "meta"), b)
}
