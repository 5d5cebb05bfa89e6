package lake

import (
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

// FuzzRows stages any bytes as a value of every type: no panic, and a row is staged whole or not at all (I5).
func FuzzRows(f *testing.F) {
	schema, values := everyType()
	full := connectapi.NewStructValue(schema)
	for i, v := range values {
		if s, ok := v.(*connectapi.Struct); ok {
			c := connectapi.NewStructValue(schema.Fields()[i].Schema)
			for j := range s.Len() {
				c.SetAt(j, s.At(j))
			}
			v = c
		}
		full.SetAt(i, v)
	}
	seed, err := connectapi.Encode(schema, full)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Encoded())
	f.Add(seed.Encoded()[:100])
	f.Add([]byte{})
	l, err := newLayout(schema, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newRows(l, "t")
		for i := range 2 {
			before := len(w.cols[0])
			r := &connectapi.Record{Topic: "t", Value: connectapi.NewValue(schema, b), Original: connectapi.Origin{Topic: "t", Offset: int64(i)}}
			err := w.add(r)
			if err == nil != (w.n == i+1) {
				t.Fatalf("%d rows after %v", w.n, err)
			}
			for c, col := range w.cols {
				starts := 0
				for _, v := range col {
					if v.RepetitionLevel() == 0 {
						starts++
					}
				}
				if starts != w.n || before > len(w.cols[0]) {
					t.Fatalf("column %d holds %d rows of %d", c, starts, w.n)
				}
			}
			if err != nil {
				return
			}
		}
	})
}
