package elasticsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/penstockio/penstock/connect-api"
)

// indices makes indices and mappings before the first document that needs them. It is for one goroutine.
type indices struct {
	t          *task
	lastIndex  string
	lastSchema *connectapi.Schema
	ready      map[string]map[uint64]bool // of an index: fingerprints of schemas; 0: it is there
}

// maxIndices bounds what is remembered: past it all is looked up again.
const maxIndices = 10_000

// notWorker is the number under which what is not a lane waits.
const notWorker = -1

// ensure returns once the index is there with a mapping of the schema's fields; a nil schema is left to Elasticsearch. An
// error is fatal, or ctx's.
func (x *indices) ensure(ctx context.Context, index string, s *connectapi.Schema) error {
	if index == x.lastIndex && s == x.lastSchema && len(x.ready) > 0 {
		return nil
	}
	if !x.ready[index][s.Fingerprint()] {
		if err := x.make(ctx, index, s); err != nil {
			return err
		}
		if len(x.ready) >= maxIndices || len(x.ready[index]) >= maxSchemas {
			clear(x.ready)
		}
		if x.ready[index] == nil {
			x.ready[index] = map[uint64]bool{}
		}
		x.ready[index][s.Fingerprint()] = true
	}
	x.lastIndex, x.lastSchema = index, s
	return nil
}

func (x *indices) make(ctx context.Context, index string, s *connectapi.Schema) error {
	var want map[string]any
	if s != nil {
		n, err := x.t.trans.node(s)
		if err != nil {
			return nil //nolint:nilerr // the record fails with it
		}
		want, _ = mappingOf(n)
	}
	path := "/" + url.PathEscape(index)
	status, reply, err := x.call(ctx, http.MethodGet, path+"/_mapping", nil)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return x.create(ctx, index, path, want)
	case status != http.StatusOK:
		return x.refused(index, "reading the mapping", status, reply)
	}
	have, grows, err := mappingIn(reply)
	if err != nil {
		return fmt.Errorf("reading the mapping of index %s: %w", index, err)
	}
	add := missing(want, have, 0)
	if len(add) == 0 || !grows {
		return nil
	}
	status, reply, err = x.call(ctx, http.MethodPut, path+"/_mapping", map[string]any{"properties": add})
	if err == nil && status != http.StatusOK {
		err = x.refused(index, "adding fields to the mapping", status, reply)
	}
	return err
}

func (x *indices) create(ctx context.Context, index, path string, properties map[string]any) error {
	body := map[string]any{}
	if len(properties) > 0 {
		body["mappings"] = map[string]any{"properties": properties}
	}
	status, reply, err := x.call(ctx, http.MethodPut, path, body)
	switch {
	case err != nil:
		return err
	case status == http.StatusOK:
		x.t.log.Info("made an index", "index", index, "fields", len(properties))
		return nil
	case status == http.StatusBadRequest && errorOf(reply).Type == "resource_already_exists_exception":
		if len(properties) == 0 {
			return nil
		}
		status, reply, err = x.call(ctx, http.MethodPut, path+"/_mapping", map[string]any{"properties": properties})
		if err != nil || status == http.StatusOK {
			return err
		}
	case status == http.StatusBadRequest: // documents would fail one by one, and not be at fault
		return fmt.Errorf("making index %s at Elasticsearch at %s: %s: create it yourself, or set schema.ignore=true if a field is at fault", index, x.t.set.hosts(), x.t.set.redact(statusText(status, reply)))
	}
	return x.refused(index, "making the index", status, reply)
}

// refused decides whether documents can be written all the same: then they show what is wrong one by one.
func (x *indices) refused(index, doing string, status int, reply []byte) error {
	why := x.t.set.redact(statusText(status, reply))
	if status == http.StatusUnauthorized {
		return refusal(x.t.set, status, why)
	}
	x.t.log.Warn(doing+" is refused: fields are left to Elasticsearch", "index", index, "answer", why)
	return nil
}

// call sends a request for as long as the server is away or overloaded.
func (x *indices) call(ctx context.Context, method, path string, body any) (int, []byte, error) {
	var in []byte
	if body != nil {
		var err error
		if in, err = json.Marshal(body); err != nil {
			return 0, nil, fmt.Errorf("making a mapping: %w", err)
		}
	}
	set := x.t.set
	p := x.t.pause()
	tries := int32(0)
	for {
		status, reply, err := x.t.client.do(ctx, set.ReadTimeout, method, path, "application/json", in)
		var why string
		v := wait
		switch {
		case err == nil:
			v = judgeStatus(status, errorOf(reply).Type)
			why = fmt.Sprintf("Elasticsearch at %s does not answer %s %s for now: %s", set.hosts(), method, path, set.redact(statusText(status, reply)))
		case ctx.Err() != nil:
			return 0, nil, ctx.Err()
		case permanent(err):
			return 0, nil, connectionProblem(set, err)
		default:
			why = fmt.Sprintf("Elasticsearch at %s cannot be reached: %v", set.hosts(), err)
		}
		switch v {
		case again:
			if tries++; tries > set.MaxRetries {
				return 0, nil, errors.New(why)
			}
		case wait, waitLong:
		default:
			x.t.waits(notWorker, "")
			return status, reply, nil
		}
		x.t.waits(notWorker, why)
		if err := sleep(ctx, p.next(v == waitLong)); err != nil {
			return 0, nil, err
		}
	}
}

// mappingIn reads the fields of the (first) index in an answer, and whether they may be added to.
func mappingIn(reply []byte) (properties map[string]any, grows bool, err error) {
	var all map[string]struct {
		Mappings map[string]any `json:"mappings"`
	}
	if err := json.Unmarshal(reply, &all); err != nil {
		return nil, false, err
	}
	for _, one := range all {
		properties, _ = one.Mappings["properties"].(map[string]any)
		return properties, mayGrow(one.Mappings), nil
	}
	return nil, false, errors.New("the answer holds no index")
}
