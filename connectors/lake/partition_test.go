package lake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

func TestTimeFolders(t *testing.T) {
	const daily = "DailyPartitioner"
	for _, c := range []struct {
		class, zone, format, span string
		at                        string
		want                      string
	}{
		{daily, "UTC", "", "", "2024-12-29T23:59:59Z", "year=2024/month=12/day=29"},
		{daily, "UTC", "", "", "2024-12-30T00:00:00Z", "year=2024/month=12/day=30"}, // week-year 2025
		{daily, "UTC", "", "", "2024-12-31T12:00:00Z", "year=2024/month=12/day=31"},
		{daily, "UTC", "", "", "2025-01-01T00:00:00Z", "year=2025/month=01/day=01"},
		{daily, "UTC", "", "", "2027-01-02T00:00:00Z", "year=2027/month=01/day=02"}, // week-year 2026
		{daily, "Asia/Tokyo", "", "", "2024-12-31T15:00:00Z", "year=2025/month=01/day=01"},
		{daily, "America/Los_Angeles", "", "", "2025-01-01T07:59:59Z", "year=2024/month=12/day=31"},
		{daily, "UTC", "", "", "1969-12-31T23:59:59Z", "year=1969/month=12/day=31"},
		{daily, "UTC", "", "", "0002-01-01T00:00:00Z", "year=0002/month=01/day=01"},
		{"io.confluent.connect.storage.partitioner.HourlyPartitioner", "Europe/Berlin", "", "", "2024-03-31T00:59:59Z", "year=2024/month=03/day=31/hour=01"},
		{"HourlyPartitioner", "Europe/Berlin", "", "", "2024-03-31T01:00:00Z", "year=2024/month=03/day=31/hour=03"}, // 02 is left out
		{"HourlyPartitioner", "Europe/Berlin", "", "", "2024-10-27T00:30:00Z", "year=2024/month=10/day=27/hour=02"},
		{"HourlyPartitioner", "Europe/Berlin", "", "", "2024-10-27T01:30:00Z", "year=2024/month=10/day=27/hour=02"}, // again
		{"TimeBased", "Asia/Kathmandu", "yyyy-MM-dd/HH'h'mm", "900000", "2024-05-06T07:08:09Z", "2024-05-06/12h45"},
		{"TimeBasedPartitioner", "UTC", "'week'=xxxx-'W'ww/EEE", "86400000", "2024-12-30T05:00:00Z", "week=2025-W01/Mon"},
		{"TimeBasedPartitioner", "UTC", "YY/MMM/MMMM/D/DDD/e/EEEE/a/h/K/k/SSS/''", "1", "2024-02-03T00:05:06.078Z", "24/Feb/February/34/034/6/Saturday/AM/12/0/24/078/'"},
		{"TimeBasedPartitioner", "America/New_York", "ZZZ/z/Z", "3600000", "2024-07-01T00:00:00Z", "America%2FNew_York/EDT/-0400"},
	} {
		kv := []string{"location", "/nowhere", "partitioner.class", c.class, "timezone", c.zone, "timestamp.extractor", "Record"}
		if c.format != "" {
			kv = append(kv, "path.format", c.format, "partition.duration.ms", c.span)
		}
		cfg := config(t, kv...)
		p, err := newPartitioner(&cfg, time.Now)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.encode(p, &connectapi.Record{Time: at})
		if err != nil || got != c.want {
			t.Errorf("%s in %s of %s: %q, %v, want %q", c.class, c.zone, c.at, got, err, c.want)
		}
	}
}

var oddStrings = []string{"", "a/b", "..", ".", "a=b", "../../etc/passwd", "é日本", "%2F", "a b+c", "\x00\n", "null", `\`}

// No value of a field, no topic and no field name leaves the location; what was written comes back (I4).
func TestOddNames(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "partitioner.class", "FieldPartitioner", "partition.field.name", "a/b,n.ok")
	inner := connectapi.NewStruct("n").Field("ok", connectapi.OptionalBooleanSchema).MustBuild()
	s := connectapi.NewStruct("v").Field("a/b", connectapi.OptionalStringSchema).Field("n", inner).MustBuild()
	for i, text := range append(oddStrings, "-") {
		v, in := connectapi.NewStructValue(s), connectapi.NewStructValue(inner)
		v.SetAt(0, text)
		in.SetAt(0, i%2 == 0)
		if text == "-" {
			v.SetAt(0, nil)
			in.SetAt(0, nil)
		}
		v.SetAt(1, in)
		h.write(rec{topic: "t", offset: int64(i), schema: s, value: v})
	}
	for i, topic := range []string{"..", ".hidden", "a/../../b", ""} {
		h.write(rec{topic: topic, from: "t", offset: int64(100 + i), schema: s, value: func() any {
			v, in := connectapi.NewStructValue(s), connectapi.NewStructValue(inner)
			v.SetAt(1, in)
			return v
		}()})
	}
	h.commit(true)
	if len(h.failed) > 0 {
		t.Fatal(h.failed)
	}
	got := names(t, dir)
	golden(t, "names.golden", strings.Join(got, "\n")+"\n")
	rows, err := testenv.ReadLake(dir)
	if err != nil || len(rows) != len(oddStrings)+5 {
		t.Fatalf("%d rows, %v: %q", len(rows), err, got)
	}
	for i, want := range oddStrings {
		if rows[i].Columns["a/b"] != want {
			t.Fatalf("row %d: %q, want %q", i, rows[i].Columns["a/b"], want)
		}
	}
}

func TestPartitionErrorsAreTheRecords(t *testing.T) {
	s := connectapi.NewStruct("v").Field("f", connectapi.OptionalFloat64Schema).Field("s", connectapi.OptionalStringSchema).MustBuild()
	v := connectapi.NewStructValue(s)
	v.SetAt(0, 1.5)
	v.SetAt(1, strings.Repeat("x", 300))
	for _, c := range []struct{ field, want string }{
		{"f", "partition.field.name f is Schema{float64}: only integers, strings and booleans name folders"},
		{"nix", "partition.field.name nix: field nix: no such field"},
		{"s", "would have a name of 302 bytes"},
	} {
		h := newHarness(t, "location", t.TempDir(), "partitioner.class", "FieldPartitioner", "partition.field.name", c.field)
		h.write(rec{topic: "t", offset: 5, schema: s, value: v})
		if len(h.failed) != 1 || !strings.Contains(h.failed[0], c.want) {
			t.Errorf("%s: %q", c.field, h.failed)
		}
		if got := durable(h.commit(false)); got != 6 {
			t.Errorf("%s: durable %d behind a failed record, want 6", c.field, got)
		}
	}
}

func TestExtractors(t *testing.T) {
	micro := connectapi.NewSchema(connectapi.TypeInt64).Name(debeziumMicroTimestamp).MustBuild()
	s := connectapi.NewStruct("v").Field("ms", connectapi.OptionalInt64Schema).Field("us", micro).Field("iso", connectapi.StringSchema).
		Field("digits", connectapi.StringSchema).Field("bad", connectapi.StringSchema).MustBuild()
	v := connectapi.NewStructValue(s)
	for i, x := range []any{int64(1714979289000), int64(1714979289000000), "2024-05-06T07:08:09Z", "1714979289000", "soon"} {
		v.SetAt(i, x)
	}
	for _, f := range []string{"ms", "us", "iso", "digits", "bad", "nix"} {
		dir := t.TempDir()
		h := newHarness(t, "location", dir, "partitioner.class", "HourlyPartitioner", "timestamp.extractor",
			"io.confluent.connect.storage.partitioner.TimeBasedPartitioner$RecordFieldTimestampExtractor", "timestamp.field", f)
		h.write(rec{topic: "t", schema: s, value: v})
		h.commit(true)
		if f == "bad" || f == "nix" {
			if len(h.failed) != 1 || !strings.Contains(h.failed[0], "timestamp.field "+f) {
				t.Errorf("%s: %q", f, h.failed)
			}
			continue
		}
		wantNames(t, dir, "t/year=2024/month=05/day=06/hour=07/t+0+0000000000.parquet")
	}
}

func TestSchemalessFields(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "partitioner.class", "field", "partition.field.name", "kind,n")
	h.write(rec{topic: "t", value: `{"kind":"a b","n":7,"x":[1]}`}, rec{topic: "t", offset: 1, value: `{"kind":null,"n":true}`})
	h.commit(true)
	if len(h.failed) > 0 {
		t.Fatal(h.failed)
	}
	wantNames(t, dir, "t/kind=a%20b/n=7/t+0+0000000000.parquet", "t/kind=null/n=true/t+0+0000000001.parquet")
	rows, err := testenv.ReadLake(dir)
	if err != nil || rows[0].Columns["value"] != `{"kind":"a b","n":7,"x":[1]}` {
		t.Fatalf("%v %v", rows, err)
	}
}

func FuzzJoda(f *testing.F) {
	for _, s := range []string{"'year'=YYYY", "yy''''", "'", "ZZZ/z", "Q", "SSSSSSSSSSSS", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		p, err := parseJoda(pattern)
		if err == nil && len(pattern) < 200 {
			_ = p.format(start, start)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range oddStrings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := folderName(s)
		if strings.ContainsAny(name, "/\\\x00=") || name == "" || name == "." || name == ".." || strings.HasPrefix(name, ".") {
			t.Fatalf("%q becomes %q", s, name)
		}
		var back []byte
		for i := 0; i < len(name); i++ {
			c := name[i]
			if c == '%' && len(name) > 1 {
				var n int
				if _, err := fmt.Sscanf(name[i+1:i+3], "%02X", &n); err != nil {
					t.Fatal(err)
				}
				c, i = byte(n), i+2
			}
			back = append(back, c)
		}
		if s != "" && string(back) != s {
			t.Fatalf("%q becomes %q, which is %q", s, name, back)
		}
	})
}
