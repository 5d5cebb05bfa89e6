package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/penstockio/penstock/connect-api"
)

// columnError is a value that its column cannot hold.
type columnError struct {
	path    string
	problem string
}

func (e *columnError) Error() string { return "column " + e.path + ": " + e.problem }

func (c *column) wrong(format string, args ...any) error {
	return &connectapi.Error{Kind: connectapi.Data, Err: &columnError{c.name, fmt.Sprintf(format, args...)}}
}

// within puts a column's name before the path of an error.
func within(c *column, err error) error {
	var e *columnError
	if errors.As(err, &e) {
		e.path = c.name + "." + e.path
	}
	return err
}

// scaled turns a number into the unit of its column.
func (c *column) scaled(n int64) (int64, error) {
	if n > math.MaxInt64/c.scale || n < math.MinInt64/c.scale {
		return 0, c.wrong("the time %d is too far away to be stored", n)
	}
	n *= c.scale
	if c.kind == timeKind && (n < 0 || n >= c.day) {
		return 0, c.wrong("%s is no time of a day, which is all Parquet's TIME holds: time.type=micros stores it as an integer",
			time.Duration(n*(dayNanos/c.day)))
	}
	return n, nil
}

// bytes writes what stands in the value as bytes or a string.
func (w *rows) bytes(c *column, b []byte, rep, def int) error {
	var v parquet.Value
	switch c.kind {
	case stringKind:
		if !utf8.Valid(b) {
			return c.wrong("%.50q is no UTF-8, which readers of the file would refuse", b)
		}
		v = parquet.ByteArrayValue(b)
	case bytesKind:
		v = parquet.ByteArrayValue(b)
	case zonedKind:
		t, err := time.Parse(time.RFC3339Nano, string(b))
		if err != nil {
			return c.wrong("%.50q is no time with a zone (ISO 8601)", b)
		}
		v = parquet.Int64Value(t.UnixMicro())
	case decimalTextKind:
		from := len(w.arena)
		w.arena = append(w.arena, connectapi.Decimal{Unscaled: connectapi.ParseUnscaled(b), Scale: c.decimals}.String()...)
		v = parquet.ByteArrayValue(w.arena[from:])
	default:
		return w.decimal(c, b, rep, def)
	}
	w.put(c.first, v, rep, def)
	return nil
}

// decimal writes an unscaled number as Java's BigInteger gives it: big-endian two's complement of any length.
func (w *rows) decimal(c *column, b []byte, rep, def int) error {
	fill := byte(0)
	if len(b) > 0 && b[0] >= 0x80 {
		fill = 0xff
	}
	var n [16]byte
	for i := range n {
		n[i] = fill
	}
	copy(n[max(0, len(n)-len(b)):], b[max(0, len(b)-len(n)):])
	low := int64(binary.BigEndian.Uint64(n[8:]))
	switch {
	case len(b) <= 8 && c.precision <= 18: // the rest of 8 bytes is compared as it stands
		if low >= c.limit64 || low <= -c.limit64 {
			return c.tooLong(b)
		}
	case len(b) <= 8 && c.precision > 18 || len(b) <= 15 && c.precision >= 37: // 15 bytes hold less than 10^36
	default:
		if connectapi.ParseUnscaled(b).CmpAbs(c.limit) >= 0 {
			return c.tooLong(b)
		}
		if len(b) > len(n) { // leading sign bytes say nothing
			copy(n[:], b[len(b)-len(n):])
			low = int64(binary.BigEndian.Uint64(n[8:]))
		}
	}
	switch c.kind {
	case decimal32Kind:
		w.put(c.first, parquet.Int32Value(int32(low)), rep, def)
	case decimal64Kind:
		w.put(c.first, parquet.Int64Value(low), rep, def)
	default:
		from := len(w.arena)
		w.arena = append(w.arena, n[:]...)
		w.put(c.first, parquet.FixedLenByteArrayValue(w.arena[from:]), rep, def)
	}
	return nil
}

func (c *column) tooLong(b []byte) error {
	d := connectapi.Decimal{Unscaled: connectapi.ParseUnscaled(b), Scale: c.decimals}
	return c.wrong("%.80s has more than the %d digits of its column", d.String(), c.precision)
}
