package mysql

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestParseType(t *testing.T) {
	for _, c := range []struct {
		expr, typ string
		length    int
		scale     int
		unsigned  bool
		values    []string
	}{
		{"int(10) unsigned", "int", 10, -1, true, nil},
		{"int(6) unsigned zerofill", "int", 6, -1, true, nil},
		{"decimal(18,6)", "decimal", 18, 6, false, nil},
		{"datetime(6)", "datetime", -1, 6, false, nil},
		{"timestamp", "timestamp", -1, 0, false, nil},
		{"binary(16)", "binary", 16, -1, false, nil},
		{"uuid", "uuid", -1, -1, false, nil},
		{`enum('a,b','it''s','back\\slash','(x)','','new\nline')`, "enum", -1, -1, false, []string{"a,b", "it's", `back\slash`, "(x)", "", "new\nline"}},
		{"set('один','два')", "set", -1, -1, false, []string{"один", "два"}},
	} {
		col := Column{Name: "c"}
		if err := col.parseType(c.expr); err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		if col.Type != c.typ || col.Length != c.length || col.Scale != c.scale || col.Unsigned != c.unsigned || !reflect.DeepEqual(col.Values, c.values) {
			t.Errorf("%s gives %+v", c.expr, col)
		}
	}
	for _, bad := range []string{"enum('a", "int(x)", "decimal(1,2"} {
		if err := new(Column).parseType(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestHistoryKeepsTables proves that a table comes out of the history as it went in.
func TestHistoryKeepsTables(t *testing.T) {
	def := "b"
	in := &Table{DB: "d", Name: "t", Charset: "utf8mb4", Key: []string{"id"}, Indexes: []Index{{primary, []string{"id"}}}}
	for _, c := range []struct {
		name, expr string
		more       func(*Column)
	}{
		{"id", "bigint(20) unsigned", func(c *Column) { c.Auto = true }},
		{"e", `enum('a','back\\slash','it''s')`, func(c *Column) { c.Nullable, c.Charset = true, "gbk" }},
		{"s", "varchar(20)", func(c *Column) { c.Charset, c.Default = "latin1", &def }},
		{"j", "longtext", func(c *Column) { c.JSON, c.Nullable, c.Charset = true, true, "utf8mb4" }},
		{"g", "int(11)", func(c *Column) { c.Generated = true }},
	} {
		col := Column{Name: c.name}
		if err := col.parseType(c.expr); err != nil {
			t.Fatal(err)
		}
		c.more(&col)
		in.Columns = append(in.Columns, col)
	}
	b, err := json.Marshal(historyOf(in))
	if err != nil {
		t.Fatal(err)
	}
	var h historyTable
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatal(err)
	}
	out, err := h.table("d", "t")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("in  %+v\nout %+v", in, out)
	}
}
