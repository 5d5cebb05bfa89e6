package rest

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestHeadersOfAnswers(t *testing.T) {
	got, err := ParseHeaders(`set X-Frame-Options: DENY, "add Cache-Control: no-cache, no-store", add Cache-Control:private,setDate Expires: 31540000000`)
	want := []Header{
		{"X-Frame-Options", "DENY", false}, {"Cache-Control", "no-cache, no-store", true}, {"Cache-Control", "private", true}, {"Expires", "Fri, 01 Jan 1971 01:06:40 GMT", false},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if got, err := ParseHeaders(" "); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	for _, bad := range []string{"X: y", "put X: y", "set X", "set : y", "set X Y: z", "set X: a\nset Y: b", `set "X: y`, "setDate X: tomorrow", "set X: \x01", ","} {
		if got, err := ParseHeaders(bad); err == nil || !strings.Contains(err.Error(), "response.http.headers.config") {
			t.Errorf("%q: %v %v", bad, got, err)
		}
	}
	rec := httptest.NewRecorder()
	interfaceOf(t, Options{Headers: want})[0].Handler.ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/connectors", nil))
	if h := rec.Header(); h.Get("X-Frame-Options") != "DENY" || len(h["Cache-Control"]) != 2 || rec.Code != 200 {
		t.Error(rec.Code, h)
	}
}

func interfaceOf(t *testing.T, o Options) []endpoint {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return New([]net.Listener{ln}, &node{ready: true}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), o).endpoints
}

func TestPagesOfAllowedOrigins(t *testing.T) {
	type is struct {
		status        int
		allow, method string
	}
	for name, tc := range map[string]struct {
		o              Options
		origin, method string
		preflight      string
		want           is
	}{
		"none allowed":           {Options{}, "https://ui.example", "POST", "", is{403, "", ""}},
		"another":                {Options{Origins: []string{"https://ui.example"}}, "https://evil.example", "POST", "", is{403, "", ""}},
		"allowed":                {Options{Origins: []string{"https://ui.example"}}, "https://ui.example", "POST", "", is{201, "https://ui.example", ""}},
		"any":                    {Options{Origins: []string{"*"}}, "https://x.example", "POST", "", is{201, "https://x.example", ""}},
		"not by this method":     {Options{Origins: []string{"*"}, Methods: []string{"GET"}}, "https://x.example", "POST", "", is{403, "https://x.example", ""}},
		"asked first":            {Options{Origins: []string{"*"}, Methods: []string{"GET", "PUT"}}, "https://x.example", "OPTIONS", "PUT", is{204, "https://x.example", "GET,PUT"}},
		"asked first by another": {Options{Origins: []string{"https://ui.example"}}, "https://x.example", "OPTIONS", "PUT", is{405, "", ""}},
	} {
		req := httptest.NewRequest(tc.method, "http://localhost:8083/connectors", strings.NewReader(`{"name":"x","config":{}}`))
		req.Header.Set("Origin", tc.origin)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		if tc.preflight != "" {
			req.Header.Set("Access-Control-Request-Method", tc.preflight)
		}
		rec := httptest.NewRecorder()
		interfaceOf(t, tc.o)[0].Handler.ServeHTTP(rec, req)
		got := is{rec.Code, rec.Header().Get("Access-Control-Allow-Origin"), rec.Header().Get("Access-Control-Allow-Methods")}
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestAdminOnItsOwn: /admin is on the main listener, on others alone, or nowhere.
func TestAdminOnItsOwn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for name, tc := range map[string]struct {
		admin []net.Listener
		codes []int // of /admin/loggers, by endpoint
	}{
		"main": {nil, []int{200}}, "nowhere": {[]net.Listener{}, []int{404}}, "its own": {[]net.Listener{ln}, []int{404, 200}},
	} {
		ends := interfaceOf(t, Options{Admin: tc.admin})
		var codes []int
		for i, e := range ends {
			rec := httptest.NewRecorder()
			e.Handler.ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/admin/loggers", nil))
			codes = append(codes, rec.Code)
			rec = httptest.NewRecorder()
			e.Handler.ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/connectors", nil))
			if (rec.Code == 200) != (i == 0) {
				t.Errorf("%s: /connectors at listener %d: %d", name, i, rec.Code)
			}
		}
		if d := cmp.Diff(tc.codes, codes); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
