package rest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what an interface does beside answering; the zero value is Kafka Connect's default.
type Options struct {
	// Origins are those whose pages may call, "*" all of them; Methods how, GET, HEAD and POST if empty.
	Origins, Methods []string
	Headers          []Header // of every answer
	// Admin are the listeners of /admin: nil those of all else, none if empty.
	Admin []net.Listener
}

// Header is a header of every answer.
type Header struct {
	Name, Value string
	Add         bool // beside others of the name
}

// ParseHeaders reads response.http.headers.config: entries "set|add|setDate|addDate name: value", parted by commas, in quotes
// where they hold some. Dates are Unix milliseconds.
func ParseHeaders(s string) ([]Header, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(s))
	r.TrimLeadingSpace = true
	entries, err := r.Read()
	if err == nil {
		if _, err = r.Read(); err == nil {
			err = errors.New("it must be one line")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("response.http.headers.config: %w", err)
	}
	var out []Header
	for _, e := range entries {
		action, rest, ok := strings.Cut(strings.TrimSpace(e), " ")
		name, value, colon := strings.Cut(rest, ":")
		h := Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Add: strings.HasPrefix(action, "add")}
		if !ok || !colon || !validHeader(h) {
			return nil, fmt.Errorf(`response.http.headers.config: %q must be like "set X-Frame-Options: DENY"`, e)
		}
		switch action {
		case "set", "add":
		case "setDate", "addDate":
			ms, err := strconv.ParseInt(h.Value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("response.http.headers.config: %q: a date is a number of milliseconds since 1970", e)
			}
			h.Value = time.UnixMilli(ms).UTC().Format(http.TimeFormat)
		default:
			return nil, fmt.Errorf("response.http.headers.config: %q must begin with set, add, setDate or addDate", e)
		}
		out = append(out, h)
	}
	return out, nil
}

func validHeader(h Header) bool {
	token := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}
	return h.Name != "" && !strings.ContainsFunc(h.Name, func(r rune) bool { return !token(r) }) && !strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// begin sets what every answer has.
func (o *Options) begin(w http.ResponseWriter) {
	for _, h := range o.Headers {
		if h.Add {
			w.Header().Add(h.Name, h.Value)
		} else {
			w.Header().Set(h.Name, h.Value)
		}
	}
}

// origin tells whether a page of an allowed origin calls, or asks whether it may, and answers the latter.
func (o *Options) origin(w http.ResponseWriter, r *http.Request) (allowed, answered bool) {
	from := r.Header.Get("Origin")
	if from == "" || !slices.Contains(o.Origins, from) && !slices.Contains(o.Origins, "*") {
		return false, false
	}
	methods := o.Methods
	if len(methods) == 0 {
		methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}
	}
	w.Header().Set("Access-Control-Allow-Origin", from)
	w.Header().Add("Vary", "Origin")
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.Header().Set("Access-Control-Allow-Methods", strings.Join(methods, ","))
		w.Header().Set("Access-Control-Allow-Headers", "X-Requested-With,Content-Type,Accept,Origin")
		w.Header().Set("Access-Control-Max-Age", "1800")
		w.WriteHeader(http.StatusNoContent)
		return true, true
	}
	return slices.Contains(methods, r.Method), false
}
