package compact

import (
	"crypto/sha256"
	"encoding/binary"
)

// slotBytes is what one key takes: half of its SHA-256, and an offset.
const slotBytes = 24

// Keys holds the highest offset of each key. A key is known by 128 bits of its hash: two keys of one hash would be taken
// for one, which is as likely as the disk losing both.
type Keys struct {
	slots []slot
	n     int
}

type slot struct {
	a, b   uint64
	offset int64 // + 1; 0: free
}

// NewKeys makes an empty map that takes at most memory bytes.
func NewKeys(memory int64) *Keys {
	return &Keys{slots: make([]slot, max(memory/slotBytes, 64))}
}

// Cap is how many keys fit: beyond three quarters, looking up takes long.
func (k *Keys) Cap() int { return len(k.slots) / 4 * 3 }

// Len is how many keys there are.
func (k *Keys) Len() int { return k.n }

// Reset forgets all keys.
func (k *Keys) Reset() {
	if k.n > 0 {
		clear(k.slots)
		k.n = 0
	}
}

// put notes an offset of a key; false: it is full.
func (k *Keys) put(key []byte, offset int64) bool {
	s := k.find(key)
	if s.offset == 0 {
		if k.n >= k.Cap() {
			s.a, s.b = 0, 0
			return false
		}
		k.n++
	}
	s.offset = max(s.offset, offset+1)
	return true
}

// last is the highest offset of a key; false if it was not learned.
func (k *Keys) last(key []byte) (int64, bool) {
	s := k.find(key)
	if s.offset == 0 {
		s.a, s.b = 0, 0
		return 0, false
	}
	return s.offset - 1, true
}

// find gives the slot of a key, or the free one it would take, with its hash filled in.
func (k *Keys) find(key []byte) *slot {
	h := sha256.Sum256(key)
	a, b := binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])
	for i := a % uint64(len(k.slots)); ; i = (i + 1) % uint64(len(k.slots)) {
		s := &k.slots[i]
		if s.offset == 0 {
			s.a, s.b = a, b
			return s
		}
		if s.a == a && s.b == b {
			return s
		}
	}
}
