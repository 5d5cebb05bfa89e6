package kafka

import (
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// records is where consumers take the records they decode batches into, and Record.Recycle puts them back: without it a third
// of what a sink costs is the collector's work on records. Slices are kept by powers of two, those of a few records not at all;
// what nobody needs goes to the collector.
type records struct{ classes [maxRecordClass + 1]sync.Pool }

const (
	minRecordClass = 4  // 16 records
	maxRecordClass = 15 // 32,768 records
)

var _ kgo.PoolRecords = (*records)(nil)

// GetRecords returns a slice with capacity n, or nothing.
func (p *records) GetRecords(n int) []kgo.Record {
	c := bits.Len(uint(max(n, 1) - 1))
	if n <= 0 || c < minRecordClass || c > maxRecordClass {
		return nil
	}
	if s, ok := p.classes[c].Get().(*[]kgo.Record); ok {
		return *s
	}
	return make([]kgo.Record, 1<<c)
}

// PutRecords takes a slice of records that are empty again.
func (p *records) PutRecords(s []kgo.Record) {
	c := bits.Len(uint(cap(s))) - 1 // the largest class it can serve
	if c < minRecordClass || c > maxRecordClass {
		return
	}
	p.classes[c].Put(&s)
}
