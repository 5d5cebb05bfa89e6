package mysql

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// capture is a table being captured, in one version of its schema: routes, schemas and encoders.
type capture struct {
	table    *Table
	columns  []*column // of values, filtered; nil where a column is left out
	keyCols  []*column
	keyIndex []int

	key, value, envelope *connectapi.Schema
	events, tombstones   *connectapi.Route
}

// newCapture prepares a table. Topic names may hold letters, digits, '.', '_' and '-'; the rest becomes '_'.
func newCapture(cfg *Config, f *filter, source *connectapi.Schema, t *Table) (*capture, error) {
	c := &capture{table: t}
	topic := topicName(cfg.Prefix + "." + t.DB + "." + t.Name)
	vb := connectapi.NewStruct(topic + ".Value").Optional()
	byName := map[string]*column{}
	for _, col := range t.Columns {
		in := f.column(t.DB, t.Name, col.Name)
		isKey := containsFold(t.Key, col.Name)
		if !in && !isKey {
			c.columns = append(c.columns, nil)
			continue
		}
		enc, err := newColumn(cfg, col)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.id(), err)
		}
		byName[strings.ToLower(col.Name)] = enc
		if !in {
			c.columns = append(c.columns, nil)
			continue
		}
		vb.Field(col.Name, enc.schema)
		c.columns = append(c.columns, enc)
	}
	var err error
	if c.value, err = vb.Build(); err != nil {
		return nil, err
	}
	c.envelope, err = connectapi.NewStruct(topic+".Envelope").Version(2).
		Field("before", c.value).Field("after", c.value).Field("source", source).Field("transaction", transactionSchema).
		Field("op", connectapi.StringSchema).Field("ts_ms", connectapi.OptionalInt64Schema).
		Field("ts_us", connectapi.OptionalInt64Schema).Field("ts_ns", connectapi.OptionalInt64Schema).Build()
	if err != nil {
		return nil, err
	}
	if len(t.Key) > 0 {
		kb := connectapi.NewStruct(topic + ".Key")
		for _, k := range t.Key {
			enc := byName[strings.ToLower(k)]
			if enc == nil {
				return nil, fmt.Errorf("table %s: key column %s is not among its columns", t.id(), k)
			}
			kb.Field(enc.Name, enc.schema)
			c.keyCols = append(c.keyCols, enc)
			c.keyIndex = append(c.keyIndex, t.column(k))
		}
		if c.key, err = kb.Build(); err != nil {
			return nil, err
		}
	}
	c.events = connectapi.NewRoute(topic, c.key, c.envelope)
	c.tombstones = connectapi.NewRoute(topic, c.key, nil)
	return c, nil
}

func containsFold(list []string, s string) bool {
	for _, e := range list {
		if strings.EqualFold(e, s) {
			return true
		}
	}
	return false
}

func topicName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

var transactionSchema = connectapi.NewStruct("event.block").Version(1).
	Field("id", connectapi.StringSchema).Field("total_order", connectapi.Int64Schema).Field("data_collection_order", connectapi.Int64Schema).
	Optional().MustBuild()

// sourceSchema is the source block's.
func sourceSchema(name string) *connectapi.Schema {
	snapshot := connectapi.NewSchema(connectapi.TypeString).Name(enumName).Version(1).
		Parameter("allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental").Optional().Default("false").MustBuild()
	return connectapi.NewStruct("io.debezium.connector."+name+".Source").Version(1).
		Field("version", connectapi.StringSchema).Field("connector", connectapi.StringSchema).Field("name", connectapi.StringSchema).
		Field("ts_ms", connectapi.Int64Schema).Field("snapshot", snapshot).Field("db", connectapi.StringSchema).
		Field("sequence", connectapi.OptionalStringSchema).Field("ts_us", connectapi.OptionalInt64Schema).Field("ts_ns", connectapi.OptionalInt64Schema).
		Field("table", connectapi.OptionalStringSchema).Field("server_id", connectapi.Int64Schema).Field("gtid", connectapi.OptionalStringSchema).
		Field("file", connectapi.StringSchema).Field("pos", connectapi.Int64Schema).Field("row", connectapi.Int32Schema).
		Field("thread", connectapi.OptionalInt64Schema).Field("query", connectapi.OptionalStringSchema).MustBuild()
}

// origin is where an event stands in the log, or in the snapshot.
type origin struct {
	connector string // mysql or mariadb
	name      string // topic.prefix
	snapshot  string // empty: streaming
	micros    int64  // time of the change
	serverID  uint32
	gtid      string
	file      string
	pos       uint64
	row       int32
	thread    int64 // 0: unknown
}

func (o *origin) append(d []byte, t *Table) []byte {
	d = connectapi.AppendString(d, sourceVersion)
	d = connectapi.AppendString(d, o.connector)
	d = connectapi.AppendString(d, o.name)
	d = connectapi.AppendInt(d, o.micros/1000)
	if o.snapshot == "" {
		d = connectapi.AppendNull(d)
	} else {
		d = connectapi.AppendString(connectapi.AppendNotNull(d), o.snapshot)
	}
	d = connectapi.AppendString(d, t.DB)
	d = connectapi.AppendNull(d) // sequence
	d = connectapi.AppendInt(connectapi.AppendNotNull(d), o.micros)
	d = connectapi.AppendInt(connectapi.AppendNotNull(d), o.micros*1000)
	d = connectapi.AppendString(connectapi.AppendNotNull(d), t.Name)
	d = connectapi.AppendInt(d, int64(o.serverID))
	if o.gtid == "" {
		d = connectapi.AppendNull(d)
	} else {
		d = connectapi.AppendString(connectapi.AppendNotNull(d), o.gtid)
	}
	d = connectapi.AppendString(d, o.file)
	d = connectapi.AppendInt(d, int64(o.pos))
	d = connectapi.AppendInt(d, int64(o.row))
	if o.thread == 0 {
		d = connectapi.AppendNull(d)
	} else {
		d = connectapi.AppendInt(connectapi.AppendNotNull(d), o.thread)
	}
	return connectapi.AppendNull(d) // query
}

// appendRow writes a row image's fields.
func (c *capture) appendRow(d []byte, row []any, clean bool) (_ []byte, err error) {
	for i, col := range c.columns {
		if col == nil {
			continue
		}
		if d, err = col.append(d, row[i], clean); err != nil {
			return d, fmt.Errorf("table %s: %w", c.table.id(), err)
		}
	}
	return d, nil
}

func (c *capture) appendKey(d []byte, row []any, clean bool) (_ []byte, err error) {
	for i, col := range c.keyCols {
		if d, err = col.append(d, row[c.keyIndex[i]], clean); err != nil {
			return d, fmt.Errorf("key of table %s: %w", c.table.id(), err)
		}
	}
	return d, nil
}

// appendEnvelope writes a whole event; before and after may be nil.
func (c *capture) appendEnvelope(d []byte, op string, before, after []any, clean bool, o *origin, now time.Time) (_ []byte, err error) {
	for _, row := range [][]any{before, after} {
		if row == nil {
			d = connectapi.AppendNull(d)
			continue
		}
		if d, err = c.appendRow(connectapi.AppendNotNull(d), row, clean); err != nil {
			return d, err
		}
	}
	d = o.append(d, c.table)
	d = connectapi.AppendNull(d) // transaction
	d = connectapi.AppendString(d, op)
	d = connectapi.AppendInt(connectapi.AppendNotNull(d), now.UnixMilli())
	d = connectapi.AppendInt(connectapi.AppendNotNull(d), now.UnixMicro())
	return connectapi.AppendInt(connectapi.AppendNotNull(d), now.UnixNano()), nil
}

// emit writes the events of one change into the chunk: an update that changes the key becomes delete, tombstone and create.
func (c *capture) emit(out *chunk, op string, before, after []any, clean bool, o *origin, cfg *Config) error {
	if len(before) > 0 && len(before) != len(c.columns) || len(after) > 0 && len(after) != len(c.columns) {
		return fmt.Errorf("a row of table %s has %d columns, its schema %d", c.table.id(), max(len(before), len(after)), len(c.columns))
	}
	now := time.Now()
	keyOf := after
	if op == "d" {
		keyOf = before
	}
	key, err := out.bytes(func(d []byte) ([]byte, error) { return c.appendKey(d, keyOf, clean) })
	if err != nil {
		return err
	}
	if op == "u" && c.key != nil {
		old, err := out.bytes(func(d []byte) ([]byte, error) { return c.appendKey(d, before, clean) })
		if err != nil {
			return err
		}
		if !bytes.Equal(old, key) {
			return c.moveKey(out, old, key, before, after, clean, o, now, cfg)
		}
	}
	return c.add(out, op, key, before, after, clean, o, now, cfg, nil)
}

func (c *capture) moveKey(out *chunk, old, key []byte, before, after []any, clean bool, o *origin, now time.Time, cfg *Config) error {
	if err := c.add(out, "d", old, before, nil, clean, o, now, cfg, &header{"__debezium.newkey", c.key, key}); err != nil {
		return err
	}
	return c.add(out, "c", key, nil, after, clean, o, now, cfg, &header{"__debezium.oldkey", c.key, old})
}

func (c *capture) add(out *chunk, op string, key []byte, before, after []any, clean bool, o *origin, now time.Time, cfg *Config, h *header) error {
	if strings.Contains(cfg.Skipped, op) && cfg.Skipped != "none" {
		return nil
	}
	if c.key == nil {
		key = nil
	}
	value, err := out.bytes(func(d []byte) ([]byte, error) { return c.appendEnvelope(d, op, before, after, clean, o, now) })
	if err != nil {
		return err
	}
	out.row(c.events, o.micros/1000, key, value, h)
	if op == "d" && cfg.Tombstones && c.key != nil {
		out.row(c.tombstones, o.micros/1000, key, nil, h)
	}
	return nil
}
