package convert

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	connectapi "github.com/penstockio/penstock/connect-api"
)

const jsonClass = "org.apache.kafka.connect.json.JsonConverter"

func converter(t testing.TB, class string, cfg map[string]string) Converter {
	t.Helper()
	c, err := New(class, Other, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func value(t testing.TB, s *connectapi.Schema, v any) connectapi.Value {
	t.Helper()
	out, err := connectapi.Encode(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decimal(text string) connectapi.Decimal {
	d, err := connectapi.ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// jsonCases are worked by hand from Kafka Connect's JsonConverter.
var jsonCases = []struct {
	name   string
	schema *connectapi.Schema
	value  any
	json   string // schemas.enable=false
	env    string // the schema's JSON
}{
	{"int", connectapi.Int32Schema, int32(-7), `-7`, `{"type":"int32","optional":false}`},
	{"long max", connectapi.Int64Schema, int64(9223372036854775807), `9223372036854775807`, `{"type":"int64","optional":false}`},
	{"float", connectapi.Float32Schema, float32(1.5), `1.5`, `{"type":"float","optional":false}`},
	{"whole double", connectapi.Float64Schema, float64(3), `3.0`, `{"type":"double","optional":false}`},
	{"large double", connectapi.Float64Schema, 1e300, `1e+300`, `{"type":"double","optional":false}`},
	{"boolean", connectapi.BooleanSchema, true, `true`, `{"type":"boolean","optional":false}`},
	{"string", connectapi.StringSchema, "a\"b\\\n<é>\u2028", "\"a\\\"b\\\\\\n<é>\u2028\"", `{"type":"string","optional":false}`},
	{"bytes", connectapi.BytesSchema, []byte{0, 255}, `"AP8="`, `{"type":"bytes","optional":false}`},
	{
		"decimal", connectapi.NewDecimal(3).MustBuild(), decimal("27.612"), `"a9w="`,
		`{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"3"}}`,
	},
	{
		"array", connectapi.NewArray(connectapi.OptionalInt16Schema).MustBuild(),
		[]any{int16(1), nil},
		`[1,null]`,
		`{"type":"array","items":{"type":"int16","optional":true},"optional":false}`,
	},
	{
		"map", connectapi.NewMap(connectapi.StringSchema, connectapi.Int32Schema).MustBuild(),
		map[string]any{"k": int32(1)},
		`{"k":1}`,
		`{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"int32","optional":false},"optional":false}`,
	},
	{
		"map with int keys", connectapi.NewMap(connectapi.Int32Schema, connectapi.StringSchema).MustBuild(),
		map[any]any{int32(2): "x"},
		`[[2,"x"]]`,
		`{"type":"map","keys":{"type":"int32","optional":false},"values":{"type":"string","optional":false},"optional":false}`,
	},
}

func TestJSONBothWays(t *testing.T) {
	for _, tc := range jsonCases {
		t.Run(tc.name, func(t *testing.T) {
			v := value(t, tc.schema, tc.value)
			plain, err := converter(t, jsonClass, map[string]string{"schemas.enable": "false"}).Encode("t", v)
			if err != nil || string(plain) != tc.json {
				t.Fatalf("without schema: %s %v, want %s", plain, err, tc.json)
			}
			c := converter(t, jsonClass, nil)
			b, err := c.Encode("t", v)
			if want := `{"schema":` + tc.env + `,"payload":` + tc.json + `}`; err != nil || string(b) != want {
				t.Fatalf("with schema: %s %v\nwant %s", b, err, want)
			}
			if !json.Valid(b) {
				t.Fatalf("not JSON: %s", b)
			}
			back, err := converter(t, jsonClass, nil).Decode("t", b)
			if err != nil {
				t.Fatal(err)
			}
			if !back.Schema().Equal(tc.schema) || string(back.Encoded()) != string(v.Encoded()) {
				t.Fatalf("read back %s %x, want %s %x", back.Schema(), back.Encoded(), tc.schema, v.Encoded())
			}
		})
	}
}

func TestJSONStructsDefaultsAndNulls(t *testing.T) {
	s := connectapi.NewStruct("row").Version(2).Doc("a row").
		Field("id", connectapi.Int32Schema).
		Field("note", connectapi.NewSchema(connectapi.TypeString).Optional().Default("none").MustBuild()).
		Field("price", connectapi.NewDecimal(2).Optional().MustBuild()).
		Field("tag", connectapi.OptionalStringSchema).MustBuild()
	v := value(t, s, map[string]any{"id": int32(1), "note": nil, "price": connectapi.Decimal{Unscaled: big.NewInt(10000), Scale: 2}, "tag": nil})
	for cfg, want := range map[string]string{
		"":                                `{"id":1,"note":"none","price":"JxA=","tag":null}`,
		"replace.null.with.default=false": `{"id":1,"note":null,"price":"JxA=","tag":null}`,
		"decimal.format=NUMERIC":          `{"id":1,"note":"none","price":100.00,"tag":null}`,
	} {
		m := map[string]string{"schemas.enable": "false"}
		if k, val, ok := strings.Cut(cfg, "="); ok {
			m[k] = val
		}
		if got, err := converter(t, jsonClass, m).Encode("t", v); err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", cfg, got, err, want)
		}
	}
	for _, format := range []string{"BASE64", "NUMERIC"} { // a decimal keeps its scale both ways
		c := converter(t, jsonClass, map[string]string{"decimal.format": format})
		b, err := c.Encode("t", v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := c.Decode("t", b)
		if err != nil || !back.Schema().Equal(s) {
			t.Fatalf("%s: %v %v", format, err, back.Schema())
		}
		p, err := back.Field("price")
		if err != nil || string(p.Encoded()) != "\x27\x10" {
			t.Fatalf("%s: price %x %v", format, p.Encoded(), err)
		}
	}
}

// TestTombstones keeps null values null both ways, in both modes: C052.
func TestTombstones(t *testing.T) {
	for _, enable := range []string{"true", "false"} {
		c := converter(t, jsonClass, map[string]string{"schemas.enable": enable})
		if b, err := c.Encode("t", connectapi.Value{}); b != nil || err != nil {
			t.Errorf("schemas.enable=%s: a tombstone was written as %q %v", enable, b, err)
		}
		for _, in := range []string{"null", ` null `, `{"schema":null,"payload":null}`, ""} {
			data := []byte(in)
			if in == "" {
				data = nil
			}
			if enable == "false" && strings.HasPrefix(in, "{") {
				continue // an ordinary object there
			}
			v, err := c.Decode("t", data)
			if err != nil || !v.IsNull() || v.Schema() != nil {
				t.Errorf("schemas.enable=%s: %q was read as %v %v", enable, in, v, err)
			}
		}
	}
}

func TestBadInputIsNamed(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`: "schemas.enable=false",
		`[1]`:     "schemas.enable=false",
		`{oops`:   "not JSON",
		`{"schema":{"type":"int33"},"payload":1}`:                                                                              "int33",
		`{"schema":{"type":"int8"},"payload":300}`:                                                                             "300",
		`{"schema":{"type":"int32"},"payload":null}`:                                                                           "not optional",
		`{"schema":{"type":"struct","fields":[{"type":"int32","field":"a"}]},"payload":{"a":"x"}}`:                             "field a",
		`{"schema":{"type":"array"},"payload":[]}`:                                                                             "items",
		`{"schema":{"type":"bytes"},"payload":"%%"}`:                                                                           "base64",
		`{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"1"}},"payload":1.25}`: "digits",
	} {
		_, err := converter(t, jsonClass, nil).Decode("topic-x", []byte(in))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "topic-x") || connectapi.KindOf(err) != connectapi.Data {
			t.Errorf("%s: %v (%v), want a data error that says %q and names the topic", in, err, connectapi.KindOf(err), want)
		}
	}
	if _, err := converter(t, jsonClass, map[string]string{"schemas.enable": "false"}).Decode("t", []byte("{oops")); err == nil {
		t.Error("malformed JSON passed")
	}
}

func TestSimpleConverters(t *testing.T) {
	for class, tc := range map[string]struct {
		v    connectapi.Value
		wire string
	}{
		"StringConverter":    {value(t, connectapi.OptionalStringSchema, "héllo"), "héllo"},
		"ByteArrayConverter": {value(t, connectapi.OptionalBytesSchema, []byte{1, 0}), "\x01\x00"},
		"ShortConverter":     {value(t, connectapi.OptionalInt16Schema, int16(-2)), "\xff\xfe"},
		"IntegerConverter":   {value(t, connectapi.OptionalInt32Schema, int32(258)), "\x00\x00\x01\x02"},
		"LongConverter":      {value(t, connectapi.OptionalInt64Schema, int64(-1)), "\xff\xff\xff\xff\xff\xff\xff\xff"},
		"DoubleConverter":    {value(t, connectapi.OptionalFloat64Schema, 1.0), "\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		"FloatConverter":     {value(t, connectapi.OptionalFloat32Schema, float32(1)), "\x3f\x80\x00\x00"},
		"BooleanConverter":   {value(t, connectapi.OptionalBooleanSchema, true), "\x01"},
	} {
		c := converter(t, class, nil)
		b, err := c.Encode("t", tc.v)
		if err != nil || string(b) != tc.wire {
			t.Errorf("%s wrote %q %v, want %q", class, b, err, tc.wire)
		}
		back, err := c.Decode("t", []byte(tc.wire))
		if err != nil || !back.Schema().Equal(tc.v.Schema()) || string(back.Encoded()) != string(tc.v.Encoded()) {
			t.Errorf("%s read %v %v", class, back, err)
		}
		if v, err := c.Decode("t", nil); err != nil || !v.IsNull() {
			t.Errorf("%s made something of null: %v %v", class, v, err)
		}
	}
	if _, err := converter(t, "IntegerConverter", nil).Decode("t", []byte{1}); err == nil {
		t.Error("one byte passed as an int32")
	}
	if b, err := converter(t, "StringConverter", nil).Encode("t", value(t, connectapi.Int32Schema, int32(5))); string(b) != "5" || err != nil {
		t.Errorf("a number as a string is %q %v", b, err)
	}
	if _, err := converter(t, "ByteArrayConverter", nil).Encode("t", value(t, connectapi.Int32Schema, int32(5))); err == nil {
		t.Error("ByteArrayConverter took a number")
	}
}

func TestUnknownClassNamesTheKnown(t *testing.T) {
	if _, err := New("no.such.Converter", Other, nil); err == nil || !strings.Contains(err.Error(), "JsonConverter") {
		t.Fatalf("got %v", err)
	}
}

func FuzzJSONDecode(f *testing.F) {
	for _, tc := range jsonCases {
		f.Add([]byte(`{"schema":` + tc.env + `,"payload":` + tc.json + `}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := converter(t, jsonClass, nil)
		v, err := c.Decode("t", b)
		if err != nil {
			return
		}
		if err := v.Check(); err != nil {
			t.Fatalf("decoded into malformed bytes: %v", err)
		}
		if _, err := c.Encode("t", v); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}

func BenchmarkJSONEncodeRow(b *testing.B) {
	sb := connectapi.NewStruct("row")
	row := map[string]any{}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		sb.Field("i"+n, connectapi.Int64Schema).Field("s"+n, connectapi.OptionalStringSchema)
		row["i"+n], row["s"+n] = int64(1234567), "some text of a column"
	}
	v := value(b, sb.MustBuild(), row)
	c := converter(b, jsonClass, map[string]string{"schemas.enable": "false"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Encode("t", v); err != nil {
			b.Fatal(err)
		}
	}
}
