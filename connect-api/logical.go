package connectapi

import (
	"fmt"
	"math/big"
	"strconv"
	"time"
)

// Names of Kafka Connect's logical types.
const (
	DecimalName   = "org.apache.kafka.connect.data.Decimal"
	DateName      = "org.apache.kafka.connect.data.Date"
	TimeName      = "org.apache.kafka.connect.data.Time"
	TimestampName = "org.apache.kafka.connect.data.Timestamp"

	scaleParameter = "scale"
	millisPerDay   = 24 * 60 * 60 * 1000
)

// Builders of the logical types; Optional and the like may follow.

// NewDecimal begins a Decimal: bytes holding a big-endian two's-complement number, to be divided by 10^scale.
func NewDecimal(scale int) *Builder {
	return NewSchema(TypeBytes).Name(DecimalName).Version(1).Parameter(scaleParameter, strconv.Itoa(scale))
}

// NewDate begins a Date: int32 days since 1970-01-01.
func NewDate() *Builder { return NewSchema(TypeInt32).Name(DateName).Version(1) }

// NewTime begins a Time: int32 milliseconds since midnight.
func NewTime() *Builder { return NewSchema(TypeInt32).Name(TimeName).Version(1) }

// NewTimestamp begins a Timestamp: int64 milliseconds since 1970-01-01T00:00:00Z.
func NewTimestamp() *Builder { return NewSchema(TypeInt64).Name(TimestampName).Version(1) }

// Decimal is an exact number: Unscaled divided by 10^Scale.
type Decimal struct {
	Unscaled *big.Int
	Scale    int
}

// ParseDecimal reads a plain decimal number such as -12.50; the scale is the number of digits after the point.
func ParseDecimal(text string) (Decimal, error) {
	digits, scale := text, 0
	for i := range len(text) {
		if text[i] == '.' {
			digits, scale = text[:i]+text[i+1:], len(text)-i-1
			break
		}
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return Decimal{}, fmt.Errorf("parsing %q as a decimal: not a plain number", text)
	}
	return Decimal{n, scale}, nil
}

// String returns the number in plain digits, with Scale of them after the point.
func (d Decimal) String() string {
	if d.Unscaled == nil {
		return "0"
	}
	if d.Scale <= 0 {
		n := new(big.Int).Mul(d.Unscaled, pow10(-d.Scale))
		return n.String()
	}
	digits := new(big.Int).Abs(d.Unscaled).String()
	for len(digits) <= d.Scale {
		digits = "0" + digits
	}
	at := len(digits) - d.Scale
	sign := ""
	if d.Unscaled.Sign() < 0 {
		sign = "-"
	}
	return sign + digits[:at] + "." + digits[at:]
}

// Rescale returns the same number with another scale; false if digits would be lost.
func (d Decimal) Rescale(scale int) (Decimal, bool) {
	if scale >= d.Scale {
		return Decimal{new(big.Int).Mul(d.Unscaled, pow10(scale-d.Scale)), scale}, true
	}
	q, r := new(big.Int).QuoRem(d.Unscaled, pow10(d.Scale-scale), new(big.Int))
	return Decimal{q, scale}, r.Sign() == 0
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// AppendUnscaled appends n as the shortest big-endian two's complement, as Java's BigInteger.toByteArray does.
func AppendUnscaled(dst []byte, n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := n.Bytes()
		if len(b) == 0 || b[0] >= 0x80 {
			dst = append(dst, 0)
		}
		return append(dst, b...)
	}
	bits := new(big.Int).Not(n).BitLen() // -n-1: the magnitude two's complement must hold beside the sign
	size := bits/8 + 1
	m := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(size)*8))
	return append(dst, m.Bytes()...)
}

// ParseUnscaled reads what AppendUnscaled wrote; no bytes are zero.
func ParseUnscaled(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return n
}

// Scale returns a Decimal schema's scale.
func (s *Schema) Scale() (int, error) {
	p, ok := s.Parameter(scaleParameter)
	if !ok {
		return 0, fmt.Errorf("schema %s has no parameter %q", s, scaleParameter)
	}
	n, err := strconv.Atoi(p)
	if err != nil || n < -10000 || n > 10000 {
		return 0, fmt.Errorf("schema %s has a scale that is no number from -10000 to 10000: %q", s, p)
	}
	return n, nil
}

// Logical turns a decoded base value into its logical form, if the schema names one of Kafka Connect's logical types: a
// [Decimal], or a time.Time in UTC for Date, Time (on 1970-01-01) and Timestamp. Other values come back as they are.
func Logical(s *Schema, v any) (any, error) {
	if s == nil || v == nil {
		return v, nil
	}
	switch s.name {
	case DecimalName:
		if b, ok := v.([]byte); ok {
			scale, err := s.Scale()
			return Decimal{ParseUnscaled(b), scale}, err
		}
	case DateName:
		if n, ok := v.(int32); ok {
			return time.UnixMilli(int64(n) * millisPerDay).UTC(), nil
		}
	case TimeName:
		if n, ok := v.(int32); ok {
			return time.UnixMilli(int64(n)).UTC(), nil
		}
	case TimestampName:
		if n, ok := v.(int64); ok {
			return time.UnixMilli(n).UTC(), nil
		}
	}
	return v, nil
}

// baseOf is the way back: a logical value to what the schema's type holds. Others come back as they are.
func baseOf(s *Schema, v any) (any, error) {
	switch l := v.(type) {
	case time.Time:
		ms := l.UnixMilli()
		switch s.name {
		case DateName:
			days := ms / millisPerDay
			if ms%millisPerDay < 0 {
				days--
			}
			return days, nil
		case TimeName:
			return ((ms % millisPerDay) + millisPerDay) % millisPerDay, nil
		case TimestampName:
			return ms, nil
		}
		return nil, fmt.Errorf("a time.Time needs a Date, Time or Timestamp schema, not %s", s)
	case Decimal:
		if s.name != DecimalName {
			return nil, fmt.Errorf("a Decimal needs a Decimal schema, not %s", s)
		}
		scale, err := s.Scale()
		if err != nil {
			return nil, err
		}
		if l.Unscaled == nil {
			l.Unscaled = new(big.Int)
		}
		r, exact := l.Rescale(scale)
		if !exact {
			return nil, fmt.Errorf("decimal %s has more than the schema's %d digits after the point", l, scale)
		}
		return AppendUnscaled(nil, r.Unscaled), nil
	}
	return v, nil
}
