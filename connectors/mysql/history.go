package mysql

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// The history topic has one partition and keeps everything. Records are Debezium's
// (io.debezium.relational.history.HistoryRecord), JSON without a schema: source, position, ts_ms, databaseName, ddl and
// tableChanges. A record is complete in itself: recovery takes tableChanges and parses no statement.

// historySettings make the topic.
var historySettings = map[string]string{"partitions": "1", "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}

type historyRecord struct {
	Source   map[string]string `json:"source"`
	Position historyPosition   `json:"position"`
	TS       int64             `json:"ts_ms"`
	Database string            `json:"databaseName"`
	DDL      string            `json:"ddl"`
	Changes  []historyChange   `json:"tableChanges"`
}

type historyPosition struct {
	File    string `json:"file"`
	Pos     uint64 `json:"pos"`
	GTIDs   string `json:"gtids,omitempty"`
	Seconds int64  `json:"ts_sec,omitempty"`
}

type historyChange struct {
	Type     string        `json:"type"` // CREATE, ALTER or DROP
	ID       string        `json:"id"`
	Previous string        `json:"previousId,omitempty"`
	Table    *historyTable `json:"table,omitempty"`
}

type historyTable struct {
	Charset string          `json:"defaultCharsetName,omitempty"`
	Key     []string        `json:"primaryKeyColumnNames"`
	Columns []historyColumn `json:"columns"`
	Indexes []Index         `json:"penstockIndexes,omitempty"` // ours: what a dropped primary key leaves
}

type historyColumn struct {
	Name       string   `json:"name"`
	TypeName   string   `json:"typeName"`
	TypeExpr   string   `json:"typeExpression"`
	Charset    string   `json:"charsetName,omitempty"`
	Length     *int     `json:"length,omitempty"`
	Scale      *int     `json:"scale,omitempty"`
	Position   int      `json:"position"`
	Optional   bool     `json:"optional"`
	Auto       bool     `json:"autoIncremented"`
	Generated  bool     `json:"generated"`
	HasDefault bool     `json:"hasDefaultValue"`
	Default    *string  `json:"defaultValueExpression,omitempty"`
	Values     []string `json:"enumValues,omitempty"`
	Full       string   `json:"penstockType,omitempty"` // ours: the server's whole expression
	JSON       bool     `json:"penstockJson,omitempty"`
}

// tableChange is a change as the registry applied it.
type tableChange struct {
	Type     string
	Table    *Table
	Previous string
}

// record puts a change into the history, before any later row (I3). Statements that may hold a password never come here.
func (g *registry) record(at position, db, ddl string, changes []tableChange) {
	r := historyRecord{
		Source: map[string]string{"server": g.k.cfg.Prefix}, Position: historyPosition{at.File, at.Pos, at.GTIDs, at.Seconds},
		TS: time.Now().UnixMilli(), Database: db, DDL: ddl,
	}
	for _, c := range changes {
		h := historyChange{Type: c.Type, ID: historyID(c.Table.id()), Table: historyOf(c.Table)}
		if c.Previous != "" {
			h.Previous = historyID(c.Previous)
		}
		if c.Type == "DROP" {
			h.Table = nil
		}
		r.Changes = append(r.Changes, h)
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("mysql: encoding a history record: %v", err)) // plain fields
	}
	route := &connectapi.Route{Topic: g.k.cfg.historyTopic(), Partition: 0, Value: connectapi.BytesSchema, Raw: historySettings}
	g.k.chunk().row(route, time.Now().UnixMilli(), nil, b, nil)
}

// historyID writes db.table as Debezium does: "db"."table".
func historyID(id string) string {
	db, table, _ := strings.Cut(id, ".")
	return strconv.Quote(db) + "." + strconv.Quote(table)
}

func parseHistoryID(s string) (db, table string, err error) {
	parts := strings.SplitN(s, `"."`, 2)
	if len(parts) != 2 {
		return "", "", fmt.Errorf("%q is no table id", s)
	}
	return strings.TrimPrefix(parts[0], `"`), strings.TrimSuffix(parts[1], `"`), nil
}

func historyOf(t *Table) *historyTable {
	h := &historyTable{Charset: t.Charset, Key: append([]string{}, t.Key...), Indexes: t.Indexes}
	for i, c := range t.Columns {
		hc := historyColumn{
			Name: c.Name, TypeName: strings.ToUpper(c.Type), TypeExpr: strings.ToUpper(c.Type), Charset: c.Charset, Position: i + 1, Optional: c.Nullable,
			Auto: c.Auto, Generated: c.Generated, HasDefault: c.Default != nil, Default: c.Default, Values: c.Values, Full: c.Expr, JSON: c.JSON,
		}
		if c.Unsigned {
			hc.TypeName += " UNSIGNED"
		}
		if c.Length >= 0 {
			hc.Length = &c.Length
		}
		if c.Scale >= 0 {
			hc.Scale = &c.Scale
		}
		h.Columns = append(h.Columns, hc)
	}
	return h
}

func (h *historyTable) table(db, name string) (*Table, error) {
	t := &Table{DB: db, Name: name, Charset: h.Charset, Key: h.Key, Indexes: h.Indexes}
	if len(t.Indexes) == 0 && len(h.Key) > 0 {
		t.Indexes = []Index{{primary, h.Key}} // Debezium's records know no more
	}
	for _, hc := range h.Columns {
		c := Column{
			Name: hc.Name, Nullable: hc.Optional, Charset: hc.Charset, Default: hc.Default, Auto: hc.Auto, Generated: hc.Generated, JSON: hc.JSON,
		}
		expr := hc.Full
		if expr == "" {
			expr = hc.expression()
		}
		if err := c.parseType(expr); err != nil {
			return nil, fmt.Errorf("table %s.%s: %w", db, name, err)
		}
		if len(hc.Values) > 0 {
			c.Values = hc.Values // the labels themselves: their form in expr depends on who wrote it
		}
		t.Columns = append(t.Columns, c)
	}
	return t, nil
}

// expression puts a type together from Debezium's parts.
func (hc *historyColumn) expression() string {
	name, rest, _ := strings.Cut(strings.ToLower(hc.TypeName), " ")
	var b strings.Builder
	b.WriteString(name)
	switch {
	case len(hc.Values) > 0:
		b.WriteString("('" + strings.Join(hc.Values, "','") + "')")
	case hc.Length != nil && hc.Scale != nil:
		fmt.Fprintf(&b, "(%d,%d)", *hc.Length, *hc.Scale)
	case hc.Length != nil:
		fmt.Fprintf(&b, "(%d)", *hc.Length)
	}
	return b.String() + " " + rest
}

// recover reads the history up to a position.
func (g *registry) recover(ctx context.Context, at position) error {
	topic := g.k.cfg.historyTopic()
	for r, err := range g.k.ctx.ReadTopic(ctx, topic, false) {
		if err != nil {
			return fmt.Errorf("reading the schema history from topic %s: %w", topic, err)
		}
		g.known++
		b, err := r.Value.Bytes()
		if err != nil {
			continue // a null
		}
		var h historyRecord
		if err := json.Unmarshal(b, &h); err != nil {
			return fmt.Errorf("reading the schema history: record at offset %d of topic %s: %w", r.Offset, topic, err)
		}
		if !h.Position.upTo(at) {
			continue // the log tells it again
		}
		if err := g.replay(&h); err != nil {
			return fmt.Errorf("reading the schema history: record at offset %d of topic %s: %w", r.Offset, topic, err)
		}
	}
	if g.known == 0 {
		return fmt.Errorf("the schema history topic %s is empty or missing, but a position is stored: old events could not be read. "+
			"Restore the topic, or delete the connector's offsets to take a new snapshot", topic)
	}
	g.k.log.Info("schema history read", "topic", topic, "records", g.known, "tables", len(g.tables))
	return nil
}

func (g *registry) replay(h *historyRecord) error {
	for _, c := range h.Changes {
		db, name, err := parseHistoryID(c.ID)
		if err != nil {
			return err
		}
		if c.Previous != "" {
			pdb, pname, err := parseHistoryID(c.Previous)
			if err != nil {
				return err
			}
			g.drop(pdb + "." + pname)
		}
		if c.Type == "DROP" || c.Table == nil {
			g.drop(db + "." + name)
			continue
		}
		t, err := c.Table.table(db, name)
		if err != nil {
			return err
		}
		g.set(t)
	}
	return nil
}

// upTo tells whether a record lies at or before a position of the same server's log; of another's it always does.
func (p historyPosition) upTo(at position) bool {
	a, an, ok1 := fileNumber(p.File)
	b, bn, ok2 := fileNumber(at.File)
	if !ok1 || !ok2 || a != b {
		return true
	}
	return an < bn || an == bn && p.Pos <= at.Pos
}

func fileNumber(file string) (base string, n int64, ok bool) {
	i := strings.LastIndexByte(file, '.')
	if i < 0 {
		return file, 0, false
	}
	n, err := strconv.ParseInt(file[i+1:], 10, 64)
	return file[:i], n, err == nil
}
