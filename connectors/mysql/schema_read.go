package mysql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// read gives a table as it is now. It is right for a snapshot, and for the head of the log; never for older events.
func (s *server) read(db, name string) (*Table, error) {
	t := &Table{DB: db, Name: name}
	where := fmt.Sprintf("WHERE table_schema=%s AND table_name=%s", quoteText(db), quoteText(name))
	r, err := s.Execute("SELECT column_name, column_type, is_nullable, character_set_name, column_default, extra FROM information_schema.columns " + where + " ORDER BY ordinal_position")
	if err != nil {
		return nil, fmt.Errorf("reading the columns of %s.%s: %w", db, name, err)
	}
	defer r.Close()
	if r.RowNumber() == 0 {
		return nil, fmt.Errorf("table %s.%s does not exist", db, name)
	}
	json, err := s.jsonColumns(db, name)
	if err != nil {
		return nil, err
	}
	for i := range r.RowNumber() {
		c, err := s.column(r, i)
		if err != nil {
			return nil, fmt.Errorf("reading the columns of %s.%s: %w", db, name, err)
		}
		c.JSON = json[strings.ToLower(c.Name)]
		t.Columns = append(t.Columns, c)
	}
	if err := s.indexes(t); err != nil {
		return nil, err
	}
	t.rekey()
	collation, err := s.one("SELECT table_collation FROM information_schema.tables " + where)
	if err != nil {
		return nil, err
	}
	t.Charset, _, _ = strings.Cut(collation, "_")
	return t, nil
}

func (s *server) column(r *mysql.Result, i int) (Column, error) {
	get := func(j int) string {
		v, _ := text(r, i, j) // a null is an empty string
		return v
	}
	c := Column{Name: get(0), Nullable: get(2) == "YES", Charset: get(3)}
	if err := c.parseType(get(1)); err != nil {
		return c, err
	}
	extra := strings.ToLower(get(5))
	c.Auto = strings.Contains(extra, "auto_increment")
	c.Generated = strings.Contains(extra, "generated") && !strings.Contains(extra, "default_generated")
	isNull, err := r.IsNull(i, 4)
	if err != nil || isNull || c.Generated {
		return c, err
	}
	def := get(4)
	switch {
	case s.flavor == mysql.MariaDBFlavor: // SQL text: strings quoted, null bare
		if lit, ok := literal(def); ok {
			c.Default = lit
		}
	case !strings.Contains(extra, "default_generated"): // MySQL: the value itself, expressions marked in extra
		if strings.HasPrefix(strings.ToLower(def), "current_timestamp") && c.temporal() {
			return c, nil
		}
		c.Default = &def
	}
	return c, nil
}

func (c *Column) temporal() bool { return c.Type == "timestamp" || c.Type == "datetime" }

// literal reads SQL text as a literal; false: an expression. A bare NULL is a literal without a value.
func literal(sql string) (*string, bool) {
	t := strings.TrimSpace(sql)
	switch {
	case strings.EqualFold(t, "NULL"):
		return nil, true
	case len(t) >= 2 && t[0] == '\'' && t[len(t)-1] == '\'':
		v := unquote(t[1 : len(t)-1])
		return &v, true
	case t == "":
		return nil, false
	case strings.Trim(t, "0123456789.+-eE") == "":
		return &t, true
	case (t[0] == 'b' || t[0] == 'x' || t[0] == 'B' || t[0] == 'X') && len(t) > 2 && t[1] == '\'':
		return &t, true
	}
	return nil, false
}

// unquote resolves escapes of an SQL string.
func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case s[i] == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '0':
				b.WriteByte(0)
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// indexes reads the unique indexes, in the server's order.
func (s *server) indexes(t *Table) error {
	r, err := s.Execute(fmt.Sprintf("SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema=%s AND table_name=%s AND non_unique=0 "+
		"ORDER BY (index_name='PRIMARY') DESC, index_name, seq_in_index", quoteText(t.DB), quoteText(t.Name)))
	if err != nil {
		return fmt.Errorf("reading the indexes of %s: %w", t.id(), err)
	}
	defer r.Close()
	for i := range r.RowNumber() {
		index, err1 := text(r, i, 0)
		col, err2 := text(r, i, 1) // a functional part has none
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if n := len(t.Indexes); n > 0 && t.Indexes[n-1].Name == index {
			t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, col)
			continue
		}
		t.Indexes = append(t.Indexes, Index{index, []string{col}})
	}
	return nil
}

// usableKey tells whether all columns exist and are NOT NULL; a functional part has no column.
func (t *Table) usableKey(cols []string) bool {
	for _, c := range cols {
		i := t.column(c)
		if i < 0 || t.Columns[i].Nullable {
			return false
		}
	}
	return len(cols) > 0
}

// jsonColumns finds MariaDB's JSON columns: LONGTEXT with a json_valid check.
func (s *server) jsonColumns(db, name string) (map[string]bool, error) {
	out := map[string]bool{}
	if s.flavor != mysql.MariaDBFlavor {
		return out, nil
	}
	r, err := s.Execute(fmt.Sprintf("SELECT check_clause FROM information_schema.check_constraints WHERE constraint_schema=%s AND table_name=%s", quoteText(db), quoteText(name)))
	if err != nil {
		return out, nil // servers before 10.2.22 have no such table, and no such check
	}
	defer r.Close()
	for i := range r.RowNumber() {
		clause, err := text(r, i, 0)
		if err != nil {
			return nil, err
		}
		if col, ok := strings.CutPrefix(clause, "json_valid(`"); ok && strings.HasSuffix(col, "`)") {
			out[strings.ToLower(strings.TrimSuffix(col, "`)"))] = true
		}
	}
	return out, nil
}
