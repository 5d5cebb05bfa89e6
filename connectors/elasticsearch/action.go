package elasticsearch

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/penstockio/penstock/connect-api"
)

// maxID is how long Elasticsearch lets an id be, in bytes.
const maxID = 512

// action is one item of a bulk request.
type action struct {
	op        op
	index, id string
	versioned bool
	version   int64
}

// idOf returns the id of a record's document.
func (s *settings) idOf(r *connectapi.Record) (string, error) {
	if s.ignoresKey(r.Topic) {
		o := r.Original
		return o.Topic + "+" + strconv.Itoa(int(o.Partition)) + "+" + strconv.FormatInt(o.Offset, 10), nil
	}
	id, err := keyText(r.Key)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "", errors.New("the key is empty, and a document's id cannot be")
	case len(id) > maxID:
		return "", fmt.Errorf("the key has %d bytes, and a document's id at most %d", len(id), maxID)
	case !utf8.ValidString(id):
		return "", fmt.Errorf("the key %q is no UTF-8, which a document's id must be", id)
	}
	return id, nil
}

func keyText(k connectapi.Value) (string, error) {
	if k.IsNull() {
		return "", errors.New("there is no key to make the document's id of; set key.ignore=true to use topic+partition+offset")
	}
	s := k.Schema()
	if s == nil {
		if text, err := k.Text(); err == nil {
			return text, nil
		}
		if n, err := k.Int64(); err == nil {
			return strconv.FormatInt(n, 10), nil
		}
		return "", fmt.Errorf("a key must be a string or an integer, and it is the JSON %.100q; extract a field with the transform ExtractField$Key, or set key.ignore=true", k.Encoded())
	}
	switch s.Type() {
	case connectapi.TypeString:
		return k.Text()
	case connectapi.TypeInt8, connectapi.TypeInt16, connectapi.TypeInt32, connectapi.TypeInt64:
		n, err := k.Int64()
		return strconv.FormatInt(n, 10), err
	}
	return "", fmt.Errorf("a key must be a string or an integer, and it is %s; extract a field with the transform ExtractField$Key, or set key.ignore=true", s)
}

// versionOf returns the external version of a record's INSERT or delete.
func (s *settings) versionOf(r *connectapi.Record) (int64, error) {
	if s.VersionFrom == "" {
		return r.Original.Offset, nil
	}
	at, ok := r.Headers.Get(s.VersionFrom)
	if !ok || at.IsNull() {
		return 0, fmt.Errorf("there is no header %q, of external.version.header", s.VersionFrom)
	}
	n, err := at.Int64()
	if err != nil {
		text, terr := at.AppendText(nil)
		if terr == nil {
			n, err = strconv.ParseInt(string(text), 10, 64)
		}
	}
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the header %q, of external.version.header, holds no integer from 0", s.VersionFrom)
	}
	return n, nil
}

// errSkip says that a record asks for nothing.
var errSkip = errors.New("nothing to do")

// action says what a record does; errSkip: nothing, any other error: it cannot be.
func (t *transcoder) action(r *connectapi.Record) (a action, err error) {
	s := t.set
	null := r.Value.IsNull()
	if null {
		switch {
		case s.onNull == "ignore":
			return a, errSkip
		case s.onNull == "fail":
			return a, errors.New("the record has no value; set behavior.on.null.values to DELETE or IGNORE, or drop tombstones with a transform")
		case s.ignoresKey(r.Topic), r.Key.IsNull():
			return a, errSkip // no document could have come of this key
		}
		a.op = opDelete
	} else if s.upsert {
		a.op = opUpdate
	}
	if a.index, err = t.index(r.Topic); err != nil {
		return a, err
	}
	if a.id, err = s.idOf(r); err != nil {
		return a, err
	}
	// Updates count versions by themselves, so a delete beside them must not carry an offset: it could lose to the count.
	if a.versioned = !s.upsert && !s.ignoresKey(r.Topic); a.versioned {
		a.version, err = s.versionOf(r)
	}
	return a, err
}

// append appends the item's lines (I4).
func (a *action) append(dst []byte, document []byte, retryOnConflict int) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, a.op.String()...)
	dst = append(dst, `":{"_index":`...)
	dst = appendString(dst, a.index)
	dst = append(dst, `,"_id":`...)
	dst = appendString(dst, a.id)
	if a.versioned {
		dst = append(dst, `,"version":`...)
		dst = strconv.AppendInt(dst, a.version, 10)
		dst = append(dst, `,"version_type":"external"`...)
	}
	if a.op == opUpdate {
		dst = append(dst, `,"retry_on_conflict":`...)
		dst = strconv.AppendInt(dst, int64(retryOnConflict), 10)
	}
	dst = append(dst, "}}\n"...)
	switch a.op {
	case opIndex:
		dst = append(dst, document...)
	case opUpdate:
		dst = append(dst, `{"doc":`...)
		dst = append(dst, document...)
		dst = append(dst, `,"upsert":`...)
		dst = append(dst, document...)
		dst = append(dst, '}')
	case opDelete:
		return dst
	}
	return append(dst, '\n')
}
