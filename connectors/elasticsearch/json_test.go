package elasticsearch

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

// allTypes is a struct of every type, with values; the golden files hold its document and its mapping.
func allTypes(t testing.TB) connectapi.Value {
	named := func(typ connectapi.Type, name string) *connectapi.Schema {
		return connectapi.NewSchema(typ).Name(name).MustBuild()
	}
	nested := connectapi.NewStruct("n").Field("a", connectapi.Int32Schema).Field("b", connectapi.OptionalStringSchema).MustBuild()
	variable := connectapi.NewStruct("io.debezium.data.VariableScaleDecimal").Field("scale", connectapi.Int32Schema).
		Field("value", connectapi.BytesSchema).MustBuild()
	variableValue := connectapi.NewStructValue(variable)
	_ = variableValue.Put("scale", int32(3))
	_ = variableValue.Put("value", connectapi.AppendUnscaled(nil, big.NewInt(-12345)))
	nestedValue := connectapi.NewStructValue(nested)
	_ = nestedValue.Put("a", int32(5))
	dec := func(s string) connectapi.Decimal {
		d, err := connectapi.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	b := connectapi.NewStruct("all")
	values := map[string]any{}
	add := func(name string, s *connectapi.Schema, v any) { b.Field(name, s); values[name] = v }
	add("int8", connectapi.Int8Schema, int8(-128))
	add("int16", connectapi.Int16Schema, int16(32767))
	add("int32", connectapi.Int32Schema, int32(-5))
	add("int64", connectapi.Int64Schema, int64(math.MinInt64))
	add("float32", connectapi.Float32Schema, float32(1.5))
	add("float64", connectapi.Float64Schema, 1e300)
	add("nan", connectapi.Float64Schema, math.NaN())
	add("small", connectapi.Float64Schema, 1e-9)
	add("boolean", connectapi.BooleanSchema, true)
	add("string", connectapi.StringSchema, "a\"\n\u2028é")
	add("bytes", connectapi.BytesSchema, []byte{0, 255, 1})
	add("null", connectapi.OptionalStringSchema, nil)
	add("default", connectapi.NewSchema(connectapi.TypeInt32).Optional().Default(int32(7)).MustBuild(), nil)
	add("default_text", connectapi.NewSchema(connectapi.TypeString).Default("d").MustBuild(), "x")
	add("decimal", connectapi.NewDecimal(2).MustBuild(), dec("-12.50"))
	add("decimal_big", connectapi.NewDecimal(5).MustBuild(), dec("123456789012345678901234567890.12345"))
	add("decimal_negative_scale", connectapi.NewDecimal(-2).MustBuild(), connectapi.Decimal{Unscaled: big.NewInt(5), Scale: -2})
	add("decimal_variable", variable, variableValue)
	add("date", connectapi.NewDate().MustBuild(), int32(19_000))
	add("date_old", connectapi.NewDate().MustBuild(), int32(-1))
	add("date_far", connectapi.NewDate().MustBuild(), int32(5_000_000))
	add("time", connectapi.NewTime().MustBuild(), int32(3_723_004))
	add("timestamp", connectapi.NewTimestamp().MustBuild(), int64(1_700_000_000_123))
	add("dbz_date", named(connectapi.TypeInt32, "io.debezium.time.Date"), int32(19_000))
	add("dbz_time", named(connectapi.TypeInt32, "io.debezium.time.Time"), int32(86_399_999))
	add("dbz_microtime", named(connectapi.TypeInt64, "io.debezium.time.MicroTime"), int64(-3_020_399_000_001))
	add("dbz_nanotime", named(connectapi.TypeInt64, "io.debezium.time.NanoTime"), int64(1))
	add("dbz_timestamp", named(connectapi.TypeInt64, "io.debezium.time.Timestamp"), int64(1_700_000_000_120))
	add("dbz_microtimestamp", named(connectapi.TypeInt64, "io.debezium.time.MicroTimestamp"), int64(-1))
	add("dbz_nanotimestamp", named(connectapi.TypeInt64, "io.debezium.time.NanoTimestamp"), int64(1_700_000_000_000_000_001))
	add("dbz_zoned", named(connectapi.TypeString, "io.debezium.time.ZonedTimestamp"), "2026-01-02T03:04:05.678Z")
	add("dbz_year", named(connectapi.TypeInt32, "io.debezium.time.Year"), int32(2026))
	add("dbz_enum", named(connectapi.TypeString, "io.debezium.data.Enum"), "red")
	add("misnamed", named(connectapi.TypeInt64, connectapi.DateName), int64(3))
	add("array", connectapi.NewArray(connectapi.OptionalInt32Schema).MustBuild(), []any{int32(1), nil, int32(3)})
	add("array_nested", connectapi.NewArray(connectapi.NewArray(connectapi.Int32Schema).MustBuild()).MustBuild(), []any{[]any{int32(1)}, []any{}})
	add("map", connectapi.NewMap(connectapi.StringSchema, connectapi.Int32Schema).MustBuild(), map[string]any{"k\"": int32(1)})
	add("map_int", connectapi.NewMap(connectapi.Int32Schema, connectapi.StringSchema).MustBuild(), map[any]any{int32(1): "one"})
	add("struct", nested, nestedValue)
	add("struct_null", nested.AsOptional(), nil)
	return structOf(t, b.MustBuild(), values)
}

func TestDocumentAndMappingGolden(t *testing.T) {
	v := allTypes(t)
	for name, set := range map[string]map[string]string{
		"default": nil,
		"other":   {"decimal.handling": "KEYWORD", "compact.map.entries": "false"},
	} {
		tr := newTranscoder(settingsOf(t, set))
		doc, err := tr.appendDocument(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(doc) {
			t.Fatalf("not JSON: %s", doc)
		}
		n, _ := tr.node(v.Schema())
		m, _ := mappingOf(n)
		var out strings.Builder
		for i, f := range v.Schema().Fields() {
			one, err := json.Marshal(m[f.Name])
			if err != nil {
				t.Fatal(err)
			}
			field, err := v.FieldAt(i)
			if err != nil {
				t.Fatal(err)
			}
			s := connectapi.NewStruct("one").Field("v", f.Schema).MustBuild()
			enc, err := connectapi.AppendNested(nil, field)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := tr.appendDocument(nil, connectapi.NewValue(s, enc))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s\n  %s\n  %s\n", f.Name, alone[len(`{"v":`):len(alone)-1], one)
		}
		golden(t, "document_"+name+".golden", out.String())
	}
}

func TestDocumentsMustBeObjects(t *testing.T) {
	tr := newTranscoder(settingsOf(t, nil))
	for _, v := range []connectapi.Value{
		text("x"), number(1), jsonValue(`[1]`), jsonValue(`"x"`), jsonValue(`{"a":`), jsonValue(`{}{}`), jsonValue(``), jsonValue(`null`),
		connectapi.NewValue(connectapi.NewArray(connectapi.Int32Schema).MustBuild(), []byte{0}),
	} {
		if doc, err := tr.appendDocument(nil, v); err == nil {
			t.Errorf("%q became %s", v.Encoded(), doc)
		}
	}
	doc, err := tr.appendDocument([]byte("x"), jsonValue("\n {\r\n\"a\": \"b\\n c\"}\n"))
	if err != nil || string(doc) != `x{"a":"b\n c"}` {
		t.Errorf("%q, %v", doc, err)
	}
	m := connectapi.NewMap(connectapi.StringSchema, connectapi.Int32Schema).MustBuild()
	if doc, err = tr.appendDocument(nil, encoded(t, m, map[string]any{"a": int32(1)})); err != nil || string(doc) != `{"a":1}` {
		t.Errorf("%q, %v", doc, err)
	}
}

func FuzzTranscode(f *testing.F) {
	v := allTypes(f)
	f.Add(v.Encoded())
	f.Add(v.Encoded()[:20])
	f.Add(slices.Repeat([]byte{0xff}, 64))
	s, set := v.Schema(), settingsOf(f, nil)
	tr := newTranscoder(set)
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, err := tr.appendDocument(nil, connectapi.NewValue(s, b))
		if err == nil && (!json.Valid(doc) || strings.ContainsAny(string(doc), "\n\r")) {
			t.Fatalf("not one line of JSON: %q", doc)
		}
	})
}

func TestMissingFields(t *testing.T) {
	parse := func(s string) (m map[string]any) {
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := parse(`{"a":{"type":"long"},"o":{"properties":{"x":{"type":"long"},"y":{"type":"text"}}},"n":{"type":"date"}}`)
	for have, add := range map[string]string{
		`{}`: `{"a":{"type":"long"},"n":{"type":"date"},"o":{"properties":{"x":{"type":"long"},"y":{"type":"text"}}}}`,
		`{"a":{"type":"text"},"n":{},"o":{"properties":{"x":{"type":"long"}}}}`:                    `{"o":{"properties":{"y":{"type":"text"}}}}`,
		`{"a":{"type":"text"},"n":{},"o":{"dynamic":"strict","properties":{"x":{"type":"long"}}}}`: `{}`,
		`{"a":{"type":"text"},"n":{},"o":{"type":"flattened"}}`:                                    `{}`,
		`{"a":{},"n":{},"o":{"type":"nested","properties":{"x":{"type":"long"}}}}`:                 `{"o":{"properties":{"y":{"type":"text"}},"type":"nested"}}`,
	} {
		got, _ := json.Marshal(missing(want, parse(have), 0))
		if string(got) != add {
			t.Errorf("missing in %s: %s, want %s", have, got, add)
		}
	}
}

func TestSmallDecimals(t *testing.T) {
	for _, unscaled := range []int64{0, 1, -1, 9, 10, -10, 12345, -12345, 127, 128, -128, -129, 1 << 40, math.MaxInt64, math.MinInt64} {
		for _, scale := range []int{0, 1, 2, 5, 17, 18} {
			b := connectapi.AppendUnscaled(nil, big.NewInt(unscaled))
			want := connectapi.Decimal{Unscaled: big.NewInt(unscaled), Scale: scale}.String()
			if got := string(appendSmallDecimal(nil, b, scale)); got != want {
				t.Errorf("%d with scale %d: %s, want %s", unscaled, scale, got, want)
			}
		}
	}
	if got := string(appendSmallDecimal(nil, nil, 2)); got != "0.00" {
		t.Errorf("no bytes: %s", got)
	}
}
