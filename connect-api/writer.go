package connectapi

import "fmt"

// Writer encodes one value field by field, in the order of its schema, without allocating: a struct's fields one after
// the other, Struct, Array and Map to go into one; what is full is left by itself. The first mistake is kept and returned
// by [Row.End]. A value nothing was written to is null.
type Writer struct {
	buf   []byte
	root  *Schema
	stack []frame
	done  bool
	err   error
}

// frame is a struct, array or map being filled: i of n parts are written.
type frame struct {
	s    *Schema
	i, n int
}

// Reset begins a new value in the same memory.
func (w *Writer) Reset(s *Schema) {
	w.buf, w.root, w.stack, w.done, w.err = w.buf[:0], s, w.stack[:0], false, nil
	if s != nil && s.typ == TypeStruct {
		w.stack = append(w.stack, frame{s, 0, len(s.fields)})
	}
}

// Finish returns the value in root form, valid until Reset; nil is null.
func (w *Writer) Finish() ([]byte, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.done:
		return w.buf, nil
	case len(w.buf) == 0 && (len(w.stack) == 0 || len(w.stack) == 1 && w.stack[0].i == 0):
		return nil, nil
	}
	f := w.stack[len(w.stack)-1]
	return nil, &ValueError{Path: w.path(), Problem: fmt.Sprintf("missing: %d of %d parts of %s were written", f.i, f.n, f.s)}
}

// path names the part that comes next.
func (w *Writer) path() []string {
	var p []string
	for _, f := range w.stack {
		switch {
		case f.s.typ == TypeStruct && f.i < f.n:
			p = append(p, f.s.fields[f.i].Name)
		default:
			p = append(p, fmt.Sprintf("[%d]", f.i))
		}
	}
	return p
}

func (w *Writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = &ValueError{Path: w.path(), Problem: fmt.Sprintf(format, args...)}
	}
}

// next returns the schema of the part that comes next, behind its union; nil after a mistake.
func (w *Writer) next() *Schema {
	if w.err != nil {
		return nil
	}
	if w.done {
		w.fail("written beyond the end of %s", w.root)
		return nil
	}
	if len(w.stack) == 0 {
		if w.root == nil {
			w.fail("a value without a schema is written with JSON or Any")
		}
		return w.root
	}
	s := w.peek()
	if s.optional {
		w.buf = append(w.buf, 2)
	}
	return s
}

// peek returns the schema of the next part of the innermost frame.
func (w *Writer) peek() *Schema {
	f := &w.stack[len(w.stack)-1]
	switch {
	case f.s.typ == TypeStruct:
		return f.s.fields[f.i].Schema
	case f.s.typ == TypeMap && f.i%2 == 0:
		return f.s.keys
	}
	return f.s.elem
}

// advance counts a part and leaves what is full.
func (w *Writer) advance() {
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		if f.i++; f.i < f.n {
			return
		}
		if f.s.typ != TypeStruct {
			w.buf = append(w.buf, 0)
		}
		w.stack = w.stack[:len(w.stack)-1]
	}
	w.done = true
}

func (w *Writer) atRoot() bool { return len(w.stack) == 0 }

// Null writes a null: of an optional field, or the default of one that has it.
func (w *Writer) Null() {
	switch {
	case w.err != nil:
	case w.done || w.atRoot():
		w.fail("a null at the root is a value nothing was written to")
	default:
		s := w.peek()
		buf, err := AppendNested(w.buf, Value{schema: s})
		if err != nil {
			w.fail("null for %s, which is not optional", s)
			return
		}
		w.buf = buf
		w.advance()
	}
}

// Int64 writes an integer of any width that holds it.
func (w *Writer) Int64(v int64) {
	s := w.next()
	switch {
	case s == nil:
	case s.typ > TypeInt64:
		w.fail("an integer for %s", s)
	case s.typ != TypeInt64 && !fits(s.typ, v):
		w.fail("%d does not fit %s", v, s)
	default:
		w.buf = AppendInt(w.buf, v)
		w.advance()
	}
}

// Float64 writes a float of either width.
func (w *Writer) Float64(v float64) {
	s := w.next()
	switch {
	case s == nil:
		return
	case s.typ == TypeFloat64:
		w.buf = AppendFloat64(w.buf, v)
	case s.typ == TypeFloat32:
		w.buf = AppendFloat32(w.buf, float32(v))
	default:
		w.fail("a float for %s", s)
		return
	}
	w.advance()
}

// Bool writes a boolean.
func (w *Writer) Bool(v bool) {
	s := w.next()
	switch {
	case s == nil:
	case s.typ != TypeBoolean:
		w.fail("a boolean for %s", s)
	default:
		w.buf = AppendBool(w.buf, v)
		w.advance()
	}
}

// Text writes a string.
func (w *Writer) Text(v string) {
	if s := w.text(len(v)); s {
		w.buf = append(w.buf, v...)
		w.advance()
	}
}

// TextBytes writes a string whose UTF-8 bytes are given.
func (w *Writer) TextBytes(v []byte) {
	if s := w.text(len(v)); s {
		w.buf = append(w.buf, v...)
		w.advance()
	}
}

func (w *Writer) text(n int) bool {
	root := w.atRoot()
	s := w.next()
	switch {
	case s == nil:
		return false
	case s.typ != TypeString:
		w.fail("a string for %s", s)
		return false
	case !root:
		w.buf = AppendInt(w.buf, int64(n))
	}
	return true
}

// Bytes writes bytes.
func (w *Writer) Bytes(v []byte) {
	root := w.atRoot()
	s := w.next()
	switch {
	case s == nil:
	case s.typ != TypeBytes:
		w.fail("bytes for %s", s)
	default:
		if !root {
			w.buf = AppendInt(w.buf, int64(len(v)))
		}
		w.buf = append(w.buf, v...)
		w.advance()
	}
}

// Struct goes into a struct; its fields are written next. At the root it is gone into already.
func (w *Writer) Struct() { w.enter(TypeStruct, -1) }

// Array goes into an array of n elements.
func (w *Writer) Array(n int) { w.enter(TypeArray, n) }

// Map goes into a map of n entries, written key, value, key, value.
func (w *Writer) Map(n int) { w.enter(TypeMap, n) }

func (w *Writer) enter(t Type, n int) {
	s := w.next()
	switch {
	case s == nil:
		return
	case s.typ != t:
		w.fail("a %s for %s", t, s)
		return
	case len(w.stack) > MaxSchemaDepth:
		w.fail("nested too deep")
		return
	case t == TypeStruct:
		n = len(s.fields)
	case n > 0:
		w.buf = AppendBlock(w.buf, n)
	}
	if t == TypeMap {
		n *= 2
	}
	if n == 0 {
		if t != TypeStruct {
			w.buf = append(w.buf, 0)
		}
		w.advance()
		return
	}
	w.stack = append(w.stack, frame{s, 0, n})
}

// Value writes an encoded value: it must have the part's schema, but for being optional.
func (w *Writer) Value(v Value) {
	if w.err != nil {
		return
	}
	if w.atRoot() || w.done {
		w.fail("an encoded value at the root is written with Encoded")
		return
	}
	s := w.peek()
	if v.schema != s && (v.schema == nil || v.schema.typ != s.typ) {
		w.fail("a value of %s for %s", v.schema, s)
		return
	}
	buf, err := AppendNested(w.buf, Value{s, v.data})
	if err != nil {
		w.fail("%s", err)
		return
	}
	w.buf = buf
	w.advance()
}

// Any writes a Go value: what [AppendField] takes, or at the root what [Append] takes; nil is Null.
func (w *Writer) Any(v any) {
	if w.err != nil {
		return
	}
	if len(w.stack) == 1 && w.stack[0].i == 0 && len(w.buf) == 0 && isWhole(v) {
		w.stack = w.stack[:0] // the whole root struct at once
	}
	if w.atRoot() && !w.done {
		if v == nil {
			return
		}
		buf, err := Append(w.buf[:0], w.root, v)
		w.buf, w.done = buf, true
		w.err = err
		return
	}
	if w.done {
		w.fail("written beyond the end of %s", w.root)
		return
	}
	buf, err := AppendField(w.buf, w.peek(), v)
	if err != nil {
		w.fail("%s", err)
		return
	}
	w.buf = buf
	w.advance()
}

// Encoded sets the whole value, in root form, as the functions Append… made it; nil is null. It is not checked.
func (w *Writer) Encoded(v []byte) {
	if w.err != nil {
		return
	}
	w.stack = w.stack[:0]
	w.buf = append(w.buf[:0], v...)
	w.done = v != nil
}
