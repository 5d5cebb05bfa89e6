package queue

import "sync"

// Policy is what the store must know of a queue's settings.
type Policy struct {
	AppendTime      bool  // message.timestamp.type=LogAppendTime
	RetentionMs     int64 // -1: for ever
	RetentionBytes  int64 // -1: unlimited
	Compact, Delete bool
	MinLagMs        int64 // compaction: how long a record stays uncompacted at least
	MaxLagMs        int64 // and at most
	TombstoneMs     int64 // how long tombstones and markers stay after they were first cleaned
	Dirty           int32 // the share of what is not compacted yet that begins a compaction, in thousandths
}

// State is one queue. It holds no pointers, so that a million of them cost the garbage collector nothing (I1).
type State struct {
	LogStart  int64
	High      int64 // end of what is durable and can be read
	Next      int64 // next offset to be given
	Bytes     int64 // of the batches kept
	MaxTime   int64 // the highest timestamp ever appended, -1 without records
	MaxTimeAt int64 // last offset of the batch that holds it
	Cleaned   int64 // compaction has been through everything below
	Epoch     int32 // leader epoch
	policy    uint32
	dropping  bool // a drop has been appended: nothing more may be
	Aborts    bool // there were aborted transactions
}

const slabSize = 1024

// Table holds all queues. It is safe for concurrent use.
type Table struct {
	mu       sync.RWMutex
	slots    map[ID]uint32
	slabs    []*[slabSize]State
	free     []uint32
	policies []Policy
	interned map[Policy]uint32
	open     map[ID]int64 // first offset of the oldest open transaction, of queues that have one (I4)
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{slots: map[ID]uint32{}, interned: map[Policy]uint32{}, open: map[ID]int64{}}
}

func (t *Table) at(slot uint32) *State { return &t.slabs[slot/slabSize][slot%slabSize] }

func (t *Table) intern(p Policy) uint32 {
	if i, ok := t.interned[p]; ok {
		return i
	}
	if len(t.policies) > 2*len(t.slots)+1024 {
		t.compactPolicies()
	}
	i := uint32(len(t.policies))
	t.policies = append(t.policies, p)
	t.interned[p] = i
	return i
}

// compactPolicies forgets policies no queue has any more.
func (t *Table) compactPolicies() {
	used := map[uint32]uint32{}
	var kept []Policy
	for _, slot := range t.slots {
		s := t.at(slot)
		n, ok := used[s.policy]
		if !ok {
			n = uint32(len(kept))
			used[s.policy] = n
			kept = append(kept, t.policies[s.policy])
		}
		s.policy = n
	}
	t.policies = kept
	clear(t.interned)
	for i, p := range kept {
		t.interned[p] = uint32(i)
	}
}

// Put adds a queue or replaces its state and policy.
func (t *Table) Put(q ID, s State, p Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if !ok {
		slot = t.newSlot()
	}
	s.policy = t.intern(p)
	*t.at(slot) = s
	t.slots[q] = slot
}

func (t *Table) newSlot() uint32 {
	if k := len(t.free); k > 0 {
		slot := t.free[k-1]
		t.free = t.free[:k-1]
		return slot
	}
	n := uint32(len(t.slots))
	if int(n) == len(t.slabs)*slabSize {
		t.slabs = append(t.slabs, new([slabSize]State))
	}
	return n
}

// Get copies a queue's state and policy.
func (t *Table) Get(q ID) (State, Policy, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.slots[q]
	if !ok {
		return State{}, Policy{}, false
	}
	s := *t.at(slot)
	return s, t.policies[s.policy], true
}

// Stable copies a queue's state with its last stable offset: where the oldest open transaction begins, or the high
// watermark.
func (t *Table) Stable(q ID) (s State, stable int64, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.slots[q]
	if !ok {
		return State{}, -1, false
	}
	s = *t.at(slot)
	return s, t.stable(q, &s), true
}

func (t *Table) stable(q ID, s *State) int64 {
	if first, ok := t.open[q]; ok {
		return min(max(first, s.LogStart), s.High)
	}
	return s.High
}

// Advance is Update that also says where the oldest open transaction begins, -1 if there is none, in one step. It gives
// the last stable offset before and after.
func (t *Table) Advance(q ID, first int64, f func(*State)) (from, to int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if !ok {
		return -1, -1
	}
	s := t.at(slot)
	from = t.stable(q, s)
	f(s)
	if first >= 0 {
		t.open[q] = first
	} else {
		delete(t.open, q)
	}
	return from, t.stable(q, s)
}

// Update changes a queue in place; f must be quick. It tells whether there is such a queue.
func (t *Table) Update(q ID, f func(*State)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if ok {
		f(t.at(slot))
	}
	return ok
}

// IDs lists all queues, in no order.
func (t *Table) IDs() []ID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ids := make([]ID, 0, len(t.slots))
	for q := range t.slots {
		ids = append(ids, q)
	}
	return ids
}

// SetPolicy changes a queue's policy.
func (t *Table) SetPolicy(q ID, p Policy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if ok {
		t.at(slot).policy = t.intern(p)
	}
	return ok
}

// Give hands out n offsets of a queue that is not being dropped.
func (t *Table) Give(q ID, n int64) (s State, p Policy, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if !ok || t.at(slot).dropping {
		return State{}, Policy{}, false
	}
	st := t.at(slot)
	s, p = *st, t.policies[st.policy]
	st.Next += n
	return s, p, true
}

// Dropping marks a queue whose drop has been appended, and tells whether it was there.
func (t *Table) Dropping(q ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, ok := t.slots[q]
	if !ok || t.at(slot).dropping {
		return false
	}
	t.at(slot).dropping = true
	return true
}

// IsDropping tells whether a drop has been appended.
func (s *State) IsDropping() bool { return s.dropping }

// Remove forgets a queue.
func (t *Table) Remove(q ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, ok := t.slots[q]; ok {
		delete(t.slots, q)
		delete(t.open, q)
		*t.at(slot) = State{}
		t.free = append(t.free, slot)
	}
}

// Len counts the queues.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.slots)
}

// Bytes sums the bytes kept over all queues.
func (t *Table) Bytes() (n int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, slot := range t.slots {
		n += t.at(slot).Bytes
	}
	return n
}
