package queue

import "slices"

// OpenTxn is one open transaction of a queue.
type OpenTxn struct {
	First    int64 // offset of its first record here
	Producer int64
}

// OpenSet holds the open transactions of one queue by first offset. Offsets are given in order, so a new one is the last.
type OpenSet []OpenTxn

// Begin adds a producer's transaction unless it has one; it tells whether it did.
func (s *OpenSet) Begin(producer, first int64) bool {
	if s.find(producer) >= 0 {
		return false
	}
	*s = append(*s, OpenTxn{first, producer})
	return true
}

// End takes a producer's transaction out; false if it has none.
func (s *OpenSet) End(producer int64) (OpenTxn, bool) {
	i := s.find(producer)
	if i < 0 {
		return OpenTxn{}, false
	}
	t := (*s)[i]
	*s = slices.Delete(*s, i, i+1)
	return t, true
}

func (s *OpenSet) find(producer int64) int {
	return slices.IndexFunc(*s, func(t OpenTxn) bool { return t.Producer == producer })
}

// First is the lowest first offset, -1 without an open transaction.
func (s OpenSet) First() int64 {
	if len(s) == 0 {
		return -1
	}
	return s[0].First
}
