package lake

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// partitioner says in which folder below its topic's a record stands, and its time.
type partitioner struct {
	encode  func(p *partitioner, r *connectapi.Record) (string, error)
	fields  [][]string
	names   []string // of fields, escaped
	span    int64    // milliseconds
	pattern *joda
	zone    *time.Location
	times   extractor

	byNumber map[int32]string // of the default one
	buf      []byte
	last     string // what the last bucket, or the last field values, were called
	bucket   int64
	offset   int
}

// Patterns of the partitioners of fixed span.
const (
	dailyPattern  = "'year'=YYYY/'month'=MM/'day'=dd"
	hourlyPattern = dailyPattern + "/'hour'=HH"
)

func newPartitioner(c *Config, now func() time.Time) (*partitioner, error) {
	p := &partitioner{byNumber: map[int32]string{}, bucket: math.MinInt64}
	var all []error
	wrong := func(key string, err error) { all = append(all, connectapi.ConfigError(key, err)) }
	var err error
	if p.zone, err = time.LoadLocation(c.Timezone); err != nil || c.Timezone == "" || c.Timezone == "Local" {
		wrong("timezone", fmt.Errorf("%q is no time zone known here, such as UTC or Europe/Berlin", c.Timezone))
	}
	if lang, _, _ := strings.Cut(strings.ReplaceAll(c.Locale, "_", "-"), "-"); !strings.EqualFold(lang, "en") {
		wrong("locale", fmt.Errorf("%q is not offered: names of months and days are English (en)", c.Locale))
	}
	if p.times, err = newExtractor(c, now); err != nil {
		all = append(all, err)
	}
	switch class(c.Partitioner, "Partitioner") {
	case "default":
		p.encode = (*partitioner).byPartition
	case "field":
		p.encode = (*partitioner).byField
		all = append(all, p.setFields(c.PartitionField)...)
	case "daily":
		p.setTimes(wrong, 24*time.Hour, dailyPattern)
	case "hourly":
		p.setTimes(wrong, time.Hour, hourlyPattern)
	case "timebased":
		p.setTimes(wrong, c.PartitionSpan, c.PathFormat)
	default:
		wrong("partitioner.class", fmt.Errorf("%q is none of DefaultPartitioner, FieldPartitioner, TimeBasedPartitioner, DailyPartitioner and HourlyPartitioner", c.Partitioner))
	}
	return p, errors.Join(all...)
}

func (p *partitioner) setFields(fields []string) (all []error) {
	if len(fields) == 0 {
		return []error{connectapi.ConfigError("partition.field.name", errors.New("is needed by FieldPartitioner"))}
	}
	for _, f := range fields {
		if f == "" || strings.HasPrefix(f, ".") || strings.HasSuffix(f, ".") || strings.Contains(f, "..") {
			all = append(all, connectapi.ConfigError("partition.field.name", fmt.Errorf("%q is no field and no path of fields", f)))
		}
		p.fields = append(p.fields, strings.Split(f, "."))
		p.names = append(p.names, string(appendEscaped(nil, f)))
	}
	return all
}

func (p *partitioner) setTimes(wrong func(string, error), span time.Duration, pattern string) {
	p.encode, p.span = (*partitioner).byTime, span.Milliseconds()
	if p.span <= 0 {
		wrong("partition.duration.ms", errors.New("is needed by TimeBasedPartitioner: milliseconds above 0"))
		p.span = 1
	}
	if pattern == "" {
		wrong("path.format", errors.New("is needed by TimeBasedPartitioner, e.g. 'year'=YYYY/'month'=MM/'day'=dd"))
		return
	}
	var err error
	if p.pattern, err = parseJoda(pattern); err != nil {
		wrong("path.format", err)
		return
	}
	at := time.Unix(0, 0).UTC()
	for part := range strings.SplitSeq(p.pattern.format(at, at), "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\\x00") {
			wrong("path.format", fmt.Errorf("%q makes a folder called %q", pattern, part))
		}
	}
}

func (p *partitioner) byPartition(r *connectapi.Record) (string, error) {
	s, ok := p.byNumber[r.Original.Partition]
	if !ok {
		s = "partition=" + strconv.Itoa(int(r.Original.Partition))
		p.byNumber[r.Original.Partition] = s
	}
	return s, nil
}

func (p *partitioner) byField(r *connectapi.Record) (string, error) {
	p.buf = p.buf[:0]
	for i, path := range p.fields {
		if i > 0 {
			p.buf = append(p.buf, '/')
		}
		v, err := fieldOf(r.Value, path)
		if err != nil {
			return "", fmt.Errorf("partition.field.name %s: %w", strings.Join(path, "."), err)
		}
		p.buf = append(append(p.buf, p.names[i]...), '=')
		if err := p.fieldValue(v, strings.Join(path, ".")); err != nil {
			return "", err
		}
	}
	if string(p.buf) == p.last {
		return p.last, nil
	}
	s := string(p.buf)
	if err := checkSegments(s); err != nil {
		return "", err
	}
	p.last = s
	return s, nil
}

// fieldOf finds a field: one whose name is the whole path before one along it.
func fieldOf(v connectapi.Value, path []string) (connectapi.Value, error) {
	if len(path) > 1 && v.Schema() != nil && v.Schema().Type() == connectapi.TypeStruct {
		if i := v.Schema().FieldIndex(strings.Join(path, ".")); i >= 0 {
			return v.FieldAt(i)
		}
	}
	return v.Field(path...)
}

func (p *partitioner) fieldValue(v connectapi.Value, field string) error {
	if v.IsNull() {
		p.buf = append(p.buf, "null"...)
		return nil
	}
	if s := v.Schema(); s != nil {
		switch s.Type() {
		case connectapi.TypeFloat32, connectapi.TypeFloat64, connectapi.TypeBytes, connectapi.TypeArray, connectapi.TypeMap, connectapi.TypeStruct:
			return connectapi.DataError(fmt.Errorf("partition.field.name %s is %s: only integers, strings and booleans name folders", field, s))
		}
	}
	var text [64]byte
	t, err := v.AppendText(text[:0])
	if err != nil {
		return err
	}
	p.buf = appendEscaped(p.buf, string(t))
	return nil
}

// byTime names the span of local time a record falls into; an hour that a clock goes through twice is one folder.
func (p *partitioner) byTime(r *connectapi.Record) (string, error) {
	t, err := p.times(r)
	if err != nil {
		return "", err
	}
	at := t.In(p.zone)
	_, offset := at.Zone()
	local := at.UnixMilli() + int64(offset)*1000
	bucket := local - ((local%p.span)+p.span)%p.span
	if bucket == p.bucket && offset == p.offset {
		return p.last, nil
	}
	s := p.pattern.format(time.UnixMilli(bucket).UTC(), at)
	if err := checkSegments(s); err != nil {
		return "", err
	}
	p.bucket, p.offset, p.last = bucket, offset, s
	return s, nil
}
