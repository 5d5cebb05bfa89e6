package mysql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's own literals
)

// apply changes the registry as a schema statement does and writes the history. A statement the parser does not know marks
// the captured tables it names: the next TABLE_MAP proves them.
func (g *registry) apply(at position, db string, st statement) error {
	text := rewrite(st.text)
	nodes, _, err := parser.New().Parse(text, "", "")
	if err != nil {
		g.unreadable(at, db, st, err)
		return nil
	}
	for _, n := range nodes {
		changes, err := g.node(db, n)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			g.record(at, db, st.text, changes)
		}
	}
	return nil
}

var (
	orReplace = regexp.MustCompile(`(?i)^(CREATE)\s+OR\s+REPLACE\s+`)
	online    = regexp.MustCompile(`(?i)^(ALTER)\s+(ONLINE|IGNORE)\s+`)
	waitN     = regexp.MustCompile(`(?i)\s(WAIT\s+\d+|NOWAIT)\s`)
	invisible = regexp.MustCompile(`(?i)\s(INVISIBLE|COMPRESSED|PERSISTENT)\b`)
)

// rewrite turns forms of MariaDB that the parser does not know into ones that mean the same for a schema.
func rewrite(sql string) string {
	sql = orReplace.ReplaceAllString(sql, "$1 ")
	sql = online.ReplaceAllString(sql, "$1 ")
	if m := waitN.FindString(sql); m != "" {
		sql = strings.Replace(sql, m, " ", 1)
	}
	if invisible.MatchString(sql) {
		sql = invisible.ReplaceAllStringFunc(sql, func(m string) string {
			if strings.EqualFold(strings.TrimSpace(m), "PERSISTENT") {
				return " STORED"
			}
			return ""
		})
	}
	return withoutExpressions(sql)
}

var defaultExpr = regexp.MustCompile(`(?i)\bDEFAULT\s*\(`)

// withoutExpressions drops defaults that are expressions in parentheses: a schema has no default for them, and the parser
// knows few.
func withoutExpressions(sql string) string {
	for from := 0; ; {
		m := defaultExpr.FindStringIndex(sql[from:])
		if m == nil {
			return sql
		}
		begin, open := from+m[0], from+m[1]-1
		end := closing(sql, open)
		if end < 0 {
			return sql
		}
		if quotedAt(sql, begin) {
			from = open
			continue
		}
		sql = sql[:begin] + sql[end+1:]
		from = begin
	}
}

// quotedAt tells whether a place lies inside quotes.
func quotedAt(sql string, at int) bool {
	var quote byte
	for i := 0; i < at; i++ {
		switch {
		case quote == 0 && (sql[i] == '\'' || sql[i] == '"' || sql[i] == '`'):
			quote = sql[i]
		case quote != 0 && sql[i] == '\\' && quote != '`':
			i++
		case sql[i] == quote:
			quote = 0
		}
	}
	return quote != 0
}

// closing finds the parenthesis that closes the one at open; -1: none does.
func closing(sql string, open int) int {
	depth := 0
	for i := open; i < len(sql); i++ {
		if sql[i] != '(' && sql[i] != ')' || quotedAt(sql[open:], i-open) {
			continue
		}
		if sql[i] == '(' {
			depth++
		} else if depth--; depth == 0 {
			return i
		}
	}
	return -1
}

func (g *registry) unreadable(at position, db string, st statement, err error) {
	lower := strings.ToLower(st.text)
	for id, t := range g.tables {
		if strings.Contains(lower, strings.ToLower(t.Name)) {
			g.suspect[id] = true
		}
	}
	g.k.log.Warn("a schema statement could not be read; tables it may have changed are compared with the log before their next row",
		"database", db, "statement", strings.Join(st.words, " ")+" …", "file", at.File, "pos", at.Pos, "error", firstLine(err))
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.Index(s, " near "); i > 0 {
		s = s[:i] // what follows quotes the statement
	}
	return s
}

func (g *registry) node(db string, n ast.StmtNode) ([]tableChange, error) {
	switch s := n.(type) {
	case *ast.CreateTableStmt:
		return g.create(db, s)
	case *ast.AlterTableStmt:
		return g.alter(db, s)
	case *ast.DropTableStmt:
		var out []tableChange
		for _, t := range s.Tables {
			out = append(out, g.dropChange(nameOf(db, t))...)
		}
		return out, nil
	case *ast.RenameTableStmt:
		var out []tableChange
		for _, r := range s.TableToTables { // left to right: swaps work
			out = append(out, g.rename(nameOf(db, r.OldTable), nameOf(db, r.NewTable))...)
		}
		return out, nil
	case *ast.DropDatabaseStmt:
		return g.dropDatabase(s.Name.O), nil
	case *ast.CreateDatabaseStmt:
		g.charsets[s.Name.O] = charsetOfOptions(s.Options)
	case *ast.AlterDatabaseStmt:
		if c := charsetOfOptions(s.Options); c != "" {
			g.charsets[s.Name.O] = c
		}
	case *ast.CreateIndexStmt:
		if s.KeyType == ast.IndexKeyTypeUnique {
			return g.change(nameOf(db, s.Table), func(t *Table) error {
				t.addIndex(s.IndexName, columnsOf(s.IndexPartSpecifications))
				return nil
			})
		}
	case *ast.DropIndexStmt:
		return g.change(nameOf(db, s.Table), func(t *Table) error { t.dropIndex(s.IndexName); return nil })
	}
	return nil, nil
}

func charsetOfOptions(opts []*ast.DatabaseOption) string {
	for _, o := range opts {
		switch o.Tp {
		case ast.DatabaseOptionCharset:
			return strings.ToLower(o.Value)
		case ast.DatabaseOptionCollate:
			c, _, _ := strings.Cut(strings.ToLower(o.Value), "_")
			return c
		}
	}
	return ""
}

func nameOf(db string, t *ast.TableName) tableName {
	if t.Schema.O != "" {
		db = t.Schema.O
	}
	return tableName{db, t.Name.O}
}

func (n tableName) id() string { return n.db + "." + n.name }

func columnsOf(parts []*ast.IndexPartSpecification) []string {
	var out []string
	for _, p := range parts {
		if p.Column == nil {
			return nil // functional: no key for events
		}
		out = append(out, p.Column.Name.O)
	}
	return out
}

func (t *Table) addIndex(name string, cols []string) {
	if len(cols) == 0 {
		return
	}
	if name == "" {
		name = cols[0]
	}
	t.Indexes = append(t.Indexes, Index{name, cols})
}

func (t *Table) dropIndex(name string) {
	t.Indexes = slices.DeleteFunc(t.Indexes, func(ix Index) bool { return strings.EqualFold(ix.Name, name) })
}

func (g *registry) dropChange(n tableName) []tableChange {
	t := g.tables[n.id()]
	if t == nil {
		return nil
	}
	g.drop(n.id())
	return []tableChange{{Type: "DROP", Table: t}}
}

func (g *registry) dropDatabase(db string) []tableChange {
	var out []tableChange
	for _, t := range g.tables {
		if t.DB == db {
			out = append(out, tableChange{Type: "DROP", Table: t})
		}
	}
	for _, c := range out {
		g.drop(c.Table.id())
	}
	return out
}

func (g *registry) rename(from, to tableName) []tableChange {
	t := g.tables[from.id()]
	if t == nil {
		g.suspect[to.id()] = true
		return nil
	}
	moved := t.clone()
	moved.DB, moved.Name = to.db, to.name
	suspect := g.suspect[from.id()]
	g.drop(from.id())
	g.set(moved)
	if suspect {
		g.suspect[to.id()] = true
	}
	return []tableChange{{Type: "ALTER", Table: moved, Previous: from.id()}}
}

// change applies f to a copy of a table; a table nobody knows is left to its next TABLE_MAP.
func (g *registry) change(n tableName, f func(*Table) error) ([]tableChange, error) {
	t := g.tables[n.id()]
	if t == nil {
		return nil, nil
	}
	next := t.clone()
	if err := f(next); err != nil {
		return nil, fmt.Errorf("table %s: %w", n.id(), err)
	}
	next.rekey()
	suspect := g.suspect[n.id()]
	g.set(next)
	if suspect {
		g.suspect[n.id()] = true
	}
	return []tableChange{{Type: "ALTER", Table: next}}, nil
}

func (g *registry) create(db string, s *ast.CreateTableStmt) ([]tableChange, error) {
	n := nameOf(db, s.Table)
	if s.TemporaryKeyword != ast.TemporaryNone || s.IfNotExists && g.tables[n.id()] != nil {
		return nil, nil
	}
	if s.ReferTable != nil { // LIKE: as the other is now
		other := g.tables[nameOf(db, s.ReferTable).id()]
		if other == nil {
			return nil, nil
		}
		t := other.clone()
		t.DB, t.Name = n.db, n.name
		g.set(t)
		return []tableChange{{Type: "CREATE", Table: t}}, nil
	}
	if s.Select != nil { // the columns stand nowhere in the statement
		g.drop(n.id())
		return nil, nil
	}
	t := &Table{DB: n.db, Name: n.name, Charset: g.charsets[n.db]}
	for _, o := range s.Options {
		switch o.Tp {
		case ast.TableOptionCharset:
			t.Charset = strings.ToLower(o.StrValue)
		case ast.TableOptionCollate:
			t.Charset, _, _ = strings.Cut(strings.ToLower(o.StrValue), "_")
		}
	}
	for _, def := range s.Cols {
		if err := g.addColumn(t, def, len(t.Columns)); err != nil {
			return nil, fmt.Errorf("table %s: %w", n.id(), err)
		}
	}
	for _, c := range s.Constraints {
		t.constraint(c)
	}
	t.rekey()
	g.set(t)
	return []tableChange{{Type: "CREATE", Table: t}}, nil
}

func (t *Table) constraint(c *ast.Constraint) {
	switch c.Tp {
	case ast.ConstraintPrimaryKey:
		t.primary(columnsOf(c.Keys))
	case ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
		t.addIndex(c.Name, columnsOf(c.Keys))
	}
}

// primary makes columns the primary key, which makes them NOT NULL.
func (t *Table) primary(cols []string) {
	t.Indexes = append([]Index{{primary, cols}}, t.Indexes...)
	for _, c := range cols {
		if i := t.column(c); i >= 0 {
			t.Columns[i].Nullable = false
		}
	}
}
