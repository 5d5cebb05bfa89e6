package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRecordsByClass proves that a slice that is handed out holds what was asked for, whatever was put back, and that what is too
// small or too large to be worth keeping is not kept.
func TestRecordsByClass(t *testing.T) {
	p := &records{}
	for _, n := range []int{17, 1000, 1024, 1025, 1 << maxRecordClass} {
		for _, back := range []int{n - 1, n, n + n/2} {
			p.PutRecords(make([]kgo.Record, back))
			if got := cap(p.GetRecords(n)); got < n {
				t.Errorf("%d records wanted after %d were put back: got room for %d", n, back, got)
			}
		}
	}
	for _, n := range []int{0, 1, 8, 1<<maxRecordClass + 1} {
		if got := p.GetRecords(n); got != nil {
			t.Errorf("%d records wanted: got %d from the pool", n, cap(got))
		}
		p.PutRecords(make([]kgo.Record, n)) // not kept, and no panic
	}
}
