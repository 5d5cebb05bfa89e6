package connectapi

import (
	"fmt"
	"math"
	"time"
)

// RawRow is a row as it stands in a batch: nothing of it is decoded, its bytes point into the batch (I5).
type RawRow struct {
	Route   *Route
	RouteID uint32
	Millis  int64 // since 1970; NoTime: none
	Offset  int64 // 0 from a source
	Key     Value
	Value   Value
	Headers Headers
}

// Time returns the row's time; zero: none.
func (r *RawRow) Time() time.Time { return timeOf(r.Millis) }

// Rows walks over the rows of a batch.
type Rows struct {
	r    Reader
	base int64
	dir  *Directory
	n    int
}

// NewRows begins at the first row. The directory must know every route and schema the rows name.
func NewRows(rows []byte, base int64, dir *Directory) Rows {
	return Rows{r: NewReader(rows), base: base, dir: dir}
}

// Err returns what was wrong with the bytes, once Next has returned false.
func (w *Rows) Err() error { return w.r.err }

// Next reads the next row into row; false at the end or after an error.
func (w *Rows) Next(row *RawRow) bool {
	if w.r.err != nil || w.r.Len() == 0 {
		return false
	}
	if err := w.next(row); err != nil {
		w.r.err = &ValueError{Problem: fmt.Sprintf("row %d of the batch: %s", w.n, err)}
		return false
	}
	w.n++
	return true
}

func (w *Rows) next(row *RawRow) error {
	n := w.r.Uvarint()
	if w.r.err == nil && n > uint64(w.r.Len()) {
		w.r.fail(fmt.Sprintf("a row of %d bytes with %d left", n, w.r.Len()))
	}
	in := Reader{buf: w.r.take(int(n))}
	if w.r.err != nil {
		return w.r.err
	}
	id, delta, offset := in.Uvarint(), in.Int(), in.Uvarint()
	if id != uint64(row.RouteID) || row.Route == nil {
		if id > math.MaxUint32 {
			return fmt.Errorf("route %d is no id", id)
		}
		row.RouteID, row.Route = uint32(id), w.dir.Route(uint32(id))
	}
	if in.err == nil && row.Route == nil {
		return fmt.Errorf("route %d was never announced", id)
	}
	row.Millis, row.Offset = w.base+delta, int64(offset)
	if row.Millis < NoTime {
		row.Millis = NoTime
	}
	key, value := in.Blob(), in.Blob()
	if in.err != nil {
		return in.err
	}
	row.Key, row.Value = Value{row.Route.Key, key}, Value{row.Route.Value, value}
	return w.headers(&in, row)
}

// headers checks that they are well formed, so that walking them later cannot fail.
func (w *Rows) headers(in *Reader, row *RawRow) error {
	n := in.Uvarint()
	row.Headers = Headers{}
	if n == 0 && in.err == nil && in.Len() == 0 {
		return nil
	}
	if n > uint64(in.Len()/3) { // a header takes three bytes at least
		return fmt.Errorf("%d headers in %d bytes", n, in.Len())
	}
	encoded := in.Rest()
	for range n {
		if in.Blob() == nil && in.err == nil {
			return fmt.Errorf("a header without a name")
		}
		if id := in.Uvarint(); in.err == nil {
			if _, ok := w.dir.Schema(uint32(id)); !ok || id > math.MaxUint32 {
				return fmt.Errorf("schema %d was never announced", id)
			}
		}
		in.Blob()
		if in.err != nil {
			return in.err
		}
	}
	if in.Len() > 0 {
		return fmt.Errorf("%d bytes after the headers", in.Len())
	}
	row.Headers = Headers{int(n), encoded, w.dir}
	return nil
}
