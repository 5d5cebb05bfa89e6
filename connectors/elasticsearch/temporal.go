package elasticsearch

import (
	"strconv"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// debeziumTime is how names of Debezium's temporal types begin.
const debeziumTime = "io.debezium.time."

// logicalKind recognises Kafka Connect's and Debezium's logical types whose JSON is not their base type's.
func logicalKind(s *connectapi.Schema) (kind, bool) {
	type match struct {
		typ  connectapi.Type
		kind kind
	}
	m, ok := map[string]match{
		connectapi.DecimalName:   {connectapi.TypeBytes, kindDecimal},
		connectapi.DateName:      {connectapi.TypeInt32, kindDate},
		connectapi.TimeName:      {connectapi.TypeInt32, kindTimeMillis},
		connectapi.TimestampName: {connectapi.TypeInt64, kindEpochMillis},

		debeziumTime + "Date":           {connectapi.TypeInt32, kindDate},
		debeziumTime + "Time":           {connectapi.TypeInt32, kindTimeMillis},
		debeziumTime + "MicroTime":      {connectapi.TypeInt64, kindTimeMicros},
		debeziumTime + "NanoTime":       {connectapi.TypeInt64, kindTimeNanos},
		debeziumTime + "Timestamp":      {connectapi.TypeInt64, kindMillis},
		debeziumTime + "MicroTimestamp": {connectapi.TypeInt64, kindMicros},
		debeziumTime + "NanoTimestamp":  {connectapi.TypeInt64, kindNanos},

		"io.debezium.data.VariableScaleDecimal": {connectapi.TypeStruct, kindVariableDecimal},
	}[s.Name()]
	if !ok || m.typ != s.Type() {
		return 0, false
	}
	if m.kind == kindVariableDecimal {
		f := s.Fields()
		if len(f) != 2 || f[0].Name != "scale" || f[0].Schema.Type() != connectapi.TypeInt32 || f[0].Schema.Optional() ||
			f[1].Name != "value" || f[1].Schema.Type() != connectapi.TypeBytes || f[1].Schema.Optional() {
			return 0, false
		}
	}
	return m.kind, true
}

const secondsPerDay = 24 * 60 * 60

// appendTime appends a date, time or timestamp.
func (n *node) appendTime(dst []byte, v int64) []byte {
	switch n.kind {
	case kindDate:
		return appendISO(dst, time.Unix(v*secondsPerDay, 0), time.DateOnly)
	case kindMillis:
		return appendISO(dst, time.UnixMilli(v), isoTime)
	case kindMicros:
		return appendISO(dst, time.UnixMicro(v), isoTime)
	case kindNanos:
		return appendISO(dst, time.Unix(0, v), isoTime)
	case kindTimeMillis:
		return appendClock(dst, v, 1e3)
	case kindTimeMicros:
		return appendClock(dst, v, 1e6)
	case kindTimeNanos:
		return appendClock(dst, v, 1e9)
	}
	return strconv.AppendInt(dst, v, 10)
}

const isoTime = "2006-01-02T15:04:05.999999999Z"

// appendISO appends a point in time as Elasticsearch's strict_date_optional_time reads it: that has years of four digits, so
// others become milliseconds, which a date reads too.
func appendISO(dst []byte, t time.Time, layout string) []byte {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return strconv.AppendInt(dst, t.UnixMilli(), 10)
	}
	return append(t.AppendFormat(append(dst, '"'), layout), '"')
}

// appendClock appends a time of day, or a MySQL TIME, which may be negative and beyond 24 hours.
func appendClock(dst []byte, v, perSecond int64) []byte {
	dst = append(dst, '"')
	if v < 0 {
		dst = append(dst, '-')
	}
	abs := func(x int64) int64 { return max(x, -x) } // parts, never the least int64
	seconds, part := abs(v/perSecond), abs(v%perSecond)
	for i, x := range [3]int64{seconds / 3600, seconds / 60 % 60, seconds % 60} {
		if i > 0 {
			dst = append(dst, ':')
		}
		if x < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendInt(dst, x, 10)
	}
	if part > 0 {
		dst = append(dst, '.')
		for unit := perSecond / 10; part > 0; unit /= 10 {
			dst = append(dst, byte('0'+part/unit))
			part %= unit
		}
	}
	return append(dst, '"')
}
