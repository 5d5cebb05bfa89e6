package host

import (
	"errors"
	"testing"

	"github.com/penstockio/penstock/connect-api/internal/shared"
)

// ShareNothing makes sinks opened during the test send all rows through the socket.
func ShareNothing(t *testing.T) {
	createShared = func(int, int) (*shared.Memory, error) { return nil, errors.ErrUnsupported }
	t.Cleanup(func() { createShared = shared.Create })
}

// Slots tells how many slots of shared memory are free.
func (s *Sink) Slots() int {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	return len(s.slots.free)
}

// SlotCount is how many there are.
const SlotCount = slotCount

// Shared says whether the batch is being filled in shared memory.
func (b *SinkBatch) Shared() bool { return b.slot != 0 }
