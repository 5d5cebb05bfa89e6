package connectapi

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update if it should.\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

var (
	point = NewStruct("point").Field("x", Int32Schema).Field("y", OptionalFloat64Schema).MustBuild()
	all   = NewStruct("all").Version(3).Doc("everything").
		Field("i8", Int8Schema).Field("i16", Int16Schema).Field("i32", Int32Schema).Field("i64", OptionalInt64Schema).
		Field("f32", Float32Schema).Field("f64", Float64Schema).Field("b", BooleanSchema).Field("s", OptionalStringSchema).
		Field("y", BytesSchema).Field("a", NewArray(OptionalStringSchema).MustBuild()).
		Field("m", NewMap(StringSchema, Int64Schema).Optional().MustBuild()).Field("p", point.AsOptional()).
		Field("d", NewDecimal(2).MustBuild()).Field("t", NewTimestamp().Optional().MustBuild()).
		MustBuild()
	allValue = map[string]any{
		"i8": -1, "i16": 300, "i32": -70000, "i64": int64(math.MaxInt64), "f32": float32(1.5), "f64": -2.25, "b": true, "s": "é",
		"y": []byte{0, 255}, "a": []any{"x", nil}, "m": map[string]any{"b": 2, "a": 1}, "p": map[string]any{"x": 1, "y": nil},
		"d": Decimal{big.NewInt(-12345), 2}, "t": time.UnixMilli(1_700_000_000_123),
	}
)

func TestGoldenValues(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct {
		name   string
		schema *Schema
		value  any
	}{
		{"int8 -128", Int8Schema, int8(-128)},
		{"int64 0", Int64Schema, int64(0)},
		{"int64 min", Int64Schema, int64(math.MinInt64)},
		{"optional int32 at the root 7", OptionalInt32Schema, int32(7)},
		{"float32 1.5", Float32Schema, float32(1.5)},
		{"float64 pi", Float64Schema, math.Pi},
		{"boolean true", BooleanSchema, true},
		{"string at the root", StringSchema, "héllo"},
		{"empty string at the root", StringSchema, ""},
		{"bytes at the root", BytesSchema, []byte{1, 2}},
		{"array of two", NewArray(Int32Schema).MustBuild(), []any{int32(1), int32(-1)}},
		{"array of none", NewArray(Int32Schema).MustBuild(), []any{}},
		{"map", NewMap(StringSchema, OptionalInt32Schema).MustBuild(), map[string]any{"k": int32(1), "n": nil}},
		{"struct from the proto's comment", NewStruct("").Field("id", Int64Schema).Field("name", OptionalStringSchema).MustBuild(), map[string]any{"id": 7, "name": "ab"}},
		{"the same with null", NewStruct("").Field("id", Int64Schema).Field("name", OptionalStringSchema).MustBuild(), map[string]any{"id": 7}},
		{"decimal -123.45", NewDecimal(2).MustBuild(), Decimal{big.NewInt(-12345), 2}},
		{"date", NewDate().MustBuild(), time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"everything", all, allValue},
		{"no schema", nil, map[string]any{"a": []any{1, "<x>", nil}}},
	} {
		b, err := Append(nil, c.schema, c.value)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if b == nil {
			b = []byte{}
		}
		fmt.Fprintf(&out, "%s: %s\n", c.name, hex.EncodeToString(b))
		back, err := DecodeBytes(c.schema, b)
		if err != nil {
			t.Fatalf("%s: decoding: %v", c.name, err)
		}
		again, err := Append(nil, c.schema, back)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: %x encoded again is %x, %v", c.name, b, again, err)
		}
		if err := NewValue(c.schema, b).Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	golden(t, "values.golden", out.String())
}

func TestGoldenRows(t *testing.T) {
	c := NewCatalog()
	b := NewBatch(c)
	b.SetBase(1000)
	hi := NewRoute("hi", nil, StringSchema)
	b.AppendEncoded(hi, 1001, nil, []byte("hi"), Headers{})
	row := b.Begin(NewRoute("points", Int64Schema, point), time.UnixMilli(999))
	row.Key.Int64(-1)
	row.Value.Int64(3)
	row.Value.Float64(0.5)
	row.Header("h", StringSchema, "v")
	row.Header("null", nil, nil)
	if err := row.End(); err != nil {
		t.Fatal(err)
	}
	b.Append("raw", []byte{}, nil)
	if err := b.Add(NewRoute("points", Int64Schema, point), 5, struct {
		X int      `connect:"x"`
		Y *float64 `connect:"y"`
	}{X: 9}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := NewReader(b.Encoded())
	for r.Len() > 0 {
		from := r.Offset()
		r.SkipRow()
		fmt.Fprintln(&out, hex.EncodeToString(b.Encoded()[from:r.Offset()]))
	}
	schemas, routes := c.Announce()
	for _, s := range schemas {
		fmt.Fprintf(&out, "schema %d: %s\n", s.ID, s.Schema)
	}
	for _, r := range routes {
		fmt.Fprintf(&out, "route %d: %s key %d value %d\n", r.ID, r.Route.Topic, r.Key, r.Value)
	}
	golden(t, "rows.golden", out.String())

	d := NewDirectory()
	for _, s := range schemas {
		if err := d.AddSchema(s.ID, s.Schema); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range routes {
		if err := d.AddRoute(r.ID, r.Route); err != nil {
			t.Fatal(err)
		}
	}
	rows := NewRows(b.Encoded(), b.Base(), d)
	var raw RawRow
	var got []string
	for rows.Next(&raw) {
		text, err := raw.Value.AppendText(nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %s %d", raw.Route.Topic, raw.Millis, text, raw.Headers.Len()))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"hi 1001 hi 0", "points 999 Struct{x=3,y=0.5} 2", "raw -1 null 0", "points -1 Struct{x=9} 0"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("rows: %q", got)
	}
}

func TestRowThatFailsLeavesNothing(t *testing.T) {
	b := NewBatch(NewCatalog())
	r := NewRoute("t", nil, all)
	for _, c := range []struct {
		name string
		fill func(w *Writer)
		says string
	}{
		{"too large", func(w *Writer) { w.Int64(128) }, "field value.i8: 128 does not fit"},
		{"wrong type", func(w *Writer) { w.Text("x") }, "field value.i8: a string for"},
		{"null", func(w *Writer) { w.Null() }, "field value.i8: null for"},
		{"unfinished", func(w *Writer) { w.Int64(1); w.Int64(2) }, "field value.i32: missing: 2 of 14 parts"},
		{"any", func(w *Writer) { w.Any(map[string]any{"p": map[string]any{"x": "no"}}) }, "field value.i8: null for"},
		{"unknown field", func(w *Writer) { w.Any(map[string]any{"zz": 1}) }, "field value.zz: no such field"},
	} {
		row := b.Begin(r, time.Time{})
		c.fill(&row.Value)
		err := row.End()
		var v *ValueError
		if !errors.As(err, &v) || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if b.Len() != 0 || b.Size() != 0 {
		t.Fatalf("%d rows, %d bytes", b.Len(), b.Size())
	}
}

func TestWriterNested(t *testing.T) {
	s := NewStruct("e").Field("before", point.AsOptional()).Field("list", NewArray(point).MustBuild()).
		Field("map", NewMap(StringSchema, OptionalInt64Schema).MustBuild()).Field("op", StringSchema).MustBuild()
	b := NewBatch(NewCatalog())
	row := b.Begin(NewRoute("t", nil, s), time.Time{})
	w := &row.Value
	w.Struct()
	w.Int64(1)
	w.Null()
	w.Array(2)
	for i := range 2 {
		w.Struct()
		w.Int64(int64(i))
		w.Float64(0.5)
	}
	w.Map(2)
	w.Text("a")
	w.Int64(1)
	w.Text("b")
	w.Null()
	w.Text("c")
	got, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Append(nil, s, map[string]any{
		"before": map[string]any{"x": 1}, "list": []any{map[string]any{"x": 0, "y": 0.5}, map[string]any{"x": 1, "y": 0.5}},
		"map": map[string]any{"a": 1, "b": nil}, "op": "c",
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %x, want %x, %v", got, want, err)
	}
	w.Reset(s)
	w.Null()
	w.Array(0)
	w.Map(0)
	w.Text("d")
	if got, err := w.Finish(); err != nil || hex.EncodeToString(got) != "0000000264" {
		t.Fatalf("%x, %v", got, err)
	}
}

func TestValueFieldAndSpans(t *testing.T) {
	v, err := Encode(all, allValue)
	if err != nil {
		t.Fatal(err)
	}
	x, err := v.Field("p", "x")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := x.Int64(); n != 1 || err != nil {
		t.Fatalf("p.x: %d, %v", n, err)
	}
	if y, err := v.Field("p", "y"); err != nil || !y.IsNull() || y.Schema() != OptionalFloat64Schema {
		t.Fatalf("p.y: %v, %v", y, err)
	}
	if s, err := v.Field("s"); err != nil || string(s.Encoded()) != "é" {
		t.Fatalf("s: %q, %v", s.Encoded(), err)
	}
	if _, err := v.Field("p", "z"); err == nil || !strings.HasPrefix(err.Error(), "field p.z: no such field") {
		t.Fatalf("p.z: %v", err)
	}
	if n, err := NewValue(all, nil).Field("p", "x"); err != nil || !n.IsNull() {
		t.Fatalf("a field of null: %v, %v", n, err)
	}
	spans, err := v.Spans(nil)
	if err != nil || len(spans) != len(all.Fields()) || spans[len(spans)-1].To != len(v.Encoded()) {
		t.Fatalf("spans: %v, %v", spans, err)
	}
	for i, s := range spans {
		f, err := v.FieldAt(i)
		if err != nil {
			t.Fatal(err)
		}
		again, err := AppendNested(nil, f)
		if err != nil || !bytes.Equal(again, v.Encoded()[s.From:s.To]) {
			t.Fatalf("field %d: %x, want %x, %v", i, again, v.Encoded()[s.From:s.To], err)
		}
	}
	j := NewValue(nil, []byte(`{"a":{"b":[1,2],"c":null},"n":5}`))
	if f, err := j.Field("a", "b"); err != nil || string(f.Encoded()) != "[1,2]" {
		t.Fatalf("a.b: %q, %v", f.Encoded(), err)
	}
	if f, err := j.Field("a", "c", "d"); err != nil || !f.IsNull() {
		t.Fatalf("a.c.d: %q, %v", f.Encoded(), err)
	}
	n, err := j.Field("n")
	if err != nil {
		t.Fatal(err)
	}
	if i, err := n.Int64(); i != 5 || err != nil {
		t.Fatalf("n: %d, %v", i, err)
	}
}

func TestDecimals(t *testing.T) {
	for _, text := range []string{"0", "0.00", "-0.01", "1.5", "-128", "127", "128", "-129", "123456789012345678901234567890.12"} {
		d, err := ParseDecimal(text)
		if err != nil || d.String() != text {
			t.Errorf("%s: %s, %v", text, d, err)
		}
		if n := ParseUnscaled(AppendUnscaled(nil, d.Unscaled)); n.Cmp(d.Unscaled) != 0 {
			t.Errorf("%s: %s", text, n)
		}
	}
	for n, want := range map[int64]string{0: "00", 127: "7f", 128: "0080", -1: "ff", -128: "80", -129: "ff7f", 256: "0100", -256: "ff00"} {
		if got := hex.EncodeToString(AppendUnscaled(nil, big.NewInt(n))); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if _, err := Append(nil, NewDecimal(1).MustBuild(), Decimal{big.NewInt(125), 2}); err == nil {
		t.Error("a digit was lost")
	}
}

func TestSchemaIdentity(t *testing.T) {
	again := all.Builder().MustBuild()
	if again == all || !again.Equal(all) || again.Fingerprint() != all.Fingerprint() {
		t.Fatal("a schema built again differs")
	}
	seen := map[uint64]string{}
	for name, s := range map[string]*Schema{
		"all": all, "optional": all.AsOptional(), "doc": all.Builder().Doc("").MustBuild(), "version": all.Builder().Version(4).MustBuild(),
		"name": all.Builder().Name("x").MustBuild(), "parameter": all.Builder().Parameter("a", "b").MustBuild(),
		"default": Int32Schema.Builder().Default(1).MustBuild(), "int32": Int32Schema, "zero": Int32Schema.Builder().Default(0).MustBuild(),
		"fewer": NewStruct("all").Field("i8", Int8Schema).MustBuild(),
	} {
		if o, dup := seen[s.Fingerprint()]; dup {
			t.Errorf("%s and %s have one fingerprint", name, o)
		}
		seen[s.Fingerprint()] = name
	}
	if _, err := NewStruct("x").Field("a", Int8Schema).Field("a", Int8Schema).Build(); err == nil {
		t.Error("two fields of one name")
	}
	if _, err := Int8Schema.Builder().Default("x").Build(); err == nil {
		t.Error("a default of another type")
	}
	deep := Int8Schema
	var err error
	for range MaxSchemaDepth + 1 {
		if deep, err = NewArray(deep).Build(); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("a schema without bottom")
	}
}

func TestAnyGoValue(t *testing.T) {
	type inner struct {
		X int32
		Y float64
	}
	type tagged struct {
		ID   uint32            `connect:"id"`
		Name string            `connect:"name,optional"`
		At   time.Time         `connect:"at"`
		Tags []string          `connect:"tags"`
		Sub  *inner            `connect:"sub"`
		M    map[string]int    `connect:"m"`
		Raw  []byte            `connect:"raw"`
		Skip map[string]string `connect:"-"`
	}
	s, err := SchemaOf[tagged]("tagged")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Encode(s, tagged{ID: 7, At: time.UnixMilli(5), Tags: []string{"a"}, Sub: &inner{1, 2}, M: map[string]int{"k": 1}, Raw: []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := v.Decode()
	if err != nil {
		t.Fatal(err)
	}
	st := d.(*Struct)
	if st.Get("id") != int64(7) || st.Get("name") != nil || st.Get("at") != int64(5) || st.Get("sub").(*Struct).Get("X") != int32(1) ||
		!EqualValues(st.Get("tags"), []any{"a"}) || !EqualValues(st.Get("m"), map[string]any{"k": int64(1)}) {
		t.Fatalf("%v", st.values)
	}
	if !st.Equal(d.(*Struct)) {
		t.Fatal("a struct differs from itself")
	}
}

func TestMergedBatches(t *testing.T) {
	c := NewCatalog()
	a, b := NewBatch(c), NewBatch(c)
	r := NewRoute("t", nil, StringSchema)
	fill := func(n int) {
		for i := range n {
			b.AppendEncoded(r, int64(1000+i), nil, []byte("x"), Headers{})
		}
		b.Position(NewPartition("p", 1), NewOffset("n", n))
	}
	fill(2)
	if !a.Merge(b) || a.Len() != 2 || b.Len() != 0 || b.Size() != 0 {
		t.Fatal("merging into an empty batch")
	}
	b.SetBase(a.Base())
	fill(3)
	if !a.Merge(b) || a.Len() != 5 || a.Marks()[1].Rows != 5 {
		t.Fatalf("merging: %d rows, %v", a.Len(), a.Marks())
	}
	b.SetBase(7)
	fill(1)
	if a.Merge(b) {
		t.Fatal("merged times of two bases")
	}
}

func TestFillingAllocatesNothing(t *testing.T) {
	b := NewBatch(NewCatalog())
	r := NewRoute("t", Int64Schema, tenFields)
	fill := func() {
		b.Reset()
		for i := range 100 {
			fillTen(b, r, int64(i))
		}
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n != 0 {
		t.Fatalf("%v allocations for 100 rows (I3)", n)
	}
}

// Retain copies rows that stand in memory which does not stay, if nothing was handed out of them before; else it is for who lent
// the memory to leave it as it is.
func TestRetain(t *testing.T) {
	rows := func() (*Records, []byte) {
		b := NewBatch(NewCatalog())
		r := NewRoute("t", nil, BytesSchema)
		b.AppendEncoded(r, NoTime, nil, []byte("abc"), Headers{})
		dir := NewDirectory()
		if err := dir.AddRoute(1, r); err != nil {
			t.Fatal(err)
		}
		return NewRecords(b.Encoded(), 1, 0, dir, nil), b.Encoded()
	}
	for _, c := range []struct {
		name             string
		lent, late       bool
		retained, copied bool
	}{
		{name: "the collector's", retained: true},
		{name: "the collector's, late", late: true, retained: true},
		{name: "lent", lent: true, copied: true},
		{name: "lent, late", lent: true, late: true, retained: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rs, raw := rows()
			if c.lent {
				rs.Lend()
			}
			var v []byte
			all := func() {
				for r := range rs.All() {
					v = r.Value.Encoded()
				}
			}
			if c.late {
				all()
			}
			rs.Retain()
			rs.Retain()
			if !c.late {
				all()
			}
			if rs.Retained() != c.retained || string(v) != "abc" || rs.Err() != nil {
				t.Fatalf("retained %v, %q, %v", rs.Retained(), v, rs.Err())
			}
			clear(raw)
			if copied := string(v) == "abc"; copied != c.copied {
				t.Fatalf("copied: %v", copied)
			}
		})
	}
}
