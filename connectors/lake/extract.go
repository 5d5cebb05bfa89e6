package lake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// extractor tells a record's time.
type extractor func(r *connectapi.Record) (time.Time, error)

func newExtractor(c *Config, now func() time.Time) (extractor, error) {
	switch class(c.Extractor, "TimestampExtractor") {
	case "wallclock":
		return func(*connectapi.Record) (time.Time, error) { return now(), nil }, nil
	case "record":
		return func(r *connectapi.Record) (time.Time, error) {
			if r.Time.IsZero() {
				return r.Time, connectapi.DataError(errors.New("timestamp.extractor=Record: the record has no time"))
			}
			return r.Time, nil
		}, nil
	case "recordfield":
		if c.TimestampField == "" {
			return nil, connectapi.ConfigError("timestamp.field", errors.New("is needed by the RecordField extractor"))
		}
		path := strings.Split(c.TimestampField, ".")
		return func(r *connectapi.Record) (time.Time, error) {
			v, err := fieldOf(r.Value, path)
			if err == nil {
				var t time.Time
				if t, err = timeOf(v); err == nil {
					return t, nil
				}
			}
			return time.Time{}, connectapi.DataError(fmt.Errorf("timestamp.field %s: %w", c.TimestampField, err))
		}, nil
	}
	return nil, connectapi.ConfigError("timestamp.extractor", fmt.Errorf("%q is none of Wallclock, Record and RecordField", c.Extractor))
}

// timeOf reads a field as a moment: a time by its logical type, another integer as milliseconds since 1970, a string as
// ISO 8601 or digits.
func timeOf(v connectapi.Value) (time.Time, error) {
	if v.IsNull() {
		return time.Time{}, errors.New("is null")
	}
	s := v.Schema()
	if n, err := v.Int64(); err == nil {
		if s != nil {
			switch s.Name() {
			case connectapi.DateName, debeziumDate:
				return time.Unix(n*24*60*60, 0).UTC(), nil
			case debeziumMicroTimestamp:
				return time.UnixMicro(n).UTC(), nil
			case debeziumNanoTimestamp:
				return time.Unix(0, n).UTC(), nil
			}
		}
		return time.UnixMilli(n).UTC(), nil
	}
	text, err := v.Text()
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is neither a time nor an integer nor a string", s)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(n).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.50q is no time in ISO 8601", text)
}
