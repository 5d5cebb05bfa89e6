package transform

import (
	"encoding/json"
	"fmt"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// deletedField marks rewritten deletes, a string as Debezium writes it.
const deletedField = "__deleted"

// extras gives what is added to the row.
func (t *unwrap) extras(event connectapi.Value, deleted bool) ([]connectapi.Header, error) {
	var out []connectapi.Header
	if t.onDelete == "rewrite" {
		text := "false"
		if deleted {
			text = "true"
		}
		v := connectapi.NewValue(connectapi.OptionalStringSchema, []byte(text))
		if event.Schema() == nil {
			v = connectapi.NewValue(nil, []byte(`"`+text+`"`))
		}
		out = append(out, connectapi.Header{Name: deletedField, Value: v})
	}
	for _, a := range t.fields {
		v, ok := find(event, a.path)
		if !ok {
			return nil, fmt.Errorf("add.fields: an event has no field %s", strings.Join(a.path, "."))
		}
		out = append(out, connectapi.Header{Name: a.name, Value: v})
	}
	return out, nil
}

// widen adds fields behind a row's own by splicing: the row's bytes stay as they are.
func (t *unwrap) widen(row connectapi.Value, extra []connectapi.Header) (connectapi.Value, error) {
	if len(extra) == 0 || row.IsNull() {
		return row, nil
	}
	if row.Schema() == nil {
		return widenJSON(row, extra)
	}
	s, err := t.widenedSchema(row.Schema(), extra)
	if err != nil {
		return row, err
	}
	b := append(make([]byte, 0, len(row.Encoded())+64), row.Encoded()...)
	own := len(row.Schema().Fields())
	for i, e := range extra {
		if b, err = connectapi.AppendNested(b, connectapi.NewValue(s.Fields()[own+i].Schema, e.Value.Encoded())); err != nil {
			return row, fmt.Errorf("adding field %s: %w", e.Name, err)
		}
	}
	return connectapi.NewValue(s, b), nil
}

func (t *unwrap) widenedSchema(row *connectapi.Schema, extra []connectapi.Header) (*connectapi.Schema, error) {
	if s, ok := t.widened[row]; ok {
		return s, nil
	}
	b := row.Builder()
	for _, e := range extra {
		s := e.Value.Schema()
		if s == nil {
			return nil, fmt.Errorf("adding field %s: it has no schema", e.Name)
		}
		b.Field(e.Name, s.AsOptional())
	}
	s, err := b.Build()
	if err != nil {
		return nil, err
	}
	if len(t.widened) >= maxSeen {
		clear(t.widened)
	}
	t.widened[row] = s
	return s, nil
}

func widenJSON(row connectapi.Value, extra []connectapi.Header) (connectapi.Value, error) {
	end := strings.LastIndexByte(string(row.Encoded()), '}')
	if end < 0 {
		return row, fmt.Errorf("adding fields: the row is no JSON object")
	}
	body := strings.TrimSpace(string(row.Encoded()[:end]))
	b := []byte(body)
	for _, e := range extra {
		if len(b) > 1 {
			b = append(b, ',')
		}
		name, err := json.Marshal(e.Name)
		if err != nil {
			return row, err
		}
		b = append(append(b, name...), ':')
		if e.Value.IsNull() {
			b = append(b, "null"...)
		} else {
			b = append(b, e.Value.Encoded()...)
		}
	}
	return connectapi.NewValue(nil, append(b, '}')), nil
}
