package shared

import "fmt"

// Memory is one end of it.
type Memory struct {
	slots, slotBytes int
	path             string
	drop             func() error // lets go of the file, so that it can no longer be opened
	bytes            []byte
}

// check says whether sizes that came from elsewhere can be.
func check(slots, slotBytes int) error {
	const most = 1 << 30
	if slots < 1 || slotBytes < 1 || slots > most/slotBytes {
		return fmt.Errorf("%d slots of %d bytes are none, or more than %d bytes", slots, slotBytes, most)
	}
	return nil
}

// Slots returns how many there are.
func (m *Memory) Slots() int { return m.slots }

// SlotBytes returns the size of each.
func (m *Memory) SlotBytes() int { return m.slotBytes }

// Path is where a process of the same user can open the memory, until Hide.
func (m *Memory) Path() string { return m.path }

// Hide ends that. Both ends stay as they are.
func (m *Memory) Hide() error {
	if m.drop == nil {
		return nil
	}
	drop := m.drop
	m.drop = nil
	return drop()
}

// Slot returns a slot, from 1; nil: there is none of that number.
func (m *Memory) Slot(n uint32) []byte {
	if m == nil || n < 1 || uint64(n) > uint64(m.slots) {
		return nil
	}
	from, to := int(n-1)*m.slotBytes, int(n)*m.slotBytes
	return m.bytes[from:to:to]
}
