package lake

import (
	"encoding/json"
	"flag"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

var update = flag.Bool("update", false, "write golden files")

func debezium(t connectapi.Type, name string) *connectapi.Builder {
	return connectapi.NewSchema(t).Name("io.debezium." + name).Version(1)
}

func decimal(scale int, precision string) *connectapi.Builder {
	return connectapi.NewDecimal(scale).Parameter("connect.decimal.precision", precision)
}

func big10(text string) connectapi.Decimal {
	d, err := connectapi.ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

var point = connectapi.NewStruct("point").Field("x", connectapi.Int32Schema).Field("y", connectapi.OptionalStringSchema).MustBuild()

func aPoint(x int32, y any) *connectapi.Struct {
	s := connectapi.NewStructValue(point)
	s.SetAt(0, x)
	s.SetAt(1, y)
	return s
}

// everyType is a field of every type and its value: all fields are optional too, to be null in the second row.
func everyType() (*connectapi.Schema, []any) {
	b := connectapi.NewStruct("every.Type")
	var values []any
	add := func(name string, s *connectapi.Builder, v any) {
		b.Field(name, s.Optional().MustBuild())
		values = append(values, v)
	}
	plain := connectapi.NewSchema
	add("z_bool", plain(connectapi.TypeBoolean), true) // not in the order of the alphabet
	add("int8", plain(connectapi.TypeInt8), int8(-128))
	add("int16", plain(connectapi.TypeInt16), int16(32767))
	add("int32", plain(connectapi.TypeInt32), int32(-2147483648))
	add("int64", plain(connectapi.TypeInt64), int64(9223372036854775807))
	add("float32", plain(connectapi.TypeFloat32), float32(1.5))
	add("float64", plain(connectapi.TypeFloat64), -2.25)
	add("string", plain(connectapi.TypeString), "é, \"日本\"\n")
	add("empty", plain(connectapi.TypeString), "")
	add("bytes", plain(connectapi.TypeBytes), []byte{0, 255, 1})
	add("dec5_2", decimal(2, "5"), big10("-123.45"))
	add("dec18_0", decimal(0, "18"), big10("999999999999999999"))
	add("dec20_4", decimal(4, "20"), big10("-1234567890123456.7890"))
	add("dec38_10", decimal(10, "38"), big10("1234567890123456789012345678.0123456789"))
	add("dec_default", connectapi.NewDecimal(3), big10("0.001"))
	add("dec65_30", decimal(30, "65"), connectapi.Decimal{Unscaled: new(big.Int).Exp(big.NewInt(10), big.NewInt(60), nil), Scale: 30})
	add("date", connectapi.NewDate(), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC))
	add("time", connectapi.NewTime(), time.UnixMilli(86399999).UTC())
	add("timestamp", connectapi.NewTimestamp(), time.Date(2024, 2, 29, 23, 59, 59, 123e6, time.UTC))
	add("dbz_date", debezium(connectapi.TypeInt32, "time.Date"), int32(19000))
	add("dbz_time", debezium(connectapi.TypeInt32, "time.Time"), int32(1))
	add("dbz_micro_time", debezium(connectapi.TypeInt64, "time.MicroTime"), int64(3723000001))
	add("dbz_nano_time", debezium(connectapi.TypeInt64, "time.NanoTime"), int64(3723000001001))
	add("dbz_timestamp", debezium(connectapi.TypeInt64, "time.Timestamp"), int64(-1))
	add("dbz_micro_timestamp", debezium(connectapi.TypeInt64, "time.MicroTimestamp"), int64(1700000000123456))
	add("dbz_nano_timestamp", debezium(connectapi.TypeInt64, "time.NanoTimestamp"), int64(1700000000123456789))
	add("dbz_zoned", debezium(connectapi.TypeString, "time.ZonedTimestamp"), "2018-06-20T15:37:03.000001+02:00")
	add("dbz_year", debezium(connectapi.TypeInt32, "time.Year"), int32(1999))
	add("dbz_json", debezium(connectapi.TypeString, "data.Json"), `{"a": [1, null]}`)
	add("dbz_enum", debezium(connectapi.TypeString, "data.Enum").Parameter("allowed", "a,b"), "b")
	add("dbz_bits", debezium(connectapi.TypeBytes, "data.Bits").Parameter("length", "9"), []byte{1, 1})
	add("uuid", debezium(connectapi.TypeString, "data.Uuid"), "123e4567-e89b-12d3-a456-426614174000")
	add("odd, name=\"x\".y", plain(connectapi.TypeInt32), int32(7))
	add("struct", point.Builder(), aPoint(1, "y"))
	add("nothing", connectapi.NewStruct("nothing"), connectapi.NewStructValue(connectapi.NewStruct("nothing").Optional().MustBuild()))
	add("list", connectapi.NewArray(connectapi.OptionalInt64Schema), []any{int64(1), nil, int64(3)})
	add("list_empty", connectapi.NewArray(connectapi.Int64Schema), []any{})
	add("list_of_lists", connectapi.NewArray(connectapi.NewArray(connectapi.StringSchema).Optional().MustBuild()),
		[]any{[]any{"a", "b"}, nil, []any{}, []any{"c"}})
	add("list_of_structs", connectapi.NewArray(point), []any{aPoint(1, nil), aPoint(2, "two")})
	add("map", connectapi.NewMap(connectapi.StringSchema, connectapi.OptionalInt32Schema), map[string]any{"only": int32(5)})
	add("map_of_lists", connectapi.NewMap(connectapi.Int32Schema, connectapi.NewArray(point).MustBuild()), map[any]any{int32(9): []any{aPoint(3, "three")}})
	b.Field("required", connectapi.Int32Schema)
	values = append(values, int32(42))
	return b.MustBuild(), values
}

// TestTypes writes a value of every type, all nulls, and all again; the golden file is what pyarrow, a reader that is
// none of ours, says of the file, and ReadLake must say the same values.
func TestTypes(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir)
	schema, values := everyType()
	full, nulls := connectapi.NewStructValue(schema), connectapi.NewStructValue(schema)
	for i, v := range values {
		if s, ok := v.(*connectapi.Struct); ok { // of the optional schema
			c := connectapi.NewStructValue(schema.Fields()[i].Schema)
			for j := range s.Len() {
				c.SetAt(j, s.At(j))
			}
			v = c
		}
		full.SetAt(i, v)
	}
	nulls.SetAt(len(values)-1, int32(0))
	for i, v := range []*connectapi.Struct{full, nulls, full} {
		h.write(rec{topic: "every", partition: 3, offset: int64(i), schema: schema, value: v})
	}
	if h.commit(true); len(h.failed) > 0 {
		t.Fatal(h.failed)
	}
	file := filepath.Join(dir, "every/partition=3/every+3+0000000000.parquet")
	wantNames(t, dir, "every/partition=3/every+3+0000000000.parquet")

	golden(t, "types.golden", pyarrow(t, file))

	rows, err := testenv.ReadLake(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "types_readlake.golden", string(text)+"\n")
}

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
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Fatalf("%s (-want +got):\n%s", path, d)
	}
}

// pyarrow reads a file with Apache Arrow: schema and rows as text.
func pyarrow(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.Command(python(t), "testdata/read.py", file)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading %s with pyarrow: %v\n%s", file, err, stderr.String())
	}
	return string(out)
}

// python is the interpreter that tools/deps.sh tests installs with pyarrow.
func python(t *testing.T) string {
	t.Helper()
	path := filepath.Join(testenv.Cache(), "venv/bin/python")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("pyarrow is not installed: run make deps (%v)", err)
	}
	return path
}
