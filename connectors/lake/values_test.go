package lake

import (
	"context"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

// Values that are no structs are one column.
func TestRootValues(t *testing.T) {
	list := connectapi.NewArray(connectapi.StringSchema).Optional().MustBuild()
	for _, c := range []struct {
		schema *connectapi.Schema
		value  any
		want   any
	}{
		{nil, `{"a":1}`, `{"a":1}`},
		{connectapi.StringSchema, "text", "text"},
		{connectapi.OptionalStringSchema, "", ""},
		{connectapi.OptionalBytesSchema, []byte{1, 0}, []byte{1, 0}},
		{connectapi.Int64Schema, int64(-5), int64(-5)},
		{connectapi.Float64Schema, 0.5, 0.5},
		{connectapi.NewDecimal(2).MustBuild(), big10("1.25"), "1.25"},
		{connectapi.NewDecimal(1).Parameter("connect.decimal.precision", "50").MustBuild(), big10("-1.5"), "-1.5"},
		{list, []any{"a", "b"}, []any{"a", "b"}},
		{connectapi.NewMap(connectapi.StringSchema, connectapi.Int32Schema).MustBuild(), map[string]any{"k": int32(1)}, map[string]any{"k": int64(1)}},
		{connectapi.NewStruct("none").MustBuild(), connectapi.NewStructValue(connectapi.NewStruct("none").MustBuild()), "{}"},
	} {
		dir := t.TempDir()
		h := newHarness(t, "location", dir)
		h.write(rec{topic: "t", offset: 7, schema: c.schema, value: c.value})
		h.commit(true)
		rows, err := testenv.ReadLake(dir)
		if err != nil || len(h.failed) > 0 || len(rows) != 1 {
			t.Fatalf("%s: %v %v %v", c.schema, rows, err, h.failed)
		}
		if got := rows[0].Columns["value"]; rows[0].Offset != 7 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, want %#v", c.schema, got, c.want)
		}
	}
}

// A value its column cannot hold fails its record, naming column and value; the rows around it are whole (I5).
func TestWrongValues(t *testing.T) {
	dec := func(scale int, precision string) *connectapi.Schema {
		return decimal(scale, precision).MustBuild()
	}
	huge := func(digits int64) connectapi.Decimal {
		return connectapi.Decimal{Unscaled: new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil), Scale: 0}
	}
	for _, c := range []struct {
		name   string
		schema *connectapi.Schema
		value  any
		want   string
	}{
		{"time of more than a day", debezium(connectapi.TypeInt64, "time.MicroTime").MustBuild(), int64(838 * 3600 * 1e6), "column f.x: 838h0m0s is no time of a day"},
		{"negative time", debezium(connectapi.TypeInt64, "time.MicroTime").MustBuild(), int64(-1), "column f.x: -1µs is no time of a day"},
		{"zoned", debezium(connectapi.TypeString, "time.ZonedTimestamp").MustBuild(), "0000-00-00", `column f.x: "0000-00-00" is no time with a zone`},
		{"far", debezium(connectapi.TypeInt64, "time.Timestamp").MustBuild(), int64(1) << 62, "column f.x: the time 4611686018427387904 is too far away"},
		{"utf8", connectapi.StringSchema, "a\xffb", `column f.x: "a\xffb" is no UTF-8`},
		{"dec 4", dec(2, "4"), big10("100.00"), "column f.x: 100.00 has more than the 4 digits"},
		{"dec 18", dec(0, "18"), huge(18), "column f.x: 1000000000000000000 has more than the 18 digits"},
		{"dec 20", dec(0, "20"), connectapi.Decimal{Unscaled: new(big.Int).Neg(huge(20).Unscaled)}, "column f.x: -100000000000000000000 has more than the 20 digits"},
		{"dec 38", dec(0, "38"), huge(38), "has more than the 38 digits"},
		{"dec 38 beyond 16 bytes", dec(0, "38"), huge(60), "has more than the 38 digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHarness(t, "location", dir)
			in := connectapi.NewStruct("f").Field("n", connectapi.Int32Schema).Field("x", c.schema.AsOptional()).MustBuild()
			s := connectapi.NewStruct("v").Field("before", connectapi.StringSchema).Field("f", in).MustBuild()
			var recs []rec
			for i := range int64(3) {
				v, f := connectapi.NewStructValue(s), connectapi.NewStructValue(in)
				v.SetAt(0, "b")
				f.SetAt(0, int32(i))
				if i == 1 {
					f.SetAt(1, c.value)
				}
				v.SetAt(1, f)
				recs = append(recs, rec{topic: "t", offset: i, schema: s, value: v})
			}
			h.write(recs...)
			if len(h.failed) != 1 || !strings.HasPrefix(h.failed[0], "1: ") || !strings.Contains(h.failed[0], c.want) {
				t.Fatalf("%q, want %q", h.failed, c.want)
			}
			if got := durable(h.commit(true)); got != 3 {
				t.Fatalf("durable: %d", got)
			}
			rows, err := testenv.ReadLake(dir)
			if err != nil || len(rows) != 2 || rows[1].Offset != 2 || rows[1].Columns["f"].(map[string]any)["n"] != int64(2) {
				t.Fatalf("%v %v", rows, err)
			}
		})
	}
}

// A null where none may be cannot be encoded by the SDK; from a map's optional key it can, and fails the record. Bytes
// that end early do not become zeros.
func TestNullAndTornInRequired(t *testing.T) {
	m := connectapi.NewStruct("v").Field("m", connectapi.NewMap(connectapi.OptionalInt32Schema, connectapi.Int32Schema).MustBuild()).
		Field("n", connectapi.Int32Schema).MustBuild()
	h := newHarness(t, "location", t.TempDir())
	good := connectapi.NewStructValue(m)
	good.SetAt(0, map[any]any{int32(1): int32(2)})
	good.SetAt(1, int32(3))
	v := connectapi.NewStructValue(m)
	v.SetAt(0, map[any]any{nil: int32(2)})
	v.SetAt(1, int32(3))
	encoded, err := connectapi.Encode(m, good)
	if err != nil {
		t.Fatal(err)
	}
	b := encoded.Encoded()
	h.write(rec{topic: "t", schema: m, value: v}, rec{topic: "t", offset: 1, schema: m, value: connectapi.NewValue(m, b[:len(b)-1])},
		rec{topic: "t", offset: 2, schema: m, value: connectapi.NewValue(m, append(b[:len(b):len(b)], 0))},
		rec{topic: "t", offset: 3, schema: m, value: good})
	for i, want := range []string{"0: column m.key: null in a required column", "1: ", "2: the value has 1 bytes more"} {
		if len(h.failed) != 3 || !strings.HasPrefix(h.failed[i], want) {
			t.Fatalf("%q", h.failed)
		}
	}
}

func TestTimeMicros(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "time.type", "micros")
	s := connectapi.NewStruct("v").Field("t", debezium(connectapi.TypeInt64, "time.MicroTime").MustBuild()).MustBuild()
	v := connectapi.NewStructValue(s)
	v.SetAt(0, int64(-838*3600*1e6))
	h.write(rec{topic: "t", schema: s, value: v})
	h.commit(true)
	rows, err := testenv.ReadLake(dir)
	if err != nil || len(rows) != 1 || rows[0].Columns["t"] != int64(-838*3600*1e6) {
		t.Fatalf("%v %v %v", rows, err, h.failed)
	}
}

func TestNullValues(t *testing.T) {
	for mode, want := range map[string]string{
		"ignore": "", "fail": "behavior.on.null.values=fail", "write": "",
	} {
		dir := t.TempDir()
		h := newHarness(t, "location", dir, "behavior.on.null.values", mode)
		h.write(rec{topic: "t", key: "k1", schema: connectapi.OptionalStringSchema}, rec{topic: "t", offset: 1, schema: connectapi.OptionalStringSchema})
		if got := durable(h.commit(mode == "write")); got != 2 {
			t.Fatalf("%s: durable %d", mode, got)
		}
		if want != "" && (len(h.failed) != 2 || !strings.Contains(h.failed[0], want)) || want == "" && len(h.failed) > 0 {
			t.Fatalf("%s: %q", mode, h.failed)
		}
		if mode != "write" {
			wantNames(t, dir)
			continue
		}
		wantNames(t, dir, "t/tombstone/t+0+0000000000.parquet")
		rows, err := testenv.ReadLake(dir)
		if err != nil || rows[0].Columns["key"] != "k1" || rows[1].Columns["key"] != nil {
			t.Fatalf("%v %v", rows, err)
		}
	}
}

func TestReservedNames(t *testing.T) {
	h := newHarness(t, "location", t.TempDir())
	s := connectapi.NewStruct("v").Field("__offset", connectapi.Int32Schema).MustBuild()
	v := connectapi.NewStructValue(s)
	v.SetAt(0, int32(1))
	h.write(rec{topic: "t", schema: s, value: v})
	if len(h.failed) != 1 || !strings.Contains(h.failed[0], "the value has a field __offset") {
		t.Fatal(h.failed)
	}
}

// A routed record stands in the folder of its new topic and keeps where it was consumed.
func TestRoutedTopic(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	for i, from := range []string{"a", "b"} {
		h.write(rec{topic: "all", from: from, offset: 0, schema: connectapi.Int32Schema, value: int32(i)})
	}
	h.commit(true)
	wantNames(t, dir, "all/partition=0/a+0+0000000000.parquet", "all/partition=0/b+0+0000000000.parquet")
	rows, err := testenv.ReadLake(dir)
	if err != nil || rows[0].Topic != "a" || rows[1].Topic != "b" {
		t.Fatalf("%v %v", rows, err)
	}
}

func TestCodecs(t *testing.T) {
	for codec := range codecs {
		dir := t.TempDir()
		h := newHarness(t, "location", dir, "parquet.codec", codec)
		h.write(strs(0, 300)...)
		h.commit(true)
		checkStrs(t, dir, 300)
		if out := pyarrow(t, filepath.Join(dir, "t/partition=0/t+0+0000000000.parquet")); !strings.Contains(out, "row 299 value 'v299'") {
			t.Fatal(out)
		}
	}
}

func TestValidate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ok := t.TempDir()
	for _, c := range []struct {
		kv   []string
		key  string
		want string
	}{
		{[]string{"location", ok}, "", ""},
		{[]string{"location", "file://" + ok + "/not/there/yet", "topics.dir", "a/b"}, "", ""},
		{nil, "location", "is needed"},
		{[]string{"location", "lake"}, "location", "neither file:///folder nor s3://bucket/prefix"},
		{[]string{"location", "gs://x/y"}, "location", "neither"},
		{[]string{"location", ok, "s3.bucket.name", "b"}, "location", "not both"},
		{[]string{"location", file + "/x"}, "location", "file"},
		{[]string{"location", ok, "topics.dir", "a/../../b"}, "topics.dir", `has the part ".."`},
		{[]string{"location", ok, "partitioner.class", "Nope"}, "partitioner.class", `"Nope" is none of`},
		{[]string{"location", ok, "partitioner.class", "FieldPartitioner"}, "partition.field.name", "is needed"},
		{[]string{"location", ok, "partitioner.class", "FieldPartitioner", "partition.field.name", "a..b"}, "partition.field.name", `"a..b" is no field`},
		{[]string{"location", ok, "timezone", "Europe/Atlantis"}, "timezone", `"Europe/Atlantis" is no time zone`},
		{[]string{"location", ok, "locale", "de_DE"}, "locale", "English"},
		{[]string{"location", ok, "partitioner.class", "TimeBasedPartitioner", "path.format", "YYYY"}, "partition.duration.ms", "is needed"},
		{[]string{"location", ok, "partitioner.class", "TimeBasedPartitioner", "partition.duration.ms", "1"}, "path.format", "is needed"},
		{[]string{"location", ok, "partitioner.class", "TimeBasedPartitioner", "partition.duration.ms", "1", "path.format", "year=YYYY"}, "path.format", `the letter 'r' at place 4`},
		{[]string{"location", ok, "partitioner.class", "TimeBasedPartitioner", "partition.duration.ms", "1", "path.format", "YYYY/'..'/MM"}, "path.format", `makes a folder called ".."`},
		{[]string{"location", ok, "partitioner.class", "TimeBasedPartitioner", "partition.duration.ms", "1", "path.format", "'YYYY"}, "path.format", "not closed"},
		{[]string{"location", ok, "timestamp.extractor", "x.Y"}, "timestamp.extractor", `"x.Y" is none of`},
		{[]string{"location", ok, "format.class", "io.confluent.connect.s3.format.json.JsonFormat"}, "format.class", "JsonFormat is not written"},
		{[]string{"location", ok, "schema.compatibility", "BACKWARD"}, "schema.compatibility", "BACKWARD is not offered"},
		{[]string{"location", ok, "aws.access.key.id", "x"}, "aws.secret.access.key", "go together"},
		{[]string{"location", "s3://b/x", "store.url", "nowhere"}, "store.url", "is not http(s)://host:port"},
		{[]string{"location", "s3://bucket/x", "store.url", "http://127.0.0.1:1", "aws.access.key.id", "a", "aws.secret.access.key", "s3cr3t"}, "store.url", "127.0.0.1:1"},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		err := validate(ctx, config(t, c.kv...))
		cancel()
		found, rest := connectapi.FindingsOf(err)
		if rest != nil || c.key == "" && len(found) > 0 || c.key != "" && (len(found) != 1 || found[0].Key != c.key || !strings.Contains(found[0].Errors[0], c.want)) {
			t.Errorf("%v: %v %v, want %s: %s", c.kv, found, rest, c.key, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v: a secret stands in %v", c.kv, err)
		}
	}
	if got := names(t, ok); len(got) > 0 {
		t.Errorf("validation left %q", got)
	}
	if _, err := os.Stat(filepath.Join(ok, "not")); err == nil {
		t.Error("validation made the location")
	}
}
