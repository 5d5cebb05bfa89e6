package mysql

import (
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
)

// TestRewrite proves that forms of MariaDB become ones the parser takes, with what matters for a schema kept.
func TestRewrite(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"CREATE OR REPLACE TABLE a (id INT)", "CREATE TABLE a (id INT)"},
		{"ALTER TABLE a WAIT 5 ADD COLUMN n INT", "ALTER TABLE a ADD COLUMN n INT"},
		{"ALTER ONLINE TABLE a ADD COLUMN n INT", "ALTER TABLE a ADD COLUMN n INT"},
		{"CREATE TABLE a (s VARCHAR(10) INVISIBLE DEFAULT 'hid')", "CREATE TABLE a (s VARCHAR(10) DEFAULT 'hid')"},
		{"CREATE TABLE a (v INT AS (1+1) PERSISTENT)", "CREATE TABLE a (v INT AS (1+1) STORED)"},
		{"CREATE TABLE a (p INT NOT NULL DEFAULT (1+2), q INT)", "CREATE TABLE a (p INT NOT NULL , q INT)"},
		{"CREATE TABLE a (p VARCHAR(9) DEFAULT (concat('(', ')', `x`)) COMMENT 'c', q INT DEFAULT(3))", "CREATE TABLE a (p VARCHAR(9)  COMMENT 'c', q INT )"},
		{"CREATE TABLE a (p INT COMMENT 'default (none', q INT)", "CREATE TABLE a (p INT COMMENT 'default (none', q INT)"},
		{"CREATE TABLE a (p INT COMMENT 'it''s default (1)', q INT DEFAULT (2))", "CREATE TABLE a (p INT COMMENT 'it''s default (1)', q INT )"},
	} {
		got := rewrite(c.in)
		if got != c.out {
			t.Errorf("%s\nbecomes %s\nnot     %s", c.in, got, c.out)
		}
		if _, _, err := parser.New().Parse(got, "", ""); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestBinaryDefaults(t *testing.T) {
	for _, c := range []struct {
		expr, def, want string
		none            bool
	}{
		{"binary(4)", "\n\x00\x00\x00", "\n\x00\x00\x00", false},
		{"binary(4)", "x'0A'", "\n\x00\x00\x00", false},
		{"varbinary(4)", "x'00ff'", "\x00\xff", false},
		{"varbinary(4)", "\x00?", "", true},
	} {
		col := Column{Name: "c", Default: &c.def}
		if err := col.parseType(c.expr); err != nil {
			t.Fatal(err)
		}
		enc, err := newColumn(&Config{Binary: "bytes"}, col)
		if err != nil {
			t.Fatal(err)
		}
		got := enc.schema.EncodedDefault()
		if (got == nil) != c.none || string(got) != c.want {
			t.Errorf("%s default %q: %q", c.expr, c.def, got)
		}
	}
}
