package connectapi

import "encoding/binary"

// Row is a row of a batch being filled.
type Row struct {
	Key, Value Writer

	b       *Batch
	route   *Route
	millis  int64
	headers []byte
	count   int
	err     error
}

// Header adds a header; a nil schema takes a JSON value.
func (r *Row) Header(name string, s *Schema, value any) {
	v, err := Encode(s, value)
	if err != nil {
		if r.err == nil {
			r.err = within("header "+name, err)
		}
		return
	}
	r.headers = appendHeader(r.headers, name, r.b.catalog.Schema(s), v.data)
	r.count++
}

// End adds the row to the batch. An error names the field and leaves the batch as it was (I4).
func (r *Row) End() error {
	key, err := r.Key.Finish()
	if err != nil {
		return within("key", err)
	}
	value, err := r.Value.Finish()
	if err != nil {
		return within("value", err)
	}
	if r.err != nil {
		return r.err
	}
	r.b.AppendEncoded(r.route, r.millis, key, value, Headers{count: r.count, encoded: r.headers})
	return nil
}

// Headers are a record's headers as rows hold them: nothing is decoded until asked for.
type Headers struct {
	count   int
	encoded []byte
	schemas *Directory
}

// Header is one header.
type Header struct {
	Name  string
	Value Value
}

// Len returns the number of headers.
func (h Headers) Len() int { return h.count }

// All yields the headers in order. Bytes that are no headers end it; rows were checked when they were read.
func (h Headers) All() func(yield func(Header) bool) {
	return func(yield func(Header) bool) {
		r := NewReader(h.encoded)
		for range h.count {
			name, id, value := r.Blob(), r.Uvarint(), r.Blob()
			if r.err != nil {
				return
			}
			var s *Schema
			if h.schemas != nil {
				s, _ = h.schemas.Schema(uint32(id))
			}
			if !yield(Header{string(name), Value{s, value}}) {
				return
			}
		}
	}
}

// Get returns the last header of a name.
func (h Headers) Get(name string) (Value, bool) {
	var v Value
	found := false
	for x := range h.All() {
		if x.Name == name {
			v, found = x.Value, true
		}
	}
	return v, found
}

// AppendHeader adds a header to a list that will be sent with the catalog's ids.
func (h Headers) AppendHeader(c *Catalog, name string, v Value) Headers {
	h.encoded = appendHeader(h.encoded, name, c.Schema(v.schema), v.data)
	h.count++
	return h
}

func appendHeader(dst []byte, name string, schema uint32, value []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(name))+1), name...)
	dst = binary.AppendUvarint(dst, uint64(schema))
	return AppendBlob(dst, value)
}
