package mysql

import (
	"strings"
)

// statement is a query of the log without comments around its first words, classified by those words.
type statement struct {
	text  string // without leading comments and without SET STATEMENT … FOR
	words []string
}

// classify reads the first words. It never keeps or shows the text of statements about users: they may hold passwords (I5).
func classify(sql string) statement {
	text := skipComments(sql)
	if w := firstWords(text, 2); len(w) == 2 && w[0] == "SET" && w[1] == "STATEMENT" { // MariaDB
		if i := indexOutsideQuotes(text, " FOR "); i >= 0 {
			text = skipComments(text[i+5:])
		}
	}
	return statement{text: text, words: firstWords(text, 5)}
}

func (s statement) is(words ...string) bool {
	if len(s.words) < len(words) {
		return false
	}
	for i, w := range words {
		if s.words[i] != w {
			return false
		}
	}
	return true
}

// schemaChange tells statements that may change a table.
func (s statement) schemaChange() bool {
	if len(s.words) == 0 {
		return false
	}
	has := func(w string) bool {
		for _, x := range s.words[1:] {
			if x == w {
				return true
			}
		}
		return false
	}
	switch s.words[0] {
	case "CREATE", "DROP":
		return has("TABLE") || has("DATABASE") || has("SCHEMA") || has("INDEX")
	case "ALTER":
		return has("TABLE") || has("DATABASE") || has("SCHEMA")
	case "RENAME":
		return has("TABLE") || has("TABLES")
	}
	return s.words[0] == "TRUNCATE"
}

// changesRows tells statements that changed rows without logging them: a session logged statements.
func (s statement) changesRows() bool {
	if len(s.words) == 0 {
		return false
	}
	switch s.words[0] {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD":
		return true
	}
	return false
}

func skipComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n;(")
		switch {
		case strings.HasPrefix(s, "/*!"): // versioned: its content counts
			end := strings.Index(s, "*/")
			if end < 0 {
				return s
			}
			inner := strings.TrimLeft(s[3:end], "M0123456789")
			s = inner + " " + s[end+2:]
		case strings.HasPrefix(s, "/*"):
			end := strings.Index(s, "*/")
			if end < 0 {
				return ""
			}
			s = s[end+2:]
		case strings.HasPrefix(s, "-- "), strings.HasPrefix(s, "#"):
			end := strings.IndexByte(s, '\n')
			if end < 0 {
				return ""
			}
			s = s[end+1:]
		default:
			return s
		}
	}
}

// firstWords gives the first n words in upper case; comments between them are left out.
func firstWords(s string, n int) []string {
	var out []string
	for len(out) < n {
		s = skipComments(s)
		i := 0
		for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] == '_') {
			i++
		}
		if i == 0 {
			return out
		}
		out = append(out, strings.ToUpper(s[:i]))
		s = s[i:]
	}
	return out
}

// indexOutsideQuotes finds a word outside of quotes, without regard to case.
func indexOutsideQuotes(s, word string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch {
		case quote != 0:
			if s[i] == '\\' {
				i++
			} else if s[i] == quote {
				quote = 0
			}
		case s[i] == '\'' || s[i] == '"' || s[i] == '`':
			quote = s[i]
		case len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word):
			return i
		}
	}
	return -1
}

// truncated gives the table of a TRUNCATE.
func truncated(sql, db string) (tableName, bool) {
	rest := strings.TrimSpace(sql[len("TRUNCATE"):])
	if w := firstWords(rest, 1); len(w) == 1 && w[0] == "TABLE" {
		rest = strings.TrimSpace(rest[len("TABLE"):])
	}
	var parts []string
	for rest != "" {
		var part string
		if rest[0] == '`' {
			end := strings.IndexByte(rest[1:], '`')
			if end < 0 {
				return tableName{}, false
			}
			part, rest = rest[1:1+end], rest[end+2:]
		} else {
			i := strings.IndexAny(rest, ". \t\n;/")
			if i < 0 {
				i = len(rest)
			}
			part, rest = rest[:i], rest[i:]
		}
		parts = append(parts, part)
		if !strings.HasPrefix(rest, ".") {
			break
		}
		rest = rest[1:]
	}
	switch len(parts) {
	case 1:
		return tableName{db, parts[0]}, parts[0] != ""
	case 2:
		return tableName{parts[0], parts[1]}, true
	}
	return tableName{}, false
}
