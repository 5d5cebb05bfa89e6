package mysql

import "github.com/pingcap/tidb/pkg/parser/charset"

// The parser knows the few character sets TiDB stores; a statement may name any of the server's. Their names are all a
// schema needs.
func init() {
	for name := range charsets {
		if _, err := charset.GetCharsetInfo(name); err != nil {
			charset.AddCharset(&charset.Charset{Name: name, DefaultCollation: name + "_general_ci", Collations: map[string]*charset.Collation{}, Maxlen: 4})
		}
	}
}
