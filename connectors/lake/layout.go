package lake

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/penstockio/penstock/connect-api"
)

// Names of the columns that say where a record was consumed, and of those of values that are no structs.
const (
	topicColumn     = "__topic"
	partitionColumn = "__partition"
	offsetColumn    = "__offset"
	valueColumn     = "value"
	keyColumn       = "key"
)

// layout is how values of one schema become columns.
type layout struct {
	schema  *connectapi.Schema // nil: JSON text
	fields  []*column          // of a struct, or one
	single  bool               // the value is one column
	leaves  int                // of the value; topic, partition and offset follow
	parquet *parquet.Schema
}

// tombstones is the layout of records without a value: the text of the key.
var tombstones = func() *layout {
	return &layout{single: true, leaves: 1, parquet: parquetSchema([]parquet.Field{&groupField{parquet.Optional(parquet.String()), keyColumn}})}
}()

func newLayout(s *connectapi.Schema, micros bool) (*layout, error) {
	l := &layout{schema: s}
	var fields []parquet.Field
	switch {
	case s == nil:
		l.single, l.leaves = true, 1
		fields = append(fields, &groupField{parquet.JSON(), valueColumn})
	case s.Type() == connectapi.TypeStruct && len(s.Fields()) > 0:
		b := layoutBuilder{micros: micros}
		for _, f := range s.Fields() {
			if f.Name == topicColumn || f.Name == partitionColumn || f.Name == offsetColumn {
				return nil, fmt.Errorf("the value has a field %s, which names a column of the lake's own: rename it by a transform", f.Name)
			}
			c, err := b.column(f.Name, f.Schema, f.Schema.Optional())
			if err != nil {
				return nil, err
			}
			l.fields = append(l.fields, c)
			fields = append(fields, &groupField{c.node, f.Name})
		}
		l.leaves = b.leaves
	default:
		b := layoutBuilder{micros: micros}
		c, err := b.column(valueColumn, s, false)
		if err != nil {
			return nil, err
		}
		l.single, l.fields, l.leaves = true, []*column{c}, b.leaves
		fields = append(fields, &groupField{c.node, valueColumn})
	}
	l.parquet = parquetSchema(fields)
	return l, nil
}

func parquetSchema(fields []parquet.Field) *parquet.Schema {
	return parquet.NewSchema("record", &group{fields: append(fields,
		&groupField{parquet.Encoded(parquet.String(), &parquet.RLEDictionary), topicColumn},
		&groupField{parquet.Encoded(parquet.Int(32), &parquet.RLEDictionary), partitionColumn},
		&groupField{parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked), offsetColumn},
	)})
}

// layouts keeps the layouts of a task's schemas; wrong ones too, so that each is compiled once.
type layouts struct {
	micros    bool
	byPointer map[*connectapi.Schema]*layoutOrError
	byContent map[uint64][]*layoutOrError
}

type layoutOrError struct {
	layout *layout
	schema *connectapi.Schema
	err    error
}

// maxLayouts bounds the cache: a source that makes a schema for every record must not make it grow.
const maxLayouts = 1 << 12

func (ls *layouts) of(s *connectapi.Schema) (*layout, error) {
	if x, ok := ls.byPointer[s]; ok {
		return x.layout, x.err
	}
	if len(ls.byPointer) >= maxLayouts || ls.byPointer == nil {
		ls.byPointer, ls.byContent = map[*connectapi.Schema]*layoutOrError{}, map[uint64][]*layoutOrError{}
	}
	for _, x := range ls.byContent[s.Fingerprint()] {
		if x.schema.Equal(s) {
			ls.byPointer[s] = x
			return x.layout, x.err
		}
	}
	l, err := newLayout(s, ls.micros)
	if err != nil {
		err = connectapi.DataError(err)
	}
	x := &layoutOrError{l, s, err}
	ls.byPointer[s] = x
	ls.byContent[s.Fingerprint()] = append(ls.byContent[s.Fingerprint()], x)
	return l, err
}
