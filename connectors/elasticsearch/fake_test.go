package elasticsearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is what a fake does with one bulk request.
type fault struct {
	status  int           // answered instead of anything else
	body    string        // with status
	hang    bool          // applies, then never answers
	cut     bool          // applies, then closes in the middle of the answer
	garbage string        // applies, then answers this with 200
	short   bool          // applies, then leaves the last item out of the answer
	reorder bool          // applies, then answers the items in another order
	delay   time.Duration // before it applies
	// item refuses items: 0 applies it.
	item func(op string, id string, n int) (status int, kind string)
}

// fake is the part of Elasticsearch a sink talks to, with documents and versions, and with faults that a real one cannot
// be made to have.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	docs     map[string]map[string]any
	versions map[string]int64
	next     func(n int) fault // of bulk request n, from 0
	bulks    int
	most     int // requests at once
	busy     int
	sizes    []int // items of each request
	stop     chan struct{}
}

func newFake(t testing.TB, next func(n int) fault) *fake {
	f := &fake{docs: map[string]map[string]any{}, versions: map[string]int64{}, next: next, stop: make(chan struct{})}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() { close(f.stop); f.Server.Close() })
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/_bulk":
		f.bulk(w, r)
	case r.URL.Path == "/":
		_, _ = io.WriteString(w, `{"version":{"number":"8.0.0"},"tagline":"You Know, for Search"}`)
	default:
		_, _ = io.WriteString(w, `{"x":{"mappings":{}}}`)
	}
}

func (f *fake) bulk(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	n := f.bulks
	f.bulks++
	f.busy++
	f.most = max(f.most, f.busy)
	ft := fault{}
	if f.next != nil {
		ft = f.next(n)
	}
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.busy--; f.mu.Unlock() }()
	if ft.delay > 0 {
		select {
		case <-time.After(ft.delay):
		case <-f.stop:
		}
	}
	if ft.status != 0 {
		w.WriteHeader(ft.status)
		_, _ = io.WriteString(w, ft.body)
		return
	}
	items := f.apply(body, ft)
	switch {
	case ft.hang:
		select {
		case <-r.Context().Done():
		case <-f.stop:
		}
		return
	case ft.garbage != "":
		_, _ = io.WriteString(w, ft.garbage)
		return
	case ft.short:
		items = items[:len(items)-1]
	case ft.reorder:
		slices.Reverse(items)
	}
	reply, _ := json.Marshal(map[string]any{"errors": true, "items": items})
	if ft.cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(reply)))
		_, _ = w.Write(reply[:len(reply)/2])
		return
	}
	_, _ = w.Write(reply)
}

// apply does what the body says, in order.
func (f *fake) apply(body []byte, ft fault) []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []map[string]any
	lines := bytes.Split(bytes.TrimSuffix(body, []byte{'\n'}), []byte{'\n'})
	for i := 0; i < len(lines); i++ {
		var action map[string]struct {
			ID      string `json:"_id"`
			Index   string `json:"_index"`
			Version *int64 `json:"version"`
		}
		if err := json.Unmarshal(lines[i], &action); err != nil || len(action) != 1 {
			panic(fmt.Sprintf("line %d of a bulk body: %q: %v", i, lines[i], err))
		}
		for op, a := range action {
			var doc map[string]any
			if op != "delete" {
				i++
				if err := json.Unmarshal(lines[i], &doc); err != nil {
					panic(fmt.Sprintf("line %d of a bulk body: %q: %v", i, lines[i], err))
				}
			}
			status, kind := 200, ""
			if ft.item != nil {
				if s, k := ft.item(op, a.ID, len(items)); s != 0 {
					status, kind = s, k
				}
			}
			if status == 200 {
				status, kind = f.one(op, a.ID, a.Version, doc)
			}
			reply := map[string]any{"_id": a.ID, "status": status}
			if kind != "" {
				reply["error"] = map[string]any{"type": kind, "reason": "because"}
			}
			items = append(items, map[string]any{op: reply})
		}
	}
	f.sizes = append(f.sizes, len(items))
	return items
}

func (f *fake) one(op, id string, version *int64, doc map[string]any) (int, string) {
	if version != nil {
		if had, ok := f.versions[id]; ok && *version <= had {
			return 409, "version_conflict_engine_exception"
		}
		f.versions[id] = *version
	}
	switch op {
	case "delete":
		if f.docs[id] == nil {
			return 404, ""
		}
		delete(f.docs, id)
	case "index":
		f.docs[id] = doc
	case "update":
		if f.docs[id] == nil {
			f.docs[id] = map[string]any{}
		}
		maps.Copy(f.docs[id], doc["doc"].(map[string]any))
	}
	return 200, ""
}

func (f *fake) document(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, _ := json.Marshal(f.docs[id])
	return string(b)
}

func (f *fake) requests() int { f.mu.Lock(); defer f.mu.Unlock(); return f.bulks }

// until does something to the first n requests.
func until(n int, ft fault) func(int) fault {
	return func(i int) fault {
		if i < n {
			return ft
		}
		return fault{}
	}
}

func refuse(status int, kind string, only func(op, id string, n int) bool) func(string, string, int) (int, string) {
	return func(op, id string, n int) (int, string) {
		if only == nil || only(op, id, n) {
			return status, kind
		}
		return 0, ""
	}
}

func errorBody(kind string) string {
	return `{"error":{"type":"` + kind + `","reason":"because"}}`
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// limited refuses bodies above a size, as Elasticsearch's http.max_content_length does: 413 without a body.
func limited(f *fake, most int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > int64(most) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		f.serve(w, r)
	})
}

// picky refuses requests as a whole whose body holds a text.
func picky(f *fake, poison string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), poison) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, errorBody("illegal_argument_exception"))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.serve(w, r)
	})
}
