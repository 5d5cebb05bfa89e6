package elasticsearch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/penstockio/penstock/connect-api"
)

// kind is how a value becomes JSON.
type kind uint8

const (
	kindInt kind = iota
	kindFloat32
	kindFloat64
	kindBool
	kindString
	kindBytes
	kindArray
	kindObject  // a map with string keys
	kindEntries // any other map: [{"key":…,"value":…}]
	kindStruct
	kindDecimal
	kindVariableDecimal // Debezium's struct of scale and bytes
	kindDate            // days
	kindTimeMillis
	kindTimeMicros
	kindTimeNanos
	kindEpochMillis // a number, as Java's Timestamp becomes
	kindMillis      // ISO
	kindMicros
	kindNanos
)

// node is a schema made ready to turn bytes into JSON.
type node struct {
	kind     kind
	optional bool
	text     bool // decimals as strings
	scale    int
	schema   *connectapi.Schema
	key      *node
	elem     *node
	fields   []fieldNode
}

type fieldNode struct {
	name []byte // "name":
	node *node
}

// compile makes a schema ready.
func compile(s *connectapi.Schema, set *settings) (*node, error) {
	n := &node{kind: kindOf(s), optional: s.Optional(), schema: s, text: set.keyword}
	var err error
	switch n.kind {
	case kindDecimal:
		n.scale, err = s.Scale()
	case kindArray:
		n.elem, err = compile(s.Elem(), set)
	case kindObject:
		if !set.CompactMaps || s.Keys().Type() != connectapi.TypeString || s.Keys().Optional() {
			n.kind = kindEntries
		}
		if n.key, err = compile(s.Keys(), set); err == nil {
			n.elem, err = compile(s.Elem(), set)
		}
	case kindStruct:
		for i, f := range s.Fields() {
			fn := fieldNode{name: append(appendString(nil, f.Name), ':')}
			if i > 0 {
				fn.name = append([]byte{','}, fn.name...)
			}
			if fn.node, err = compile(f.Schema, set); err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			n.fields = append(n.fields, fn)
		}
	}
	return n, err
}

func kindOf(s *connectapi.Schema) kind {
	if k, ok := logicalKind(s); ok {
		return k
	}
	switch s.Type() {
	case connectapi.TypeFloat32:
		return kindFloat32
	case connectapi.TypeFloat64:
		return kindFloat64
	case connectapi.TypeBoolean:
		return kindBool
	case connectapi.TypeString:
		return kindString
	case connectapi.TypeBytes:
		return kindBytes
	case connectapi.TypeArray:
		return kindArray
	case connectapi.TypeMap:
		return kindObject
	case connectapi.TypeStruct:
		return kindStruct
	}
	return kindInt
}

// isObject says whether values at the root are JSON objects, as documents must be.
func (n *node) isObject() bool { return n.kind == kindStruct || n.kind == kindObject }

// append appends a value as it stands inside another.
func (n *node) append(dst []byte, r *connectapi.Reader) []byte {
	if n.optional && !r.Union() {
		return append(dst, "null"...)
	}
	return n.appendPresent(dst, r)
}

// appendPresent appends a value that is not null.
func (n *node) appendPresent(dst []byte, r *connectapi.Reader) []byte {
	switch n.kind {
	case kindInt:
		return strconv.AppendInt(dst, r.Int(), 10)
	case kindFloat32:
		return appendFloat(dst, float64(r.Float32()), 32)
	case kindFloat64:
		return appendFloat(dst, r.Float64(), 64)
	case kindBool:
		return strconv.AppendBool(dst, r.Bool())
	case kindString:
		return appendString(dst, r.Bytes())
	case kindBytes:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), r.Bytes())
		return append(dst, '"')
	case kindDecimal:
		return n.appendDecimal(dst, r.Bytes(), n.scale)
	case kindVariableDecimal:
		scale := r.Int()
		return n.appendDecimal(dst, r.Bytes(), int(max(min(scale, maxScale), -maxScale)))
	case kindArray, kindObject, kindEntries:
		return n.appendBlocks(dst, r)
	case kindStruct:
		dst = append(dst, '{')
		for i := range n.fields {
			dst = n.fields[i].node.append(append(dst, n.fields[i].name...), r)
		}
		return append(dst, '}')
	}
	return n.appendTime(dst, r.Int())
}

func (n *node) appendBlocks(dst []byte, r *connectapi.Reader) []byte {
	open, end := byte('['), byte(']')
	if n.kind == kindObject {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	first := true
	for c := r.Block(n.schema); c > 0; c = r.Block(n.schema) {
		for range c {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			switch n.kind {
			case kindObject:
				dst = append(n.key.append(dst, r), ':')
				dst = n.elem.append(dst, r)
			case kindEntries:
				dst = n.key.append(append(dst, `{"key":`...), r)
				dst = n.elem.append(append(dst, `,"value":`...), r)
				dst = append(dst, '}')
			default:
				dst = n.elem.append(dst, r)
			}
			if r.Err() != nil {
				return dst
			}
		}
	}
	return append(dst, end)
}

// maxScale bounds the digits a decimal can claim.
const maxScale = 10000

// appendDecimal appends a number with all its digits, as JSON number or string.
func (n *node) appendDecimal(dst, unscaled []byte, scale int) []byte {
	if len(unscaled) <= 8 && scale >= 0 && scale <= 18 {
		if n.text {
			return append(appendSmallDecimal(append(dst, '"'), unscaled, scale), '"')
		}
		return appendSmallDecimal(dst, unscaled, scale)
	}
	d := connectapi.Decimal{Unscaled: connectapi.ParseUnscaled(unscaled), Scale: scale}
	if n.text {
		return append(append(append(dst, '"'), d.String()...), '"')
	}
	return append(dst, d.String()...)
}

// appendSmallDecimal appends a number of at most 64 bits, and allocates nothing.
func appendSmallDecimal(dst, unscaled []byte, scale int) []byte {
	var v int64
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		v = -1
	}
	for _, b := range unscaled {
		v = v<<8 | int64(b)
	}
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	var digits [20]byte
	at := len(digits)
	for i := 0; u > 0 || i <= scale; i++ {
		at--
		digits[at] = byte('0' + u%10)
		u /= 10
	}
	whole := len(digits) - scale
	dst = append(dst, digits[at:whole]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[whole:]...)
	}
	return dst
}

// appendFloat appends a number; NaN and infinities become strings, which Elasticsearch refuses with a reason that names
// the field.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, bits), '"')
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string by encoding/json's rules without its HTML escapes: controls and quotes are escaped,
// bytes that are no UTF-8 become U+FFFD. There is never a line feed in it (I4).
func appendString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[from:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		end := min(i+utf8.UTFMax, len(s))
		r, size := utf8.DecodeRuneInString(string(s[i:end]))
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
			from = i + size
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

// appendDocument appends a value as the JSON object that a document is, on one line.
func (t *transcoder) appendDocument(dst []byte, v connectapi.Value) ([]byte, error) {
	s := v.Schema()
	if s == nil {
		return appendJSONObject(dst, v.Encoded())
	}
	n, err := t.node(s)
	if err != nil {
		return dst, err
	}
	if !n.isObject() {
		return dst, fmt.Errorf("a document must be an object, and the value is %s; wrap it with the transform HoistField, or use JsonConverter if it is JSON text", s)
	}
	r := v.Reader()
	dst = n.appendPresent(dst, &r)
	if err := r.Err(); err != nil {
		return dst, err
	}
	if r.Len() > 0 {
		return dst, fmt.Errorf("%d bytes too many behind a value of %s", r.Len(), s)
	}
	return dst, nil
}

// appendJSONObject appends JSON text, made one line if it is not.
func appendJSONObject(dst, text []byte) ([]byte, error) {
	first := byte(0)
	for _, c := range text {
		if first = c; c > ' ' {
			break
		}
	}
	if first != '{' {
		return dst, fmt.Errorf("a document must be a JSON object, and the value begins with %q; wrap it with the transform HoistField", first)
	}
	if !json.Valid(text) {
		return dst, fmt.Errorf("the value is not valid JSON")
	}
	for _, c := range text {
		if c == '\n' || c == '\r' {
			w := bytesWriter{dst}
			return w.compact(text)
		}
	}
	return append(dst, text...), nil
}
