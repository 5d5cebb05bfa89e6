package lake

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/penstockio/penstock/connect-api"
)

// kind is how a column's values are encoded.
type kind uint8

const (
	boolKind kind = iota
	int32Kind
	int64Kind
	scaledKind // int64 times scale
	timeKind   // int64 times scale, within a day
	floatKind
	doubleKind
	bytesKind
	stringKind
	zonedKind       // text of a moment to microseconds
	decimal32Kind   // up to 9 digits
	decimal64Kind   // up to 18
	decimal128Kind  // up to 38
	decimalTextKind // more
	textKind        // whatever has no columns: its text
	structKind
	listKind
	mapKind
)

// Names of Debezium's logical types.
const (
	debeziumDate           = "io.debezium.time.Date"
	debeziumTime           = "io.debezium.time.Time"
	debeziumMicroTime      = "io.debezium.time.MicroTime"
	debeziumNanoTime       = "io.debezium.time.NanoTime"
	debeziumTimestamp      = "io.debezium.time.Timestamp"
	debeziumMicroTimestamp = "io.debezium.time.MicroTimestamp"
	debeziumNanoTimestamp  = "io.debezium.time.NanoTimestamp"
	debeziumZonedTimestamp = "io.debezium.time.ZonedTimestamp"
	debeziumJSON           = "io.debezium.data.Json"
)

// maxPrecision is the most digits readers of Parquet take.
const maxPrecision = 38

// column is a node of a layout: a leaf is one Parquet column, others hold those from first to end.
type column struct {
	name       string
	schema     *connectapi.Schema
	kind       kind
	optional   bool
	scale      int64 // of scaledKind and timeKind; of timeKind day is the first value too large
	day        int64
	limit      *big.Int // of decimals: 10^precision
	limit64    int64    // the same, of up to 18 digits
	decimals   int
	precision  int
	first, end int
	level      int       // of a list or map: how many lists and maps it is in, itself among them
	children   []*column // a struct's fields; a list's element; a map's key and value
	node       parquet.Node
}

// layoutBuilder numbers leaves in the order they are met.
type layoutBuilder struct {
	leaves int
	level  int  // of lists and maps around
	micros bool // time.type
}

// column compiles one schema. Map keys are required whatever their schema says.
func (b *layoutBuilder) column(name string, s *connectapi.Schema, optional bool) (*column, error) {
	c := &column{name: name, schema: s, optional: optional, first: b.leaves}
	if err := b.shape(c); err != nil {
		return nil, err
	}
	if len(c.children) == 0 {
		b.leaves++
	}
	c.end = b.leaves
	if optional {
		c.node = parquet.Optional(c.node)
	}
	return c, nil
}

func (b *layoutBuilder) shape(c *column) error {
	s := c.schema
	switch s.Type() {
	case connectapi.TypeStruct:
		if len(s.Fields()) == 0 { // Parquet has no group without columns
			c.kind, c.node = textKind, parquet.String()
			return nil
		}
		c.kind = structKind
		g := &group{}
		for _, f := range s.Fields() {
			if err := b.child(c, f.Name, f.Schema, f.Schema.Optional()); err != nil {
				return err
			}
			g.fields = append(g.fields, &groupField{c.children[len(c.children)-1].node, f.Name})
		}
		c.node = g
	case connectapi.TypeArray:
		c.kind = listKind
		defer b.deeper(c)()
		if err := b.child(c, "element", s.Elem(), s.Elem().Optional()); err != nil {
			return err
		}
		c.node = parquet.List(c.children[0].node)
	case connectapi.TypeMap:
		c.kind = mapKind
		defer b.deeper(c)()
		if err := b.child(c, "key", s.Keys(), false); err != nil {
			return err
		}
		if err := b.child(c, "value", s.Elem(), s.Elem().Optional()); err != nil {
			return err
		}
		c.node = parquet.Map(c.children[0].node, c.children[1].node)
	default:
		return b.leaf(c)
	}
	return nil
}

func (b *layoutBuilder) deeper(c *column) func() {
	b.level++
	c.level = b.level
	return func() { b.level-- }
}

func (b *layoutBuilder) child(c *column, name string, s *connectapi.Schema, optional bool) error {
	x, err := b.column(name, s, optional)
	c.children = append(c.children, x)
	return err
}

func (b *layoutBuilder) leaf(c *column) error {
	if c.schema.Name() != "" {
		if ok, err := b.logical(c); ok || err != nil {
			return err
		}
	}
	switch c.schema.Type() {
	case connectapi.TypeBoolean:
		c.kind, c.node = boolKind, parquet.Leaf(parquet.BooleanType)
	case connectapi.TypeInt8:
		c.kind, c.node = int32Kind, parquet.Int(8)
	case connectapi.TypeInt16:
		c.kind, c.node = int32Kind, parquet.Int(16)
	case connectapi.TypeInt32:
		c.kind, c.node = int32Kind, parquet.Int(32)
	case connectapi.TypeInt64:
		c.kind, c.node = int64Kind, parquet.Int(64)
	case connectapi.TypeFloat32:
		c.kind, c.node = floatKind, parquet.Leaf(parquet.FloatType)
	case connectapi.TypeFloat64:
		c.kind, c.node = doubleKind, parquet.Leaf(parquet.DoubleType)
	case connectapi.TypeString:
		c.kind, c.node = stringKind, parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case connectapi.TypeBytes:
		c.kind, c.node = bytesKind, parquet.Leaf(parquet.ByteArrayType)
	default:
		return fmt.Errorf("field %s: %s has no place in a Parquet file", c.name, c.schema)
	}
	return nil
}

// Lengths of a day.
const (
	dayMicros = 24 * 60 * 60 * 1_000_000
	dayNanos  = dayMicros * 1000
)

// logical gives a leaf the meaning its schema's name says, if the base type is the name's.
func (b *layoutBuilder) logical(c *column) (bool, error) {
	t := c.schema.Type()
	switch name := c.schema.Name(); {
	case name == connectapi.DecimalName && t == connectapi.TypeBytes:
		return true, c.decimal()
	case (name == connectapi.DateName || name == debeziumDate) && t == connectapi.TypeInt32:
		c.kind, c.node = int32Kind, parquet.Date()
	case (name == connectapi.TimeName || name == debeziumTime) && t == connectapi.TypeInt32:
		b.time(c, 1000)
	case name == debeziumMicroTime && t == connectapi.TypeInt64:
		b.time(c, 1)
	case name == debeziumNanoTime && t == connectapi.TypeInt64:
		c.kind, c.scale, c.day, c.node = timeKind, 1, dayNanos, parquet.TimeAdjusted(parquet.Nanosecond, false)
	case name == connectapi.TimestampName && t == connectapi.TypeInt64:
		c.kind, c.scale, c.node = scaledKind, 1000, parquet.TimestampAdjusted(parquet.Microsecond, true)
	case name == debeziumTimestamp && t == connectapi.TypeInt64:
		c.kind, c.scale, c.node = scaledKind, 1000, parquet.TimestampAdjusted(parquet.Microsecond, false)
	case name == debeziumMicroTimestamp && t == connectapi.TypeInt64:
		c.kind, c.node = int64Kind, parquet.TimestampAdjusted(parquet.Microsecond, false)
	case name == debeziumNanoTimestamp && t == connectapi.TypeInt64:
		c.kind, c.node = int64Kind, parquet.TimestampAdjusted(parquet.Nanosecond, false)
	case name == debeziumZonedTimestamp && t == connectapi.TypeString:
		c.kind, c.node = zonedKind, parquet.TimestampAdjusted(parquet.Microsecond, true)
	case name == debeziumJSON && t == connectapi.TypeString:
		c.kind, c.node = stringKind, parquet.JSON()
	default:
		return false, nil
	}
	return true, nil
}

func (b *layoutBuilder) time(c *column, scale int64) {
	c.scale = scale
	if b.micros {
		c.kind, c.node = scaledKind, parquet.Int(64)
		return
	}
	c.kind, c.day, c.node = timeKind, dayMicros, parquet.TimeAdjusted(parquet.Microsecond, false)
}

func (c *column) decimal() error {
	scale, err := c.schema.Scale()
	if err != nil {
		return fmt.Errorf("field %s: %w", c.name, err)
	}
	precision := maxPrecision
	if p, ok := c.schema.Parameter("connect.decimal.precision"); ok {
		if precision, err = strconv.Atoi(p); err != nil || precision < 1 {
			return fmt.Errorf("field %s: connect.decimal.precision is no number of digits: %q", c.name, p)
		}
	}
	c.decimals, c.precision = scale, precision
	if precision > maxPrecision || scale < 0 || scale > precision {
		c.kind, c.node = decimalTextKind, parquet.String()
		return nil
	}
	c.limit = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	if precision <= 18 {
		c.limit64 = c.limit.Int64()
	}
	switch {
	case precision <= 9:
		c.kind, c.node = decimal32Kind, parquet.Decimal(scale, precision, parquet.Int32Type)
	case precision <= 18:
		c.kind, c.node = decimal64Kind, parquet.Decimal(scale, precision, parquet.Int64Type)
	default:
		c.kind, c.node = decimal128Kind, parquet.Decimal(scale, precision, parquet.FixedLenByteArrayType(16))
	}
	return nil
}

// group is a Parquet group whose fields keep their order; parquet.Group sorts them.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) Fields() []parquet.Field { return g.fields }
func (g *group) String() string          { return fmt.Sprintf("group of %d fields", len(g.fields)) }

type groupField struct {
	parquet.Node
	name string
}

func (f *groupField) Name() string { return f.name }

// Value belongs to rows that are Go values; ours are never.
func (f *groupField) Value(reflect.Value) reflect.Value { return reflect.Value{} }
