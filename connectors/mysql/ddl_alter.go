package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	pmysql "github.com/pingcap/tidb/pkg/parser/mysql"
)

// alter applies the parts of an ALTER TABLE in order: row images are positional.
func (g *registry) alter(db string, s *ast.AlterTableStmt) ([]tableChange, error) {
	n := nameOf(db, s.Table)
	var renamed *tableName
	changes, err := g.change(n, func(t *Table) error {
		for _, spec := range s.Specs {
			if spec.Tp == ast.AlterTableRenameTable {
				to := nameOf(n.db, spec.NewTable)
				renamed = &to
				continue
			}
			if err := g.spec(t, spec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || renamed == nil {
		return changes, err
	}
	return append(changes, g.rename(n, *renamed)...), nil
}

func (g *registry) spec(t *Table, s *ast.AlterTableSpec) error {
	switch s.Tp {
	case ast.AlterTableAddColumns:
		return g.addColumns(t, s)
	case ast.AlterTableDropColumn:
		if i := t.column(s.OldColumnName.Name.O); i >= 0 {
			t.forgetColumn(t.Columns[i].Name)
			t.Columns = slices.Delete(t.Columns, i, i+1)
		}
	case ast.AlterTableModifyColumn:
		return g.replaceColumn(t, s.NewColumns[0].Name.Name.O, s)
	case ast.AlterTableChangeColumn:
		return g.replaceColumn(t, s.OldColumnName.Name.O, s)
	case ast.AlterTableRenameColumn:
		if i := t.column(s.OldColumnName.Name.O); i >= 0 {
			t.renameColumn(i, s.NewColumnName.Name.O)
		}
	case ast.AlterTableAlterColumn:
		if i := t.column(s.NewColumns[0].Name.Name.O); i >= 0 {
			t.Columns[i].Default = nil
			for _, o := range s.NewColumns[0].Options {
				t.Columns[i].Default = defaultOf(o.Expr)
			}
		}
	case ast.AlterTableAddConstraint:
		t.constraint(s.Constraint)
	case ast.AlterTableDropPrimaryKey:
		t.dropIndex(primary)
	case ast.AlterTableDropIndex:
		t.dropIndex(s.Name)
	case ast.AlterTableRenameIndex:
		for i := range t.Indexes {
			if strings.EqualFold(t.Indexes[i].Name, s.FromKey.O) {
				t.Indexes[i].Name = s.ToKey.O
			}
		}
	case ast.AlterTableOption:
		t.options(s)
	}
	return nil
}

func (g *registry) addColumns(t *Table, s *ast.AlterTableSpec) error {
	for _, def := range s.NewColumns {
		if s.IfNotExists && t.column(def.Name.Name.O) >= 0 {
			continue
		}
		at, err := t.place(s.Position, len(t.Columns))
		if err != nil {
			return err
		}
		if err := g.addColumn(t, def, at); err != nil {
			return err
		}
	}
	for _, c := range s.NewConstraints {
		t.constraint(c)
	}
	return nil
}

func (t *Table) place(p *ast.ColumnPosition, otherwise int) (int, error) {
	if p == nil || p.Tp == ast.ColumnPositionNone {
		return otherwise, nil
	}
	if p.Tp == ast.ColumnPositionFirst {
		return 0, nil
	}
	i := t.column(p.RelativeColumn.Name.O)
	if i < 0 {
		return 0, fmt.Errorf("column %s, after which another is to stand, is not known", p.RelativeColumn.Name.O)
	}
	return i + 1, nil
}

func (g *registry) replaceColumn(t *Table, old string, s *ast.AlterTableSpec) error {
	i := t.column(old)
	if i < 0 {
		if s.IfExists {
			return nil
		}
		return fmt.Errorf("column %s is not known", old)
	}
	c, keys, err := g.columnOf(t, s.NewColumns[0])
	if err != nil {
		return err
	}
	t.renameColumn(i, c.Name)
	if slices.ContainsFunc(t.Indexes, func(ix Index) bool { return ix.Name == primary && containsFold(ix.Columns, c.Name) }) {
		c.Nullable = false
	}
	t.Columns = slices.Delete(t.Columns, i, i+1)
	at, err := t.place(s.Position, i)
	if err != nil {
		return err
	}
	t.Columns = slices.Insert(t.Columns, at, c)
	t.keys(c.Name, keys)
	return nil
}

func (t *Table) renameColumn(i int, to string) {
	from := t.Columns[i].Name
	t.Columns[i].Name = to
	for x := range t.Indexes {
		cols := slices.Clone(t.Indexes[x].Columns)
		for y := range cols {
			if strings.EqualFold(cols[y], from) {
				cols[y] = to
			}
		}
		t.Indexes[x].Columns = cols
	}
}

// forgetColumn takes a dropped column out of the indexes; an index without columns is gone.
func (t *Table) forgetColumn(name string) {
	var left []Index
	for _, ix := range t.Indexes {
		cols := slices.DeleteFunc(slices.Clone(ix.Columns), func(c string) bool { return strings.EqualFold(c, name) })
		if len(cols) > 0 {
			left = append(left, Index{ix.Name, cols})
		}
	}
	t.Indexes = left
}

// options are character sets: CONVERT TO changes columns, DEFAULT CHARSET only what comes later.
func (t *Table) options(s *ast.AlterTableSpec) {
	for _, o := range s.Options {
		var charset string
		switch o.Tp {
		case ast.TableOptionCharset:
			charset = strings.ToLower(o.StrValue)
		case ast.TableOptionCollate:
			charset, _, _ = strings.Cut(strings.ToLower(o.StrValue), "_")
		default:
			continue
		}
		t.Charset = charset
		if o.UintValue != ast.TableOptionCharsetWithConvertTo {
			continue
		}
		for i := range t.Columns {
			if t.Columns[i].Charset != "" && t.Columns[i].Charset != "binary" {
				t.Columns[i].Charset = charset
			}
		}
	}
}

var typeNames = map[byte]string{
	pmysql.TypeTiny: "tinyint", pmysql.TypeShort: "smallint", pmysql.TypeInt24: "mediumint", pmysql.TypeLong: "int", pmysql.TypeLonglong: "bigint",
	pmysql.TypeFloat: "float", pmysql.TypeDouble: "double", pmysql.TypeNewDecimal: "decimal", pmysql.TypeBit: "bit", pmysql.TypeYear: "year",
	pmysql.TypeDate: "date", pmysql.TypeNewDate: "date", pmysql.TypeDuration: "time", pmysql.TypeDatetime: "datetime", pmysql.TypeTimestamp: "timestamp",
	pmysql.TypeEnum: "enum", pmysql.TypeSet: "set", pmysql.TypeGeometry: "geometry",
}

var textNames = map[byte][2]string{ // text, binary
	pmysql.TypeString: {"char", "binary"}, pmysql.TypeVarchar: {"varchar", "varbinary"}, pmysql.TypeVarString: {"varchar", "varbinary"},
	pmysql.TypeTinyBlob: {"tinytext", "tinyblob"}, pmysql.TypeBlob: {"text", "blob"}, pmysql.TypeMediumBlob: {"mediumtext", "mediumblob"},
	pmysql.TypeLongBlob: {"longtext", "longblob"},
}

// fromFieldType takes a parsed type over. MariaDB's JSON is LONGTEXT.
func (c *Column) fromFieldType(def *ast.ColumnDef, mariadb bool, tableCharset string) error {
	tp := def.Tp
	c.Length, c.Scale = tp.GetFlen(), tp.GetDecimal()
	c.Unsigned = pmysql.HasUnsignedFlag(tp.GetFlag()) || pmysql.HasZerofillFlag(tp.GetFlag())
	c.Expr = tp.CompactStr()
	if c.Unsigned {
		c.Expr += " unsigned"
	}
	switch code := tp.GetType(); code {
	case pmysql.TypeJSON:
		c.Type, c.Length, c.Scale = "json", -1, -1
		if mariadb {
			c.Type, c.JSON, c.Charset = "longtext", true, "utf8mb4"
		}
	default:
		if names, ok := textNames[code]; ok {
			c.Type, c.Charset = names[0], strings.ToLower(tp.GetCharset())
			if c.Charset == "binary" {
				c.Type, c.Charset = names[1], ""
			} else if c.Charset == "" {
				c.Charset = tableCharset
			}
			c.Scale = -1
			break
		}
		name, ok := typeNames[code]
		if !ok {
			return fmt.Errorf("column %s: type %s is not known", c.Name, tp.String())
		}
		c.Type = name
		if name == "enum" || name == "set" {
			c.Values, c.Charset = tp.GetElems(), tableCharset
			c.Length, c.Scale = -1, -1
		}
		if name == "year" || strings.HasSuffix(name, "int") {
			c.Scale = -1
		}
		if name == "time" || name == "datetime" || name == "timestamp" {
			c.Length = -1
		}
	}
	if c.Type == "longtext" && c.JSON {
		c.Expr = "longtext"
	}
	c.normalise()
	return nil
}
