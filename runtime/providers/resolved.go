package providers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Lengths below which a value is taken for no secret: it would be found in too many texts.
const (
	leastHidden   = 3 // in texts for people
	leastRestored = 6 // in what a plugin derived
)

// Resolved is a configuration whose references were resolved.
type Resolved struct {
	Values  map[string]string
	raw     map[string]string
	refers  map[string]bool // keys whose values hold a reference
	secrets []secret        // the longest first
}

type secret struct{ text, ref string }

func (r *Resolved) note(key, ref, value string) {
	if r.refers == nil {
		r.refers = map[string]bool{}
	}
	r.refers[key] = true
	for _, text := range []string{value, strings.TrimSpace(value)} {
		s := secret{text, ref}
		if len(text) >= leastHidden && !slices.Contains(r.secrets, s) {
			r.secrets = append(r.secrets, s)
		}
	}
	slices.SortStableFunc(r.secrets, func(a, b secret) int { return len(b.text) - len(a.text) })
}

// Raw gives a key's value as it was written, if that holds a reference.
func (r *Resolved) Raw(key string) (string, bool) {
	return r.raw[key], r.refers[key]
}

// Hide puts references in place of values in a text for people.
func (r *Resolved) Hide(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s.text, s.ref)
		if quoted := strconv.Quote(s.text); quoted[1:len(quoted)-1] != s.text {
			text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], s.ref)
		}
	}
	return text
}

// hidden is an error whose text does not hold values.
type hidden struct {
	error
	text string
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.error }

// Error hides values in an error's text. What the error wraps stays.
func (r *Resolved) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Hide(err.Error()); text != err.Error() {
		return &hidden{err, text}
	}
	return err
}

// Restore puts references back into configurations that a plugin derived from this one, so that they can be kept: resolved
// again they are what the plugin made.
func (r *Resolved) Restore(derived []map[string]string) []map[string]string {
	if len(r.secrets) == 0 && len(r.refers) == 0 {
		return derived
	}
	out := make([]map[string]string, len(derived))
	for i, d := range derived {
		out[i] = maps.Clone(d)
		for k, v := range d {
			if r.refers[k] && v == r.Values[k] {
				out[i][k] = r.raw[k]
				continue
			}
			for _, s := range r.secrets {
				if len(s.text) >= leastRestored {
					v = strings.ReplaceAll(v, s.text, s.ref)
				}
			}
			out[i][k] = v
		}
	}
	return out
}
