package mysql

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// The log hands over Go integers, strings and bytes; the snapshot's binary protocol integers, floats and bytes.

func toBytes(v any) []byte {
	switch x := v.(type) {
	case []byte:
		return x
	case string:
		return []byte(x)
	}
	return fmt.Append(nil, v)
}

func asText(v any) (string, bool) {
	switch x := v.(type) {
	case []byte:
		return string(x), true
	case string:
		return x, true
	}
	return "", false
}

func toInt(v any) (int64, error) {
	switch x := v.(type) {
	case int8:
		return int64(x), nil
	case int16:
		return int64(x), nil
	case int32:
		return int64(x), nil
	case int64:
		return x, nil
	case int:
		return int64(x), nil
	case uint8:
		return int64(x), nil
	case uint16:
		return int64(x), nil
	case uint32:
		return int64(x), nil
	case uint64:
		return int64(x), nil
	case []byte:
		return strconv.ParseInt(string(x), 10, 64)
	case string:
		return strconv.ParseInt(x, 10, 64)
	}
	return 0, fmt.Errorf("a %T where an integer is expected", v)
}

func toFloat(v any) (float64, error) {
	switch x := v.(type) {
	case float32:
		return float64(x), nil
	case float64:
		return x, nil
	case []byte:
		return strconv.ParseFloat(string(x), 64)
	case string:
		return strconv.ParseFloat(x, 64)
	}
	n, err := toInt(v)
	return float64(n), err
}

// toBits reads BIT: an integer from the log, big-endian bytes from the snapshot.
func toBits(v any) (uint64, error) {
	if b, ok := v.([]byte); ok {
		if len(b) > 8 {
			return 0, fmt.Errorf("a BIT of %d bytes", len(b))
		}
		var n uint64
		for _, x := range b {
			n = n<<8 | uint64(x)
		}
		return n, nil
	}
	n, err := toInt(v)
	return uint64(n), err
}

// append adds a value inside a row, null or not.
func (c *column) append(dst []byte, v any, clean bool) ([]byte, error) {
	if v == nil {
		return c.appendNone(dst), nil
	}
	at := len(dst)
	if c.schema.Optional() {
		dst = connectapi.AppendNotNull(dst)
	}
	out, none, err := c.put(dst, v, clean)
	if err != nil {
		return dst[:at], fmt.Errorf("column %s %s: %w", c.Name, c.Expr, err)
	}
	if none {
		return c.appendNone(dst[:at]), nil
	}
	return out, nil
}

// appendNone writes what stands for a value that is not there: null, else the default, else the type's zero. A NOT NULL
// column has one after INSERT IGNORE, in older images, and for zero dates.
func (c *column) appendNone(dst []byte) []byte {
	if c.schema.Optional() {
		return connectapi.AppendNull(dst)
	}
	if def := c.schema.EncodedDefault(); def != nil {
		if out, err := connectapi.AppendNested(dst, connectapi.NewValue(c.schema, def)); err == nil {
			return out
		}
	}
	return appendZero(dst, c.schema)
}

func appendZero(dst []byte, s *connectapi.Schema) []byte {
	switch s.Type() {
	case connectapi.TypeFloat32:
		return connectapi.AppendFloat32(dst, 0)
	case connectapi.TypeFloat64:
		return connectapi.AppendFloat64(dst, 0)
	case connectapi.TypeBoolean:
		return connectapi.AppendBool(dst, false)
	case connectapi.TypeString:
		if s.Name() == zonedName {
			return connectapi.AppendString(dst, "1970-01-01T00:00:00Z")
		}
		return connectapi.AppendString(dst, "")
	case connectapi.TypeBytes:
		if s.Name() == connectapi.DecimalName {
			return connectapi.AppendBytes(dst, []byte{0})
		}
		return connectapi.AppendBytes(dst, nil)
	case connectapi.TypeStruct:
		for _, f := range s.Fields() {
			if f.Schema.Optional() {
				dst = connectapi.AppendNull(dst)
			} else {
				dst = appendZero(dst, f.Schema)
			}
		}
		return dst
	}
	return connectapi.AppendInt(dst, 0)
}

// defaultBytes gives the column's default in root form; nil: none, or one that cannot be told from its text.
func (c *column) defaultBytes(s *connectapi.Schema) []byte {
	if c.Default == nil || c.Generated || c.Auto {
		return nil
	}
	text := *c.Default
	var v any = text
	switch c.Type {
	case "bit":
		n, err := bitLiteral(text)
		if err != nil {
			return nil
		}
		v = int64(n)
	case "binary", "varbinary":
		b, ok := binaryLiteral(text)
		if !ok {
			return nil
		}
		v = b
	case "uuid", "inet4", "inet6", "point", "geometry", "json":
		return nil
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			u, uerr := strconv.ParseUint(text, 10, 64)
			if uerr != nil {
				return nil
			}
			n = int64(u)
		}
		v = n
	}
	out, none, err := c.put(nil, v, true)
	switch {
	case err != nil, none && s.Optional():
		return nil
	case none: // a zero date stands for the type's zero, as in rows
		out = appendZero(nil, s)
	}
	if s.Type() == connectapi.TypeString || s.Type() == connectapi.TypeBytes {
		r := connectapi.NewReader(out) // nested form: a length and the bytes
		return append([]byte{}, r.Bytes()...)
	}
	return out
}

// binaryLiteral reads a default of bytes: hexadecimal, or text. MariaDB shows bytes that are no text as question marks, so
// text with one may be anything.
func binaryLiteral(s string) ([]byte, bool) {
	if len(s) > 2 && (s[0] == 'x' || s[0] == 'X') && s[1] == '\'' {
		b, err := hex.DecodeString(s[2 : len(s)-1])
		return b, err == nil
	}
	return []byte(s), !strings.Contains(s, "?")
}

func bitLiteral(s string) (uint64, error) {
	if len(s) > 3 && (s[0] == 'b' || s[0] == 'B') && s[1] == '\'' {
		return strconv.ParseUint(s[2:len(s)-1], 2, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}
