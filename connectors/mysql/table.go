package mysql

import (
	"fmt"
	"strconv"
	"strings"
)

// Column is a column as the schema history keeps it.
type Column struct {
	Name      string
	Type      string // data type in lower case, without length: int, varchar, datetime
	Expr      string // as the server writes it: int(10) unsigned, enum('a','b')
	Length    int    // characters, bytes or bits; a decimal's precision; -1: none given
	Scale     int    // of a decimal; of a temporal its fraction digits; -1: none given
	Unsigned  bool
	Nullable  bool
	Charset   string   // of character columns
	Values    []string // of ENUM and SET
	Default   *string  // a literal; nil: none, or an expression
	Auto      bool
	Generated bool
	JSON      bool // MariaDB: LONGTEXT with a json_valid check
}

// Table is a table as it was at some position of the log.
type Table struct {
	DB, Name string
	Columns  []Column // in the order of row images
	Indexes  []Index  // unique ones
	Key      []string // primary key, else the first unique index whose columns are all NOT NULL; empty: none
	Charset  string   // default for new columns
}

// Index is a unique index.
type Index struct {
	Name    string // PRIMARY: the primary key
	Columns []string
}

const primary = "PRIMARY"

// rekey chooses the key anew.
func (t *Table) rekey() {
	t.Key = nil
	for _, want := range []bool{true, false} {
		for _, ix := range t.Indexes {
			if (ix.Name == primary) == want && t.usableKey(ix.Columns) {
				t.Key = ix.Columns
				return
			}
		}
	}
}

func (t *Table) id() string { return t.DB + "." + t.Name }

func (t *Table) column(name string) int {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

// clone gives a copy whose slices are its own.
func (t *Table) clone() *Table {
	c := *t
	c.Columns = append([]Column(nil), t.Columns...)
	c.Key = append([]string(nil), t.Key...)
	c.Indexes = append([]Index(nil), t.Indexes...)
	return &c
}

// parseType fills a column's type from the server's expression (information_schema.columns.column_type).
func (c *Column) parseType(expr string) error {
	c.Expr, c.Length, c.Scale = expr, -1, -1
	rest := expr
	i := 0
	for i < len(rest) && (rest[i] >= 'a' && rest[i] <= 'z' || rest[i] >= 'A' && rest[i] <= 'Z' || rest[i] >= '0' && rest[i] <= '9' || rest[i] == '_') {
		i++
	}
	c.Type = strings.ToLower(rest[:i])
	rest = strings.TrimSpace(rest[i:])
	if strings.HasPrefix(rest, "(") {
		args, tail, err := arguments(rest)
		if err != nil {
			return fmt.Errorf("reading the type %q of column %s: %w", expr, c.Name, err)
		}
		rest = tail
		if c.Type == "enum" || c.Type == "set" {
			c.Values = args
		} else if err := c.lengths(args); err != nil {
			return fmt.Errorf("reading the type %q of column %s: %w", expr, c.Name, err)
		}
	}
	rest = strings.ToLower(rest)
	c.Unsigned = strings.Contains(rest, "unsigned") || strings.Contains(rest, "zerofill")
	c.normalise()
	return nil
}

func (c *Column) lengths(args []string) error {
	nums := make([]int, len(args))
	for i, a := range args {
		n, err := strconv.Atoi(strings.TrimSpace(a))
		if err != nil {
			return err
		}
		nums[i] = n
	}
	switch c.Type {
	case "time", "datetime", "timestamp":
		c.Scale = nums[0]
	default:
		c.Length = nums[0]
		if len(nums) > 1 {
			c.Scale = nums[1]
		}
	}
	return nil
}

// normalise gives synonyms one name and fills defaults of lengths.
func (c *Column) normalise() {
	switch c.Type {
	case "integer":
		c.Type = "int"
	case "dec", "numeric", "fixed":
		c.Type = "decimal"
	case "real", "double_precision":
		c.Type = "double"
	case "bool", "boolean":
		c.Type, c.Length = "tinyint", 1
	case "nchar":
		c.Type = "char"
	case "nvarchar":
		c.Type = "varchar"
	case "geomcollection":
		c.Type = "geometrycollection"
	}
	switch c.Type {
	case "decimal":
		if c.Length < 0 {
			c.Length = 10
		}
		c.Scale = max(c.Scale, 0)
	case "bit":
		if c.Length < 0 {
			c.Length = 1
		}
	case "char", "binary":
		if c.Length < 0 {
			c.Length = 1
		}
	case "time", "datetime", "timestamp":
		c.Scale = max(c.Scale, 0)
	}
}

// arguments splits "(…)" at its commas; quoted ones lose their quotes. The server doubles quotes in them and writes
// backslash, newline, carriage return and NUL as escapes.
func arguments(s string) (args []string, rest string, err error) {
	var cur strings.Builder
	quoted := false
	for i := 1; i < len(s); i++ {
		ch := s[i]
		switch {
		case quoted && ch == '\'' && i+1 < len(s) && s[i+1] == '\'':
			cur.WriteByte('\'')
			i++
		case ch == '\'':
			quoted = !quoted
		case quoted && ch == '\\' && i+1 < len(s):
			cur.WriteString(unquote(s[i : i+2]))
			i++
		case quoted:
			cur.WriteByte(ch)
		case ch == ',' || ch == ')':
			args = append(args, cur.String())
			cur.Reset()
			if ch == ')' {
				return args, strings.TrimSpace(s[i+1:]), nil
			}
		default:
			cur.WriteByte(ch)
		}
	}
	return nil, "", fmt.Errorf("a parenthesis is not closed")
}
