package mysql

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// column is a column ready to encode: its schema and how a value becomes bytes.
type column struct {
	Column
	schema *connectapi.Schema
	// put appends a value that is not null. clean tells that text is UTF-8 already (snapshot). skip tells that the value has
	// no instant (zero dates): nothing was appended.
	put func(dst []byte, v any, clean bool) (out []byte, none bool, err error)
}

// Schemas of Debezium's semantic types.
const (
	dateName           = "io.debezium.time.Date"
	microTimeName      = "io.debezium.time.MicroTime"
	timestampName      = "io.debezium.time.Timestamp"
	microTimestampName = "io.debezium.time.MicroTimestamp"
	zonedName          = "io.debezium.time.ZonedTimestamp"
	yearName           = "io.debezium.time.Year"
	bitsName           = "io.debezium.data.Bits"
	enumName           = "io.debezium.data.Enum"
	enumSetName        = "io.debezium.data.EnumSet"
	jsonName           = "io.debezium.data.Json"
	geometryName       = "io.debezium.data.geometry.Geometry"
	pointName          = "io.debezium.data.geometry.Point"
	precisionParameter = "connect.decimal.precision"
)

func named(t connectapi.Type, name string) *connectapi.Builder {
	return connectapi.NewSchema(t).Name(name).Version(1)
}

var geometrySchema = connectapi.NewStruct(geometryName).Version(1).Field("wkb", connectapi.BytesSchema).Field("srid", connectapi.OptionalInt32Schema).MustBuild()

var pointSchema = connectapi.NewStruct(pointName).Version(1).Field("x", connectapi.Float64Schema).Field("y", connectapi.Float64Schema).
	Field("wkb", connectapi.OptionalBytesSchema).Field("srid", connectapi.OptionalInt32Schema).MustBuild()

// newColumn chooses schema and encoder for a column. Unknown types are an error that names the column.
func newColumn(cfg *Config, c Column) (*column, error) {
	col := &column{Column: c}
	b, err := col.choose(cfg)
	if err != nil {
		return nil, err
	}
	if c.Nullable {
		b.Optional()
	}
	bare, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("making the schema of column %s %s: %w", c.Name, c.Expr, err)
	}
	col.schema = bare
	if def := col.defaultBytes(bare); def != nil {
		if s, err := b.BuildWithDefault(def); err == nil {
			col.schema = s
		}
	}
	return col, nil
}

func (c *column) choose(cfg *Config) (*connectapi.Builder, error) {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return c.chooseInt(cfg)
	case "decimal":
		return c.chooseDecimal(cfg)
	case "float":
		if c.Scale < 0 && c.Length <= 24 {
			c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
				f, err := toFloat(v)
				return connectapi.AppendFloat32(d, float32(f)), false, err
			}
			return connectapi.NewSchema(connectapi.TypeFloat32), nil
		}
		fallthrough
	case "double":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			f, err := toFloat(v)
			return connectapi.AppendFloat64(d, f), false, err
		}
		return connectapi.NewSchema(connectapi.TypeFloat64), nil
	case "bit":
		return c.chooseBit()
	case "year":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, err := toInt(v)
			return connectapi.AppendInt(d, n), false, err
		}
		return named(connectapi.TypeInt32, yearName), nil
	case "date", "time", "datetime", "timestamp":
		return c.chooseTemporal(cfg)
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json":
		return c.chooseText(cfg)
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return c.chooseBinary(cfg)
	case "enum", "set":
		return c.chooseLabels()
	case "uuid", "inet6", "inet4":
		c.put = c.putNative
		return connectapi.NewSchema(connectapi.TypeString), nil
	case "point":
		c.put = putPoint
		return pointSchema.Builder(), nil
	case "geometry", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		c.put = putGeometry
		return geometrySchema.Builder(), nil
	}
	return nil, fmt.Errorf("column %s has type %s, which the connector does not know: leave it out with column.exclude.list", c.Name, c.Expr)
}

var intBits = map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (c *column) chooseInt(cfg *Config) (*connectapi.Builder, error) {
	bits := intBits[c.Type]
	unsigned := c.Unsigned
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		n, err := toInt(v)
		if unsigned && n < 0 && bits < 64 { // without signedness in the log the value came out signed
			n += 1 << bits
		}
		return connectapi.AppendInt(d, n), false, err
	}
	switch {
	case c.Type == "tinyint", c.Type == "smallint" && !unsigned:
		return connectapi.NewSchema(connectapi.TypeInt16), nil
	case c.Type == "smallint", c.Type == "mediumint", c.Type == "int" && !unsigned:
		return connectapi.NewSchema(connectapi.TypeInt32), nil
	case c.Type == "bigint" && unsigned && cfg.BigintU == "precise":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, err := toInt(v)
			return connectapi.AppendBytes(d, connectapi.AppendUnscaled(nil, new(big.Int).SetUint64(uint64(n)))), false, err
		}
		return connectapi.NewDecimal(0).Parameter(precisionParameter, "20"), nil
	}
	return connectapi.NewSchema(connectapi.TypeInt64), nil
}

func (c *column) chooseDecimal(cfg *Config) (*connectapi.Builder, error) {
	switch cfg.Decimal {
	case "double":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			f, err := toFloat(v)
			return connectapi.AppendFloat64(d, f), false, err
		}
		return connectapi.NewSchema(connectapi.TypeFloat64), nil
	case "string":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			return connectapi.AppendBytes(d, toBytes(v)), false, nil
		}
		return connectapi.NewSchema(connectapi.TypeString), nil
	}
	scale := c.Scale
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		dec, err := connectapi.ParseDecimal(string(toBytes(v)))
		if err != nil {
			return d, false, err
		}
		dec, exact := dec.Rescale(scale)
		if !exact {
			return d, false, fmt.Errorf("%s does not fit scale %d", toBytes(v), scale)
		}
		return connectapi.AppendBytes(d, connectapi.AppendUnscaled(nil, dec.Unscaled)), false, nil
	}
	return connectapi.NewDecimal(scale).Parameter(precisionParameter, strconv.Itoa(c.Length)), nil
}

func (c *column) chooseBit() (*connectapi.Builder, error) {
	if c.Length == 1 {
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, err := toBits(v)
			return connectapi.AppendBool(d, n != 0), false, err
		}
		return connectapi.NewSchema(connectapi.TypeBoolean), nil
	}
	size := (c.Length + 7) / 8
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		n, err := toBits(v)
		var le [8]byte
		binary.LittleEndian.PutUint64(le[:], n)
		return connectapi.AppendBytes(d, le[:size]), false, err
	}
	return named(connectapi.TypeBytes, bitsName).Parameter("length", strconv.Itoa(c.Length)), nil
}

func (c *column) chooseText(cfg *Config) (*connectapi.Builder, error) {
	var scratch []byte
	if c.Type == "json" {
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			scratch = appendServerJSON(scratch[:0], toBytes(v))
			return connectapi.AppendBytes(d, scratch), false, nil
		}
		return named(connectapi.TypeString, jsonName), nil
	}
	if c.Charset == "binary" {
		return c.chooseBinary(cfg)
	}
	charset := c.Charset
	c.put = func(d []byte, v any, clean bool) ([]byte, bool, error) {
		if clean {
			return connectapi.AppendBytes(d, toBytes(v)), false, nil
		}
		var err error
		scratch, err = appendText(scratch[:0], charset, toBytes(v))
		return connectapi.AppendBytes(d, scratch), false, err
	}
	if c.JSON {
		return named(connectapi.TypeString, jsonName), nil
	}
	return connectapi.NewSchema(connectapi.TypeString), nil
}

func (c *column) chooseBinary(cfg *Config) (*connectapi.Builder, error) {
	pad := 0
	if c.Type == "binary" || c.Type == "char" {
		pad = c.Length // the log cuts trailing zero bytes
	}
	whole := func(v any) []byte {
		b := toBytes(v)
		if len(b) < pad {
			b = append(append(make([]byte, 0, pad), b...), make([]byte, pad-len(b))...)
		}
		return b
	}
	var enc func([]byte) string
	switch cfg.Binary {
	case "base64":
		enc = base64.StdEncoding.EncodeToString
	case "base64-url-safe":
		enc = base64.URLEncoding.EncodeToString
	case "hex":
		enc = hex.EncodeToString
	default:
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			return connectapi.AppendBytes(d, whole(v)), false, nil
		}
		return connectapi.NewSchema(connectapi.TypeBytes), nil
	}
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		return connectapi.AppendString(d, enc(whole(v))), false, nil
	}
	return connectapi.NewSchema(connectapi.TypeString), nil
}

// chooseLabels encodes ENUM (an index, or from the snapshot a label) and SET (a bitmap, or labels).
func (c *column) chooseLabels() (*connectapi.Builder, error) {
	values := c.Values
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), ",", `\,`)
	}
	allowed := strings.Join(escaped, ",")
	if c.Type == "enum" {
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			if s, ok := asText(v); ok {
				return connectapi.AppendString(d, s), false, nil
			}
			n, err := toInt(v)
			switch {
			case err != nil:
				return d, false, err
			case n == 0: // an invalid value was stored
				return connectapi.AppendString(d, ""), false, nil
			case n < 0 || int(n) > len(values):
				return d, false, fmt.Errorf("label %d of an enum with %d: the schema known here is not that of the row", n, len(values))
			}
			return connectapi.AppendString(d, values[n-1]), false, nil
		}
		return named(connectapi.TypeString, enumName).Parameter("allowed", allowed), nil
	}
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		if s, ok := asText(v); ok {
			return connectapi.AppendString(d, s), false, nil
		}
		n, err := toInt(v)
		var on []string
		for i := range values {
			if uint64(n)&(1<<i) != 0 {
				on = append(on, values[i])
			}
		}
		return connectapi.AppendString(d, strings.Join(on, ",")), false, err
	}
	return named(connectapi.TypeString, enumSetName).Parameter("allowed", allowed), nil
}

func (c *column) chooseTemporal(cfg *Config) (*connectapi.Builder, error) {
	connect := cfg.Time == "connect"
	switch c.Type {
	case "date":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, ok, err := parseDate(string(toBytes(v)))
			return connectapi.AppendInt(d, n), !ok, err
		}
		if connect {
			return connectapi.NewDate(), nil
		}
		return named(connectapi.TypeInt32, dateName), nil
	case "time":
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, err := parseClock(string(toBytes(v)))
			if connect {
				if err == nil && (n < 0 || n >= 86400*1e6) {
					err = fmt.Errorf("%s is no time of a day: time.precision.mode=connect cannot hold it", toBytes(v))
				}
				n /= 1000
			}
			return connectapi.AppendInt(d, n), false, err
		}
		if connect {
			return connectapi.NewTime(), nil
		}
		return named(connectapi.TypeInt64, microTimeName), nil
	case "datetime":
		millis := connect || c.Scale <= 3
		c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
			n, ok, err := parseDatetime(string(toBytes(v)))
			if millis {
				n = floorDiv(n, 1000)
			}
			return connectapi.AppendInt(d, n), !ok, err
		}
		switch {
		case connect:
			return connectapi.NewTimestamp(), nil
		case millis:
			return named(connectapi.TypeInt64, timestampName), nil
		}
		return named(connectapi.TypeInt64, microTimestampName), nil
	}
	n := c.Scale
	c.put = func(d []byte, v any, _ bool) ([]byte, bool, error) {
		s := string(toBytes(v))
		_, ok, err := parseDatetime(s)
		if err != nil || !ok {
			return d, true, err
		}
		return connectapi.AppendBytes(d, appendZoned(make([]byte, 0, 32), s, n)), false, nil
	}
	return named(connectapi.TypeString, zonedName), nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
