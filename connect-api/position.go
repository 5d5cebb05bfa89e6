package connectapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Partition names a part of the source that has a position of its own, such as a file or a server: a flat JSON object in
// canonical form (members sorted, no spaces, nothing escaped that need not be), so that equal partitions are equal strings.
type Partition string

// Offset is a position within a [Partition]: a flat JSON object in canonical form. Empty: no position.
type Offset string

// NewPartition makes a partition of pairs: name, value, name, value. Values are strings, integers, booleans, floats or
// nil; anything else, or an odd number, panics: it is a mistake in the source code.
func NewPartition(pairs ...any) Partition { return Partition(flat(pairs)) }

// NewOffset makes an offset of pairs, as [NewPartition] does.
func NewOffset(pairs ...any) Offset { return Offset(flat(pairs)) }

// CanonicalPartition checks and normalises a partition as another program wrote it.
func CanonicalPartition(text []byte) (Partition, error) {
	c, err := canonical(text)
	return Partition(c), err
}

// CanonicalOffset checks and normalises an offset as another program wrote it; null or nothing is no offset.
func CanonicalOffset(text []byte) (Offset, error) {
	if len(text) == 0 || string(text) == "null" {
		return "", nil
	}
	c, err := canonical(text)
	return Offset(c), err
}

// Fields returns the members: strings, int64, float64, bool, nil.
func (p Partition) Fields() (map[string]any, error) { return members(string(p)) }

// Fields returns the members: strings, int64, float64, bool, nil. No offset has none.
func (o Offset) Fields() (map[string]any, error) {
	if o == "" {
		return nil, nil
	}
	return members(string(o))
}

// Int64 returns one member as an integer.
func (o Offset) Int64(name string) (int64, error) {
	m, err := o.Fields()
	if err != nil {
		return 0, err
	}
	n, ok := m[name].(int64)
	if !ok {
		return 0, fmt.Errorf("offset %s has no integer %q", string(o), name)
	}
	return n, nil
}

// Text returns one member as a string; false if it is absent or no string.
func (o Offset) Text(name string) (string, bool) {
	m, _ := o.Fields()
	s, ok := m[name].(string)
	return s, ok
}

func flat(pairs []any) string {
	if len(pairs)%2 != 0 {
		panic("connectapi: a partition or offset of an odd number of names and values")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	if err := checkFlat(m); err != nil {
		panic("connectapi: " + err.Error())
	}
	return marshal(m)
}

func checkFlat(m map[string]any) error {
	for k, v := range m {
		switch v.(type) {
		case nil, string, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, json.Number:
		default:
			return fmt.Errorf("member %q of a partition or offset is a %T, not a string, number, boolean or null", k, v)
		}
	}
	return nil
}

func marshal(m map[string]any) string {
	var w bytes.Buffer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		panic("connectapi: encoding a partition or offset: " + err.Error())
	}
	return string(bytes.TrimSuffix(w.Bytes(), []byte{'\n'}))
}

func canonical(text []byte) (string, error) {
	if plainCanonical(text) {
		return string(text), nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil || m == nil || d.More() {
		return "", fmt.Errorf("a partition or offset must be one JSON object: %.200q", text)
	}
	if err := checkFlat(m); err != nil {
		return "", err
	}
	return marshal(m), nil
}

// plainCanonical recognises the usual case without decoding it: members in ascending order, names and strings of plain
// ASCII, integers, booleans, nulls. It may say no to what is canonical, never yes to what is not.
func plainCanonical(t []byte) bool {
	if len(t) < 2 || t[0] != '{' || t[len(t)-1] != '}' {
		return false
	}
	t = t[1 : len(t)-1]
	var last []byte
	for first := true; len(t) > 0; first = false {
		if !first {
			if t[0] != ',' {
				return false
			}
			t = t[1:]
		}
		name := plainString(t)
		if name < 0 || !first && bytes.Compare(t[1:name-1], last) <= 0 {
			return false
		}
		last = t[1 : name-1]
		if t = t[name:]; len(t) < 2 || t[0] != ':' {
			return false
		}
		n := plainScalar(t[1:])
		if n < 0 {
			return false
		}
		t = t[1+n:]
	}
	return true
}

// plainString returns how long the string is that t begins with, quotes included, or -1.
func plainString(t []byte) int {
	if len(t) < 2 || t[0] != '"' {
		return -1
	}
	for i := 1; i < len(t); i++ {
		switch c := t[i]; {
		case c == '"':
			return i + 1
		case c < 0x20 || c >= 0x7f || c == '\\':
			return -1
		}
	}
	return -1
}

func plainScalar(t []byte) int {
	if n := plainString(t); n > 0 {
		return n
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(t) >= len(word) && string(t[:len(word)]) == word {
			return len(word)
		}
	}
	i := 0
	if len(t) > 0 && t[0] == '-' {
		i++
	}
	from := i
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	if i == from || t[from] == '0' && (i > from+1 || from > 0) || i < len(t) && t[i] != ',' {
		return -1
	}
	return i
}

func members(text string) (map[string]any, error) {
	v, err := decodeJSON([]byte(text))
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("not a JSON object: %.200q", text)
	}
	return m, nil
}

// Position is where a source goes on in one partition. It is made durable only behind the rows before it.
type Position struct {
	Partition Partition
	Offset    Offset     // empty: the partition was forgotten
	Produced  []Produced // of the batch, on its last position, if Info.WantsProduced
}

// Produced tells where rows of a batch went: Count rows from Row (from 0) on stand at FirstOffset and up in Partition; a
// Count of 0 says the row was filtered.
type Produced struct {
	Row         int
	Count       int
	Partition   int32
	FirstOffset int64
}

// TopicPartition is a partition of a topic, as consumed.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Offsets gives for topic partitions the next offset to read: below it everything is durable.
type Offsets map[TopicPartition]int64

// Transaction is a mark in a source's stream.
type Transaction uint8

// Marks of transactions.
const (
	NoMark Transaction = iota
	BeginMark
	CommitMark
	AbortMark
)

// Mark is a position or a transaction mark in a batch.
type Mark struct {
	Rows        int // rows of the batch before it
	Partition   Partition
	Offset      Offset // empty: forget the partition
	AckOnly     bool
	Transaction Transaction
}

// NoTime is the time of a record without one, in milliseconds.
const NoTime int64 = -1

func millis(at time.Time) int64 {
	if at.IsZero() {
		return NoTime
	}
	return at.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == NoTime {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
