package lake

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/penstockio/penstock/connect-api"
)

// rows stages rows as column values, straight from their encoded bytes: those of byte arrays point into the batch, or
// into the arena if they were made.
type rows struct {
	layout *layout
	cols   [][]parquet.Value
	n      int
	arena  []byte
	topic  []byte
	mark   []int
}

func newRows(l *layout, topic string) *rows {
	return &rows{layout: l, cols: make([][]parquet.Value, l.leaves+3), topic: []byte(topic), mark: make([]int, l.leaves)}
}

// reset forgets the rows, keeping the memory.
func (w *rows) reset() {
	for i := range w.cols {
		clear(w.cols[i]) // the batch's bytes must not be held
		w.cols[i] = w.cols[i][:0]
	}
	w.n = 0
	if cap(w.arena) > 1<<20 {
		w.arena = nil
	}
	w.arena = w.arena[:0]
}

// add stages a record; an error leaves the rows as they were (I5).
func (w *rows) add(r *connectapi.Record) error {
	for i := range w.mark {
		w.mark[i] = len(w.cols[i])
	}
	if err := w.value(r); err != nil {
		for i, n := range w.mark {
			w.cols[i] = w.cols[i][:n]
		}
		return err
	}
	i := w.layout.leaves
	w.cols[i] = append(w.cols[i], parquet.ByteArrayValue(w.topic).Level(0, 0, i))
	w.cols[i+1] = append(w.cols[i+1], parquet.Int32Value(r.Original.Partition).Level(0, 0, i+1))
	w.cols[i+2] = append(w.cols[i+2], parquet.Int64Value(r.Original.Offset).Level(0, 0, i+2))
	w.n++
	return nil
}

func (w *rows) value(r *connectapi.Record) error {
	l := w.layout
	if l == tombstones {
		return w.key(r.Key)
	}
	v := r.Value
	if v.Schema() == nil {
		if err := v.Check(); err != nil {
			return err
		}
		w.put(0, parquet.ByteArrayValue(v.Encoded()), 0, 0)
		return nil
	}
	if l.single {
		c := l.fields[0]
		switch c.schema.Type() {
		case connectapi.TypeString, connectapi.TypeBytes: // raw at the root
			return w.bytes(c, v.Encoded(), 0, 0)
		}
		in := v.Reader()
		return w.finish(&in, w.present(c, &in, 0, 0))
	}
	in := v.Reader()
	for _, c := range l.fields {
		if err := w.field(c, &in, 0, 0); err != nil {
			return err
		}
	}
	return w.finish(&in, nil)
}

func (w *rows) finish(in *connectapi.Reader, err error) error {
	if err == nil {
		err = in.Err()
	}
	if err == nil && in.Len() > 0 {
		err = connectapi.DataError(fmt.Errorf("the value has %d bytes more than its schema says", in.Len()))
	}
	return err
}

func (w *rows) key(k connectapi.Value) error {
	if k.IsNull() {
		w.put(0, parquet.NullValue(), 0, 0)
		return nil
	}
	from := len(w.arena)
	var err error
	if w.arena, err = k.AppendText(w.arena); err != nil {
		return err
	}
	text := w.arena[from:]
	if !utf8.Valid(text) {
		return connectapi.DataError(errors.New("the key is no UTF-8"))
	}
	w.put(0, parquet.ByteArrayValue(text), 0, 1)
	return nil
}

func (w *rows) put(col int, v parquet.Value, rep, def int) {
	w.cols[col] = append(w.cols[col], v.Level(rep, def, col))
}

// nulls says in every column of c that there is nothing below level def.
func (w *rows) nulls(c *column, rep, def int) {
	for i := c.first; i < c.end; i++ {
		w.put(i, parquet.NullValue(), rep, def)
	}
}

// field reads a value inside another: with the union of an optional one.
func (w *rows) field(c *column, in *connectapi.Reader, rep, def int) error {
	if c.schema.Optional() && !in.Union() {
		if in.Err() != nil {
			return in.Err()
		}
		if !c.optional {
			return c.wrong("null in a required column")
		}
		w.nulls(c, rep, def)
		return nil
	}
	if c.optional {
		def++
	}
	return w.present(c, in, rep, def)
}

func (w *rows) present(c *column, in *connectapi.Reader, rep, def int) error {
	switch c.kind {
	case boolKind:
		w.put(c.first, parquet.BooleanValue(in.Bool()), rep, def)
	case int32Kind:
		n := in.Int()
		if n < math.MinInt32 || n > math.MaxInt32 {
			return c.wrong("%d is beyond 32 bits", n)
		}
		w.put(c.first, parquet.Int32Value(int32(n)), rep, def)
	case int64Kind:
		w.put(c.first, parquet.Int64Value(in.Int()), rep, def)
	case scaledKind, timeKind:
		n, err := c.scaled(in.Int())
		if err != nil {
			return err
		}
		w.put(c.first, parquet.Int64Value(n), rep, def)
	case floatKind:
		w.put(c.first, parquet.FloatValue(in.Float32()), rep, def)
	case doubleKind:
		w.put(c.first, parquet.DoubleValue(in.Float64()), rep, def)
	case structKind:
		for _, f := range c.children {
			if err := w.field(f, in, rep, def); err != nil {
				return within(c, err)
			}
		}
	case listKind, mapKind:
		return w.repeated(c, in, rep, def)
	case textKind:
		w.put(c.first, parquet.ByteArrayValue([]byte("{}")), rep, def)
	default:
		b := in.Bytes()
		if in.Err() != nil {
			return in.Err()
		}
		return w.bytes(c, b, rep, def)
	}
	return nil
}

// repeated reads a list or a map: its elements stand one level deeper, those behind the first repeat that level.
func (w *rows) repeated(c *column, in *connectapi.Reader, rep, def int) error {
	empty := true
	for n := in.Block(c.schema); n > 0; n = in.Block(c.schema) {
		for range n {
			for _, x := range c.children {
				if err := w.field(x, in, rep, def+1); err != nil {
					return within(c, err)
				}
			}
			if in.Err() != nil {
				return in.Err()
			}
			rep, empty = c.level, false
		}
	}
	if empty && in.Err() == nil {
		w.nulls(c, rep, def)
	}
	return in.Err()
}
