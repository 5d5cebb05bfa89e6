package elasticsearch

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s differs (rewrite with -update):\n%s", path, have)
	}
}

// settingsOf is a checked configuration.
func settingsOf(t testing.TB, values map[string]string) *settings {
	t.Helper()
	all := map[string]string{"connection.url": "http://127.0.0.1:9200"}
	for k, v := range values {
		all[k] = v
	}
	s, err := check(configOf(t, all))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines is what a record becomes in a bulk body.
func linesOf(s *settings, r *connectapi.Record) (string, error) {
	tr := newTranscoder(s)
	a, err := tr.action(r)
	if err != nil {
		return "", err
	}
	var doc []byte
	if a.op != opDelete {
		if doc, err = tr.appendDocument(nil, r.Value); err != nil {
			return "", err
		}
	}
	return string(a.append(nil, doc, 5)), nil
}

func TestBulkBodyGolden(t *testing.T) {
	keyStruct := connectapi.NewStruct("k").Field("id", connectapi.Int32Schema).MustBuild()
	keys := []struct {
		name string
		key  connectapi.Value
	}{
		{"string", text("k1")},
		{"int8", connectapi.NewValue(connectapi.Int8Schema, connectapi.AppendInt([]byte{}, -8))},
		{"int16", connectapi.NewValue(connectapi.Int16Schema, connectapi.AppendInt([]byte{}, 16))},
		{"int32", connectapi.NewValue(connectapi.Int32Schema, connectapi.AppendInt([]byte{}, -32))},
		{"int64", number(1<<63 - 1)},
		{"json string", jsonValue(`"j\u0041"`)},
		{"json integer", jsonValue(`42`)},
		{"json object", jsonValue(`{"id":1}`)},
		{"json float", jsonValue(`1.5`)},
		{"struct of one field", structOf(t, keyStruct, map[string]any{"id": int32(1)})},
		{"bytes", connectapi.NewValue(connectapi.BytesSchema, []byte("b"))},
		{"boolean", connectapi.NewValue(connectapi.BooleanSchema, []byte{1})},
		{"null", connectapi.Value{}},
		{"empty", text("")},
		{"controls and quotes", text("a\"\\\n\r\t\x00\x1f\x7f\a<&>\u2028é\U0001f600")},
		{"no UTF-8", text("a\xffb")},
		{"512 bytes", text(strings.Repeat("x", 510) + "é")},
		{"513 bytes", text(strings.Repeat("x", 511) + "é")},
	}
	modes := []struct {
		name string
		set  map[string]string
	}{
		{"INSERT", map[string]string{"behavior.on.null.values": "DELETE"}},
		{"INSERT with version of header", map[string]string{"behavior.on.null.values": "delete", "external.version.header": "v"}},
		{"INSERT with keys ignored", map[string]string{"behavior.on.null.values": "DELETE", "key.ignore": "true"}},
		{"UPSERT", map[string]string{"behavior.on.null.values": "DELETE", "write.method": "upsert"}},
		{"nulls fail", nil},
		{"nulls ignored", map[string]string{"behavior.on.null.values": "Ignore"}},
	}
	c, dir := connectapi.NewCatalog(), connectapi.NewDirectory()
	var out strings.Builder
	for _, m := range modes {
		set := settingsOf(t, m.set)
		for _, k := range keys {
			for _, null := range []bool{false, true} {
				v := jsonValue(`{"f":"é\n"}`)
				if null {
					v = connectapi.Value{}
				}
				r := &run{catalog: c, dir: dir, batch: connectapi.NewBatch(c), topic: "Shop.Orders", offset: 7, task: &task{}, host: &testHost{}}
				for got := range r.records(t, rec{key: k.key, value: v, headers: map[string]string{"v": "123"}}).All() {
					lines, err := linesOf(set, got)
					fmt.Fprintf(&out, "# %s, key %s, null %v\n", m.name, k.name, null)
					if err != nil {
						fmt.Fprintf(&out, "error: %v\n", err)
						continue
					}
					out.WriteString(lines)
					checkNDJSON(t, lines)
				}
			}
		}
	}
	golden(t, "bulk.golden", out.String())
}

// checkNDJSON demands lines of valid JSON, each ended by a line feed (I4).
func checkNDJSON(t *testing.T, lines string) {
	t.Helper()
	if !strings.HasSuffix(lines, "\n") {
		t.Fatalf("no line feed at the end: %q", lines)
	}
	for line := range strings.Lines(lines) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("not JSON: %q", line)
		}
	}
}

func TestVersionHeaderMustBeAnInteger(t *testing.T) {
	set := settingsOf(t, map[string]string{"external.version.header": "v"})
	c := connectapi.NewCatalog()
	r := &run{catalog: c, dir: connectapi.NewDirectory(), batch: connectapi.NewBatch(c), topic: "t", task: &task{}, host: &testHost{}}
	for _, v := range []string{"", "x", "-1", "1.5"} {
		h := map[string]string{"v": v}
		if v == "" {
			h = nil
		}
		for got := range r.records(t, rec{key: text("k"), value: jsonValue(`{}`), headers: h}).All() {
			if l, err := linesOf(set, got); err == nil || !strings.Contains(err.Error(), "external.version.header") {
				t.Errorf("version %q: %q, %v", v, l, err)
			}
		}
	}
}

func TestIndexNames(t *testing.T) {
	for _, c := range []struct{ format, topic, want string }{
		{"${topic}", "Shop.Orders", "shop.orders"},
		{"${topic}", "-_x", "x"},
		{"${topic}", ".", "dot"},
		{"${topic}", "..", "dotdot"},
		{"cdc-${topic}-v1", "A", "cdc-a-v1"},
		{"fixed", "a", "fixed"},
		{"${topic}", "a#b", ""},
		{"${topic}", "a b", ""},
		{"${topic}", `a\b`, ""},
		{"${topic}", "a*b", ""},
		{"${topic}", "a,b", ""},
		{"${topic}", "a/b", ""},
		{"${topic}", "a|b", ""},
		{"${topic}", "a<b", ""},
		{"${topic}", "a?b", ""},
		{"${topic}", "___", ""},
		{"${topic}", strings.Repeat("é", 200), strings.Repeat("é", 127)},
	} {
		s := &settings{Config: Config{IndexName: c.format}}
		got, err := s.index(c.topic)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %q: %q, %v; want %q", c.format, c.topic, got, err, c.want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\\n\r\t\x00\x1f\x7f", "é\u2028\U0001f600", "\xff\xc3", "a\xed\xa0\x80b", "\xe2\x82"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := appendString(nil, s)
		if again := appendString(nil, []byte(s)); !bytes.Equal(got, again) {
			t.Fatalf("%q as string, %q as bytes", got, again)
		}
		if bytes.ContainsAny(got, "\n\r") {
			t.Fatalf("a line end in %q", got)
		}
		var back, want string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		std, _ := json.Marshal(s)
		if err := json.Unmarshal(std, &want); err != nil {
			t.Fatal(err)
		}
		if back != want {
			t.Fatalf("%q comes back as %q, encoding/json's as %q", s, back, want)
		}
	})
}
