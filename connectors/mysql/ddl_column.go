package mysql

import (
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// addColumn inserts a column at a place.
func (g *registry) addColumn(t *Table, def *ast.ColumnDef, at int) error {
	c, keys, err := g.columnOf(t, def)
	if err != nil {
		return err
	}
	t.Columns = slices.Insert(t.Columns, at, c)
	t.keys(c.Name, keys)
	return nil
}

type columnKeys struct{ primary, unique bool }

func (t *Table) keys(name string, k columnKeys) {
	if k.primary {
		t.primary([]string{name})
	}
	if k.unique {
		t.addIndex(name, []string{name})
	}
}

// columnOf turns a definition into a column. SERIAL is BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
func (g *registry) columnOf(t *Table, def *ast.ColumnDef) (Column, columnKeys, error) {
	c := Column{Name: def.Name.Name.O, Nullable: true}
	var keys columnKeys
	if err := c.fromFieldType(def, g.k.srv.flavor == mysql.MariaDBFlavor, t.Charset); err != nil {
		return c, keys, err
	}
	for _, o := range def.Options {
		switch o.Tp {
		case ast.ColumnOptionNotNull:
			c.Nullable = false
		case ast.ColumnOptionPrimaryKey:
			keys.primary, c.Nullable = true, false
		case ast.ColumnOptionUniqKey:
			keys.unique = true
		case ast.ColumnOptionAutoIncrement:
			c.Auto = true
		case ast.ColumnOptionGenerated:
			c.Generated = true
		case ast.ColumnOptionDefaultValue:
			c.Default = defaultOf(o.Expr)
		case ast.ColumnOptionCollate:
			if c.Charset != "" {
				c.Charset, _, _ = strings.Cut(strings.ToLower(o.StrValue), "_")
			}
		case ast.ColumnOptionCheck:
			if strings.HasPrefix(restore(o.Expr), "JSON_VALID(") {
				c.JSON = true
			}
		}
	}
	return c, keys, nil
}

func restore(n ast.Node) string {
	var b strings.Builder
	if n == nil || n.Restore(format.NewRestoreCtx(format.RestoreStringSingleQuotes|format.RestoreKeyWordUppercase|format.RestoreStringWithoutCharset, &b)) != nil {
		return ""
	}
	return b.String()
}

func defaultOf(e ast.ExprNode) *string {
	lit, _ := literal(restore(e))
	return lit
}
