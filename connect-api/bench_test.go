package connectapi

import (
	"testing"
	"time"
)

// tenFields is a row like a table's.
var tenFields = NewStruct("ten").
	Field("id", Int64Schema).Field("name", OptionalStringSchema).Field("city", StringSchema).Field("age", OptionalInt32Schema).
	Field("score", Float64Schema).Field("active", BooleanSchema).Field("note", OptionalStringSchema).
	Field("created", NewTimestamp().MustBuild()).Field("hash", BytesSchema).Field("last", Int64Schema).MustBuild()

var hash = []byte("0123456789abcdef")

func fillTen(b *Batch, r *Route, i int64) {
	row := b.Begin(r, time.UnixMilli(1_700_000_000_000))
	row.Key.Int64(i)
	w := &row.Value
	w.Int64(i)
	w.Text("Grace Hopper")
	w.Text("Arlington")
	w.Int64(37)
	w.Float64(0.5)
	w.Bool(true)
	w.Null()
	w.Int64(1_700_000_000_000)
	w.Bytes(hash)
	w.Int64(-i)
	if err := row.End(); err != nil {
		panic(err)
	}
}

func encodeTen(dst []byte, i int64) []byte {
	dst = AppendInt(dst, i)
	dst = AppendString(AppendNotNull(dst), "Grace Hopper")
	dst = AppendString(dst, "Arlington")
	dst = AppendInt(AppendNotNull(dst), 37)
	dst = AppendFloat64(dst, 0.5)
	dst = AppendBool(dst, true)
	dst = AppendNull(dst)
	dst = AppendInt(dst, 1_700_000_000_000)
	dst = AppendBytes(dst, hash)
	return AppendInt(dst, -i)
}

func BenchmarkEncodeAppend(b *testing.B) {
	var buf []byte
	b.ReportAllocs()
	for i := range b.N {
		buf = encodeTen(buf[:0], int64(i))
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkFillRow(b *testing.B) {
	batch := NewBatch(NewCatalog())
	r := NewRoute("t", Int64Schema, tenFields)
	b.ReportAllocs()
	for i := range b.N {
		if batch.Len() == 1000 {
			batch.Reset()
		}
		fillTen(batch, r, int64(i))
	}
}

func BenchmarkDecode(b *testing.B) {
	v := NewValue(tenFields, encodeTen(nil, 7))
	b.ReportAllocs()
	for range b.N {
		if _, err := v.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReachField9(b *testing.B) {
	v := NewValue(tenFields, encodeTen(nil, 7))
	b.ReportAllocs()
	for range b.N {
		if _, err := v.FieldAt(9); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIterateRows(b *testing.B) {
	c := NewCatalog()
	batch := NewBatch(c)
	r := NewRoute("t", Int64Schema, tenFields)
	for i := range 1000 {
		fillTen(batch, r, int64(i))
	}
	d := NewDirectory()
	schemas, routes := c.Announce()
	for _, s := range schemas {
		_ = d.AddSchema(s.ID, s.Schema)
	}
	for _, r := range routes {
		_ = d.AddRoute(r.ID, r.Route)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		rows := NewRows(batch.Encoded(), batch.Base(), d)
		var row RawRow
		for rows.Next(&row) {
			n++
		}
		if rows.Err() != nil {
			b.Fatal(rows.Err())
		}
	}
}
