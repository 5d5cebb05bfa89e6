package group

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestClashOfAddresses: workers with one advertised address are named, once for as long as they are the same.
func TestClashOfAddresses(t *testing.T) {
	var said bytes.Buffer
	m := &Member{log: slog.New(slog.NewTextHandler(&said, nil))}
	apart := map[string]string{"w1": "http://a/", "w2": "http://b/"}
	clash := map[string]string{"w1": "http://a/", "w2": "http://b/", "w3": "http://a/"}
	for _, step := range []struct {
		urls map[string]string
		says string
	}{
		{apart, ""},
		{clash, "url=http://a/ members=\"[w1 w3]\""},
		{clash, ""},
		{map[string]string{"w1": "http://a/", "w3": "http://a/", "w4": "http://a/"}, "members=\"[w1 w3 w4]\""},
		{apart, ""},
		{clash, "members=\"[w1 w3]\""},
	} {
		said.Reset()
		m.warnOfClash(step.urls)
		if got := said.String(); step.says == "" && got != "" || !strings.Contains(got, step.says) {
			t.Errorf("%v: it said %q, want %q", step.urls, got, step.says)
		}
	}
}
