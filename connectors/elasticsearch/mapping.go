package elasticsearch

import (
	"github.com/penstockio/penstock/connect-api"
)

// maxDepth bounds how deep fields are looked into; Elasticsearch's own limit is 20.
const maxDepth = 100

// mappingOf returns the mapping of a document's fields as Elasticsearch takes it under "properties"; false if the schema
// names no fields.
func mappingOf(n *node) (map[string]any, bool) {
	if n.kind != kindStruct {
		return nil, false
	}
	out := make(map[string]any, len(n.fields))
	for i := range n.fields {
		out[n.schema.Fields()[i].Name] = fieldMapping(n.fields[i].node)
	}
	return out, true
}

func fieldMapping(n *node) map[string]any {
	typed := func(t string) map[string]any {
		m := map[string]any{"type": t}
		if d := n.schema.Default(); d != nil && n.schema.Name() == "" {
			switch d.(type) {
			case bool, int8, int16, int32, int64, float32, float64:
				m["null_value"] = d
			}
		}
		return m
	}
	switch n.kind {
	case kindInt:
		return typed([...]string{"byte", "short", "integer", "long"}[n.schema.Type()-connectapi.TypeInt8])
	case kindFloat32:
		return typed("float")
	case kindFloat64:
		return typed("double")
	case kindBool:
		return typed("boolean")
	case kindString:
		return stringMapping(n.schema.Name())
	case kindBytes:
		return typed("binary")
	case kindArray:
		return fieldMapping(n.elem) // Elasticsearch's fields hold any number of values
	case kindObject:
		return map[string]any{"type": "object", "dynamic": true}
	case kindEntries:
		return map[string]any{"properties": map[string]any{"key": fieldMapping(n.key), "value": fieldMapping(n.elem)}}
	case kindStruct:
		p, _ := mappingOf(n)
		return map[string]any{"properties": p}
	case kindDecimal, kindVariableDecimal:
		if n.text {
			return typed("keyword")
		}
		return typed("double")
	case kindTimeMillis, kindTimeMicros, kindTimeNanos:
		return typed("keyword") // Elasticsearch has no time of day
	}
	return typed("date")
}

func stringMapping(name string) map[string]any {
	switch name {
	case debeziumTime + "ZonedTimestamp":
		return map[string]any{"type": "date"}
	case debeziumTime + "ZonedTime", "io.debezium.data.Uuid", "io.debezium.data.Enum":
		return map[string]any{"type": "keyword"}
	}
	return map[string]any{"type": "text", "fields": map[string]any{"keyword": map[string]any{"type": "keyword", "ignore_above": 256}}}
}

// missing returns the part of want that have does not hold: fields that are new, at any depth.
func missing(want, have map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for name, w := range want {
		h, ok := have[name].(map[string]any)
		if !ok {
			out[name] = w
			continue
		}
		wp, _ := w.(map[string]any)["properties"].(map[string]any)
		hp, nested := h["properties"].(map[string]any)
		if len(wp) == 0 || !nested || depth >= maxDepth || !mayGrow(h) {
			continue
		}
		if m := missing(wp, hp, depth+1); len(m) > 0 {
			out[name] = map[string]any{"properties": m}
			if h["type"] == "nested" {
				out[name].(map[string]any)["type"] = "nested"
			}
		}
	}
	return out
}

// mayGrow says whether a mapping's owner lets fields be added: "dynamic" strict, false and runtime say no.
func mayGrow(mapping map[string]any) bool {
	switch d := mapping["dynamic"].(type) {
	case bool:
		return d
	case string:
		return d == "true"
	}
	return true
}
