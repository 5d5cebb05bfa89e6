package host

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/shared"
)

const (
	slotCount = 32
	slotBytes = 1<<20 + 1<<18 // a batch of about 1 MiB, with a row that is more than what was left
)

// createShared is shared.Create; tests replace it.
var createShared = shared.Create

// slots are the places in memory shared with the plugin that this end may write to. There are none until the plugin has granted
// them, and never without one that maps the memory.
type slots struct {
	mem *shared.Memory // nil: none

	mu    sync.Mutex
	free  []uint32 // the one that came back last is used first: it is still in the cache
	ours  []bool   // by number: free, or being filled
	dirty []bool   // by number: takes memory
	busy  bool     // one was sent since trim
}

// offer makes the memory; nil: there is none, and rows go through the socket.
func (s *slots) offer(log *slog.Logger) *connectpb.Shared {
	mem, err := createShared(slotCount, slotBytes)
	if err != nil {
		log.Info("no memory is shared with the plugin; rows go through its socket", "error", err)
		return nil
	}
	s.mem, s.ours, s.dirty = mem, make([]bool, slotCount+1), make([]bool, slotCount+1)
	return &connectpb.Shared{Path: mem.Path(), Slots: slotCount, SlotBytes: uint32(mem.SlotBytes())}
}

// grant takes back what the plugin has done with.
func (s *slots) grant(numbers []uint32) error {
	if len(numbers) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range numbers {
		if s.mem.Slot(n) == nil || s.ours[n] {
			return fmt.Errorf("it granted slot %d of shared memory, which was not its own", n)
		}
		s.ours[n] = true
		s.free = append(s.free, n)
	}
	_ = s.mem.Hide() // the plugin has mapped it: an open file less a task
	return nil
}

// take returns a free slot to fill; 0: there is none.
func (s *slots) take() (uint32, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return 0, nil
	}
	n := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.dirty[n] = true
	return n, s.mem.Slot(n)[:0]
}

// memory returns a slot that take gave, nil for 0.
func (s *slots) memory(n uint32) []byte { return s.mem.Slot(n) }

// sent makes a slot the plugin's.
func (s *slots) sent(n uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours[n], s.busy = false, true
}

// trim gives the memory of free slots back to the system if nothing was sent since the last time: a task that had much to do would
// keep it for as long as it waits.
func (s *slots) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		s.busy = false
		return
	}
	for _, n := range s.free {
		if s.dirty[n] && s.mem.Discard(n) == nil {
			s.dirty[n] = false
		}
	}
}

// hide lets nobody map the memory any more.
func (s *slots) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem != nil {
		_ = s.mem.Hide() // it is only a number in the table of open files
	}
}
