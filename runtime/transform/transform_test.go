package transform

import (
	"strings"
	"testing"

	connectapi "github.com/penstockio/penstock/connect-api"
)

var rowSchema = connectapi.NewStruct("p.d.t.Value").Field("id", connectapi.Int32Schema).Field("name", connectapi.OptionalStringSchema).Optional().MustBuild()

var eventSchema = connectapi.NewStruct("p.d.t.Envelope").
	Field("before", rowSchema).Field("after", rowSchema).
	Field("source", connectapi.NewStruct("src").Field("table", connectapi.OptionalStringSchema).Field("ts_ms", connectapi.Int64Schema).MustBuild()).
	Field("op", connectapi.StringSchema).Field("ts_ms", connectapi.OptionalInt64Schema).MustBuild()

func encode(t *testing.T, s *connectapi.Schema, v any) connectapi.Value {
	t.Helper()
	out, err := connectapi.Encode(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func event(t *testing.T, op string, before, after any) connectapi.Value {
	return encode(t, eventSchema, map[string]any{
		"before": before, "after": after, "op": op, "ts_ms": int64(9),
		"source": map[string]any{"table": "orders", "ts_ms": int64(7)},
	})
}

func row(id int32, name any) map[string]any { return map[string]any{"id": id, "name": name} }

func chain(t *testing.T, kv ...string) *Chain {
	t.Helper()
	cfg := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		cfg[kv[i]] = kv[i+1]
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(t *testing.T, v connectapi.Value) string {
	t.Helper()
	b, err := v.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUnwrap(t *testing.T) {
	jsonEvent := func(op, before, after string) connectapi.Value {
		return connectapi.NewValue(nil, []byte(`{"before":`+before+`,"after":`+after+`,"source":{"table":"orders","ts_ms":7},"op":"`+op+`"}`))
	}
	for _, tc := range []struct {
		name string
		cfg  []string
		in   connectapi.Value
		want string // "-": dropped
	}{
		{"create", nil, event(t, "c", nil, row(1, "x")), "Struct{id=1,name=x}"},
		{"update", nil, event(t, "u", row(1, "x"), row(1, nil)), "Struct{id=1}"},
		{"snapshot", nil, event(t, "r", nil, row(2, "y")), "Struct{id=2,name=y}"},
		{"delete is dropped, its tombstone stays", nil, event(t, "d", row(1, "x"), nil), "-"},
		{"tombstone", nil, connectapi.Value{}, "null"},
		{"truncate", nil, event(t, "t", nil, nil), "-"},
		{"drop", []string{"transforms.u.delete.tombstone.handling.mode", "drop"}, connectapi.Value{}, "-"},
		{"delete to tombstone", []string{"transforms.u.delete.tombstone.handling.mode", "delete-to-tombstone"}, event(t, "d", row(1, "x"), nil), "null"},
		{"rewrite", []string{"transforms.u.delete.tombstone.handling.mode", "rewrite"}, event(t, "d", row(1, "x"), nil), "Struct{id=1,name=x,__deleted=true}"},
		{"rewrite of a create", []string{"transforms.u.delete.handling.mode", "rewrite"}, event(t, "c", nil, row(1, "x")), "Struct{id=1,name=x,__deleted=false}"},
		{"added fields", []string{"transforms.u.add.fields", "op,table,source.ts_ms"}, event(t, "c", nil, row(1, "x")), "Struct{id=1,name=x,__op=c,__table=orders,__source_ts_ms=7}"},
		{"without a schema", nil, jsonEvent("c", "null", `{"id":1}`), `{"id":1}`},
		{"added fields without a schema", []string{"transforms.u.add.fields", "op,table"}, jsonEvent("u", "null", `{"id":1}`), `{"id":1,"__op":"u","__table":"orders"}`},
		{"not an event", nil, connectapi.NewValue(nil, []byte(`{"a":1}`)), `{"a":1}`},
		{"legacy keep tombstones", []string{"transforms.u.drop.tombstones", "false", "transforms.u.delete.handling.mode", "none"}, event(t, "d", row(1, "x"), nil), "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := chain(t, append([]string{"transforms", "u", "transforms.u.type", "io.debezium.transforms.ExtractNewRecordState"}, tc.cfg...)...)
			for range 2 { // the second time from the cached schema
				r := &Record{Topic: "x", Value: tc.in}
				keep, err := c.Apply(r)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, r.Value); keep && got != tc.want || !keep && tc.want != "-" {
					t.Fatalf("kept %v: %s, want %s", keep, got, tc.want)
				}
				if err := r.Value.Check(); err != nil {
					t.Fatalf("malformed bytes: %v", err)
				}
			}
		})
	}
}

func TestUnwrapAddsHeadersAndRoutes(t *testing.T) {
	c := chain(t, "transforms", "u", "transforms.u.type", "ExtractNewRecordState", "transforms.u.add.headers", "op,source.table:tab", "transforms.u.route.by.field", "name")
	r := &Record{Topic: "x", Value: event(t, "c", nil, row(1, "elsewhere"))}
	if keep, err := c.Apply(r); !keep || err != nil {
		t.Fatal(keep, err)
	}
	h, ok := r.Header("__tab")
	if r.Topic != "elsewhere" || !ok || text(t, h) != "orders" {
		t.Fatalf("topic %s, headers %v", r.Topic, r.Headers)
	}
}

func TestExtractField(t *testing.T) {
	key := encode(t, connectapi.NewStruct("k").Field("id", connectapi.Int64Schema).MustBuild(), map[string]any{"id": int64(5)})
	r := &Record{Key: key, Value: connectapi.NewValue(nil, []byte(`{"a":{"b":"x"}}`))}
	c := chain(t, "transforms", "k,v", "transforms.k.type", "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.k.field", "id",
		"transforms.v.type", "ExtractField$Value", "transforms.v.field", "a.b", "transforms.v.field.syntax.version", "V2")
	if keep, err := c.Apply(r); !keep || err != nil {
		t.Fatal(err)
	}
	if text(t, r.Key) != "5" || r.Key.Schema().Type() != connectapi.TypeInt64 || text(t, r.Value) != "x" {
		t.Fatalf("key %s value %s", text(t, r.Key), text(t, r.Value))
	}
	r = &Record{Key: key}
	if keep, err := chain(t, "transforms", "v", "transforms.v.type", "ExtractField$Value", "transforms.v.field", "a").Apply(r); !keep || err != nil || !r.Value.IsNull() {
		t.Fatalf("a tombstone: %v %v", keep, err)
	}
	_, err := chain(t, "transforms", "key", "transforms.key.type", "ExtractField$Key", "transforms.key.field", "nope").Apply(r)
	if err == nil || !strings.Contains(err.Error(), "nope") || !strings.Contains(err.Error(), "transform key") || connectapi.KindOf(err) != connectapi.Data {
		t.Fatalf("an unknown field gave %v", err)
	}
}

func TestRegexRouter(t *testing.T) {
	for _, tc := range [][4]string{
		{`shop\.(.*)\.(.*)`, `$2_$1`, "shop.a.b", "b_a"},
		{`shop`, `x`, "myshop", "myshop"}, // the whole name must match
		{`(.*)`, `\$1-$1`, "t", "$1-t"},
		{`(a)(.*)`, `$1${2}x`, "ab", "abx"},
	} {
		r := &Record{Topic: tc[2]}
		if keep, err := chain(t, "transforms", "r", "transforms.r.type", "RegexRouter", "transforms.r.regex", tc[0], "transforms.r.replacement", tc[1]).Apply(r); !keep || err != nil || r.Topic != tc[3] {
			t.Errorf("%v gave %s %v", tc, r.Topic, err)
		}
	}
}

func TestPredicates(t *testing.T) {
	c := chain(t, "transforms", "u", "transforms.u.type", "ExtractField$Key", "transforms.u.field", "nope", "transforms.u.predicate", "p", "transforms.u.negate", "true",
		"predicates", "p", "predicates.p.type", "org.apache.kafka.connect.transforms.predicates.TopicNameMatches", "predicates.p.pattern", "skip.*")
	r := &Record{Topic: "skipped", Key: encode(t, rowSchema, row(1, nil))}
	if keep, err := c.Apply(r); !keep || err != nil {
		t.Fatalf("the predicate did not hold the transform back: %v", err)
	}
	r.Topic = "other"
	if _, err := c.Apply(r); err == nil {
		t.Fatal("the transform did not run")
	}
}

func TestConfigurationProblemsNameTheirKeys(t *testing.T) {
	_, err := New(map[string]string{
		"transforms": "a,a,b,c,d", "transforms.a.type": "no.Such", "transforms.b.type": "RegexRouter", "transforms.b.regex": "(",
		"transforms.c.type": "ExtractField$Key", "transforms.c.field": "x", "transforms.c.negate": "true",
		"transforms.d.type": "ExtractField$Key", "transforms.d.field": "x", "transforms.d.predicate": "none",
	})
	for _, want := range []string{"named twice", "no.Such", `"replacement"`, "no transforms.c.predicate", "no predicate of this name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
