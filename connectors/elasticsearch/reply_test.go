package elasticsearch

import (
	"strings"
	"testing"
)

func TestParseReply(t *testing.T) {
	for reply, bad := range map[string]string{
		`{"errors":false,"items":[{"index":{"_id":"a","status":201}},{"delete":{"_id":"b","status":404}}]}`:                        "",
		`{"errors":true,"items":[{"update":{"_id":"a","status":400,"error":{"type":"t","reason":"r"}}},{"index":{"status":200}}]}`: "",
		`{"errors":false,"items":[{"index":{"status":200}}]}`:                                                                      "1 items where 2",
		`{"items":[{"index":{"status":200}},{"index":{"status":200}}]}`:                                                            "items",
		`{"errors":false,"items":[{"index":{"status":200}},{"index":{}}]}`:                                                         "item 1",
		`{"errors":false,"items":[{"index":{"status":200}},{}]}`:                                                                   "item 1",
		`{"errors":false,"items":[{"index":{"status":200}},null]}`:                                                                 "item 1",
		`{"errors":false}`: "0 items",
		`[]`:               "reading",
		``:                 "reading",
	} {
		items, err := parseReply([]byte(reply), 2)
		if (err == nil) != (bad == "") || err != nil && !strings.Contains(err.Error(), bad) || err == nil && len(items) != 2 {
			t.Errorf("%s: %v, %v; want %q", reply, items, err, bad)
		}
	}
}

func TestReasonsSayWhatIsBehindThem(t *testing.T) {
	c := errorOf([]byte(`{"error":{"type":"document_parsing_exception","reason":"failed to parse field [n]","caused_by":{"type":"x","reason":"For input string: \"a\""}}}`))
	contains(t, c.String(), "document_parsing_exception", "[n]", "For input string")
	c = errorOf([]byte(`{"error":"no handler found"}`))
	contains(t, c.String(), "no handler found")
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"errors":true,"items":[{"index":{"_id":"a","status":400,"error":{"type":"t","reason":"r","caused_by":{"reason":"x"}}}}]}`))
	f.Add([]byte(`{"errors":false,"items":[{"index":{"_id":"a","status":201}}]}`))
	f.Add([]byte(`{"error":{"type":"t"},"status":429}`))
	f.Fuzz(func(t *testing.T, reply []byte) {
		if items, err := parseReply(reply, 1); err == nil && (len(items) != 1 || items[0].Status == 0) {
			t.Fatalf("%q gives %v", reply, items)
		}
		_ = statusText(400, reply)
	})
}

// TestVerdicts is the table of what each answer means.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		op        op
		versioned bool
		status    int
		kind      string
		want      verdict
	}{
		{opIndex, true, 200, "", done},
		{opIndex, true, 201, "", done},
		{opIndex, true, 409, "version_conflict_engine_exception", conflict},
		{opDelete, true, 409, "version_conflict_engine_exception", conflict},
		{opUpdate, false, 409, "version_conflict_engine_exception", again},
		{opDelete, false, 404, "", done},
		{opDelete, false, 404, "index_not_found_exception", done},
		{opIndex, true, 404, "index_not_found_exception", fatal},
		{opUpdate, false, 404, "document_missing_exception", refused},
		{opIndex, true, 429, "es_rejected_execution_exception", wait},
		{opIndex, true, 429, "circuit_breaking_exception", wait},
		{opIndex, true, 429, "cluster_block_exception", waitLong},
		{opIndex, true, 403, "cluster_block_exception", waitLong},
		{opIndex, true, 400, "index_closed_exception", waitLong},
		{opIndex, true, 503, "unavailable_shards_exception", waitLong},
		{opIndex, true, 403, "security_exception", fatal},
		{opIndex, true, 400, "mapper_parsing_exception", refused},
		{opIndex, true, 400, "document_parsing_exception", refused},
		{opIndex, true, 400, "strict_dynamic_mapping_exception", refused},
		{opIndex, true, 400, "illegal_argument_exception", refused},
		{opIndex, true, 400, "named_next_year_exception", refused},
		{opIndex, true, 500, "anything", again},
		{opIndex, true, 418, "anything", fatal},
	} {
		r := &itemReply{Status: c.status}
		if c.kind != "" {
			r.Error = &cause{Type: c.kind}
		}
		if got := judgeItem(c.op, c.versioned, r); got != c.want {
			t.Errorf("%s, versioned %v, %d %s: verdict %d, want %d", c.op, c.versioned, c.status, c.kind, got, c.want)
		}
	}
}
