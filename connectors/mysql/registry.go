package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
)

// registry knows every table of the captured databases as it was at the position reached.
type registry struct {
	k        *task
	tables   map[string]*Table // by db.table
	charsets map[string]string // default of databases
	suspect  map[string]bool   // a statement about the table could not be read: prove it at the next TABLE_MAP
	captures map[*Table]*capture
	known    int // history records seen by recover
}

func newRegistry(k *task) *registry {
	return &registry{k: k, tables: map[string]*Table{}, charsets: map[string]string{}, suspect: map[string]bool{}, captures: map[*Table]*capture{}}
}

// begin starts with the tables of a snapshot, and writes them into the history.
func (g *registry) begin(ctx context.Context, at position, tables []*Table) error {
	for _, t := range tables {
		g.set(t)
		g.record(at, t.DB, "", []tableChange{{Type: "CREATE", Table: t}})
	}
	return g.k.flush(ctx)
}

func (g *registry) set(t *Table) {
	if old := g.tables[t.id()]; old != nil {
		delete(g.captures, old)
	}
	g.tables[t.id()] = t
	delete(g.suspect, t.id())
}

func (g *registry) drop(id string) {
	if old := g.tables[id]; old != nil {
		delete(g.captures, old)
	}
	delete(g.tables, id)
	delete(g.suspect, id)
}

// capture gives a table's encoders.
func (g *registry) capture(t *Table) (*capture, error) {
	if c, ok := g.captures[t]; ok {
		return c, nil
	}
	c, err := newCapture(&g.k.cfg, g.k.filter, g.k.source, t)
	if err != nil {
		return nil, err
	}
	g.captures[t] = c
	return c, nil
}

// prove gives the table a TABLE_MAP speaks of, after comparing it with what is known. A table that is not known, or that a
// statement nobody could read has changed, is read from the server when its shape fits; otherwise it is an error that shows
// both (log-level truth: the map has types and their number, at least).
func (g *registry) prove(ctx context.Context, m *replication.TableMapEvent, at position) (*Table, error) {
	id := string(m.Schema) + "." + string(m.Table)
	t := g.tables[id]
	if t != nil && !g.suspect[id] {
		if why := mismatch(t, m); why == "" {
			return t, nil
		}
	}
	now, err := g.fresh(ctx, string(m.Schema), string(m.Table))
	if err != nil {
		return nil, fmt.Errorf("the schema of table %s at %s:%d is not known, and reading it from the server failed: %w", id, at.File, at.Pos, err)
	}
	if why := mismatch(now, m); why != "" {
		return nil, fmt.Errorf("a row of table %s at %s:%d does not fit its schema: %s. Known: %s. On the server now: %s. "+
			"Take a new snapshot (delete the connector's offsets), or leave the table out with table.exclude.list",
			id, at.File, at.Pos, why, describe(t), describe(now))
	}
	g.k.log.Warn("the schema history did not fit a table; the server's present schema does and is used", "table", id, "file", at.File, "pos", at.Pos)
	g.set(now)
	g.record(at, now.DB, "", []tableChange{{Type: "ALTER", Table: now}})
	return now, nil
}

// fresh reads a table over a connection of its own: the snapshot's may be closed by now.
func (g *registry) fresh(ctx context.Context, db, name string) (*Table, error) {
	srv, err := connect(ctx, &g.k.cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = srv.Close() }()
	return srv.read(db, name)
}

func describe(t *Table) string {
	if t == nil {
		return "nothing"
	}
	cols := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		cols[i] = c.Name + " " + c.Expr
	}
	return "(" + strings.Join(cols, ", ") + ")"
}

// logTypes are the type codes a column may have in a TABLE_MAP.
var logTypes = map[string][]byte{
	"tinyint": {1}, "smallint": {2}, "int": {3}, "float": {4}, "double": {5}, "timestamp": {7, 17}, "bigint": {8}, "mediumint": {9},
	"date": {10, 14}, "time": {11, 19}, "datetime": {12, 18}, "year": {13}, "varchar": {15, 253}, "varbinary": {15, 253}, "bit": {16},
	"decimal": {0, 246}, "enum": {254, 247}, "set": {254, 248}, "char": {254}, "binary": {254}, "uuid": {254}, "inet4": {254}, "inet6": {254},
	"tinytext": {252, 249}, "text": {252}, "mediumtext": {252, 250}, "longtext": {252, 251}, "tinyblob": {252, 249}, "blob": {252},
	"mediumblob": {252, 250}, "longblob": {252, 251}, "json": {245}, "geometry": {255}, "point": {255}, "linestring": {255}, "polygon": {255},
	"multipoint": {255}, "multilinestring": {255}, "multipolygon": {255}, "geometrycollection": {255},
}

// mismatch says how a table and a TABLE_MAP differ; empty: they fit.
func mismatch(t *Table, m *replication.TableMapEvent) string {
	if t == nil {
		return "the table is not known"
	}
	if int(m.ColumnCount) != len(t.Columns) {
		return fmt.Sprintf("the row has %d columns, the schema %d", m.ColumnCount, len(t.Columns))
	}
	names := m.ColumnNameString()
	for i, c := range t.Columns {
		want, known := logTypes[c.Type]
		if known && !contains(want, m.ColumnType[i]) {
			return fmt.Sprintf("column %d (%s %s) has type code %d in the log", i+1, c.Name, c.Expr, m.ColumnType[i])
		}
		if len(names) == len(t.Columns) && names[i] != c.Name {
			return fmt.Sprintf("column %d is %s in the log and %s in the schema", i+1, names[i], c.Name)
		}
	}
	return ""
}

func contains(bs []byte, b byte) bool {
	for _, x := range bs {
		if x == b {
			return true
		}
	}
	return false
}
