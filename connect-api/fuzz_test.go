package connectapi

import (
	"testing"
)

// fuzzSchemas are what random bytes are decoded under.
var fuzzSchemas = []*Schema{
	all, NewArray(NewStruct("none").MustBuild()).MustBuild(), NewMap(BytesSchema, NewArray(Int8Schema).MustBuild()).MustBuild(),
	NewArray(NewArray(OptionalStringSchema).MustBuild()).Optional().MustBuild(), point, Float64Schema, nil,
}

func FuzzValue(f *testing.F) {
	v, err := Append(nil, all, allValue)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(0), v)
	f.Add(uint8(1), []byte{0x80, 0x80, 0x04, 0})
	f.Add(uint8(2), []byte{2, 2, 'k', 2, 2, 0, 0})
	f.Add(uint8(3), []byte{1, 10, 2, 2, 2, 'x', 0, 0})
	f.Add(uint8(6), []byte(`{"a":[1,2.5,null]}`))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		s := fuzzSchemas[int(which)%len(fuzzSchemas)]
		v := NewValue(s, data)
		if data == nil {
			v = NewValue(s, []byte{})
		}
		checked := v.Check()
		d, err := v.Decode()
		if s != nil && checked != nil && err == nil {
			t.Fatalf("decoded %v from what Check refuses: %v", d, checked)
		}
		_, _ = v.Field("p", "x")
		_, _ = v.Spans(nil)
		if err != nil {
			return
		}
		if d == nil {
			return // JSON null
		}
		again, err := Append([]byte{}, s, d)
		if err != nil {
			t.Fatalf("%v cannot be encoded again: %v", d, err)
		}
		back, err := DecodeBytes(s, again)
		if err != nil {
			t.Fatalf("%x: %v", again, err)
		}
		if twice, err := Append([]byte{}, s, back); err != nil || string(twice) != string(again) {
			t.Fatalf("%x became %x, %v", again, twice, err)
		}
	})
}

func FuzzRows(f *testing.F) {
	c := NewCatalog()
	b := NewBatch(c)
	row := b.Begin(NewRoute("points", Int64Schema, point), timeOf(5))
	row.Key.Int64(1)
	row.Value.Int64(3)
	row.Value.Null()
	row.Header("h", StringSchema, "v")
	if err := row.End(); err != nil {
		f.Fatal(err)
	}
	d := NewDirectory()
	schemas, routes := c.Announce()
	for _, s := range schemas {
		if err := d.AddSchema(s.ID, s.Schema); err != nil {
			f.Fatal(err)
		}
	}
	for _, r := range routes {
		if err := d.AddRoute(r.ID, r.Route); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Encoded(), int64(0))
	f.Add([]byte{8, 1, 2, 0, 0, 3, 'h', 'i', 0}, int64(1000))
	f.Fuzz(func(t *testing.T, data []byte, base int64) {
		rows := NewRows(data, base, d)
		var raw RawRow
		for rows.Next(&raw) {
			_, _ = raw.Value.Decode()
			n := 0
			for range raw.Headers.All() {
				n++
			}
			if n != raw.Headers.Len() {
				t.Fatalf("%d headers of %d", n, raw.Headers.Len())
			}
		}
		_ = rows.Err()
	})
}

func FuzzPosition(f *testing.F) {
	f.Add(`{"filename":"/x","n":1}`)
	f.Add(`{"b":1,"a":"<&>","c":null,"d":1.5}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := CanonicalPartition([]byte(text))
		if err != nil {
			return
		}
		again, err := CanonicalPartition([]byte(p))
		if err != nil || again != p {
			t.Fatalf("%s became %s, %v", p, again, err)
		}
		m, err := p.Fields()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if plainCanonical([]byte(text)) && marshal(m) != text {
			t.Fatalf("%s is not canonical: %s is", text, marshal(m))
		}
	})
}
