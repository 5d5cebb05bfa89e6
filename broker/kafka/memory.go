package kafka

import "sync"

// memory shares out what the answers of all Fetches under way may hold together (I3). Each gets at most an eighth of what is
// free, so that readers who are slow to take large answers do not leave the others without, and never less than a floor. So
// answers hold at most size, and a floor for each Fetch under way (or one batch that is larger) besides.
type memory struct {
	size, floor int

	mu   sync.Mutex
	used int
}

// share is the part of the free memory that one answer may take.
const share = 8

// reserve takes up to want bytes and gives how many.
func (m *memory) reserve(want int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(want, max((m.size-m.used)/share, m.floor))
	m.used += n
	return n
}

// settle replaces what was reserved by what is held.
func (m *memory) settle(reserved, held int) {
	m.mu.Lock()
	m.used += held - reserved
	m.mu.Unlock()
}

func (m *memory) inUse() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
