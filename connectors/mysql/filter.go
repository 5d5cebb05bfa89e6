package mysql

import (
	"fmt"
	"regexp"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// filter decides which databases, tables and columns are captured: comma separated regular expressions, matched whole and
// without regard to case, as Debezium does.
type filter struct {
	dbIn, dbOut, tabIn, tabOut, colIn, colOut []*regexp.Regexp
}

var builtin = map[string]bool{"mysql": true, "sys": true, "information_schema": true, "performance_schema": true}

func newFilter(c *Config) (*filter, error) {
	f := &filter{}
	for _, p := range []struct {
		in, out       []string
		inKey, outKey string
		toIn, toOut   *[]*regexp.Regexp
	}{
		{c.DatabaseInclude, c.DatabaseExclude, "database.include.list", "database.exclude.list", &f.dbIn, &f.dbOut},
		{c.TableInclude, c.TableExclude, "table.include.list", "table.exclude.list", &f.tabIn, &f.tabOut},
		{c.ColumnInclude, c.ColumnExclude, "column.include.list", "column.exclude.list", &f.colIn, &f.colOut},
	} {
		if len(p.in) > 0 && len(p.out) > 0 {
			return nil, connectapi.ConfigError(p.outKey, fmt.Errorf("%s and %s exclude each other: set one", p.inKey, p.outKey))
		}
		for _, l := range []struct {
			key  string
			list []string
			to   *[]*regexp.Regexp
		}{{p.inKey, p.in, p.toIn}, {p.outKey, p.out, p.toOut}} {
			for _, e := range l.list {
				re, err := regexp.Compile("(?i)^(?:" + strings.TrimSpace(e) + ")$")
				if err != nil {
					return nil, connectapi.ConfigError(l.key, fmt.Errorf("Invalid value %s for configuration %s: %w", e, l.key, err))
				}
				*l.to = append(*l.to, re)
			}
		}
	}
	return f, nil
}

func anyMatch(res []*regexp.Regexp, s string) bool {
	for _, re := range res {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

func pass(in, out []*regexp.Regexp, s string) bool {
	return (len(in) == 0 || anyMatch(in, s)) && !anyMatch(out, s)
}

func (f *filter) database(db string) bool {
	return !builtin[strings.ToLower(db)] && pass(f.dbIn, f.dbOut, db)
}

func (f *filter) table(db, table string) bool {
	return f.database(db) && pass(f.tabIn, f.tabOut, db+"."+table)
}

func (f *filter) column(db, table, column string) bool {
	return pass(f.colIn, f.colOut, db+"."+table+"."+column)
}
