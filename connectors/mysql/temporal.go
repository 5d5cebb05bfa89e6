package mysql

import (
	"fmt"
	"strconv"
	"strings"
)

// Temporal values come as text both from the log and from the snapshot (I2). Zero and partial dates have no instant: ok
// is false for them, and the caller writes null or the epoch, as Debezium does.

// days counts days since 1970-01-01 in the proleptic Gregorian calendar.
func days(y, m, d int64) int64 {
	if m <= 2 {
		y--
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// parseDate reads "2024-02-29".
func parseDate(s string) (n int64, ok bool, err error) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, false, fmt.Errorf("%q is no date", s)
	}
	y, err1 := strconv.ParseInt(s[:4], 10, 64)
	m, err2 := strconv.ParseInt(s[5:7], 10, 64)
	d, err3 := strconv.ParseInt(s[8:10], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || m > 12 || d > 31 {
		return 0, false, fmt.Errorf("%q is no date", s)
	}
	if m == 0 || d == 0 || y == 0 && m == 0 {
		return 0, false, nil
	}
	return days(y, m, d), true, nil
}

// parseClock reads "17:51:04.777" as microseconds; hours may exceed 24 and the whole may be negative.
func parseClock(s string) (int64, error) {
	neg := strings.HasPrefix(s, "-")
	t := strings.TrimPrefix(s, "-")
	whole, frac, _ := strings.Cut(t, ".")
	parts := strings.Split(whole, ":")
	if len(parts) != 3 {
		return 0, fmt.Errorf("%q is no time", s)
	}
	var n int64
	for _, p := range parts {
		v, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no time", s)
		}
		n = n*60 + v
	}
	n *= 1e6
	if frac != "" {
		v, err := strconv.ParseInt((frac + "000000")[:6], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no time", s)
		}
		n += v
	}
	if neg {
		n = -n
	}
	return n, nil
}

// parseDatetime reads "2018-06-20 06:37:03.123456" as microseconds since 1970, as if in UTC.
func parseDatetime(s string) (micros int64, ok bool, err error) {
	if len(s) < 10 {
		return 0, false, fmt.Errorf("%q is no date and time", s)
	}
	d, ok, err := parseDate(s[:10])
	if err != nil || !ok {
		return 0, false, err
	}
	if len(s) == 10 {
		return d * 86400 * 1e6, true, nil
	}
	c, err := parseClock(s[11:])
	return d*86400*1e6 + c, true, err
}

// appendZoned writes a TIMESTAMP, which came in UTC, as ISO text with exactly n fraction digits.
func appendZoned(b []byte, s string, n int) []byte {
	b = append(b, s[:10]...)
	b = append(b, 'T')
	clock, frac := "00:00:00", ""
	if len(s) > 11 {
		clock, frac, _ = strings.Cut(s[11:], ".")
	}
	b = append(b, clock...)
	if n > 0 {
		b = append(b, '.')
		b = append(b, (frac + "000000")[:n]...)
	}
	return append(b, 'Z')
}
