package connectapi

import (
	"bytes"
	"iter"
	"time"
)

// Record is a record as a sink, or a reader of a topic, sees it. Its bytes point into the batch and go with it (I5), and
// Records.All reuses the Record itself: Clone what must stay.
type Record struct {
	Topic     string
	Partition int32 // as consumed
	Offset    int64
	Time      time.Time // zero: none
	Key       Value
	Value     Value
	Headers   Headers
	Original  Origin

	failed func(*Record, error)
}

// Origin is where a record was consumed from, whatever a transform did.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Fail says that this record alone could not be written; the worker's error policy decides what becomes of it. Call it
// before Write returns, or, from a Committer, before a Commit whose offsets pass the record.
func (r *Record) Fail(err error) {
	if r.failed != nil {
		r.failed(r, err)
	}
}

// Clone returns a record with memory of its own. It may still be failed.
func (r *Record) Clone() *Record {
	c := *r
	c.Key, c.Value = r.Key.Clone(), r.Value.Clone()
	c.Headers.encoded = append([]byte{}, r.Headers.encoded...)
	return &c
}

// Records is a batch of records for a sink.
type Records struct {
	rows     []byte
	base     int64
	count    int
	dir      *Directory
	record   Record
	lent     bool // rows stand in memory that is not the collector's
	begun    bool // records were handed out
	copied   bool // rows are a copy, which is
	retained bool
	err      error
}

// NewRecords makes a batch of rows; fail is called for each record that is failed. It is for the SDK and for tests.
func NewRecords(rows []byte, count int, base int64, dir *Directory, fail func(*Record, error)) *Records {
	rs := &Records{}
	rs.Reset(rows, count, base, dir, fail)
	return rs
}

// Reset is NewRecords in memory that was used before.
func (rs *Records) Reset(rows []byte, count int, base int64, dir *Directory, fail func(*Record, error)) {
	*rs = Records{rows: rows, base: base, count: count, dir: dir, record: Record{failed: fail}}
}

// Len returns the number of records.
func (rs *Records) Len() int { return rs.count }

// Size returns their bytes.
func (rs *Records) Size() int { return len(rs.rows) }

// All yields the records in order: the same *Record each time. Malformed rows end it early and show in Err, which the SDK
// checks after Write.
func (rs *Records) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		rs.begun = true
		rows := NewRows(rs.rows, rs.base, rs.dir)
		var raw RawRow
		for rows.Next(&raw) {
			raw.Fill(&rs.record)
			if !yield(&rs.record) {
				return
			}
		}
		rs.err = rows.Err()
	}
}

// Retain keeps the bytes of all records valid for as long as anything points to them, instead of until Write returns.
// It costs the memory of the whole batch, and least if it is called before All.
func (rs *Records) Retain() {
	switch {
	case rs.copied:
	case rs.lent && !rs.begun:
		rs.rows, rs.copied = bytes.Clone(rs.rows), true
	default:
		rs.retained = true
	}
}

// Lend says that the rows stand in memory that does not live for as long as something points to it. It is for the SDK, behind Reset.
func (rs *Records) Lend() { rs.lent = true }

// Retained says whether the rows' memory must stay as it is.
func (rs *Records) Retained() bool { return rs.retained }

// Err returns what was wrong with the rows, if All met it.
func (rs *Records) Err() error { return rs.err }

// Fill sets a record from a row.
func (r *RawRow) Fill(rec *Record) {
	rec.Topic, rec.Partition, rec.Offset, rec.Time = r.Route.Topic, r.Route.Partition, r.Offset, r.Time()
	rec.Key, rec.Value, rec.Headers = r.Key, r.Value, r.Headers
	rec.Original = Origin{r.Route.Topic, r.Route.Partition, r.Offset}
	if r.Route.ReadFrom != "" {
		rec.Original.Topic = r.Route.ReadFrom
	}
}
