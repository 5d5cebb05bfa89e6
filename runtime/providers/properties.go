package providers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Properties reads Java's .properties format, in UTF-8: comments begin with # or !, key and value are parted by =, : or blanks,
// a backslash at a line's end continues it, and \t, \n, \f, \r, \uXXXX and a backslash before anything else are escapes. A later
// line for the same key wins.
func Properties(text string) (map[string]string, error) {
	out := map[string]string{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for n := 0; n < len(lines); n++ {
		first := n + 1
		line := natural(lines[n])
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && n+1 < len(lines) {
			n++
			line = line[:len(line)-1] + natural(lines[n])
		}
		if continued(line) { // on the last line
			line = line[:len(line)-1]
		}
		end := 0
		for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(line))
		value := strings.TrimLeft(line[end:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		k, err := unescape(line[:end])
		if err == nil {
			value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		out[k] = value
	}
	return out, nil
}

func natural(line string) string { return strings.TrimLeft(line, " \t\f") }

// continued tells that an odd number of backslashes ends the line.
func continued(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	var units []uint16 // of \uXXXX in a row: halves of one character may be two of them
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			flush()
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'u' {
			if i+5 > len(s) {
				return "", fmt.Errorf(`\u must be followed by four hexadecimal digits`)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u must be followed by four hexadecimal digits`)
			}
			units = append(units, uint16(n))
			i += 4
			continue
		}
		flush()
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(s[i])
		}
	}
	flush()
	return b.String(), nil
}
