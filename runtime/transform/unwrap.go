package transform

import (
	"encoding/json"
	"fmt"
	"strings"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var unwrapDef = must(connectapi.NewConfigDef(
	connectapi.ConfigKey{
		Name: "delete.tombstone.handling.mode", Type: connectapi.StringConfig, Importance: connectapi.Medium,
		OneOf: []string{"drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"},
		Doc:   "What becomes of delete events and the tombstones behind them; tombstone keeps the tombstone alone.",
	},
	connectapi.ConfigKey{Name: "drop.tombstones", Type: connectapi.BooleanConfig, Importance: connectapi.Low, Doc: "Older form, with delete.handling.mode: whether tombstones are dropped (true)."},
	connectapi.ConfigKey{Name: "delete.handling.mode", Type: connectapi.StringConfig, OneOf: []string{"drop", "rewrite", "none"}, Importance: connectapi.Low, Doc: "Older form: what becomes of delete events."},
	connectapi.ConfigKey{Name: "add.fields", Type: connectapi.ListConfig, Default: ptr(""), Importance: connectapi.Low, Doc: "Envelope fields added to the row, such as op, table, source.ts_ms; name:new renames."},
	connectapi.ConfigKey{Name: "add.fields.prefix", Type: connectapi.StringConfig, Default: ptr("__"), Importance: connectapi.Low, Doc: "Prefix of added fields."},
	connectapi.ConfigKey{Name: "add.headers", Type: connectapi.ListConfig, Default: ptr(""), Importance: connectapi.Low, Doc: "Envelope fields added as headers."},
	connectapi.ConfigKey{Name: "add.headers.prefix", Type: connectapi.StringConfig, Default: ptr("__"), Importance: connectapi.Low, Doc: "Prefix of added headers."},
	connectapi.ConfigKey{Name: "route.by.field", Type: connectapi.StringConfig, Default: ptr(""), Importance: connectapi.Low, Doc: "Field of the row whose value becomes the topic."},
))

// unwrap is io.debezium.transforms.ExtractNewRecordState: the row out of a change event. Unlike Debezium's it also
// unwraps events without a schema, as sinks read them with schemas.enable=false.
type unwrap struct {
	keepTombstones bool   // of the source
	onDelete       string // drop, rewrite, tombstone
	fields         []added
	headers        []added
	routeBy        string
	widened        map[*connectapi.Schema]*connectapi.Schema
}

// added is one envelope field that goes along.
type added struct {
	path []string
	name string
}

func newUnwrap(cfg map[string]any) (Transform, error) {
	t := &unwrap{routeBy: cfg["route.by.field"].(string), widened: map[*connectapi.Schema]*connectapi.Schema{}}
	t.fields = addedOf(cfg["add.fields"].([]string), cfg["add.fields.prefix"].(string))
	t.headers = addedOf(cfg["add.headers"].([]string), cfg["add.headers.prefix"].(string))
	mode, _ := cfg["delete.tombstone.handling.mode"].(string)
	if mode == "" {
		t.legacy(cfg)
		return t, nil
	}
	switch mode {
	case "drop":
		t.onDelete = "drop"
	case "tombstone":
		t.onDelete, t.keepTombstones = "drop", true
	case "rewrite":
		t.onDelete = "rewrite"
	case "rewrite-with-tombstone":
		t.onDelete, t.keepTombstones = "rewrite", true
	case "delete-to-tombstone":
		t.onDelete = "tombstone"
	}
	return t, nil
}

// legacy reads the keys from before Debezium 2.5; with none given the newer default, tombstone, holds.
func (t *unwrap) legacy(cfg map[string]any) {
	drop, given := cfg["drop.tombstones"].(bool)
	mode, _ := cfg["delete.handling.mode"].(string)
	if !given && mode == "" {
		t.onDelete, t.keepTombstones = "drop", true
		return
	}
	t.keepTombstones = given && !drop
	t.onDelete = map[string]string{"": "drop", "drop": "drop", "rewrite": "rewrite", "none": "tombstone"}[mode]
}

func addedOf(list []string, prefix string) []added {
	var out []added
	for _, f := range list {
		from, to, renamed := strings.Cut(f, ":")
		path := strings.Split(from, ".")
		if !renamed {
			to = strings.Join(path, "_")
		}
		out = append(out, added{path: path, name: prefix + to})
	}
	return out
}

func (t *unwrap) Apply(r *Record) (bool, error) {
	if r.Value.IsNull() {
		return t.keepTombstones, nil
	}
	op, ok := envelopeOp(r.Value)
	if !ok {
		return true, nil // not a change event: heartbeats, schema changes, other sources
	}
	if err := t.addHeaders(r); err != nil {
		return false, err
	}
	switch op {
	case "d":
		return t.deleted(r)
	case "t", "m":
		return false, nil // a truncate or message has no row
	}
	row, err := r.Value.Field("after")
	if err != nil {
		return false, fmt.Errorf("taking the row out of an event with op %s: %w", op, err)
	}
	return t.finish(r, row, false)
}

func (t *unwrap) deleted(r *Record) (bool, error) {
	switch t.onDelete {
	case "drop":
		return false, nil
	case "tombstone":
		r.Value = connectapi.Value{}
		return true, nil
	}
	row, err := r.Value.Field("before")
	if err != nil {
		return false, fmt.Errorf("taking the old row out of a delete event: %w", err)
	}
	return t.finish(r, row, true)
}

// finish makes the row the value, with what was asked to go along.
func (t *unwrap) finish(r *Record, row connectapi.Value, deleted bool) (bool, error) {
	extra, err := t.extras(r.Value, deleted)
	if err != nil {
		return false, err
	}
	if row, err = t.widen(row, extra); err != nil {
		return false, err
	}
	r.Value = row
	if t.routeBy == "" || row.IsNull() {
		return true, nil
	}
	f, err := row.Field(t.routeBy)
	if err != nil {
		return false, fmt.Errorf("route.by.field: %w", err)
	}
	topic, err := f.AppendText(nil)
	if err != nil || f.IsNull() || len(topic) == 0 {
		return false, fmt.Errorf("route.by.field: field %s is no topic name: %q", t.routeBy, topic)
	}
	r.Topic = string(topic)
	return true, nil
}

// envelopeOp tells whether a value is a change event, and its operation.
func envelopeOp(v connectapi.Value) (string, bool) {
	if s := v.Schema(); s != nil {
		if s.Type() != connectapi.TypeStruct || !strings.HasSuffix(s.Name(), "Envelope") || s.FieldIndex("op") < 0 {
			return "", false
		}
		op, err := v.Field("op")
		if err != nil {
			return "", false
		}
		text, err := op.Text()
		return text, err == nil
	}
	if b := v.Encoded(); len(b) == 0 || b[0] != '{' {
		return "", false
	}
	var e struct {
		Op     *string         `json:"op"`
		Source json.RawMessage `json:"source"`
	}
	if json.Unmarshal(v.Encoded(), &e) != nil || e.Op == nil || e.Source == nil {
		return "", false
	}
	return *e.Op, true
}

// find looks an added field up: a path from the envelope, or a single name in the envelope, then in source, then in
// transaction, as Debezium does.
func find(event connectapi.Value, path []string) (connectapi.Value, bool) {
	try := [][]string{path}
	if len(path) == 1 {
		try = append(try, []string{"source", path[0]}, []string{"transaction", path[0]})
	}
	for _, p := range try {
		if v, err := event.Field(p...); err == nil {
			return v, true
		}
	}
	return connectapi.Value{}, false
}

func (t *unwrap) addHeaders(r *Record) error {
	for _, a := range t.headers {
		v, ok := find(r.Value, a.path)
		if !ok {
			return fmt.Errorf("add.headers: an event has no field %s", strings.Join(a.path, "."))
		}
		r.Headers = append(r.Headers, connectapi.Header{Name: a.name, Value: v})
	}
	return nil
}
