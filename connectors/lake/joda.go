package lake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// joda is a pattern of Joda-Time, the language of path.format: its letters differ from java.time's (YYYY is the year of
// era, not the week's year).
type joda struct {
	parts []jodaPart
}

type jodaPart struct {
	literal string
	letter  byte // 0: literal
	count   int
}

const jodaLetters = "GCYxweEyDMdaKhHkmsSzZ"

// parseJoda reads a pattern; an error names the letter.
func parseJoda(pattern string) (*joda, error) {
	p := &joda{}
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			text, n, err := quoted(pattern[i:])
			if err != nil {
				return nil, err
			}
			p.parts = append(p.parts, jodaPart{literal: text})
			i += n
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == c {
				n++
			}
			if strings.IndexByte(jodaLetters, c) < 0 {
				return nil, fmt.Errorf("the letter %q at place %d means nothing: text stands in single quotes", c, i+1)
			}
			p.parts = append(p.parts, jodaPart{letter: c, count: n})
			i += n
		default:
			p.parts = append(p.parts, jodaPart{literal: string(c)})
			i++
		}
	}
	return p, nil
}

// quoted reads text in single quotes; two of them are one.
func quoted(s string) (text string, n int, err error) {
	if strings.HasPrefix(s, "''") {
		return "'", 2, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return b.String(), i + 1, nil
	}
	return "", 0, fmt.Errorf("a single quote is not closed: %.50q", s)
}

// format writes local, a wall clock's time as if in UTC; at is the moment, in its zone.
func (p *joda) format(local, at time.Time) string {
	var b []byte
	for _, x := range p.parts {
		if x.letter == 0 {
			b = append(b, x.literal...)
			continue
		}
		b = x.append(b, local, at)
	}
	return string(b)
}

func (x jodaPart) append(b []byte, t, at time.Time) []byte {
	weekOf, week := t.ISOWeek()
	switch x.letter {
	case 'G':
		if t.Year() <= 0 {
			return append(b, "BC"...)
		}
		return append(b, "AD"...)
	case 'C':
		return pad(b, eraYear(t)/100, x.count)
	case 'Y':
		return year(b, eraYear(t), x.count)
	case 'y':
		return year(b, t.Year(), x.count)
	case 'x':
		return year(b, weekOf, x.count)
	case 'w':
		return pad(b, week, x.count)
	case 'e':
		return pad(b, (int(t.Weekday())+6)%7+1, x.count)
	case 'E':
		return name(b, t.Weekday().String(), x.count)
	case 'D':
		return pad(b, t.YearDay(), x.count)
	case 'M':
		if x.count >= 3 {
			return name(b, t.Month().String(), x.count)
		}
		return pad(b, int(t.Month()), x.count)
	case 'd':
		return pad(b, t.Day(), x.count)
	}
	return x.clock(b, t, at)
}

func (x jodaPart) clock(b []byte, t, at time.Time) []byte {
	switch h := t.Hour(); x.letter {
	case 'a':
		return append(b, t.Format("PM")...)
	case 'K':
		return pad(b, h%12, x.count)
	case 'h':
		return pad(b, (h+11)%12+1, x.count)
	case 'H':
		return pad(b, h, x.count)
	case 'k':
		return pad(b, (h+23)%24+1, x.count)
	case 'm':
		return pad(b, t.Minute(), x.count)
	case 's':
		return pad(b, t.Second(), x.count)
	case 'S':
		digits := fmt.Sprintf("%09d", t.Nanosecond())
		for len(digits) < x.count {
			digits += "0"
		}
		return append(b, digits[:x.count]...)
	case 'z':
		return appendEscaped(b, at.Format("MST"))
	default: // Z
		switch x.count {
		case 1:
			return append(b, at.Format("-0700")...)
		case 2:
			return appendEscaped(b, at.Format("-07:00"))
		}
		return appendEscaped(b, at.Location().String())
	}
}

func eraYear(t time.Time) int {
	if y := t.Year(); y > 0 {
		return y
	}
	return 1 - t.Year()
}

// year writes two digits for two letters, as Joda-Time does.
func year(b []byte, y, count int) []byte {
	if count == 2 {
		return pad(b, (y%100+100)%100, 2)
	}
	return pad(b, y, count)
}

func pad(b []byte, n, width int) []byte {
	if n < 0 {
		return pad(append(b, '-'), -n, width)
	}
	s := strconv.Itoa(n)
	for range width - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

func name(b []byte, full string, count int) []byte {
	if count < 4 {
		full = full[:3]
	}
	return append(b, full...)
}
