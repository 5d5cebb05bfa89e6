package elasticsearch

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// cause is the error of an answer or of an item in it.
type cause struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	CausedBy *cause `json:"caused_by"`
}

// String is the reason with what is behind it.
func (c *cause) String() string {
	if c == nil {
		return ""
	}
	text := c.Type + ": " + c.Reason
	if c.CausedBy != nil && c.CausedBy.Reason != "" {
		text += " (" + c.CausedBy.String() + ")"
	}
	return text
}

// itemReply is what became of one item.
type itemReply struct {
	ID     string `json:"_id"`
	Status int    `json:"status"`
	Error  *cause `json:"error"`
}

// parseReply reads a bulk answer of n items in the order they were sent.
func parseReply(reply []byte, n int) ([]itemReply, error) {
	var r struct {
		Errors *bool `json:"errors"`
		Items  []struct {
			Index  *itemReply `json:"index"`
			Update *itemReply `json:"update"`
			Delete *itemReply `json:"delete"`
		} `json:"items"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return nil, fmt.Errorf("reading the answer to a bulk request: %w", err)
	}
	if r.Errors == nil || len(r.Items) != n {
		return nil, fmt.Errorf("the answer to a bulk request has %d items where %d were sent", len(r.Items), n)
	}
	out := make([]itemReply, n)
	for i := range r.Items {
		it := cmp.Or(r.Items[i].Index, r.Items[i].Update, r.Items[i].Delete)
		if it == nil || it.Status == 0 {
			return nil, fmt.Errorf("item %d of the answer to a bulk request has no status", i)
		}
		out[i] = *it
	}
	return out, nil
}

// errorOf reads the error of an answer that is none to its request; empty if there is nothing to read.
func errorOf(reply []byte) cause {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(reply, &r) != nil {
		return cause{}
	}
	var c cause
	if json.Unmarshal(r.Error, &c) != nil {
		_ = json.Unmarshal(r.Error, &c.Reason) // some answers hold but a text
	}
	return c
}

// statusText says what a server answered, for an error.
func statusText(status int, reply []byte) string {
	c := errorOf(reply)
	if c.Type == "" && c.Reason == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d, %s", status, c.String())
}
